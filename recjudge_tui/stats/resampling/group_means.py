"""Means of many groups of rows, such as the days of a year, and of many measures of the same users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray, Ids, IntArray, as_floats, encode, ratio, rows_of
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Estimate, Interval, join_notes, undefined
from recjudge_tui.stats.resampling.design_effect import mean_squares
from recjudge_tui.stats.resampling.intervals import (
    NOT_REQUESTED,
    Bounds,
    check_bounds,
    count_interval,
    interval_of,
)
from recjudge_tui.stats.resampling.jackknife import Spread, spreads
from recjudge_tui.stats.resampling.unseen import Distances, distances, with_unseen

_MOST_CELLS = 20_000_000


class Cells(NamedTuple):
    """The rows of each user in each group that has any: the group of a cell, the sum and the number of its rows, and the
    sum of their squared distances from the group's mean."""

    group: IntArray
    total: FloatArray
    size: FloatArray
    squares: FloatArray


def group_means(
    values: npt.ArrayLike,
    users: Ids,
    groups: IntArray,
    count: int,
    bounds: Bounds | None = None,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> list[Estimate]:
    """Mean over the rows of each group 0..count-1 with its interval; `Estimate.groups` counts the group's users.

    `values`, `users` and `groups` have one entry per row; NaN rows are left out and counted in the note. Equal to
    `intervals.mean_estimate` of each group's rows. `resamples=0` gives no intervals.

    Vectorised: 1,800,000 rows of 1,000 users in 1,800 groups take about a second.
    """
    array = as_floats(values)
    kept = ~np.isnan(array)
    row, group = array[kept], np.asarray(groups)[kept]
    check_bounds(row, bounds)
    codes, people = encode(rows_of(users, kept))
    missing = np.bincount(np.asarray(groups)[~kept], minlength=count)
    means = np.bincount(group, weights=row, minlength=count) / np.maximum(
        np.bincount(group, minlength=count), 1
    )
    cells = _cells(codes * count + group, row, (row - means[group]) ** 2, people * count, count)
    away = None if bounds is None else distances(row, group, count)
    estimates = _estimates(cells, away, [bounds] * count, resamples, level)
    return [
        _with_missing(estimate, int(left_out)) for estimate, left_out in zip(estimates, missing, strict=True)
    ]


def _cells(cell: IntArray, values: FloatArray, squares: FloatArray, cells: int, groups: int) -> Cells:
    if cells <= _MOST_CELLS:
        filled, at = np.flatnonzero(np.bincount(cell, minlength=cells)).astype(np.int64), cell
    else:
        filled, at = np.unique(cell, return_inverse=True)
        at = at.reshape(-1)
        cells = filled.size
    total, size, apart = (
        np.bincount(at, weights=part, minlength=cells).astype(np.float64)
        for part in (values, np.ones(values.size), squares)
    )
    if at is cell:
        total, size, apart = total[filled], size[filled], apart[filled]
    return Cells(filled % max(groups, 1), total, size, apart)


def _with_missing(estimate: Estimate, missing: int) -> Estimate:
    if not missing:
        return estimate
    note = join_notes(estimate.note, f"{missing} missing left out")
    return Estimate(
        estimate.value, estimate.ci_low, estimate.ci_high, estimate.n, groups=estimate.groups, note=note
    )


class UserSums(NamedTuple):
    """Sums and numbers of the values of each user (users, measures), NaN left out, the sums of their squared distances
    from the measure's mean, and the distances of each measure's values from their median (measures,)."""

    sums: FloatArray
    counts: FloatArray
    squares: FloatArray
    away: Distances


def user_sums(values: Sequence[FloatArray], codes: Sequence[IntArray], users: int) -> UserSums:
    """One column for each of `values` (n,), where `codes` (n,) from 0 to users-1 are the users of the values."""
    sums, counts, squares = (np.zeros((users, len(values))) for _ in range(3))
    away = []
    for column, (row, owner) in enumerate(zip(values, codes, strict=True)):
        kept = ~np.isnan(row)
        here, known = owner[kept], row[kept]
        sums[:, column] = np.bincount(here, weights=known, minlength=users)
        counts[:, column] = np.bincount(here, minlength=users)
        squares[:, column] = mean_squares(known, here, users)
        away.append(distances(known, np.zeros(known.size, dtype=np.int64), 1))
    return UserSums(sums, counts, squares, Distances(*np.concatenate([np.zeros((5, 0)), *away], axis=1)))


def mean_estimates(
    measured: UserSums, bounds: Sequence[Bounds | None], *, resamples: int = RESAMPLES, level: float = LEVEL
) -> list[Estimate]:
    """Mean of all values of each measure with its interval; `n` counts values, not users.

    `bounds`: the lowest and the highest value of each measure. Equal to `intervals.mean_estimate` of its rows.
    """
    owner, group = np.nonzero(measured.counts)
    sums, counts, squares, away = measured
    cells = Cells(group.astype(np.int64), *(part[owner, group] for part in (sums, counts, squares)))
    estimates = _estimates(cells, away, bounds, resamples, level)
    return [Estimate(e.value, e.ci_low, e.ci_high, e.n, note=e.note) for e in estimates]


def _estimates(
    cells: Cells, away: Distances | None, bounds: Sequence[Bounds | None], resamples: int, level: float
) -> list[Estimate]:
    count = len(bounds)
    users = np.bincount(cells.group, minlength=count)
    size = np.bincount(cells.group, weights=cells.size, minlength=count).astype(np.float64)
    total = np.bincount(cells.group, weights=cells.total, minlength=count).astype(np.float64)
    means = ratio(total, size)
    known_ends = np.array([known is not None for known in bounds], dtype=np.bool_)
    counted: BoolArray = known_ends & (users > 1) & (_extremes(cells, bounds) == users)
    spread: list[Spread] = []
    if resamples and not counted.all():
        # counts need no spread, and most rows of a year of verdicts are counts
        spread = _spreads(_cells_of(cells, ~counted), users, size, total, means)
    estimates = []
    for at in range(count):
        n, known = int(size[at]), bounds[at]
        if n == 0:
            estimates.append(undefined("no values"))
            continue
        if not resamples:
            interval = Interval(None, None, NOT_REQUESTED)
        elif known is not None and counted[at]:
            interval = count_interval(int(users[at]), float(means[at]), known, level)
        else:
            interval = interval_of(float(means[at]), spread[at], known, level)
            if known is not None and away is not None:
                interval = with_unseen(interval, away, at, int(users[at]), level)
        estimates.append(
            Estimate(
                float(means[at]),
                interval.low,
                interval.high,
                n,
                groups=int(users[at]),
                note=interval.note,
            )
        )
    return estimates


def _cells_of(cells: Cells, groups: BoolArray) -> Cells:
    """The cells of these groups only."""
    if groups.all():
        return cells
    kept = groups[cells.group]
    return Cells(cells.group[kept], cells.total[kept], cells.size[kept], cells.squares[kept])


def _spreads(
    cells: Cells, users: IntArray, size: FloatArray, total: FloatArray, means: FloatArray
) -> list[Spread]:
    """The jackknife's spread of each group's mean, without a pass over the rows for each user."""
    here = cells.group
    without = ratio(total[here] - cells.total, size[here] - cells.size)
    influence = np.where(users[here] > 1, (users[here] - 1) * (means[here] - without), 0.0)
    scale = np.abs(np.where(size > 0, means, 0.0))
    return spreads(influence, here, scale, cells.size, cells.squares)


def _extremes(cells: Cells, bounds: Sequence[Bounds | None]) -> IntArray:
    """How many cells of each group have only the lowest or only the highest value; 0 if users have unequal numbers of
    rows.
    """
    ends = np.array([(np.nan, np.nan) if known is None else known for known in bounds]).reshape(-1, 2)
    low, high = ends[cells.group].T
    mean = cells.total / cells.size
    counts = np.bincount(cells.group[(mean == low) | (mean == high)], minlength=len(bounds))
    largest = np.zeros(len(bounds))
    np.maximum.at(largest, cells.group, cells.size)
    uneven = np.unique(cells.group[cells.size != largest[cells.group]])
    counts[uneven] = 0
    return counts.astype(np.int64)
