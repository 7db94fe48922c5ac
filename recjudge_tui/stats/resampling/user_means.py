"""Means of many measures over users, all with the same resampled users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.estimate import Estimate, Interval, undefined
from recjudge_tui.stats.resampling.intervals import (
    LEVEL,
    ONE_USER,
    RESAMPLES,
    percentile_intervals,
    user_weights,
)


class UserSums(NamedTuple):
    """Sums and numbers of the values of each user (users, measures), NaN left out."""

    sums: FloatArray
    counts: FloatArray


def user_sums(values: Sequence[FloatArray], codes: Sequence[IntArray], users: int) -> UserSums:
    """One column for each of `values` (n,), whose `codes` (n,) from 0 to users-1 say whose they are."""
    sums, counts = np.zeros((users, len(values))), np.zeros((users, len(values)))
    for column, (row, owner) in enumerate(zip(values, codes, strict=True)):
        kept = ~np.isnan(row)
        sums[:, column] = np.bincount(owner[kept], weights=row[kept], minlength=users)
        counts[:, column] = np.bincount(owner[kept], minlength=users)
    return UserSums(sums, counts)


def mean_estimates(
    measured: UserSums, *, resamples: int = RESAMPLES, seed: int = 0, level: float = LEVEL
) -> list[Estimate]:
    """Mean of all values of each measure with a percentile interval over resampled users, each with all their values.

    Users without a value of a measure are left out of it before resampling (`n` counts values, not users). Measures
    with as many values of each user share their resamples. The result equals `intervals.mean_estimate` of the rows.
    """
    by_column: dict[int, Estimate] = {}
    by_counts: dict[bytes, list[int]] = {}
    for column in range(measured.counts.shape[1]):
        by_counts.setdefault(measured.counts[:, column].tobytes(), []).append(column)
    for columns in by_counts.values():
        counts = measured.counts[:, columns[0]]
        kept = counts > 0
        means = _means(measured.sums[kept][:, columns], counts[kept], resamples, seed, level)
        by_column.update(zip(columns, means, strict=True))
    return [by_column[column] for column in range(measured.counts.shape[1])]


def _means(sums: FloatArray, counts: FloatArray, resamples: int, seed: int, level: float) -> list[Estimate]:
    users, measures = sums.shape
    if users == 0:
        return [undefined("no values")] * measures
    if users == 1:
        intervals = [Interval(None, None, ONE_USER)] * measures
    else:
        drawn = [
            weights @ sums / (weights @ counts)[:, None]
            for weights in user_weights(users, resamples, seed, measures)
        ]
        table = np.concatenate(drawn) if drawn else np.zeros((0, measures))
        intervals = percentile_intervals(table, level)
    n = int(counts.sum())
    return [
        Estimate(float(total) / n, interval.low, interval.high, n, note=interval.note)
        for total, interval in zip(sums.sum(axis=0), intervals, strict=True)
    ]
