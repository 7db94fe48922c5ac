"""What a sample of few users does not show: users whose rows nearly all have a value that is rare among those seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recjudge_tui.stats.arrays import FloatArray, IntArray, ratio
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Interval


def unseen_share(n: float, level: float = LEVEL) -> float:
    """The largest share of all users that a sample of n would still show none of, with probability (1 - level) / 2."""
    return float(1 - ((1 - level) / 2) ** (1 / n))


class Distances(NamedTuple):
    """How far the rows of each group are from their median (groups,): the `middle`, the mean distances d `above` and
    `below` it over all rows, and the usual distance of a row that is above (`up`) or below (`down`), E d² / E d; 0 without
    such rows."""

    middle: FloatArray
    above: FloatArray
    below: FloatArray
    up: FloatArray
    down: FloatArray


def distances(rows: FloatArray, groups: IntArray, count: int, weights: FloatArray | None = None) -> Distances:
    """The distances of the rows (n,) of the groups 0..count-1; each row stands for `weights` (n,) rows, one by default.

    The median is the upper one of an even number. NaN for a group without rows.
    """
    many = np.ones(rows.size) if weights is None else weights
    order = np.lexsort((rows, groups))
    size = np.bincount(groups, weights=many, minlength=count).astype(np.float64)
    up_to = np.cumsum(many[order])
    half = np.cumsum(size) - size / 2
    at = np.searchsorted(up_to, half + 1e-9 * np.maximum(1, half), side="left")
    middle = np.full(count, np.nan)
    here = size > 0
    middle[here] = rows[order][np.minimum(at[here], max(0, rows.size - 1))]
    away = rows - middle[groups]

    def mean(values: FloatArray) -> FloatArray:
        return ratio(np.bincount(groups, weights=values * many, minlength=count).astype(np.float64), size)

    sides = [np.maximum(away, 0), np.maximum(-away, 0)]
    above, below = map(mean, sides)
    up, down = (np.nan_to_num(ratio(mean(side**2), mean(side))) for side in sides)
    return Distances(middle, above, below, up, down)


def with_unseen(interval: Interval, seen: Distances, at: int, users: int, level: float = LEVEL) -> Interval:
    """The interval of the mean of group `at`, widened to allow for users whom a sample of `users` need not show.

    A share u of all users (`unseen_share`) can be missing, and their rows can all be as far above the median as the rows
    that are above it usually are. Such users add u `up` to the mean, not the smaller part `above` that the sample shows, so
    the high end is at least the mean + u up - above; the low end likewise. A share therefore has a high end of at least u,
    as a sample without a hit has. It changes nothing unless the values on one side of the median are fewer than those of a
    share u of users.
    """
    low, high = interval.low, interval.high
    if low is None or high is None:
        return interval
    middle, above, below, up, down = (float(part[at]) for part in seen)
    unseen = unseen_share(users, level)
    lowest, highest = middle + above - max(below, unseen * down), middle - below + max(above, unseen * up)
    return Interval(min(low, lowest), max(high, highest), interval.note)
