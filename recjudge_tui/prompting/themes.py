"""The themes of a rater's reasons, found by a judge: named from batches of reasons, merged once, and then each reason is
asked which of them it uses and for which system; some twice, with the themes in the other order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.prompt import AspectSpec
from recjudge_tui.domain.protocols import LINES, THEMES, compares_lists, protocol_facts
from recjudge_tui.domain.run import Reading
from recjudge_tui.domain.text import one_line, safe_text, without_braces
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.why import explained
from recjudge_tui.runs.cases import ReadText, digest_of
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.answers import Reason, answers_read
from recjudge_tui.store.data import known_systems
from recjudge_tui.store.prompts import get_prompt, load_shipped, own_name, store_prompt

# reasons a call that names themes, such calls, and the characters of a reason there
_A_CALL, _CALLS, _LONGEST = 20, 10, 600
# reasons that are asked twice
_TWICE = 100
_LONGEST_NAME, _LONGEST_MEANING = 40, 160


class Reasons(NamedTuple):
    """What is to be explained, and every reason that is read, in an order that depends on their words."""

    project: Project
    reading: Reading
    texts: tuple[ReadText, ...]


def reasons_to_read(project: Project, choose: Options) -> Reasons:
    """The reasons that `why` explains with the same options. Raises UsageError as it does, for reasons about lists judged
    alone, and for reasons of one side only."""
    _, question, pair, given = explained(project, choose)
    if not compares_lists(question.protocol):
        raise UsageError(
            f"the reasons of {question.rater} are about lists judged alone",
            "A judge finds themes in reasons about pairs of lists.",
            "Name a protocol of pairs.",
        )
    if len({reason.value > 0 for reason in given if reason.value}) < 2:
        raise UsageError(
            f"the reasons of {question.rater} favour one side only", "There is nothing to compare."
        )
    # in the order of a hash of the text, so that neither the order of import nor names decide which are read first
    texts = sorted(map(_text, given), key=lambda text: (sha256(text.text.encode()).digest(), text))
    reading = Reading(
        rater=question.rater, protocol=question.protocol, aspect=question.aspect, systems=tuple(sorted(pair))
    )
    return Reasons(project, reading, tuple(texts))


def _text(reason: Reason) -> ReadText:
    return ReadText(reason.case_id, "ba" if reason.swapped else "ab", one_line(safe_text(reason.text), 4_000))


def naming(reasons: Reasons, judge: JudgeSpec, budget: float | None) -> RunRequest:
    """A run that names the themes of reasons, `_A_CALL` in each of at most `_CALLS` calls."""
    batches = [reasons.texts[at : at + _A_CALL] for at in range(0, len(reasons.texts), _A_CALL)][:_CALLS]
    used: set[int] = set()
    texts = []
    for batch in batches:
        # a call stands at a case of its own
        case = next((text.case_id for text in batch if text.case_id not in used), None)
        if case is not None:
            used.add(case)
            texts.append(ReadText(case, "", "\n".join(text.text[:_LONGEST] for text in batch)))
    return _request(reasons, LINES, "themes", texts, judge, budget)


def merging(reasons: Reasons, run_id: int, judge: JudgeSpec, budget: float | None) -> RunRequest | None:
    """A run of one call that merges what several calls named; None where one did."""
    given = answers_read(reasons.project.db, run_id)
    if len(given) < 2:
        return None
    text = ReadText(given[0].case_id, "", "\n".join(answer.text for answer in given))
    return _request(reasons, LINES, "themes", [text], judge, budget)


def labelling(
    reasons: Reasons, run_id: int, judge: JudgeSpec, budget: float | None
) -> tuple[RunRequest, RunRequest]:
    """The run that asks each reason which themes of a run it uses, and the one that asks some again. Raises RunError where
    the run named no theme."""
    db = reasons.project.db
    lines = [line for answer in answers_read(db, run_id) for line in answer.text.split("\n")]
    themes = _themes(lines, known_systems(db, reasons.project.id))
    if not themes:
        raise RunError("the judge named no theme", f"Run {run_id} has its replies.", "Try another judge.")
    load_shipped(db)
    _, _, prompt = get_prompt(db, "theme-labels")
    first, second = protocol_facts(reasons.reading.protocol).list_names
    names = []
    for ordered in (themes, themes[::-1]):
        changes = {"aspects": tuple(ordered), "name": own_name(prompt.name)}
        asked = prompt.with_variables({"first": first, "second": second}).model_copy(update=changes)
        name, version = store_prompt(db, asked)
        names.append(f"{name}@{version}")
    again = reasons._replace(reading=reasons.reading.model_copy(update={"second": True}))
    return (
        _request(reasons, THEMES, names[0], reasons.texts, judge, budget),
        _request(again, THEMES, names[1], reasons.texts[:_TWICE], judge, budget),
    )


def _request(
    reasons: Reasons, protocol: str, prompt: str, texts: Sequence[ReadText], judge: JudgeSpec,
    budget: float | None,
) -> RunRequest:  # fmt: skip
    reading = reasons.reading.model_copy(update={"digest": digest_of(texts)})
    settings = settings_for(protocol, budget_usd=budget, reading=reading)
    return RunRequest(reasons.project.id, judge, settings, "", prompt, tuple(texts))


def _themes(lines: Sequence[str], barred: Iterable[str]) -> list[AspectSpec]:
    """The themes of a reply's lines, `name: meaning` each, cleaned, each name once; names of systems are none."""
    themes: dict[str, AspectSpec] = {}
    known = {name.casefold() for name in barred}
    for line in lines:
        name, _, meaning = line.partition(":")
        name = one_line(safe_text(name).strip(" \"'“”*-–."), _LONGEST_NAME)
        key = name.casefold()
        if key and key not in known and key not in themes:
            meaning = without_braces(one_line(safe_text(meaning).strip(), _LONGEST_MEANING))
            field = f"theme_{len(themes) + 1}"
            themes[key] = AspectSpec(name=name, field=field, question=meaning or name)
    return list(themes.values())
