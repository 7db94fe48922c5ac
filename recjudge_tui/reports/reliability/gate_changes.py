"""Changes from an earlier run to a later one: case by case on the same lists, user by user on other lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from recjudge_tui.reports.common.orientation import labels_seen, orientation
from recjudge_tui.stats.agreement.change import Change, RatedCases, agreement_change, mean_change
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.estimate import join_notes, undefined
from recjudge_tui.stats.resampling.intervals import SHARE
from recjudge_tui.store.verdicts.generations import in_generation, newest_judged
from recjudge_tui.store.verdicts.ratings import CaseColumns, Verdicts

Rule = Literal["case", "user"]
BY_CASE, BY_USER = "by case: both judged the same lists", "by user: the lists differ"
NO_CASE, NO_USER = "no case that both runs were asked about", "no user and systems that both runs judged"
# verdicts -> (values, kept): the value of each verdict to average, and a mask of those that count
Seen = Callable[[Verdicts], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class ComparedRuns:
    """The verdicts of a later and an earlier run on the newest lists that each judged, and the rule by which they are
    matched. The rule is `case` if these are the same lists, else `user`: a user's lists by the same systems in the
    same context.
    """

    cases: CaseColumns
    contexts: IntArray
    later: Verdicts
    earlier: Verdicts
    rule: Rule

    @property
    def keys(self) -> IntArray:
        """By case: a key that is equal for two verdicts that are compared."""
        if self.rule == "case":
            return np.arange(self.cases.ids.size)
        cases = self.cases
        columns = (cases.user, cases.pair, cases.system_a, cases.system_b, cases.is_pair, self.contexts)
        return np.unique(np.stack(columns), axis=1, return_inverse=True)[1].reshape(-1)


class Draw(NamedTuple):
    resamples: int
    seed: int
    level: float


def compared_runs(
    cases: CaseColumns, contexts: IntArray, later: Verdicts, earlier: Verdicts, *, same_rater: bool = False
) -> ComparedRuns:
    """The two runs, each on the newest lists that it judged.

    With `same_rater`, the earlier run is the rater's verdicts on the lists before its newest ones; None if it judged
    no others.
    """
    lifetimes = cases.lifetimes
    if lifetimes is None:
        before = earlier.among(np.zeros(earlier.row.size, dtype=np.bool_)) if same_rater else earlier
        rule: Rule = "case" if np.intersect1d(later.row, before.row).size else "user"
        return ComparedRuns(cases, contexts, later, before, rule)
    newest = newest_judged(lifetimes, later.row)
    before_it = earlier.row
    if same_rater:
        before_it = before_it[~in_generation(lifetimes, before_it, newest)]
    older = newest_judged(lifetimes, before_it)
    kept = in_generation(lifetimes, earlier.row, older) & bool(before_it.size)
    before = earlier.among(kept)
    after = later.among(in_generation(lifetimes, later.row, newest))
    same = newest == older and bool(np.intersect1d(after.row, before.row).size)
    return ComparedRuns(cases, contexts, after, before, "case" if same else "user")


def change_of_means(runs: ComparedRuns, seen: Seen, draw: Draw) -> Change:
    """The change of the mean of the value that `seen` takes from each verdict, 0..1; several verdicts of one key are
    averaged.
    """
    keys = runs.keys
    size = int(keys.max()) + 1 if keys.size else 0
    sides = [_by_key(side, seen, keys, size) for side in (runs.later, runs.earlier)]
    users = np.zeros(size, dtype=np.int64)
    users[keys] = runs.cases.user
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
