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


# a case, and an aspect that its rater was asked about
CaseAspect = tuple[int, str]


class Lesson(NamedTuple):
    """What teaches a prompt: its labels by case and aspect, as values and words, the rater who gave them and why, and the
    users of the cases. `protocol`: that of the labels; `aspects`: those with labels."""

    project: Project
    prompt: Prompt
    version: int
    truth: str
    protocol: str
    aspects: tuple[str, ...]
    labels: Mapping[CaseAspect, tuple[float, str]]
    user: Mapping[int, str]
    notes: Mapping[CaseAspect, str]

    @property
    def name(self) -> str:
        return f"{self.prompt.name}@{self.version}"

    def cases(self, part: str) -> list[int]:
        return [case for case in self.user if part_of(self.user[case]) == part]

    def answers(self, part: str) -> list[CaseAspect]:
        return [of for of in self.labels if part_of(self.user[of[0]]) == part]

    def of_case(self, case: int) -> dict[str, str]:
        """The words of its labels by aspect."""
        return {name: self.labels[case, name][1] for name in self.aspects if (case, name) in self.labels}

    def users(self, part: str) -> list[str]:
        return sorted({self.user[case] for case in self.cases(part)})


def lesson(project: Project, name: str, source: str, truth: str = "") -> Lesson:
    """The labels of a person, or a reader's overrides (`source`: labels or overrides), on cases that a prompt can judge.
    Raises UsageError for questions whose labels differ, a data attribute that is called like our parts, and too few users;
    NotFoundError for an unknown prompt or rater."""
    _, version, prompt = get_prompt(project.db, name)
    if any(PART in of or USER in of for of in user_attributes(project.db, project.id).values()):
        raise UsageError(
            f"the users have an attribute called “{PART}” or “{USER}”", "These words divide the users here."
        )
    if truth:
        rater_row(project.db, project.id, truth)
    chosen = base(project, Selection(prompt.protocol, None, (truth,) if truth else (), readers=True))
    kinds = READERS if source == "overrides" else FIRST_HAND
    known = {spec.name for spec in prompt.aspects}
    given: dict[tuple[str, str], list[Question]] = {}
    for q in chosen.questions:
        if q.aspect in known and (truth or chosen.rater(q).kind in kinds):
            given.setdefault((q.rater, q.protocol), []).append(q)
    if not given:
        who = (
            "no reader has overridden a verdict" if source == "overrides" else "no person has labelled a case"
        )
        raise UsageError(
            f"{who} of {prompt.protocol}", next_step="Label some first, or name the rater whose labels teach."
        )
    verdicts, cases = chosen.ratings.verdicts, chosen.ratings.cases
    rater, protocol = max(given, key=lambda of: (sum(verdicts[q].row.size for q in given[of]), of))
    named = {q.aspect: q for q in given[rater, protocol]}
    aspects = tuple(spec.name for spec in prompt.aspects if spec.name in named)
    if len({tuple(sorted(label.value for label in prompt.labels_of(of))) for of in aspects}) > 1:
        raise UsageError(
            f"the questions of prompt “{prompt.name}” have different labels",
            "They cannot be counted together.",
        )
    labels: dict[CaseAspect, tuple[float, str]] = {}
    notes: dict[CaseAspect, str] = {}
    for aspect in aspects:
        labelled = verdicts[named[aspect]]
        ids = cases.ids[labelled.row].tolist()
        labels |= {
            (case, aspect): (value, word)
            for case, value in zip(ids, labelled.value.tolist(), strict=True)
            if (word := _word(prompt, aspect, value))
        }
        why = reasons(project.db, chosen.rater(named[aspect]).id, named[aspect], sorted(ids))
        notes |= {(reason.case_id, aspect): reason.text for reason in why}
    judged = sorted({case for case, _ in labels})
    owners = case_owners(project.db, project.id, judged)
    user = {case: owner[0] for case, owner in zip(judged, owners, strict=True)}
    labels = dict(sorted(labels.items(), key=lambda of: (of[0][0], aspects.index(of[0][1]))))
    out = Lesson(project, prompt, version, rater, protocol, aspects, labels, user, notes)
    for part in (TEACH, TEST):
        if (count := len(out.users(part))) < FEWEST_USERS:
            raise UsageError(
                f"{rater} has labelled {quantity(count, 'user')} of the part that is to {part}",
                f"Each half of the users needs {FEWEST_USERS}.", "Label cases of more users.",
            )  # fmt: skip
    return out


def _word(prompt: Prompt, aspect: str, value: float) -> str:
    """What a value is called in the prompt; empty where the prompt does not know it."""
    if prompt.scale is not None:
        return f"{value:g}" if prompt.scale.low <= value <= prompt.scale.high else ""
    return next((label.name for label in prompt.labels_of(aspect) if label.value == value), "")


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
    """Cases that the judge got wrong, one of each teaching user, in turn by question and label, so that none dominates."""
    said = _values(taught, rater)
    by_word: dict[tuple[str, str], list[int]] = {}
    seen: set[str] = set()
    for case, aspect in taught.answers(TEACH):
        value, label = taught.labels[case, aspect]
        if said.get((case, aspect), value) != value and taught.user[case] not in seen:
            seen.add(taught.user[case])
            by_word.setdefault((aspect, label), []).append(case)
    return [case for turn in zip_longest(*by_word.values()) for case in turn if case is not None]


def candidates(taught: Lesson, wrong: Sequence[int], count: int) -> Iterator[tuple[str, str]]:
    """The names of candidate prompts and what each adds: more of the mistakes as examples, of cases with a label on every
    question. Fewer than `count` where there are too few."""
    wrong = [case for case in wrong if len(taught.of_case(case)) == len(taught.prompt.aspects)]
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
    rater_id, said = rater_row(db, taught.project.id, rater)["id"], _values(taught, rater)
    why: dict[CaseAspect, str] = {}
    for aspect in taught.aspects:
        question = Question(rater, taught.prompt.protocol, aspect)
        why |= {(of.case_id, aspect): of.text for of in reasons(db, rater_id, question, sorted(wrong))}
    lines = [one_line(safe_text(system_text(taught.prompt, 10)), 8_000)]
    for case in wrong[:_SHOWN_MISTAKES]:
        parts = []
        for aspect, word in taught.of_case(case).items():
            judged = said.get((case, aspect))
            if judged in (None, taught.labels[case, aspect][0]):
                continue
            of = (case, aspect)
            note = f" ({taught.notes[of]})" if taught.notes.get(of) else ""
            about = f"On {aspect} the" if len(taught.aspects) > 1 else "The"
            parts.append(
                f"{about} judge said {_word(taught.prompt, aspect, judged) or f'{judged:g}'}:"
                f" {one_line(why.get(of, ''), _OF_REASON)} A person said {word}{one_line(note, _OF_REASON)}."
            )
        shown = request_now(db, taught.prompt, case).messages[-1].content
        lines.append(f"{' '.join(parts)} The case: {one_line(shown, _OF_CASE)}")
    texts = (ReadText(wrong[0], "", "\n".join(lines)),)
    reading = Reading(
        rater=rater, protocol=taught.prompt.protocol, aspect=taught.aspects[0], digest=digest_of(texts)
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
    words = taught.of_case(case)
    said = next(iter(words.values())) if len(words) == 1 else ", ".join(f"{a} {w}" for a, w in words.items())
    notes = [taught.notes[case, name] for name in words if taught.notes.get((case, name))]
    reason = " ".join(dict.fromkeys(notes)) or f"A person who judged this case said: {said}."
    return case_example(taught.project.db, taught.prompt, case, words, reason)


def _values(taught: Lesson, rater: str) -> dict[CaseAspect, float]:
    """What a rater said on the cases and aspects with labels."""
    chosen = base(taught.project, Selection(taught.prompt.protocol, None, (rater,)), newest=False)
    values: dict[CaseAspect, float] = {}
    for question, verdicts in chosen.ratings.verdicts.items():
        ids = chosen.ratings.cases.ids[verdicts.row].tolist()
        for case, value in zip(ids, verdicts.value.tolist(), strict=True):
            if (case, question.aspect) in taught.labels and not math.isnan(value):
                values[case, question.aspect] = value
    return values


def compared(taught: Lesson, plans: Sequence[Plan], added: Sequence[str]) -> list[PromptTrial]:
    """The prompt as it was, then each candidate beside it, on the answers about testing users that both gave, those on
    several questions together. A change is tested by sign flips of the users' mean changes in distance from the label, Holm
    over the candidates."""
    answers = taught.answers(TEST)
    truth = np.array([taught.labels[of][0] for of in answers])
    _, user = np.unique([taught.user[case] for case, _ in answers], return_inverse=True)
    user = user.astype(np.int64)
    stat = statistic_of(taught.project, plans[0].protocol, taught.aspects[0])
    labels = sorted(label.value for label in taught.prompt.labels_of(taught.aspects[0])) or None
    # each pair counts from both sides, so that no figure depends on names
    of_pairs = compares_lists(plans[0].protocol)
    said = [_values(taught, plan.rater) for plan in plans]
    given = [np.array([of.get(answer, np.nan) for answer in answers]) for of in said]
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
