"""Homogeneity bias: whether a judge prefers uniform lists more than people do, on the same lists."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement.left_out import fewer_groups, left_out_weights, user_groups
from recjudge_tui.stats.agreement.weighted_cells import make_cells, spearman
from recjudge_tui.stats.arrays import FloatArray, Ids, IntArray, as_floats, encode, ratio, rows_of
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.intervals import sums_by_user
from recjudge_tui.stats.resampling.intervals import (
    FEW_USERS,
    FEWEST_USERS,
    NOT_REQUESTED,
    interval_of,
    sums_interval,
)
from recjudge_tui.stats.resampling.jackknife import spread_of

FEWEST_CASES = 3
NO_SPREAD = "all lists are equally uniform"
CONSTANT = "a rater gave one value throughout, so there is no rank correlation"
_ROUNDING = 1e-12


@dataclass(frozen=True)
class HomogeneityBias:
    """The association of each rater's ratings with uniformity, and the difference judge - people.

    Slopes are rating points between a list of entirely different items (uniformity 0) and one of identical items (1).
    `rank` is the difference of Spearman's rho, which has no unit.
    """

    slope_judge: float | None
    slope_people: float | None
    difference: Estimate
    rank: Estimate


def homogeneity_bias(
    uniformity: npt.ArrayLike,
    judge: npt.ArrayLike,
    people: npt.ArrayLike,
    users: Ids,
    groups: Ids | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> HomogeneityBias:
    """Does `judge` rate uniform lists higher than `people` do, on the same lists? Each array has one value per list.

    With ratings y of list i by rater r, y = a_i + b·[judge] + c·u_i + d·u_i·[judge]: d, the interaction of
    uniformity u with the rater, is the difference of the two least-squares slopes,
    d = sum (u_i - mean u)(j_i - p_i) / sum (u_i - mean u)², where the lists' own quality cancels out. d > 0: the
    judge favours uniform lists more than people do. With `groups` (the systems), the group's mean is subtracted
    from u and from j - p: differences between whole systems, in uniformity or in the judge's ratings, then do not
    count. `rank` = rho(u, judge) - rho(u, people), over all lists and not by group. Intervals by the jackknife over
    users. Rows with a missing value (NaN) are left out and counted in the note; undefined with fewer than 3
    lists, or if all are equally uniform.

    Sources: the interaction of a rater with a property of what is rated, Dubois et al., 2024 (on the length of
    texts); the bias itself, Liu et al., SIGIR 2026.
    """
    u, j, p = as_floats(uniformity), as_floats(judge), as_floats(people)
    if not u.size == j.size == p.size:
        raise ValueError("every list needs its uniformity and both ratings")
    kept = ~(np.isnan(u) | np.isnan(j) | np.isnan(p))
    left_out = int((~kept).sum())
    missing = f"{left_out} of {kept.size} lists left out: a value is missing" if left_out else ""
    codes, count = encode(rows_of(users, kept))
    parts, sets = encode(rows_of(np.zeros(kept.size, dtype=np.int64) if groups is None else groups, kept))
    rows = _Rows(u[kept], j[kept], p[kept], codes, count, parts, sets, resamples, seed, level)
    reason = f"fewer than {FEWEST_CASES} lists" if rows.u.size < FEWEST_CASES else ""
    if not reason and not _varied(rows):
        reason = NO_SPREAD if groups is None else f"within each system {NO_SPREAD}"
    if reason:
        nothing = undefined(join_notes(reason, missing), rows.u.size)
        return HomogeneityBias(None, None, nothing, nothing)
    return HomogeneityBias(
        _slope_value(rows, rows.judge),
        _slope_value(rows, rows.people),
        _slope(rows, missing),
        _rank(rows, missing),
    )


@dataclass(frozen=True)
class _Rows:
    """Complete lists with coded users and groups (`parts`, 0..sets-1), and how to resample them."""

    u: FloatArray
    judge: FloatArray
    people: FloatArray
    users: IntArray
    user_count: int
    parts: IntArray
    sets: int
    resamples: int
    seed: int
    level: float


def _varied(rows: _Rows) -> bool:
    """Whether uniformity differs anywhere within a group."""
    sample = np.zeros(rows.sets)
    sample[rows.parts] = rows.u
    return bool((rows.u != sample[rows.parts]).any())


def _moments(rows: _Rows, y: FloatArray) -> FloatArray:
    """The terms whose sums give the slope within groups, five rows for each group: (5 · sets, n)."""
    u = rows.u - rows.u.mean()
    columns = np.stack([np.ones(u.size), u, y, u * u, u * y])
    return np.concatenate([columns * (rows.parts == part) for part in range(rows.sets)])


def _within(sums: FloatArray, sets: int) -> FloatArray:
    """Pooled slope within groups (r,) from sums (r, 5 · sets); NaN without variation."""
    n, u, y, uu, uy = (sums.reshape(sums.shape[0], sets, 5)[:, :, at] for at in range(5))
    size = np.maximum(n, 1)
    across: FloatArray = (uy - u * y / size).sum(axis=1)
    spread: FloatArray = (uu - u * u / size).sum(axis=1)
    return ratio(across, np.where(spread <= _ROUNDING * uu.sum(axis=1), 0.0, spread))


def _slope_value(rows: _Rows, y: FloatArray) -> float | None:
    slope = float(_within(_moments(rows, y).sum(axis=1)[None, :], rows.sets)[0])
    if math.isnan(slope):
        return None
    # a slope below the rounding error of its terms is 0
    return slope if abs(slope) * float(np.ptp(rows.u)) > _ROUNDING * float(np.abs(y).max(initial=0)) else 0.0


def _slope(rows: _Rows, missing: str) -> Estimate:
    gap = rows.judge - rows.people
    value = _slope_value(rows, gap)
    if value is None:
        return undefined(join_notes(NO_SPREAD, missing), rows.u.size)
    ends = sums_interval(
        sums_by_user(_moments(rows, gap), rows.users, rows.user_count),
        lambda sums: _within(sums, rows.sets),
        row_counts=np.bincount(rows.users),
        resamples=rows.resamples,
        seed=rows.seed,
        level=rows.level,
    )
    return Estimate(value, ends.low, ends.high, rows.u.size, note=join_notes(ends.note, missing))


def _rank(rows: _Rows, missing: str) -> Estimate:
    """The difference of the raters' Spearman's rho with uniformity; ranks are recomputed without each user."""
    n = rows.u.size
    sides = [_RankSide(rows.u, values) for values in (rows.judge, rows.people)]
    once = np.ones((1, n))
    judge, people = (None if math.isnan(rho := float(side.rho(once)[0])) else rho for side in sides)
    if judge is None or people is None:
        return undefined(join_notes(CONSTANT, missing), n)
    value = judge - people
    if not rows.resamples or rows.user_count < FEWEST_USERS:
        reason = FEW_USERS if rows.resamples else NOT_REQUESTED
        return Estimate(value, None, None, n, note=join_notes(reason, missing))
    groups, count = user_groups(rows.users, rows.user_count, n, rows.resamples, rows.seed)
    without = np.concatenate(
        [
            sides[0].rho(weights) - sides[1].rho(weights)
            for weights in left_out_weights(n, np.arange(n), groups, count)
        ]
    )
    spread = spread_of(value, without[1:], np.bincount(rows.users))
    ends = interval_of(value, spread, (-2.0, 2.0), rows.level)
    note = join_notes(ends.note, fewer_groups(rows.user_count, count), missing)
    return Estimate(value, ends.low, ends.high, n, note=note)


class _RankSide:
    """Spearman's rho of two columns for many weightings of their rows."""

    def __init__(self, u: FloatArray, y: FloatArray) -> None:
        self._cells, of_row = make_cells(u, y)
        self._order = np.argsort(of_row, kind="stable")
        self._starts = np.searchsorted(of_row[self._order], np.arange(self._cells.a.size))

    def rho(self, weights: FloatArray) -> FloatArray:
        """From weights (r, n) to (r,), NaN where undefined."""
        return spearman(np.add.reduceat(weights[:, self._order], self._starts, axis=1), self._cells)
