"""Counts of the changes between two raters on one question, and the test that fits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from recjudge_tui.reports.common.comparison import AlignedVerdicts
from recjudge_tui.reports.common.orientation import Orientation, both_sides, orientation
from recjudge_tui.stats.agreement import Change, mean_change
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.stats.hypotheses import NOTHING_CHANGED, bowker, sign_test, stuart_maxwell, users_for_each
from recjudge_tui.stats.intervals import Bounds
from recjudge_tui.store.verdicts.ratings import CaseColumns

MCNEMAR, STUART_MAXWELL, SIGN = "McNemar, exact", "Stuart-Maxwell", "sign, exact"
SIGN_OVER_USERS = "sign over users, exact"
NO_SIDE = (
    "pairs of several systems have no common side, so changes have no direction to test; by system they have"
)
UNORDERED = "some users have several cases, and changes between categories have no direction by which a user counts once"
NO_USER_CHANGED = "no user has more changes in one direction than in the other"
NONE_IN_COMMON = "no case has a verdict from both"
# with fewer changes, chi-squared is only approximate
_FEW = 25


class Line(Protocol):
    """The ends of a label or a band; both belong to it."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


@dataclass(frozen=True)
class Tally:
    """n cases on which both have a value: `changed` of them differ, `up` and `down` count the directions.

    `users_up` and `users_down` count the users with more cases up than down, and with fewer.
    `only_a` and `only_b` count the cases that the other side was not asked about, `failed` those where either side
    failed; all outside n. `counts` (from, to) is by lines of the grid. `labelled`: all values are labels; `ordered`:
    they are not categories. `seen`: the side from which pairs are seen; pairs without a common side are in `counts`
    twice.
    """

    n: int
    users: int
    up: int
    down: int
    users_up: int
    users_down: int
    only_a: int
    only_b: int
    failed: int
    counts: IntArray
    labelled: bool
    ordered: bool
    means: Change
    seen: Orientation

    @property
    def changed(self) -> int:
        return self.up + self.down

    @property
    def directed(self) -> bool:
        """Whether a rise and a fall of the value mean something."""
        return self.ordered and not self.seen.mirrored


class Finding(NamedTuple):
    """`p` is None if there is nothing to test; `note` says why."""

    name: str | None = None
    statistic: float | None = None
    df: int | None = None
    p: float | None = None
    p_symmetry: float | None = None
    note: str = ""


def tallied(
    met: AlignedVerdicts,
    cases: CaseColumns,
    lines: Sequence[Line],
    labelled: bool,
    resamples: int,
    seed: int,
    *,
    ordered: bool = True,
    bounds: Bounds | None = None,
) -> Tally:
    """The counts of two aligned sides; `ordered` is false for values that are codes of categories, `bounds` are the lowest
    and the highest value."""
    (a, b), (status_a, status_b) = met.values, met.status
    both = met.included & (status_a == 1) & (status_b == 1)
    rows = np.flatnonzero(both)
    seen = orientation(cases, rows)
    left, right, user = a[rows] * seen.turn, b[rows] * seen.turn, cases.user[rows]
    users_up, users_down = users_for_each(right, left, user)
    return Tally(
        n=rows.size,
        users=int(np.unique(user).size),
        up=int((right > left).sum()),
        down=int((right < left).sum()),
        users_up=users_up,
        users_down=users_down,
        only_a=int((met.included & (status_b == 0)).sum()),
        only_b=int((met.included & (status_a == 0)).sum()),
        failed=int((met.included & (status_a > 0) & (status_b > 0) & ~both).sum()),
        counts=_counts(both_sides(a[rows], seen), both_sides(b[rows], seen), lines),
        labelled=labelled,
        ordered=ordered,
        means=mean_change(right, left, user, bounds),
        seen=seen,
    )


def _counts(a: FloatArray, b: FloatArray, lines: Sequence[Line]) -> IntArray:
    counts = np.zeros((len(lines), len(lines)), dtype=np.int64)
    if lines:
        at_a, at_b = (_places(side, lines) for side in (a, b))
        np.add.at(counts, (at_a, at_b), 1)
    return counts


def _places(values: FloatArray, lines: Sequence[Line]) -> IntArray:
    """The line of each value; lines are in descending order and leave no gap between values."""
    lows = np.array([line.low for line in lines])[::-1]
    places: IntArray = len(lines) - np.searchsorted(lows, values, side="right")
    return places


def fitting_test(tally: Tally, incomparable: str = "") -> Finding:
    """The test that fits: see `tables.summary_table`. `incomparable` is the reason why no test is possible, if any."""
    if incomparable or tally.n == 0:
        return Finding(note=incomparable or NONE_IN_COMMON)
    # a test of categories has no difference of means, so there is no missing interval to explain
    about_means = tally.means.change.note if tally.ordered else ""
    if tally.changed == 0:
        return Finding(note=join_notes(NOTHING_CHANGED, about_means))
    if tally.seen.mirrored:
        return Finding(note=NO_SIDE)
    exact = sign_test(tally.users_up, tally.users_down)
    off = tally.counts - np.diag(np.diag(tally.counts))
    between_two = int(((off + off.T).sum(axis=0) > 0).sum()) == 2
    if tally.users < tally.n:
        if not (tally.ordered or between_two):
            return Finding(note=UNORDERED)
        if exact is None:
            return Finding(note=join_notes(NO_USER_CHANGED, about_means))
        return Finding(SIGN_OVER_USERS, p=exact, note=about_means)
    if not tally.labelled:
        return Finding(SIGN, p=exact, note=about_means)
    if between_two:
        return Finding(MCNEMAR, p=exact, note=about_means)
    margins, symmetry = stuart_maxwell(tally.counts), bowker(tally.counts)
    few = (
        f"only {tally.changed} cases changed, so chi-squared is only approximate"
        if tally.changed < _FEW
        else ""
    )
    return Finding(
        STUART_MAXWELL,
        margins.statistic,
        margins.df,
        margins.p,
        symmetry.p,
        join_notes(few, about_means),
    )
