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
from recjudge_tui.domain.protocols import PROTOCOLS, compares_lists
from recjudge_tui.domain.roles import FIRST_HAND, READERS
from recjudge_tui.domain.selection import Selection
from recjudge_tui.domain.text import quantity
from recjudge_tui.domain.where import PART, TEACH, TEST, USER, part_of
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.prompting.drafts import case_example, with_examples
from recjudge_tui.reports.common.scales import statistic_of
from recjudge_tui.reports.experiment import PromptTrial
from recjudge_tui.runs.groups import Experiment
from recjudge_tui.runs.plan import Plan, RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.shapes import base
from recjudge_tui.stats.agreement import RatedPair, agreement_change, agreement_estimates
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.hypotheses import holm, sign_flip_test, user_means
from recjudge_tui.store.answers import reasons
from recjudge_tui.store.cases import case_owners
from recjudge_tui.store.data import user_attributes
from recjudge_tui.store.prompts import get_prompt, own_name, store_prompt
from recjudge_tui.store.raters import rater_row
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


def experiment_of(
    taught: Lesson, judge: JudgeSpec, prompts: Sequence[str], part: str, budget: float | None
) -> Experiment:
    """The runs of these prompts on the labelled users of one part."""
    users = ", ".join(f"'{user}'" for user in (name.replace("'", "''") for name in taught.users(part)))
    where = f"{PART} = '{part}' and {USER} in ({users})"
    protocol = next(
        name for name, facts in PROTOCOLS.items() if facts.prompt_protocol == taught.prompt.protocol
    )
    settings = settings_for(protocol, where=where, budget_usd=budget)
    requests = [RunRequest(taught.project.id, judge, settings, "", name) for name in prompts]
    return Experiment(tuple(requests), taught.truth, budget)


def candidates(taught: Lesson, rater: str, count: int) -> Iterator[tuple[str, int]]:
    """The names of candidate prompts and how many examples each adds: cases of the teaching users that the judge got wrong,
    in turn by label, so that no label dominates. Fewer than `count` where too few are wrong."""
    values = _values(taught, rater, taught.cases(TEACH))
    by_label: dict[str, list[int]] = {}
    seen: set[str] = set()
    for case, (value, label) in taught.labels.items():
        if case in values and values[case] != value and taught.user[case] not in seen:
            seen.add(taught.user[case])
            by_label.setdefault(label, []).append(case)
    order = [case for turn in zip_longest(*by_label.values()) for case in turn if case is not None]
    name = f"{own_name(taught.prompt.name)}-candidate"
    for number in range(1, count + 1):
        wrong = order[: number * _EXAMPLES]
        if len(wrong) <= (number - 1) * _EXAMPLES:
            return
        longer = with_examples(taught.prompt, [_example(taught, case) for case in wrong])
        stored, version = store_prompt(taught.project.db, longer.model_copy(update={"name": name}))
        yield f"{stored}@{version}", len(wrong)


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


def compared(taught: Lesson, plans: Sequence[Plan], examples: Sequence[int]) -> list[PromptTrial]:
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
    for plan, count, values, p, p_holm in zip(plans, examples, given, tests, adjusted, strict=True):
        assert plan.run_id is not None
        pair = RatedPair(values, truth, user)
        own = agreement_estimates(values, truth, user, labels, (stat,), mirrored=of_pairs)[stat]
        trial = PromptTrial(
            run_row(taught.project.db, plan.run_id)["prompt"], plan.rater, count, plan.run_id, stat, own
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
        f"{taught.name} with {best.examples} examples: {best.word} on {test} who taught nothing; taught by {teach},"
        f" labels of {taught.truth}"
    )
    own = prompt.model_copy(update={"name": own_name(taught.prompt.name), "description": description})
    return store_prompt(taught.project.db, own)
