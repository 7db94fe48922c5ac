"""Means of many groups of rows, such as the days of a year, all with the same resampled users."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import FloatArray, Ids, IntArray, as_floats, encode, ratio, rows_of
from recjudge_tui.stats.estimate import Estimate, Interval, join_notes, undefined
from recjudge_tui.stats.resampling.intervals import (
    LEVEL,
    ONE_USER,
    RESAMPLES,
    percentile_intervals,
    user_weights,
)

# above this share of filled cells, a table of users by groups is multiplied faster than its filled cells alone
_DENSE_FROM = 0.1
_MOST_CELLS = 20_000_000


def group_means(
    values: npt.ArrayLike,
    users: Ids,
    groups: IntArray,
    count: int,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> list[Estimate]:
    """Mean over the rows of each group 0..count-1, with a percentile interval over resampled users.

    `values`, `users` and `groups` have one entry per row; NaN rows are left out and counted in the note. One resample
    draws users from all users of all groups, so the groups share their draws; a resample in which a group has no row
    is undefined for it. A group whose rows belong to one user has no interval. With one group the result equals
    `intervals.mean_estimate`. `groups` counts users.

    Vectorised: 1,800,000 rows of 1,000 users in 1,800 groups take about a second.
    """
    array = as_floats(values)
    kept = ~np.isnan(array)
    row, group = array[kept], np.asarray(groups)[kept]
    codes, people = encode(rows_of(users, kept))
    missing = np.bincount(np.asarray(groups)[~kept], minlength=count)
    n = np.bincount(group, minlength=count)
    means = ratio(np.bincount(group, weights=row, minlength=count).astype(np.float64), n.astype(np.float64))
    cell, total, size = _cells(codes * count + group, row, people * count)
    members = np.bincount(cell % max(count, 1), minlength=count)
    drawn = _resampled(cell, total, size, people, count, resamples, seed)
    return [
        _estimate(means[g], interval, int(n[g]), int(members[g]), int(missing[g]))
        for g, interval in enumerate(percentile_intervals(drawn, level))
    ]


def _cells(cell: IntArray, values: FloatArray, cells: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """The cells that have rows, in order, with the sum and the number of the rows of each."""
    if cells <= _MOST_CELLS:
        size = np.bincount(cell, minlength=cells)
        filled = np.flatnonzero(size).astype(np.int64)
        total = np.bincount(cell, weights=values, minlength=cells).astype(np.float64)
        return filled, total[filled], size[filled].astype(np.float64)
    filled, at = np.unique(cell, return_inverse=True)
    filled = filled.astype(np.int64)
    at = at.reshape(-1)
    size = np.bincount(at, minlength=filled.size)
    total = np.bincount(at, weights=values, minlength=filled.size).astype(np.float64)
    return filled, total, size.astype(np.float64)


def _estimate(mean: float, resampled: Interval, n: int, users: int, missing: int) -> Estimate:
    left_out = f"{missing} missing left out" if missing else ""
    if n == 0:
        return undefined(join_notes("no values", left_out))
    interval = Interval(None, None, ONE_USER) if users < 2 else resampled
    note = join_notes(interval.note, left_out)
    return Estimate(float(mean), interval.low, interval.high, n, groups=users, note=note)


def _resampled(
    cell: IntArray, total: FloatArray, size: FloatArray, users: int, groups: int, resamples: int, seed: int
) -> FloatArray:
    """The means (resamples, groups) over resampled users; NaN where none of a group's users was drawn.

    `cell` is user * groups + group, with the sum and the number of the rows of each.
    """
    if not cell.size or users < 2:
        return np.full((resamples, groups), np.nan)
    summed = _products(cell, total, users, groups)
    if cell.size == users * groups and (size == size[0]).all():
        # every user has as many rows in every group, so the number of rows drawn is always the same
        parts = [summed(w) / (users * size[0]) for w in user_weights(users, resamples, seed)]
    else:
        counted = _products(cell, size, users, groups)
        parts = [ratio(summed(w), counted(w)) for w in user_weights(users, resamples, seed)]
    return np.concatenate(parts) if parts else np.zeros((0, groups))


def _products(
    cell: IntArray, values: FloatArray, users: int, groups: int
) -> Callable[[FloatArray], FloatArray]:
    """Weights (r, users) -> weights @ table (r, groups), where `table` holds the values at their cells."""
    filled = cell.size / (users * groups)
    if filled >= _DENSE_FROM and users * groups <= _MOST_CELLS:
        table = np.zeros(users * groups)
        table[cell] = values
        dense = table.reshape(users, groups)
        return lambda weights: weights @ dense
    from scipy.sparse import csr_matrix

    sparse = csr_matrix((values, (cell % groups, cell // groups)), shape=(groups, users))
    return lambda weights: np.asarray((sparse @ weights.T).T)
