"""Changes from an earlier run to a later one: case by case on the same lists, else by occasion, else user by user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.orientation import labels_seen, orientation
from recjudge_tui.stats.agreement import Change, RatedCases, agreement_change, mean_change
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.estimate import join_notes, undefined
from recjudge_tui.stats.intervals import SHARE
from recjudge_tui.store.verdicts.generations import CaseOccasions, in_generation, newest_judged
from recjudge_tui.store.verdicts.ratings import CaseColumns, Verdicts

# from the finest to the coarsest: each pairs whatever the one before it pairs
Rule = Literal["case", "occasion", "user"]
BY_CASE = "by case: both judged the same lists"
BY_OCCASION = "by occasion: other lists, same context and time"
BY_USER = "by user: the lists differ"
BY_USER_OVER_TIME = "by user: lists of other times, averaged by context"
NO_CASE, NO_USER = "no case that both runs were asked about", "no user and systems that both runs judged"
# verdicts -> (values, kept): the value of each verdict to average, and a mask of those that count
Seen = Callable[[Verdicts], tuple[FloatArray, FloatArray]]


class PairedCounts(NamedTuple):
    """How many users (and cases) of the two runs are paired, and how many users (and cases) of each are left out: users
    without any pair, cases without a counterpart.
    """

    users: int
    later: int
    earlier: int
    later_users_out: int
    earlier_users_out: int
    later_out: int
    earlier_out: int

    def words(self) -> str:
        paired = f"{quantity(self.users, 'user')} paired, {quantity(self.later, 'case')} with {self.earlier:,} before"
        sides = (
            (self.later_out, self.later_users_out, "the later run"),
            (self.earlier_out, self.earlier_users_out, "the earlier run"),
        )
        left_out = " and ".join(
            f"{quantity(cases, 'case')} of {run}"
            + (f" ({quantity(users, 'user')} that only it judged)" if users else "")
            for cases, users, run in sides
            if cases
        )
        return f"{paired}; left out: {left_out or 'none'}"


@dataclass(frozen=True)
class ComparedRuns:
    """The verdicts of a later and an earlier run on the newest lists that each judged, and the rule by which they are
    matched: `case`, the same lists; `occasion`, lists by the same systems for a user in the same context and at the
    same time; `user`, the same without the time.
    """

    cases: CaseColumns
    occasions: CaseOccasions
    later: Verdicts
    earlier: Verdicts
    rule: Rule

    @cached_property
    def keys(self) -> IntArray:
        """By case: a key that is equal for two verdicts that are compared; -1 for cases that neither run judged."""
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
    def paired(self) -> tuple[BoolArray, BoolArray]:
        """Masks of the later and of the earlier verdicts that have a counterpart in the other run."""
        later, earlier = self.keys[self.later.row], self.keys[self.earlier.row]
        return np.isin(later, earlier), np.isin(earlier, later)

    @property
    def users(self) -> int:
        """The number of users with a pair."""
        return np.unique(self.cases.user[self.later.row[self.paired[0]]]).size

    @property
    def counts(self) -> PairedCounts:
        of_user = self.cases.user
        both = np.unique(of_user[self.later.row[self.paired[0]]])
        later_users, earlier_users = (np.unique(of_user[side.row]) for side in (self.later, self.earlier))
        here = [int(mask.sum()) for mask in self.paired]
        return PairedCounts(
            both.size, here[0], here[1], later_users.size - both.size, earlier_users.size - both.size,
            self.later.row.size - here[0], self.earlier.row.size - here[1],
        )  # fmt: skip

    @property
    def rule_text(self) -> str:
        """The rule for a person."""
        if self.rule == "user":
            rows = np.concatenate([self.later.row, self.earlier.row])
            return BY_USER_OVER_TIME if self.occasions.served_at[rows].any() else BY_USER
        return BY_CASE if self.rule == "case" else BY_OCCASION


class Draw(NamedTuple):
    resamples: int
    seed: int
    level: float


def compared_runs(
    cases: CaseColumns, occasions: CaseOccasions, later: Verdicts, earlier: Verdicts
) -> ComparedRuns:
    """The two runs, each on the newest lists that it judged."""
    newest, older = (_generation(cases, side) for side in (later, earlier))
    sides = _of_generation(cases, later, newest), _of_generation(cases, earlier, older)
    return _matched(cases, occasions, *sides, may_share=newest == older)


def replaced_lists(cases: CaseColumns, occasions: CaseOccasions, verdicts: Verdicts) -> ComparedRuns | None:
    """A rater's verdicts on its newest lists, and those on the lists before them; None if no list that it judged
    was replaced.
    """
    lifetimes = cases.lifetimes
    if lifetimes is None:
        return None
    newest = _generation(cases, verdicts)
    others = verdicts.among(~in_generation(lifetimes, verdicts.row, newest))
    if not others.row.size:
        return None
    before = _of_generation(cases, verdicts, _generation(cases, others))
    return _matched(cases, occasions, _of_generation(cases, verdicts, newest), before, may_share=False)


def _generation(cases: CaseColumns, verdicts: Verdicts) -> int:
    return 0 if cases.lifetimes is None else newest_judged(cases.lifetimes, verdicts.row)


def _of_generation(cases: CaseColumns, verdicts: Verdicts, generation: int) -> Verdicts:
    if cases.lifetimes is None:
        return verdicts
    return verdicts.among(in_generation(cases.lifetimes, verdicts.row, generation))


def _matched(
    cases: CaseColumns, occasions: CaseOccasions, later: Verdicts, earlier: Verdicts, *, may_share: bool
) -> ComparedRuns:
    """Paired by the finest rule that pairs at least half of the users whom both runs judged: a few cases judged twice
    must not stand for all the others.
    """
    finest, *coarser = (ComparedRuns(cases, occasions, later, earlier, rule) for rule in get_args(Rule))
    by_user = coarser[-1]
    if may_share and _holds(finest, by_user):
        return finest
    # lists of unknown times are of no common occasion, only of one user
    timed = bool(occasions.served_at[later.row].any() and occasions.served_at[earlier.row].any())
    return coarser[0] if timed and _holds(coarser[0], by_user) else by_user


def _holds(runs: ComparedRuns, by_user: ComparedRuns) -> bool:
    return 0 < by_user.users <= 2 * runs.users


def change_of_means(runs: ComparedRuns, seen: Seen, draw: Draw) -> Change:
    """The change of the mean of the value that `seen` takes from each verdict, 0..1; several verdicts of one key are
    averaged.
    """
    keys = runs.keys
    size = int(keys.max(initial=-1)) + 1
    sides = [_by_key(side, seen, keys, size) for side in (runs.later, runs.earlier)]
    users = np.zeros(size, dtype=np.int64)
    users[keys[keys >= 0]] = runs.cases.user[keys >= 0]
    change = mean_change(sides[0], sides[1], users, SHARE, **draw._asdict())
    if change.later is None:
        return Change(None, None, undefined(NO_CASE if runs.rule == "case" else NO_USER))
    return change


def _by_key(verdicts: Verdicts, seen: Seen, keys: IntArray, size: int) -> FloatArray:
    values, counts = seen(verdicts)
    kept = counts.astype(np.bool_) & ~np.isnan(values)
    at = keys[verdicts.row[kept]]
    n = np.bincount(at, minlength=size)
    total = np.bincount(at, weights=values[kept], minlength=size)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def change_of_agreement(
    runs: ComparedRuns, truth: Verdicts, labels: list[float] | None, stat: str, draw: Draw
) -> Change:
    """The change of the agreement with the truth, each run on its own lists, over the users of both."""
    given = np.full(runs.cases.ids.size, np.nan)
    given[truth.row] = truth.value
    keys = runs.keys
    labelled = [_labelled(side, given) for side in (runs.later, runs.earlier)]
    common = np.intersect1d(keys[labelled[0].row], keys[labelled[1].row])
    shared = [each.among(np.isin(keys[each.row], common)) for each in labelled]
    # both runs are seen from the same side
    seen = orientation(runs.cases, np.concatenate([side.row for side in shared]))
    turns = np.split(seen.turn, [shared[0].row.size])
    later, earlier = (
        RatedCases(side.value * turn, given[side.row] * turn, runs.cases.user[side.row])
        for side, turn in zip(shared, turns, strict=True)
    )
    change = agreement_change(
        later, earlier, labels_seen(labels, seen), stat, mirrored=seen.mirrored, **draw._asdict()
    )
    return replace(change, change=replace(change.change, note=join_notes(change.change.note, seen.words())))


def _labelled(verdicts: Verdicts, given: FloatArray) -> Verdicts:
    return verdicts.among(~np.isnan(verdicts.value) & ~np.isnan(given[verdicts.row]))
