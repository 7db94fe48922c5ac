"""From a selection to the arrays that every figure is counted from.

The base is `Ratings`: all cases as columns, and the verdicts of each question (a rater, protocol and aspect) on the newest
lists that its rater judged. Each shape is built here and nowhere else; a report computes on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import OVERALL, offered, question_of, same_question
from recjudge_tui.domain.roles import FIRST_HAND, RATER_KINDS, READERS, RUN_RATERS
from recjudge_tui.domain.selection import Selection
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, encode
from recjudge_tui.stats.hypotheses import Pair
from recjudge_tui.stats.ranking import PairTest, UserCounts, pair_tests, user_counts
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.verdicts.answers import CallRows, load_answers, load_calls
from recjudge_tui.store.verdicts.generations import in_generation, newest_judged
from recjudge_tui.store.verdicts.ratings import (
    CaseColumns,
    Crowd,
    EarlierLists,
    Question,
    Rater,
    Ratings,
    Verdicts,
    count_up_to,
    load_cases,
    load_questions,
    newest_lists,
    project_questions,
    project_raters,
)

if TYPE_CHECKING:
    from recjudge_tui.project import Project

# fewer labels of a person than this count only when asked for
FEWEST_CASES = 10
CROWD_OF_ALL = "all"


class LeftOut(NamedTuple):
    """Who does not count unless asked for: readers, and people with a few labels."""

    readers: tuple[str, ...] = ()
    few: tuple[str, ...] = ()


@dataclass(frozen=True)
class Base:
    """The verdicts of a selection. `questions` are in the order of reports: overall first, then by aspect, judges before
    people. `left_out`: raters who have verdicts on these questions and do not count."""

    project: Project
    selection: Selection
    ratings: Ratings
    questions: tuple[Question, ...]
    left_out: LeftOut

    def rater(self, question: Question) -> Rater:
        return self.ratings.raters[question.rater]


def base(project: Project, selection: Selection, *, newest: bool = True) -> Base:
    """The verdicts of a selection; without `newest` on all lists, for reports that align raters themselves.

    Raises UsageError for an unknown protocol and for an aspect without verdicts, NotFoundError for an unknown rater.
    """
    raters = project_raters(project.db, project.id)
    asked, named = _asked(project, selection, raters)
    left_out = LeftOut()
    if not named and not selection.readers:
        asked, left_out = _usual(project, asked, raters)
    ratings = load_questions(project.db, project.id, asked, selection.cases)
    ratings = newest_lists(ratings) if newest else ratings
    ratings = _as_crowd(ratings) if selection.crowd else ratings
    return Base(project, selection, ratings, tuple(_ordered(ratings, selection.protocol)), left_out)


def _asked(
    project: Project, selection: Selection, raters: Mapping[str, Rater]
) -> tuple[list[Question], Collection[str]]:
    """The questions of the selection, and the raters it names."""
    if selection.raters and selection.crowd:
        raise UsageError(
            "a figure is about single raters or a crowd, not both", next_step="Leave out one of them."
        )
    for name in selection.raters:
        rater_row(project.db, project.id, name)
    named = selection.raters or _crowd_members(project, selection.crowd, raters)
    protocols = protocols_meeting(selection.protocol)
    every = [
        q for q in project_questions(project.db, project.id) if protocols is None or q.protocol in protocols
    ]
    aspects = sorted({question.aspect for question in every})
    if selection.aspect is not None and aspects and selection.aspect not in aspects:
        raise UsageError(
            f"there are no verdicts on an aspect “{selection.aspect}”", f"Available: {', '.join(aspects)}."
        )
    asked = [q for q in every if selection.aspect in (None, q.aspect) and (not named or q.rater in named)]
    return asked, named


def protocols_meeting(protocol: str | None) -> list[str] | None:
    """The protocols whose verdicts may be used in a report about `protocol`; UsageError for an unknown one."""
    if protocol is None:
        return None
    if protocol not in offered():
        raise UsageError(f"no protocol “{protocol}”", f"Available: {', '.join(offered())}.")
    return list(same_question(protocol))


def _usual(
    project: Project, asked: list[Question], raters: Mapping[str, Rater]
) -> tuple[list[Question], LeftOut]:
    """The questions without those of readers, and of a person with fewer than FEWEST_CASES labels where somebody else has
    as many."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for question in asked:
        by_rater = counts.setdefault(_same(question), {})
        count = count_up_to(project.db, project.id, question, FEWEST_CASES)
        by_rater[question.rater] = min(by_rater.get(question.rater, 0) + count, FEWEST_CASES)
    readers = {q.rater for q in asked if raters[q.rater].kind in READERS}
    few = {
        q
        for q in asked
        if q.rater not in readers
        and raters[q.rater].kind in FIRST_HAND
        and counts[_same(q)][q.rater] < FEWEST_CASES <= max(counts[_same(q)].values())
    }
    kept = [q for q in asked if q.rater not in readers and q not in few]
    return kept, LeftOut(tuple(sorted(readers)), tuple(sorted({q.rater for q in few})))


def _same(question: Question) -> tuple[str, str]:
    """Equal for protocols that ask the same question."""
    return question_of(question.protocol), question.aspect


def _ordered(ratings: Ratings, protocol: str | None) -> list[Question]:
    """By aspect (overall first), judges before people. A judge's verdicts count only under the protocol itself."""
    raters = ratings.raters
    kept = [
        q
        for q in ratings.verdicts
        if protocol in (None, q.protocol) or raters[q.rater].kind not in RUN_RATERS
    ]
    return sorted(kept, key=lambda q: (q.aspect != OVERALL, q.aspect, rank_of(raters[q.rater]), q.protocol))


def rank_of(rater: Rater) -> tuple[int, str]:
    """Judges first, then people, then what is made from others; in a pair the later one is the reference."""
    return RATER_KINDS.index(rater.kind), rater.name


# ---- crowds ----------------------------------------------------------------------------------------------------------


def _crowd_members(project: Project, named: tuple[str, ...], raters: Mapping[str, Rater]) -> list[str]:
    """Raises NotFoundError for an unknown rater, UsageError for fewer than two or for a metric."""
    if not named:
        return []
    everyone = named == (CROWD_OF_ALL,)
    if everyone:
        chosen = [name for name, rater in raters.items() if rater.kind == "annotator"]
    else:
        chosen = list(dict.fromkeys(str(rater_row(project.db, project.id, name)["name"]) for name in named))
    if len(chosen) < 2:
        known = f"There {'is' if len(chosen) == 1 else 'are'} {quantity(len(chosen), 'annotator')}."
        raise UsageError(
            "a crowd needs at least two raters", known if everyone else "", "Name them: --crowd A,B,..."
        )
    for name in chosen:
        if raters[name].of_metrics:
            raise UsageError(f"{name} is a metric, and a crowd is made of raters on one scale")
    return chosen


def _as_crowd(ratings: Ratings) -> Ratings:
    """The verdicts of all raters on a question, as one question of a rater named after their number."""
    alike: dict[tuple[str, str], list[Question]] = {}
    for question in ratings.verdicts:
        alike.setdefault(_same(question), []).append(question)
    verdicts, crowds, raters, earlier = {}, {}, dict(ratings.raters), {}
    for (_, aspect), questions in alike.items():
        members = list(dict.fromkeys(question.rater for question in questions))
        name = f"crowd of {len(members)}"
        parts = [ratings.verdicts[question] for question in questions]
        row = np.concatenate([part.row for part in parts])
        order = np.argsort(row, kind="stable")
        codes = [np.full(p.row.size, members.index(q.rater)) for q, p in zip(questions, parts, strict=True)]
        merged = Question(name, questions[0].protocol, aspect)
        value, flipped = (
            np.concatenate([getattr(part, field) for part in parts])[order] for field in ("value", "flipped")
        )
        verdicts[merged] = Verdicts(row[order], value, flipped)
        crowds[merged] = Crowd(np.concatenate(codes)[order].astype(np.int64), tuple(questions))
        raters[name] = Rater(0, name, "annotator")
        known = [ratings.earlier[question] for question in questions if question in ratings.earlier]
        if known:
            earlier[merged] = EarlierLists(*(sum(counts) for counts in zip(*known, strict=True)))
    return replace(ratings, verdicts=verdicts, crowds=crowds, raters=raters, earlier=earlier)


# ---- battles ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Battles:
    """One question's verdicts on pairs, one row each in the order of the cases. `a` and `b` are indexes into `systems`.

    `outcome` is seen from a: 1, 0, -1, NaN if it failed. `counts` leaves failed ones out; `failed` and `position_ties`
    (systems, systems) count them and are symmetric. `groups` is the number of such tables examined.
    """

    question: Question
    systems: tuple[str, ...]
    a: IntArray
    b: IntArray
    outcome: FloatArray
    user: IntArray
    counts: UserCounts
    failed: IntArray
    position_ties: IntArray
    groups: int = 1

    @property
    def n(self) -> int:
        """The number of verdicts without failed ones."""
        return int(self.counts.total.counts.sum())

    @cached_property
    def tests(self) -> dict[Pair, PairTest]:
        """The test of every pair of systems, the same for all rankings and the matrix of pairs."""
        return pair_tests(self.counts, self.groups)

    @cached_property
    def grid(self) -> FloatArray:
        """Wins, ties and losses (systems, systems, 3) of one system against another."""
        total = self.counts.total
        out = np.zeros((total.systems, total.systems, 3))
        out[total.first, total.second] = total.counts
        out[total.second, total.first] = total.counts[:, ::-1]
        return out

    def met(self, system: int, opponent: int) -> bool:
        """Whether there is a verdict on the two systems, including a failed one."""
        return bool(self.grid[system, opponent].any() or self.failed[system, opponent])


def battles(ratings: Ratings, question: Question, groups: int = 1) -> Battles:
    """The verdicts of one question on pairs, or of a crowd; only the sign of a value counts.

    `groups`: how many such tables are examined; the p values are corrected for this number.
    """
    verdicts, cases = ratings.verdicts[question], ratings.cases
    order: IntArray = np.arange(verdicts.row.size)
    if (np.diff(verdicts.row) < 0).any():
        order = np.argsort(verdicts.row, kind="stable")
    row, outcome, flipped = verdicts.row[order], np.sign(verdicts.value[order]), verdicts.flipped[order]
    both = np.concatenate([cases.system_a[row], cases.system_b[row]])
    codes, size = encode(both)
    names = tuple(cases.systems[place] for place in np.unique(both).tolist())
    a, b, user = codes[: row.size], codes[row.size :], cases.user[row]
    counts = user_counts(a, b, outcome, user, size)
    failed, ties = _meetings(a, b, np.isnan(outcome), size), _meetings(a, b, flipped & (outcome == 0), size)
    return Battles(question, names, a, b, outcome, user, counts, failed, ties, groups)


def _meetings(a: IntArray, b: IntArray, here: BoolArray, size: int) -> IntArray:
    """How often each two systems met in the marked rows (size, size), symmetric."""
    grid = np.bincount(a[here] * size + b[here], minlength=size * size).reshape(size, size)
    return grid + grid.T


# ---- answers ---------------------------------------------------------------------------------------------------------


class BothOrders(NamedTuple):
    """The answers on cases asked in both orders, one row for each sample: in the order a-b and in b-a, 1, 0 or -1 seen
    from system a, NaN if failed; and the case's index."""

    straight: FloatArray
    swapped: FloatArray
    row: IntArray

    def among(self, kept: BoolArray) -> BothOrders:
        """The marked rows only."""
        return BothOrders(self.straight[kept], self.swapped[kept], self.row[kept])


@dataclass(frozen=True)
class Answers:
    """What single calls said on one question, one row each, and judgements imported by order; of each case the rater's
    newest run counts.

    `row`: the case, its index in `cases`; `swapped`: system b was shown first; `value` as in verdicts, NaN if the call
    failed; `run` and `call`: their ids, -1 and 0 if imported. `earlier`: how many about earlier lists are left out.
    """

    project: Project
    question: Question
    cases: CaseColumns
    row: IntArray
    run: IntArray
    sample: IntArray
    swapped: BoolArray
    value: FloatArray
    call: IntArray
    earlier: int = 0

    def among(self, kept: BoolArray) -> Answers:
        """The marked rows only."""
        columns = ("row", "run", "sample", "swapped", "value", "call")
        return replace(self, **{name: getattr(self, name)[kept] for name in columns})

    @property
    def user(self) -> IntArray:
        return self.cases.user[self.row]

    @property
    def failed(self) -> BoolArray:
        return np.isnan(self.value)

    @cached_property
    def took(self) -> CallRows:
        """What the calls took (tokens, cost, time), who answered, and how sure; read when it is first asked for."""
        return load_calls(self.project.db, self.call, self.question.aspect)

    def by_systems(self) -> list[tuple[str, str, Answers]]:
        """The answers on each pair of systems, by name."""
        many = len(self.cases.systems)
        code = self.cases.system_a[self.row] * many + self.cases.system_b[self.row]
        names = self.cases.systems
        return [
            (names[pair // many], names[pair % many], self.among(code == pair)) for pair in np.unique(code)
        ]

    def both_orders(self) -> BothOrders:
        columns = (self.run + 1, self.row, self.sample)
        unit: IntArray = np.zeros(self.row.size, dtype=np.int64)
        for column in columns:
            unit = unit * (int(column.max(initial=0)) + 1) + column
        straight, swapped = np.flatnonzero(~self.swapped), np.flatnonzero(self.swapped)
        _, left, right = np.intersect1d(unit[straight], unit[swapped], return_indices=True)
        said = np.sign(self.value)
        return BothOrders(said[straight[left]], said[swapped[right]], self.row[straight[left]])


def answers(project: Project, protocol: str, *, newest: bool = True) -> list[Answers]:
    """The answers under a protocol by question: overall first, then by aspect, judges before people. About the newest lists
    that the rater judged; without `newest` about all."""
    raters = project_raters(project.db, project.id)
    cases = project.db.kept((load_cases, project.id), partial(load_cases, project.db, project.id))
    every = load_answers(project.db, project.id, protocol, cases)
    order = sorted(every, key=lambda q: (q.aspect != OVERALL, q.aspect, rank_of(raters[q.rater])))
    found = [Answers(project, question, cases, *every[question]) for question in order]
    if not newest or cases.lifetimes is None:
        return found
    current = [
        in_generation(cases.lifetimes, part.row, newest_judged(cases.lifetimes, part.row)) for part in found
    ]
    return [
        replace(part.among(here), earlier=int((~here).sum()))
        for part, here in zip(found, current, strict=True)
    ]


# ---- scores ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """One question's verdicts on single lists or texts, one row each: the system (an index into `systems`), the user and
    the case (codes), and the value, NaN if it failed."""

    question: Question
    systems: tuple[str, ...]
    system: IntArray
    user: IntArray
    case: IntArray
    value: FloatArray

    def of(self, system: int) -> Scores:
        """The rows of one system."""
        here = self.system == system
        return replace(
            self, system=self.system[here], user=self.user[here], case=self.case[here], value=self.value[here]
        )


def scores(ratings: Ratings, question: Question) -> Scores:
    verdicts, cases = ratings.verdicts[question], ratings.cases
    codes, _ = encode(cases.system_a[verdicts.row])
    names = tuple(cases.systems[place] for place in np.unique(cases.system_a[verdicts.row]).tolist())
    return Scores(question, names, codes, cases.user[verdicts.row], verdicts.row, verdicts.value)


def left_out_counts(ratings: Ratings, questions: Iterable[Question]) -> dict[Question, EarlierLists]:
    """By question whose verdicts are not all about the current lists: what was left out."""
    return {question: ratings.earlier[question] for question in questions if question in ratings.earlier}
