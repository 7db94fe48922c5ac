"""A prompt taught by labels: examples from one half of the users, tried on the other half, and said to be better only where
a test over users shows it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.prompt import Example, Prompt
from recjudge_tui.domain.protocols import LINES, PROTOCOLS, compares_lists
from recjudge_tui.domain.roles import FIRST_HAND, READERS
from recjudge_tui.domain.run import Reading
from recjudge_tui.domain.selection import Selection
from recjudge_tui.domain.text import one_line, quantity, safe_text, without_braces
from recjudge_tui.domain.where import PART, TEACH, TEST, USER, part_of
from recjudge_tui.errors import PromptError, UsageError
from recjudge_tui.project import Project
from recjudge_tui.prompting.drafts import case_example, with_examples
from recjudge_tui.prompting.trial import request_now
from recjudge_tui.protocols.lint import lint
from recjudge_tui.protocols.rendering import system_text
from recjudge_tui.reports.experiment import PromptTrial
from recjudge_tui.reports.words import statistic_of
from recjudge_tui.runs.cases import ReadText, digest_of
from recjudge_tui.runs.plan import Plan, RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.shapes import base
from recjudge_tui.stats.agreement import RatedPair, agreement_change, agreement_estimates
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.hypotheses import holm, sign_flip_test, user_means
from recjudge_tui.store.answers import answers_read, reasons
from recjudge_tui.store.cases import case_owners
from recjudge_tui.store.data import user_attributes
from recjudge_tui.store.prompts import get_prompt, load_shipped, own_name, store_prompt
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import Question
from recjudge_tui.store.runs import run_row

FEWEST_USERS = 10
BETTER, WORSE, UNSHOWN = "better", "worse", "not shown to be better"
# candidate n has so many more examples than the one before
_EXAMPLES = 2


class Lesson(NamedTuple):
    """What teaches a prompt: its labels by case, their users, and the rater who gave them."""

    project: Project
    prompt: Prompt
    version: int
    truth: str
    aspect: str
    labels: Mapping[int, tuple[float, str]]
    user: Mapping[int, str]
    notes: Mapping[int, str]

    @property
    def name(self) -> str:
        return f"{self.prompt.name}@{self.version}"

    def cases(self, part: str) -> list[int]:
        return [case for case in self.labels if part_of(self.user[case]) == part]

    def users(self, part: str) -> list[str]:
        return sorted({self.user[case] for case in self.cases(part)})


def lesson(project: Project, name: str, source: str, truth: str = "") -> Lesson:
    """The labels of a person, or a reader's overrides (`source`: labels or overrides), on cases that a prompt can judge.
    Raises UsageError for a prompt with several questions, a data attribute that is called like our parts, and too few users;
    NotFoundError for an unknown prompt or rater."""
    _, version, prompt = get_prompt(project.db, name)
    if len(prompt.aspects) != 1:
        raise UsageError(
            f"prompt “{prompt.name}” asks {len(prompt.aspects)} questions", "Tuning teaches one question."
        )
    if any(PART in of or USER in of for of in user_attributes(project.db, project.id).values()):
        raise UsageError(
            f"the users have an attribute called “{PART}” or “{USER}”", "These words divide the users here."
        )
    aspect = prompt.aspects[0].name
    if truth:
        rater_row(project.db, project.id, truth)
    chosen = base(project, Selection(prompt.protocol, aspect, (truth,) if truth else (), readers=True))
    kinds = READERS if source == "overrides" else FIRST_HAND
    of_kind = [q for q in chosen.questions if truth or chosen.rater(q).kind in kinds]
    if not of_kind:
        who = (
            "no reader has overridden a verdict" if source == "overrides" else "no person has labelled a case"
        )
        raise UsageError(
            f"{who} of {prompt.protocol}",
            next_step="Label some first, or name the rater whose labels teach.",
        )
    question = max(of_kind, key=lambda q: (chosen.ratings.verdicts[q].row.size, q.rater))
    verdicts, cases = chosen.ratings.verdicts[question], chosen.ratings.cases
    ids = cases.ids[verdicts.row].tolist()
    words = {label.value: label.name for label in prompt.labels_of(aspect)}
    labels = {
        case: (value, words[value])
        for case, value in zip(ids, verdicts.value.tolist(), strict=True)
        if value in words
    }
    owners = case_owners(project.db, project.id, sorted(labels))
    user = {case: owner[0] for case, owner in zip(sorted(labels), owners, strict=True)}
    given = reasons(project.db, chosen.rater(question).id, question, sorted(labels))
    notes = {reason.case_id: reason.text for reason in given}
    out = Lesson(project, prompt, version, question.rater, aspect, dict(sorted(labels.items())), user, notes)
    for part in (TEACH, TEST):
        if (count := len(out.users(part))) < FEWEST_USERS:
            raise UsageError(
                f"{question.rater} has labelled {quantity(count, 'user')} of the part that is to {part}",
                f"Each half of the users needs {FEWEST_USERS}.", "Label cases of more users.",
            )  # fmt: skip
    return out


def requests_of(
    taught: Lesson, judge: JudgeSpec, prompts: Sequence[str], part: str, budget: float | None
) -> list[RunRequest]:
    """The runs of these prompts on the labelled users of one part."""
    users = ", ".join(f"'{user}'" for user in (name.replace("'", "''") for name in taught.users(part)))
    where = f"{PART} = '{part}' and {USER} in ({users})"
    protocol = next(
        name for name, facts in PROTOCOLS.items() if facts.prompt_protocol == taught.prompt.protocol
    )
    settings = settings_for(protocol, where=where, budget_usd=budget)
    return [RunRequest(taught.project.id, judge, settings, "", name) for name in prompts]


def mistakes(taught: Lesson, rater: str) -> list[int]:
    """Cases that the judge got wrong, one of each teaching user, in turn by label, so that no label dominates."""
    values = _values(taught, rater, taught.cases(TEACH))
    by_label: dict[str, list[int]] = {}
    seen: set[str] = set()
    for case, (value, label) in taught.labels.items():
        if case in values and values[case] != value and taught.user[case] not in seen:
            seen.add(taught.user[case])
            by_label.setdefault(label, []).append(case)
    return [case for turn in zip_longest(*by_label.values()) for case in turn if case is not None]


def candidates(taught: Lesson, wrong: Sequence[int], count: int) -> Iterator[tuple[str, str]]:
    """The names of candidate prompts and what each adds: more of the mistakes as examples. Fewer than `count` where there
    are too few."""
    for size in range(_EXAMPLES, (count + 1) * _EXAMPLES, _EXAMPLES):
        if len(wrong) <= size - _EXAMPLES:
            return
        longer = with_examples(taught.prompt, [_example(taught, case) for case in wrong[:size]])
        yield _candidate(taught, longer), quantity(min(size, len(wrong)), "example")


def _candidate(taught: Lesson, prompt: Prompt) -> str:
    changes = {"name": f"{own_name(taught.prompt.name)}-candidate"}
    name, version = store_prompt(taught.project.db, prompt.model_copy(update=changes))
    return f"{name}@{version}"


# ---- rules from mistakes ---------------------------------------------------------------------------------------------

# mistakes that are shown, and the characters of a case and of a reason
_SHOWN_MISTAKES, _OF_CASE, _OF_REASON = 16, 700, 300
_LEARNED, _GUIDELINES = "learned", "guidelines"


def rewriting(
    taught: Lesson, rater: str, wrong: Sequence[int], judge: JudgeSpec, budget: float | None
) -> RunRequest:
    """The run of one call in which a judge writes rules from its own mistakes."""
    db = taught.project.db
    load_shipped(db)
    question = Question(rater, taught.prompt.protocol, taught.aspect)
    given = reasons(db, rater_row(db, taught.project.id, rater)["id"], question, sorted(wrong))
    why = {reason.case_id: reason.text for reason in given}
    said = _values(taught, rater, wrong)
    words = {label.value: label.name for label in taught.prompt.labels_of(taught.aspect)}
    lines = [one_line(safe_text(system_text(taught.prompt, 10)), 8_000)]
    for case in wrong[:_SHOWN_MISTAKES]:
        shown = request_now(db, taught.prompt, case).messages[-1].content
        note = f" ({taught.notes[case]})" if taught.notes.get(case) else ""
        lines.append(
            f"The judge said {words.get(said[case], f'{said[case]:g}')}: {one_line(why.get(case, ''), _OF_REASON)} A person"
            f" said {taught.labels[case][1]}{one_line(note, _OF_REASON)}. The case: {one_line(shown, _OF_CASE)}"
        )
    texts = (ReadText(wrong[0], "", "\n".join(lines)),)
    reading = Reading(
        rater=rater, protocol=taught.prompt.protocol, aspect=taught.aspect, digest=digest_of(texts)
    )
    settings = settings_for(LINES, budget_usd=budget, reading=reading)
    return RunRequest(taught.project.id, judge, settings, "", "rules-from-mistakes", texts)


def rewritten(taught: Lesson, run_id: int) -> tuple[str, str]:
    """The name of the prompt with the rules that a run wrote, in place of those learned before, and what it adds. Raises
    PromptError where the prompt cannot take them."""
    rules = [rule for answer in answers_read(taught.project.db, run_id) for rule in answer.text.split("\n")]
    parts = dict(taught.prompt.parts or {})
    lines = ["# Rules learned from people's verdicts", *(f"- {without_braces(rule)}" for rule in rules), ""]
    parts[_LEARNED] = "\n".join(lines)
    include = f'{{% include "{_LEARNED}" %}}'
    changes: dict[str, object] = {"parts": parts}
    if include not in "".join((taught.prompt.system, *parts.values())):
        if _GUIDELINES in parts:
            parts[_GUIDELINES] += f"\n{include}\n"
        else:
            changes["system"] = f"{taught.prompt.system}\n{include}\n"
    longer = taught.prompt.model_copy(update=changes)
    if faults := [fault for fault in lint(longer) if fault not in lint(taught.prompt)]:
        raise PromptError(f"prompt “{taught.prompt.name}” cannot take the rules", " ".join(faults))
    return _candidate(taught, longer), quantity(len(rules), "rule")


def _example(taught: Lesson, case: int) -> Example:
    label = taught.labels[case][1]
    reason = taught.notes.get(case) or f"A person who judged this case said: {label}."
    return case_example(taught.project.db, taught.prompt, case, {taught.aspect: label}, reason)


def _values(taught: Lesson, rater: str, cases: Sequence[int]) -> dict[int, float]:
    chosen = base(taught.project, Selection(taught.prompt.protocol, taught.aspect, (rater,)), newest=False)
    wanted = set(cases)
    values: dict[int, float] = {}
    for verdicts in chosen.ratings.verdicts.values():
        ids = chosen.ratings.cases.ids[verdicts.row].tolist()
        values |= {
            case: value for case, value in zip(ids, verdicts.value.tolist(), strict=True) if case in wanted
        }
    return {case: value for case, value in values.items() if not math.isnan(value)}


def compared(taught: Lesson, plans: Sequence[Plan], added: Sequence[str]) -> list[PromptTrial]:
    """The prompt as it was, then each candidate beside it, on the cases of the testing users that both answered. A change is
    tested by sign flips of the users' mean changes in distance from the label, Holm over the candidates."""
    cases = taught.cases(TEST)
    truth = np.array([taught.labels[case][0] for case in cases])
    _, user = np.unique([taught.user[case] for case in cases], return_inverse=True)
    user = user.astype(np.int64)
    stat = statistic_of(taught.project.db, taught.project.id, plans[0].protocol, taught.aspect)
    labels = sorted(label.value for label in taught.prompt.labels_of(taught.aspect))
    # each pair counts from both sides, so that no figure depends on names
    of_pairs = compares_lists(plans[0].protocol)
    given = [_array(_values(taught, plan.rater, cases), cases) for plan in plans]
    tests = [None, *(_test(given[0], after, truth, user) for after in given[1:])]
    adjusted = [None, *holm(tests[1:])]
    out: list[PromptTrial] = []
    for plan, what, values, p, p_holm in zip(plans, added, given, tests, adjusted, strict=True):
        assert plan.run_id is not None
        pair = RatedPair(values, truth, user)
        own = agreement_estimates(values, truth, user, labels, (stat,), mirrored=of_pairs)[stat]
        trial = PromptTrial(
            run_row(taught.project.db, plan.run_id)["prompt"], plan.rater, what, plan.run_id, stat, own
        )
        if out:
            before = RatedPair(given[0], truth, user)
            change = agreement_change(pair, before, labels, stat, mirrored=of_pairs).change
            nearer = np.nanmean(np.abs(given[0] - truth) - np.abs(values - truth))
            word = UNSHOWN if p_holm is None or p_holm >= ALPHA else BETTER if nearer > 0 else WORSE
            trial = trial._replace(change=change, p=p, p_holm=p_holm, word=word)
        out.append(trial)
    return out


def _array(values: Mapping[int, float], cases: Sequence[int]) -> FloatArray:
    return np.array([values.get(case, np.nan) for case in cases])


def _test(before: FloatArray, after: FloatArray, truth: FloatArray, user: IntArray) -> float | None:
    nearer = np.abs(before - truth) - np.abs(after - truth)
    known = ~np.isnan(nearer)
    return sign_flip_test(user_means(nearer[known], user[known])) if known.any() else None


def keep_best(taught: Lesson, trials: Sequence[PromptTrial]) -> tuple[str, int]:
    """Store the candidate with the highest agreement as the next version of one's own prompt; its description says what
    the test said. Returns its name and version."""
    best = max(trials[1:], key=lambda trial: trial.rank)
    _, _, prompt = get_prompt(taught.project.db, best.prompt)
    teach, test = (quantity(len(taught.users(part)), "user") for part in (TEACH, TEST))
    description = (
        f"{taught.name} with {best.added}: {best.word} on {test} who taught nothing; taught by {teach},"
        f" labels of {taught.truth}"
    )
    own = prompt.model_copy(update={"name": own_name(taught.prompt.name), "description": description})
    return store_prompt(taught.project.db, own)
