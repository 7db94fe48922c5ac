"""Compares two raters on the same cases: is one right more often than the other?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import Ids, as_floats, complete, encode, rows_of
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.resampling.intervals import mean_estimate


@dataclass(frozen=True)
class PairedCounts:
    """A two-by-two table of the same cases under two conditions: the number right under both, one, or neither."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def n(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither


def paired_counts(first: npt.ArrayLike, second: npt.ArrayLike) -> PairedCounts:
    """The table of two arrays of 0 and 1 (right or not) in the same order.

    Cases with a NaN on either side are left out. Raises ValueError for arrays of different lengths and other values.
    """
    left, right = as_floats(first), as_floats(second)
    if left.shape != right.shape:
        raise ValueError(f"{left.size} and {right.size} cases are not the same cases")
    counts = {(1.0, 1.0): 0, (1.0, 0.0): 0, (0.0, 1.0): 0, (0.0, 0.0): 0}
    for pair in zip(left.tolist(), right.tolist(), strict=True):
        if not any(map(math.isnan, pair)):
            if pair not in counts:
                raise ValueError("the values must be 1 (right) or 0 (wrong)")
            counts[pair] += 1
    return PairedCounts(*counts.values())


def users_for_each(first: npt.ArrayLike, second: npt.ArrayLike, users: Ids) -> tuple[int, int]:
    """How many users have more rows in which `first` exceeds `second` than the reverse, and how many fewer.

    Rows with a NaN on either side are left out. The exact sign test of these two counts (`multiplicity.sign_test`)
    treats users as independent, whatever the number of their rows; with one row per user and values of 0 and 1 it is
    McNemar's exact test (McNemar 1947). Raises ValueError for arrays of different lengths.
    """
    left, right, kept = complete(first, second)
    codes, count = encode(rows_of(users, kept))
    net = np.bincount(codes, weights=np.sign(left - right), minlength=count)
    return int((net > 0).sum()), int((net < 0).sum())


def share_difference(
    first: npt.ArrayLike, second: npt.ArrayLike, users: Ids, level: float = LEVEL
) -> Estimate:
    """Share right of the first minus that of the second over the cases that both have, with an interval over users.

    Arrays of 0 and 1, NaN where missing, in the same order as `users`. Undefined without a common case.
    """
    left, right = as_floats(first), as_floats(second)
    if np.isnan(left - right).all():
        return undefined("no case in common")
    estimate = mean_estimate(left - right, users, (-1.0, 1.0), level=level)
    note = estimate.note if estimate.ci_low is None else ""
    return Estimate(estimate.value, estimate.ci_low, estimate.ci_high, estimate.n, note=note)
