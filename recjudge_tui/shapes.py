"""From a selection to the arrays that every figure is counted from.

The base is `Ratings`: all cases as columns, and the verdicts of each question (a rater, protocol and aspect) on the newest
lists that its rater judged. Each shape is built here and nowhere else; a report computes on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, islice
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from recjudge_tui.domain.protocols import OVERALL, offered, protocol_facts, question_of, same_question
from recjudge_tui.domain.roles import COMBINED, FIRST_HAND, RATER_KINDS, READERS, RUN_RATERS
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection, Selection
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import NotFoundError, UsageError, check_known
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, encode
from recjudge_tui.stats.hypotheses import Pair, PairTest
from recjudge_tui.stats.ranking import UserCounts, pair_tests, user_counts
from recjudge_tui.store.answers import AnswerRows, CallRows, judged_runs, load_answers, load_calls
from recjudge_tui.store.cases import selected_cases
from recjudge_tui.store.prompts import finer_labels
from recjudge_tui.store.raters import find_rater, rater_row
from recjudge_tui.store.ratings import (
    CaseColumns,
    CaseOccasions,
    Crowd,
    EarlierLists,
    FlaggedLists,
    Question,
    Rater,
    Ratings,
    Verdicts,
    case_occasions,
    count_up_to,
    folded,
    in_generation,
    load_cases,
    load_flags,
    load_questions,
    newest_judged,
    newest_lists,
    of_selection,
    project_questions,
    project_raters,
    run_verdicts,
    stored_scales,
)
from recjudge_tui.store.runs import run_row

if TYPE_CHECKING:
    from recjudge_tui.project import Project

# fewer labels of a person than this count only when asked for
FEWEST_CASES = 10
CROWD_OF_ALL = "all"


Key = TypeVar("Key")
Value = TypeVar("Value")


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Key -> its values in order, the keys as they first come."""
    out: dict[Key, list[Value]] = {}
    for key, value in pairs:
        out.setdefault(key, []).append(value)
    return out


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

    @cached_property
    def nominal(self) -> set[tuple[str, str]]:
        """(protocol, aspect) of the questions that are answered by categories without an order."""
        scales = stored_scales(self.project.db, self.project.id)
        return {where for where, scale in scales.items() if not scale.ordered}


def base(project: Project, selection: Selection, *, newest: bool = True) -> Base:
    """The verdicts of a selection; without `newest` on all lists, for reports that align raters themselves. Raises
    UsageError for an unknown protocol, an aspect without verdicts and a crowd that is none; NotFoundError for an
    unknown rater."""
    raters = project_raters(project.db, project.id)
    if selection.raters and selection.crowd:
        reason = "a figure is about single raters or a crowd, not both"
        raise UsageError(reason, next_step="Leave out one of them.")
    for name in selection.raters:
        rater_row(project.db, project.id, name)
    named = selection.raters or _crowd_members(project, selection.crowd, raters)
    protocols = protocols_meeting(selection.protocol)
    every = project_questions(project.db, project.id)
    every = [q for q in every if protocols is None or q.protocol in protocols]
    check_aspect(every, selection.aspect)
    asked = [q for q in every if selection.aspect in (None, q.aspect) and (not named or q.rater in named)]
    left_out = LeftOut()
    if not named and not selection.readers:
        asked, left_out = usual_questions(project, asked, raters)
    ratings = verdicts_of(project, asked, selection)
    ratings = newest_lists(ratings) if newest else ratings
    ratings = _as_crowd(ratings) if selection.crowd else ratings
    return Base(project, selection, ratings, tuple(_ordered(ratings, selection.protocol)), left_out)


def check_aspect(questions: Iterable[Question], aspect: str | None, under: str = "") -> None:
    """Raises UsageError for an aspect without verdicts, unless there are no verdicts at all."""
    judged = sorted({question.aspect for question in questions})
    if judged and aspect is not None and aspect not in judged:
        reason = f"there are no verdicts on an aspect “{aspect}”{under}"
        raise UsageError(reason, f"Available: {', '.join(judged)}.")


def protocols_meeting(protocol: str | None) -> list[str] | None:
    """The protocols whose verdicts may be used in a report about `protocol`; UsageError for an unknown one."""
    if protocol is None:
        return None
    check_known("protocol", [protocol], offered())
    return list(same_question(protocol))


def usual_questions(
    project: Project, asked: Sequence[Question], raters: Mapping[str, Rater], named: Collection[str] = ()
) -> tuple[list[Question], LeftOut]:
    """The questions without those of readers, and of a person with fewer than FEWEST_CASES labels where somebody else has
    as many; `named` raters count in any case."""
    counts: Counter[tuple[tuple[str, str], str]] = Counter()
    for q in asked:
        counts[_same(q), q.rater] += count_up_to(project.db, project.id, q, FEWEST_CASES)
    enough = {same for (same, _), count in counts.items() if count >= FEWEST_CASES}
    free = [q for q in asked if q.rater not in named]
    readers = {q.rater for q in free if raters[q.rater].kind in READERS}
    people = [q for q in free if q.rater not in readers and raters[q.rater].kind in FIRST_HAND]
    few = {q for q in people if _same(q) in enough and counts[_same(q), q.rater] < FEWEST_CASES}
    kept = [q for q in asked if q.rater not in readers and q not in few]
    return kept, LeftOut(tuple(sorted(readers)), tuple(sorted({q.rater for q in few})))


def _same(question: Question) -> tuple[str, str]:
    """Equal for protocols that ask the same question."""
    return question_of(question.protocol), question.aspect


def _ordered(ratings: Ratings, protocol: str | None) -> list[Question]:
    """By aspect (overall first), judges before people. A judge's verdicts count only under the protocol itself."""
    raters, every = ratings.raters, ratings.verdicts
    kept = [q for q in every if protocol in (None, q.protocol) or raters[q.rater].kind not in RUN_RATERS]
    return sorted(kept, key=lambda q: (q.aspect != OVERALL, q.aspect, rank_of(raters[q.rater]), q.protocol))


def rank_of(rater: Rater) -> tuple[int, str]:
    """Judges first, then people, then what is made from others; in a pair the later one is the reference."""
    return RATER_KINDS.index(rater.kind), rater.name


# ---- crowds ----------------------------------------------------------------------------------------------------------


def _crowd_members(project: Project, named: tuple[str, ...], raters: Mapping[str, Rater]) -> list[str]:
    """Raises NotFoundError for an unknown rater, UsageError for fewer than two or for a metric."""
    if not named:
        return []
    chosen, known = [name for name, rater in raters.items() if rater.kind == "annotator"], ""
    if named == (CROWD_OF_ALL,):
        known = f"There {'is' if len(chosen) == 1 else 'are'} {quantity(len(chosen), 'annotator')}."
    else:
        chosen = list(dict.fromkeys(str(rater_row(project.db, project.id, name)["name"]) for name in named))
    if len(chosen) < 2:
        raise UsageError("a crowd needs at least two raters", known, "Name two or more.")
    for name in chosen:
        if raters[name].of_metrics:
            raise UsageError(f"{name} is a metric, and a crowd is made of raters on one scale")
    return chosen


def _as_crowd(ratings: Ratings) -> Ratings:
    """The verdicts of all raters on a question, as one question of a rater named after their number."""
    alike = grouped((_same(question), question) for question in ratings.verdicts)
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
    """One question's verdicts on pairs, one row each in the order of the cases. `a` and `b` are indexes into
    `systems`. `outcome` is seen from a: 1, 0, -1, NaN if it failed. `counts` leaves failed ones out; `failed` and
    `position_ties` (systems, systems) count them and are symmetric. `groups` is the number of such tables
    examined."""

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
    """The verdicts of one question on pairs, or of a crowd; only the sign of a value counts. `groups`: how many such
    tables are examined; the p values are corrected for this number."""
    verdicts, cases = ratings.verdicts[question], ratings.cases
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
class Answers(AnswerRows):
    """What single calls said on one question; `earlier`: how many about earlier lists are left out."""

    project: Project
    question: Question
    cases: CaseColumns
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
        names, many = self.cases.systems, len(self.cases.systems)
        code = self.cases.system_a[self.row] * many + self.cases.system_b[self.row]
        met = np.unique(code)
        return [(names[pair // many], names[pair % many], self.among(code == pair)) for pair in met]

    def both_orders(self) -> BothOrders:
        columns = (self.run + 1, self.row, self.sample)
        unit: IntArray = np.zeros(self.row.size, dtype=np.int64)
        for column in columns:
            unit = unit * (int(column.max(initial=0)) + 1) + column
        straight, swapped = np.flatnonzero(~self.swapped), np.flatnonzero(self.swapped)
        _, left, right = np.intersect1d(unit[straight], unit[swapped], return_indices=True)
        said = np.sign(self.value)
        return BothOrders(said[straight[left]], said[swapped[right]], self.row[straight[left]])


def answers(
    project: Project, protocol: str, *, newest: bool = True, within: CaseSelection = EVERY_CASE
) -> list[Answers]:
    """The answers under a protocol by question: overall first, then by aspect, judges before people. About the newest lists
    that the rater judged; without `newest` about all."""
    raters = project_raters(project.db, project.id)
    cases = project.db.kept((load_cases, project.id), partial(load_cases, project.db, project.id))
    every = load_answers(project.db, project.id, protocol, cases)
    order = sorted(every, key=lambda q: (q.aspect != OVERALL, q.aspect, rank_of(raters[q.rater])))
    found = [Answers(**vars(every[q]), project=project, question=q, cases=cases) for q in order]
    if newest and cases.lifetimes is not None:
        for at, part in enumerate(found):
            here = in_generation(cases.lifetimes, part.row, newest_judged(cases.lifetimes, part.row))
            found[at] = replace(part.among(here), earlier=int((~here).sum()))
    if within != EVERY_CASE:
        chosen = np.isin(cases.ids, selected_cases(project.db, project.id, within).ids)
        found = [part.among(chosen[part.row]) for part in found]
    return found


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
            self, **{name: getattr(self, name)[here] for name in ("system", "user", "case", "value")}
        )


def scores(ratings: Ratings, question: Question) -> Scores:
    verdicts, cases = ratings.verdicts[question], ratings.cases
    codes, _ = encode(cases.system_a[verdicts.row])
    names = tuple(cases.systems[place] for place in np.unique(cases.system_a[verdicts.row]).tolist())
    return Scores(question, names, codes, cases.user[verdicts.row], verdicts.row, verdicts.value)


# ---- items -----------------------------------------------------------------------------------------------------------


# flags belong to a whole answer, not to a single aspect
FLAGS = "flags"
ANY_ISSUE = "any"


@dataclass(frozen=True)
class Items:
    """The items of the single lists that raters judged, and their flags. `lists` has a row for each item (its case
    and rank), the issues by name, and the flags of each of `questions`: a rater that was asked for flags, under a
    protocol. In `ratings` the value of such a question is 1 where the rater judged the list, NaN where all of its
    verdicts failed. `silent`: raters who gave no flag and were asked for none. An issue is its index, None for
    any."""

    project: Project
    selection: Selection
    ratings: Ratings
    questions: tuple[Question, ...]
    lists: FlaggedLists
    silent: tuple[str, ...] = ()

    @cached_property
    def current(self) -> Base:
        """The same verdicts on the newest lists that each rater judged."""
        newest = newest_lists(self.ratings)
        return Base(self.project, self.selection, newest, self.questions, LeftOut())

    @property
    def case(self) -> IntArray:
        """The case of each item."""
        return self.lists.items.row

    @property
    def rank(self) -> IntArray:
        """The rank of each item in its list, from 1."""
        return self.lists.items.rank

    @property
    def user(self) -> IntArray:
        """The user of each item."""
        return self.ratings.cases.user[self.case]

    def issue(self, name: str) -> int | None:
        """The index of an issue in any spelling; None for ANY_ISSUE. Raises UsageError for one that nobody flags."""
        known = [ANY_ISSUE, *map(folded, self.lists.issues)]
        if folded(name) not in known:
            available = ", ".join([ANY_ISSUE, *self.lists.issues])
            raise UsageError(f"no rater flags an issue “{name}”", f"Available: {available}.")
        return known.index(folded(name)) - 1 if folded(name) != ANY_ISSUE else None

    def shown(self, question: Question) -> BoolArray:
        """By item, whether the rater was shown it."""
        return np.asarray(self.rank <= self.lists.of[question].depth[self.case])

    def flagged(self, question: Question, issue: int | None = None) -> BoolArray:
        """By item, whether the rater flagged it."""
        flags = self.lists.of[question]
        here = (flags.item >= 0) & ((flags.issue == issue) if issue is not None else True)
        mask = np.zeros(self.case.size, dtype=np.bool_)
        mask[flags.item[here]] = True
        return mask

    def cases_flagged(self, question: Question, issue: int | None = None) -> BoolArray:
        """By case, whether the rater flagged anything in its list."""
        flags = self.lists.of[question]
        mask = np.zeros(self.ratings.cases.ids.size, dtype=np.bool_)
        mask[flags.row if issue is None else flags.row[flags.issue == issue]] = True
        return mask


def items(project: Project, selection: Selection) -> Items:
    """The flags of the raters of a selection under the protocols that judge single lists, judges before people, on
    all lists that they judged. Raises UsageError for an unknown protocol or one that judges no single lists,
    NotFoundError for an unknown rater."""
    protocols_meeting(selection.protocol)
    if selection.protocol is not None and protocol_facts(selection.protocol).unit != "list":
        raise UsageError(
            f"{selection.protocol} does not judge single lists, and flags are about single lists"
        )
    every = base(project, replace(selection, readers=True), newest=False)
    loaded = every.ratings
    # raters made from others and metrics have no flags
    of_lists = [(q, every.rater(q)) for q in every.questions if protocol_facts(q.protocol).unit == "list"]
    own = ((q, rater) for q, rater in of_lists if rater.kind not in COMBINED and not rater.of_metrics)
    raters = {Question(q.rater, q.protocol, FLAGS): rater for q, rater in own}
    lists = load_flags(project.db, project.id, loaded.cases, raters)
    order = sorted(raters, key=lambda q: (q.protocol, rank_of(raters[q])))
    questions = tuple(question for question in order if lists.of[question].asked)
    silent = dict.fromkeys(question.rater for question in order if question not in questions)
    verdicts = {}
    for question in questions:
        alike = [part for known, part in loaded.verdicts.items() if known[:2] == question[:2]]
        row, value = (np.concatenate([getattr(part, name) for part in alike]) for name in ("row", "value"))
        judged = np.unique(row)
        known = np.where(np.isin(judged, row[~np.isnan(value)]), 1.0, np.nan)
        verdicts[question] = Verdicts(judged, known, np.zeros(judged.size, dtype=np.bool_))
    return Items(project, selection, replace(loaded, verdicts=verdicts), questions, lists, tuple(silent))


# ---- pairs of raters -------------------------------------------------------------------------------------------------

ABSENT, OK, FAILED = 0, 1, 2


class Meeting(NamedTuple):
    """Two raters on one question of `protocol` about `aspect`; b is the reference. A metric has no aspect."""

    a: Question
    b: Question
    protocol: str
    aspect: str

    @property
    def where(self) -> str:
        return f"{self.protocol}, {self.aspect}"

    @property
    def cells(self) -> dict[str, object]:
        """What it is about, as cells of a table."""
        return {"protocol": self.protocol, "aspect": self.aspect}


@dataclass(frozen=True)
class Orientation:
    """The side from which pairs of lists are seen: a value is a preference, above 0 for A. It never depends on which
    system's name sorts first. `turn` (cases,) is -1 where the value as stored is seen from the other side. `view`: ""
    no pairs; `pair`: all are about the systems `a` and `b`; `baseline`: `b` is in every pair, A is the other system;
    `both`: no system is in every pair, so each case counts from both sides, half each."""

    view: Literal["", "pair", "baseline", "both"]
    turn: FloatArray
    a: str = ""
    b: str = ""

    @property
    def mirrored(self) -> bool:
        """Whether each case counts from both sides."""
        return self.view == "both"

    def words(self) -> str:
        """What A and B mean; empty without pairs."""
        return {
            "": "",
            "pair": f"A is {self.a}, B is {self.b}",
            "baseline": f"B is {self.b}, which is in every pair; A is the other system",
            "both": "each pair counts from both sides, with each of its systems as A, so no figure depends on names",
        }[self.view]

    def both_sides(self, seen: FloatArray) -> FloatArray:
        """The oriented values (..., cases), twice where cases count from both sides: once from each."""
        return np.concatenate([seen, 0.0 - seen], axis=-1) if self.mirrored else seen

    def labels(self, labels: Sequence[float] | None) -> list[float] | None:
        """The label set, on pairs with the mirror of each label."""
        if labels is None or not self.view:
            return None if labels is None else list(labels)
        return sorted({*labels, *(0.0 - label for label in labels)})


def orientation(first: IntArray, second: IntArray, is_pair: BoolArray, systems: Sequence[str]) -> Orientation:
    """How cases about the systems `first` and `second` (places in `systems`, in the order of names) are seen."""
    turn = np.ones(first.size)
    if not is_pair.any():
        return Orientation("", turn)
    met = np.unique(np.stack([first[is_pair], second[is_pair]]), axis=1)
    if met.shape[1] == 1:
        return Orientation("pair", turn, systems[met[0, 0]], systems[met[1, 0]])
    common = [int(code) for code in np.unique(met) if ((met == code).any(axis=0)).all()]
    if not common:
        return Orientation("both", turn)
    turn[is_pair & (first == common[0])] = -1.0
    return Orientation("baseline", turn, "", systems[common[0]])


def seen_from(cases: CaseColumns, row: IntArray) -> Orientation:
    """How these cases are seen."""
    return orientation(cases.system_a[row], cases.system_b[row], cases.is_pair[row], cases.systems)


@dataclass(frozen=True)
class Side:
    """One rater's verdicts; `fill` replaces failed ones, with `absent_too` also missing ones: a case that a judge was never
    asked about is not missing."""

    verdicts: Verdicts
    fill: float | None = None
    absent_too: bool = False


@dataclass(frozen=True)
class Pairs:
    """Several raters on the cases that at least one of them was asked about, on the newest lists that most of them
    judged together: what is missing stays visible. `row` (cases,): places in `cases`; `stored`, `state` (raters,
    cases): values, NaN if missing, and ABSENT, OK or FAILED. `filled` (raters,) counts values put in for missing
    ones. `other`: places of cases of other lists, `later` of them newer."""

    cases: CaseColumns
    row: IntArray
    stored: FloatArray
    state: IntArray
    filled: tuple[int, ...]
    other: IntArray
    later: int = 0

    @cached_property
    def seen(self) -> Orientation:
        """The side from which these cases are seen."""
        return seen_from(self.cases, self.row)

    @cached_property
    def matrix(self) -> FloatArray:
        """The values (raters, cases), pairs of lists from their common side."""
        # adding 0 turns -0 into 0
        return self.stored * self.seen.turn + 0.0

    @property
    def x(self) -> FloatArray:
        return np.asarray(self.matrix[0])

    @property
    def y(self) -> FloatArray:
        return np.asarray(self.matrix[1])

    @property
    def n(self) -> int:
        return int(self.row.size)

    @property
    def user(self) -> IntArray:
        return self.cases.user[self.row]

    @property
    def users(self) -> int:
        return int(np.unique(self.user).size)

    def groups(self, level: str) -> IntArray | None:
        """The group of each case at a level: `user`, or `pair` of a user and an item; None for all together."""
        if level == "dataset":
            return None
        return {"user": self.cases.user, "pair": self.cases.pair}[level][self.row]

    def among(self, kept: BoolArray) -> Pairs:
        """The marked cases, seen from the side that these have in common."""
        return replace(self, row=self.row[kept], stored=self.stored[:, kept], state=self.state[:, kept])

    @cached_property
    def complete(self) -> Pairs:
        """The cases with a value of every rater."""
        return self.judged_by(self.stored.shape[0])

    @property
    def wide(self) -> FloatArray:
        """The values as stored (raters, all cases), NaN where there is none."""
        out = np.full((self.stored.shape[0], self.cases.ids.size), np.nan)
        out[:, self.row] = self.stored
        return out

    def judged_by(self, fewest: int) -> Pairs:
        """The cases with a value of at least so many raters."""
        return self.among(np.asarray((~np.isnan(self.stored)).sum(axis=0) >= fewest))

    @property
    def left_out(self) -> list[str]:
        """How many cases are left out because they are about other lists."""
        return generation_notes(self.other.size - self.later, self.later)

    def lacking(self, names: Sequence[str]) -> list[str]:
        """What is missing from each of the named raters, and the cases left out."""
        notes = []
        hole = np.isnan(self.stored)
        for at, name in enumerate(names):
            counts = (
                (int((hole[at] & (self.state[at] == ABSENT)).sum()), f"not judged by {name}: left out"),
                (int((hole[at] & (self.state[at] == FAILED)).sum()), f"where {name} failed: left out"),
                (self.filled[at], f"missing from {name}: filled with the given value"),
            )
            notes += [f"{n:,} of {self.n:,} cases ({n / self.n:.1%}) {what}" for n, what in counts if n]
        return notes + self.left_out


def generation_notes(earlier: int, later: int) -> list[str]:
    """How many cases are left out because their lists are not those that a figure is about."""
    notes = [f"{quantity(earlier, 'case')} of earlier lists left out"] if earlier else []
    of_later = f"{quantity(later, 'case')} of later lists, which not all of them judged, left out"
    return notes + ([of_later] if later else [])


def pairs(cases: CaseColumns, sides: Sequence[Side], within: BoolArray | None = None) -> Pairs:
    """The sides side by side; `within` (a mask over `cases`) restricts them to some cases."""
    values = np.full((len(sides), cases.ids.size), np.nan)
    state = np.full(values.shape, ABSENT, dtype=np.int64)
    for at, side in enumerate(sides):
        values[at, side.verdicts.row] = side.verdicts.value
        state[at, side.verdicts.row] = np.where(np.isnan(side.verdicts.value), FAILED, OK)
    met: BoolArray = (state != ABSENT).any(axis=0)
    if within is not None:
        met &= within
    other, later = np.zeros(0, dtype=np.int64), 0
    if cases.lifetimes is not None and met.any():
        asked = np.flatnonzero(met)
        judged_by = (state[:, asked] != ABSENT).sum(axis=0)
        # the newest lists are the same with and without a selection
        newest = newest_judged(cases.lifetimes, asked[judged_by == judged_by.max()])
        other = asked[~in_generation(cases.lifetimes, asked, newest)]
        met[other] = False
        other = other if cases.selected is None else other[cases.selected[other]]
        later = int((cases.lifetimes.since[other] > newest).sum())
    if cases.selected is not None:
        met &= cases.selected
    row = np.flatnonzero(met)
    values, state = values[:, row], state[:, row]
    filled = []
    for at, side in enumerate(sides):
        holes = (state[at] == FAILED) | ((state[at] == ABSENT) & side.absent_too)
        holes &= side.fill is not None
        values[at, holes] = side.fill
        filled.append(int(holes.sum()))
    return Pairs(cases, row, values, state, tuple(filled), other, later)


def system_parts(cases: CaseColumns, *sides: Verdicts) -> Iterator[tuple[str, BoolArray]]:
    """Each system, or pair of systems, that one of the sides was asked about, with the mask of its cases."""
    met = np.concatenate([of_selection(cases, side).row for side in sides])
    code = cases.system_a * len(cases.systems) + np.where(cases.is_pair, cases.system_b, 0)
    for pair_code in np.unique(code[met]):
        mask = code == pair_code
        at = int(np.argmax(mask))
        name = cases.systems[cases.system_a[at]]
        yield (f"{name} vs {cases.systems[cases.system_b[at]]}" if cases.is_pair[at] else name), mask


@dataclass(frozen=True)
class Met(Base):
    """Which raters meet on which questions, with their verdicts on every list. `truth`: the reference of all;
    `fills`: the values that replace a missing truth and a failed verdict of another rater. `questions`: all that were
    considered."""

    truth: str | None
    fills: tuple[float | None, float | None]
    meetings: tuple[Meeting, ...]

    def side(self, question: Question) -> Side:
        """A rater's verdicts, with what replaces missing ones. For a person, a case never asked about is missing, too."""
        verdicts = self.ratings.verdicts[question]
        if question.rater == self.truth:
            return Side(verdicts, self.fills[0], absent_too=True)
        return Side(verdicts, self.fills[1], self.ratings.raters[question.rater].kind not in RUN_RATERS)

    def pairs(self, meeting: Meeting, within: BoolArray | None = None) -> Pairs:
        """The two raters of a meeting, the first one as x."""
        y = self.side(meeting.b)
        if self.truth != meeting.b.rater and self.ratings.raters[meeting.b.rater].kind not in RUN_RATERS:
            y = replace(y, fill=None)
        return pairs(self.ratings.cases, (self.side(meeting.a), y), within)

    def parts(self, meeting: Meeting) -> Iterator[tuple[str, Pairs]]:
        """The pairs of a meeting by system, or pair of systems."""
        sides = (self.ratings.verdicts[question] for question in (meeting.a, meeting.b))
        for system, within in system_parts(self.ratings.cases, *sides):
            yield system, self.pairs(meeting, within)


def meet(
    project: Project,
    selection: Selection,
    truth: str | None = None,
    *,
    fills: tuple[float | None, float | None] = (None, None),
) -> Met:
    """The raters of a selection and the truth, if one is named, on the questions that two of them answered. Raises
    UsageError for an unknown protocol, an aspect without verdicts and a fill that is not a number or off the scale,
    NotFoundError for an unknown rater."""
    raters = project_raters(project.db, project.id)
    for name in (*selection.raters, *([truth] if truth else [])):
        rater_row(project.db, project.id, name)
    protocols_meeting(selection.protocol)
    every = project_questions(project.db, project.id)
    asked = under_protocol(every, raters, selection.protocol)
    check_aspect(asked, selection.aspect, f" under {selection.protocol}" if selection.protocol else "")
    questions, left_out = every, LeftOut()
    if not selection.raters and not selection.readers:
        questions, left_out = usual_questions(project, every, raters, [truth] if truth else [])
        about = {q.rater for q in asked if q not in questions}
        left_out = LeftOut(*(tuple(name for name in names if name in about) for names in left_out))
    found = meetings(questions, raters, selection, truth)
    ratings = verdicts_of(project, (q for meeting in found for q in meeting[:2]), selection)
    return Met(project, selection, ratings, tuple(questions), left_out, truth, fills, tuple(found))


def under_protocol(
    questions: Iterable[Question], raters: Mapping[str, Rater], protocol: str | None
) -> list[Question]:
    """The questions of a protocol: by the protocol itself for judges, by its question for other raters. None: all."""
    if protocol is None:
        return list(questions)
    same = [q for q in questions if question_of(q.protocol) == question_of(protocol)]
    return [q for q in same if q.protocol == protocol or raters[q.rater].kind not in RUN_RATERS]


def meetings(
    questions: Iterable[Question], raters: Mapping[str, Rater], selection: Selection, truth: str | None = None
) -> list[Meeting]:
    """Every two raters on one scale and aspect, by protocol, aspect and rater; with a truth everyone with it. A
    metric meets every aspect that others judged on its kind of case, and other metrics."""
    named = (*selection.raters, truth)
    wanted = [q for q in questions if not selection.raters or q.rater in named]
    metrics = [q for q in wanted if raters[q.rater].of_metrics]
    asked = under_protocol(wanted, raters, selection.protocol)
    by_question = grouped((_same(q), q) for q in asked if selection.aspect in (None, q.aspect))
    out: list[Meeting] = []
    for same, aspect in sorted(by_question, key=lambda of: (of[0], of[1] != OVERALL, of[1])):
        alike = by_question[same, aspect]
        others = [q for q in alike if not raters[q.rater].of_metrics]
        unit = protocol_facts(same).unit
        beside = [q for q in metrics if protocol_facts(q.protocol).unit == unit] if others else alike
        names = {q.protocol for q in others or alike}
        protocol = selection.protocol or (names.pop() if len(names) == 1 else same)
        for a, b in combinations(sorted({*others, *beside}, key=lambda q: rank_of(raters[q.rater])), 2):
            if raters[a.rater].of_metrics and raters[b.rater].of_metrics and not {a, b} <= set(alike):
                continue
            if truth == a.rater:
                a, b = b, a
            if a.rater != b.rater and truth in (None, b.rater):
                out.append(Meeting(a, b, protocol, aspect))
    return out


def verdicts_of(project: Project, questions: Iterable[Question], selection: Selection) -> Ratings:
    """The verdicts on every list; finer labels count as the label that they roll up to, unless `selection.fine`."""
    ratings = load_questions(project.db, project.id, questions, selection.cases)
    if selection.fine:
        return ratings
    every = ratings.verdicts.items()
    rolled = {q: _rolled_up(project, ratings.raters[q.rater], q, own) for q, own in every}
    return replace(ratings, verdicts=rolled)


def _rolled_up(project: Project, rater: Rater, question: Question, verdicts: Verdicts) -> Verdicts:
    coarse = finer_labels(project.db, project.id, question.protocol, question.aspect)
    if not coarse or rater.of_metrics or rater.kind in COMBINED:
        return verdicts
    value = verdicts.value.copy()
    for finer, label in coarse.items():
        value[verdicts.value == finer] = label
    return replace(verdicts, value=value)


# ---- raters and runs, one after another ------------------------------------------------------------------------------

RUN = "run:"
# from the finest to the coarsest: each pairs whatever the one before it pairs
Rule = Literal["case", "occasion", "user"]
_SIDES = ("the later run", "the earlier run")


class Source(NamedTuple):
    """What a word such as `qwen` or `run:14` names: all verdicts of a rater, or those of one of its runs."""

    name: str
    rater: str
    rater_id: int
    run_id: int | None
    protocol: str | None

    def answers(self, question: Question) -> bool:
        """Whether this side has verdicts on the question; a run has one protocol."""
        return question.rater == self.rater and self.protocol in (None, question.protocol)

    def verdicts(self, project: Project, ratings: Ratings, question: Question) -> Verdicts:
        """Its verdicts on a question; those of a run even where a later run has replaced them."""
        if self.run_id is None:
            return ratings.verdicts[question]
        own = run_verdicts(project.db, self.run_id, question.aspect, ratings.cases)
        return _rolled_up(project, ratings.raters[self.rater], question, own)


def source(project: Project, word: str) -> Source:
    """The rater of this name, else the run `run:ID`; raises NotFoundError, UsageError for an ID that is no number."""
    if not word.startswith(RUN) or find_rater(project.db, project.id, word) is not None:
        return Source(word, word, rater_row(project.db, project.id, word)["id"], None, None)
    number = word.removeprefix(RUN)
    if not (number.isascii() and number.isdigit()) or len(number) > 18:
        raise UsageError(f"“{word}” is not a run", next_step="Write a run as run:14.")
    run = run_row(project.db, int(number))
    if run["project_id"] != project.id:
        raise NotFoundError(
            f"run {number} belongs to project {run['project']}", next_step="Name that project."
        )
    name = f"{run['rater']} (run {run['id']})"
    return Source(name, run["rater"], run["rater_id"], run["id"], run["protocol"])


@dataclass(frozen=True)
class Matched:
    """A later and an earlier run's verdicts, each on the newest lists that it judged, paired by the finest rule that pairs
    at least half of the users of both: `case`, the same lists; `occasion`, lists of the same systems for a user in the same
    context and at the same time; `user`, the same without the time. `runs`: their ids, None for all of a rater.
    """

    cases: CaseColumns
    occasions: CaseOccasions
    later: Verdicts
    earlier: Verdicts
    rule: Rule
    runs: tuple[int | None, int | None] = (None, None)

    @cached_property
    def keys(self) -> IntArray:
        """By case: equal for two verdicts that are compared; -1 for cases that neither judged."""
        rows = np.union1d(self.later.row, self.earlier.row)
        keys = np.full(self.cases.ids.size, -1)
        if self.rule == "case":
            keys[rows] = np.arange(rows.size)
            return keys
        cases, context = self.cases, self.occasions.context
        columns = [cases.user, cases.pair, cases.system_a, cases.system_b, cases.is_pair, context]
        if self.rule == "occasion":
            columns.append(self.occasions.served_at)
        among = np.stack([column[rows] for column in columns])
        keys[rows] = np.unique(among, axis=1, return_inverse=True)[1].reshape(-1)
        return keys

    @cached_property
    def paired(self) -> tuple[Verdicts, Verdicts]:
        """The later and the earlier verdicts that have a counterpart."""
        later, earlier = self.keys[self.later.row], self.keys[self.earlier.row]
        return self.later.among(np.isin(later, earlier)), self.earlier.among(np.isin(earlier, later))

    @property
    def users(self) -> int:
        """The number of users with a pair."""
        return np.unique(self.cases.user[self.paired[0].row]).size

    @property
    def left_out(self) -> int:
        """The number of verdicts without a counterpart."""
        return self.later.row.size + self.earlier.row.size - sum(side.row.size for side in self.paired)

    def words(self) -> str:
        """How many are paired, and which are left out."""
        later, earlier = self.paired
        out = []
        for name, side, kept in zip(_SIDES, (self.later, self.earlier), self.paired, strict=True):
            if without := side.row.size - kept.row.size:
                users = np.unique(self.cases.user[side.row]).size - self.users
                alone = f" ({quantity(users, 'user')} that only it judged)" if users else ""
                out.append(f"{quantity(without, 'case')} of {name}{alone}")
        pairs = f"{quantity(self.users, 'user')} paired, {quantity(later.row.size, 'case')} with {earlier.row.size:,} before"
        return f"{pairs}; left out: {' and '.join(out) or 'none'}"

    @property
    def rule_text(self) -> str:
        if self.rule == "case":
            return "by case: both judged the same lists"
        if self.rule == "occasion":
            return "by occasion: other lists, same context and time"
        timed = self.occasions.served_at[np.concatenate([self.later.row, self.earlier.row])].any()
        return "by user: lists of other times, averaged by context" if timed else "by user: the lists differ"

    def values(self, of: Callable[[Verdicts], FloatArray]) -> tuple[FloatArray, FloatArray, IntArray]:
        """Of each key the mean of the later and of the earlier values that `of` takes from verdicts (NaN: not counted), and
        the user."""
        size = int(self.keys.max(initial=-1)) + 1
        users = np.zeros(size, dtype=np.int64)
        users[self.keys[self.keys >= 0]] = self.cases.user[self.keys >= 0]
        means = []
        for side in (self.later, self.earlier):
            value = of(side)
            kept = ~np.isnan(value)
            at = self.keys[side.row[kept]]
            n = np.bincount(at, minlength=size)
            total = np.bincount(at, weights=value[kept], minlength=size)
            means.append(np.where(n > 0, total / np.maximum(n, 1), np.nan))
        return means[0], means[1], users

    def beside(self, truth: Verdicts) -> tuple[list[tuple[FloatArray, FloatArray, IntArray]], Orientation]:
        """The later and the earlier verdicts beside the truth (value, truth, user), each on its own lists, over the keys
        that have both, all seen from one side."""
        given = np.full(self.cases.ids.size, np.nan)
        given[truth.row] = truth.value
        sides = [v.among(~np.isnan(v.value) & ~np.isnan(given[v.row])) for v in (self.later, self.earlier)]
        common = np.intersect1d(self.keys[sides[0].row], self.keys[sides[1].row])
        sides = [side.among(np.isin(self.keys[side.row], common)) for side in sides]
        seen = seen_from(self.cases, np.concatenate([side.row for side in sides]))
        turns = np.split(seen.turn, [sides[0].row.size])
        return [
            (side.value * turn, given[side.row] * turn, self.cases.user[side.row])
            for side, turn in zip(sides, turns, strict=True)
        ], seen


def check_sides(later: Source, earlier: Source) -> None:
    """Raises UsageError for one run twice, and for a rater beside one of its own runs."""
    if later.rater != earlier.rater or later.run_id is earlier.run_id is None:
        return
    if later.run_id == earlier.run_id:
        raise UsageError(f"{later.name} cannot be compared with itself", "Name another run.")
    if later.run_id is None or earlier.run_id is None:
        reason = f"{later.name} cannot be compared with {earlier.name}: the run is one of its own"
        raise UsageError(reason, "Name two runs, or the rater twice.")


def matched_sides(
    project: Project, ratings: Ratings, later: Source, earlier: Source, question: Question
) -> Matched | None:
    """Two sides on a question of the later one; None if one has no verdicts. `ratings`: the verdicts on every list. A
    rater beside itself: its newest lists beside those that they replaced, or its newest run beside the run before,
    whichever has more users in common."""
    occasions = case_occasions(project.db, project.id, ratings.cases.ids)
    cases, verdicts = ratings.cases, ratings.verdicts[question]
    if later != earlier:
        same = question._replace(rater=earlier.rater)
        if same not in ratings.verdicts or not earlier.answers(same):
            return None
        before = earlier.verdicts(project, ratings, same)
        found = _matched(cases, occasions, verdicts, before)
        return replace(found, runs=(later.run_id, earlier.run_id)) if before.row.size else None
    replaced = None
    if cases.lifetimes is not None:
        newest = newest_judged(cases.lifetimes, verdicts.row)
        others = verdicts.among(~in_generation(cases.lifetimes, verdicts.row, newest))
        # some list that it judged was replaced
        if others.row.size:
            older = newest_judged(cases.lifetimes, others.row)
            replaced = _matched(cases, occasions, verdicts, verdicts, older)
    runs = reversed(judged_runs(project.db, later.rater_id, question.protocol))
    own = ((x.id, later._replace(run_id=x.id).verdicts(project, ratings, question)) for x in runs)
    of_runs = list(islice((run for run in own if run[1].row.size), 2))
    if len(of_runs) < 2:
        return replaced
    (new_id, new), (old_id, old) = of_runs
    by_run = _matched(cases, occasions, new, old)
    if replaced is not None:
        of_newest = replaced.later.among(np.isin(replaced.later.row, new.row))
        if replace(replaced, later=of_newest).users >= by_run.users:
            return replaced
    return replace(by_run, runs=(new_id, old_id))


def _matched(
    cases: CaseColumns, occasions: CaseOccasions, later: Verdicts, earlier: Verdicts, older: int | None = None
) -> Matched:
    """Each on the newest lists that it judged, or the earlier ones on the lists of the generation `older`."""
    may_share = True
    if cases.lifetimes is not None:
        newest = newest_judged(cases.lifetimes, later.row)
        older = newest_judged(cases.lifetimes, earlier.row) if older is None else older
        later = later.among(in_generation(cases.lifetimes, later.row, newest))
        earlier = earlier.among(in_generation(cases.lifetimes, earlier.row, older))
        may_share = newest == older
    by_case, by_occasion, by_user = (
        Matched(cases, occasions, later, earlier, rule) for rule in get_args(Rule)
    )
    # lists of unknown times are of no common occasion, only of one user
    timed = bool(occasions.served_at[later.row].any() and occasions.served_at[earlier.row].any())
    finer = [by_case] * may_share + [by_occasion] * timed
    # a few cases judged twice must not stand for all the others
    return next((one for one in finer if 0 < by_user.users <= 2 * one.users), by_user)
