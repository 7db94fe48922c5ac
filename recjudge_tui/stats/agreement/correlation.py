"""Pearson, Spearman and Kendall's tau-b over all rows and as means over groups.

Groups are users, or (user, item) pairs: the coefficient is computed inside each group and averaged.
Groups with a constant side or fewer than two rows have no coefficient; they are left out and counted.
Source of the three levels: Zhang et al., LLMs as Evaluators for Recommendation Explanations, 2024.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import (
    BoolArray,
    FloatArray,
    Ids,
    IntArray,
    complete,
    encode,
    none_if_nan,
    ratio,
    rows_of,
)

Grouped = Callable[[FloatArray, FloatArray, IntArray, int], FloatArray]
_PAIRWISE_UP_TO = 200
_CHUNK = 2_000_000


@dataclass(frozen=True)
class GroupMean:
    """Mean coefficient over the groups that have one; None without any."""

    value: float | None
    n: int
    groups: int
    groups_undefined: int


def pearson(a: npt.ArrayLike, b: npt.ArrayLike) -> float | None:
    """Pearson's r over complete rows; None with fewer than two or a constant side."""
    return _overall(grouped_pearson, a, b)


def spearman(a: npt.ArrayLike, b: npt.ArrayLike) -> float | None:
    """Spearman's rho: Pearson's r of the mean ranks; None as for `pearson`."""
    return _overall(grouped_spearman, a, b)


def kendall(a: npt.ArrayLike, b: npt.ArrayLike) -> float | None:
    """Kendall's tau-b: (concordant - discordant) / sqrt(pairs untied in a · pairs untied in b).

    None as for `pearson`.
    """
    return _overall(grouped_kendall, a, b)


def group_mean(method: str, a: npt.ArrayLike, b: npt.ArrayLike, groups: Ids) -> GroupMean:
    """Mean over groups of `method` (pearson, spearman, kendall) inside each group.

    `n` counts complete rows. Groups are those that occur in complete rows.
    Raises KeyError for an unknown method.
    """
    left, right, kept = complete(a, b)
    codes, count = encode(rows_of(groups, kept))
    values = GROUPED[method](left, right, codes, count)
    defined = values[~np.isnan(values)]
    mean = float(defined.mean()) if defined.size else None
    return GroupMean(mean, left.size, count, count - defined.size)


def _overall(method: Grouped, a: npt.ArrayLike, b: npt.ArrayLike) -> float | None:
    left, right, _ = complete(a, b)
    if left.size < 2:
        return None
    return none_if_nan(float(method(left, right, np.zeros(left.size, dtype=np.int64), 1)[0]))


def grouped_pearson(a: FloatArray, b: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """Pearson's r of each group (groups,), NaN where undefined. `codes` in 0..groups-1, no NaN in a, b."""
    size = np.bincount(codes, minlength=groups).astype(np.float64)
    left, right = _centred(a, codes, size), _centred(b, codes, size)

    def total(column: FloatArray) -> FloatArray:
        return np.bincount(codes, weights=column, minlength=groups).astype(np.float64)

    spread = np.sqrt(total(left * left) * total(right * right))
    r = np.clip(ratio(total(left * right), spread), -1, 1)
    varied = _varied(a, codes, groups) & _varied(b, codes, groups)
    return np.where(varied, r, np.nan)


def _centred(values: FloatArray, codes: IntArray, size: FloatArray) -> FloatArray:
    sums = np.bincount(codes, weights=values, minlength=size.size).astype(np.float64)
    means = ratio(sums, size)
    return values - means[codes]


def _varied(values: FloatArray, codes: IntArray, groups: int) -> BoolArray:
    """Whether a group contains two different values. Exact, unlike a variance, which may be a rounding error."""
    sample = np.zeros(groups)
    sample[codes] = values
    varied: BoolArray = np.bincount(codes[values != sample[codes]], minlength=groups) > 0
    return varied


def grouped_spearman(a: FloatArray, b: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """Spearman's rho of each group; arguments and result as for `grouped_pearson`."""
    return grouped_pearson(ranks_within(a, codes), ranks_within(b, codes), codes, groups)


def ranks_within(values: FloatArray, codes: IntArray) -> FloatArray:
    """Mean rank of each row among its group's rows, counted from 1."""
    n = values.size
    if n == 0:
        return np.zeros(0)
    order = np.lexsort((values, codes))
    sorted_values, sorted_codes = values[order], codes[order]
    new_group = np.r_[True, sorted_codes[1:] != sorted_codes[:-1]]
    new_run = new_group | np.r_[True, sorted_values[1:] != sorted_values[:-1]]
    run_start = np.flatnonzero(new_run)
    run_end = np.r_[run_start[1:], n]
    group_start = np.maximum.accumulate(np.where(new_group, np.arange(n), 0))
    middle = (run_start + run_end + 1) / 2 - group_start[run_start]
    ranks = np.empty(n)
    ranks[order] = np.repeat(middle, run_end - run_start)
    return ranks


def grouped_kendall(a: FloatArray, b: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """Kendall's tau-b of each group; arguments and result as for `grouped_pearson`.

    Small groups of the same size are compared pair by pair, all at once; large ones go to SciPy, O(n log n).
    """
    out = np.full(groups, np.nan)
    order = np.argsort(codes, kind="stable")
    size = np.bincount(codes, minlength=groups)
    start = np.cumsum(size) - size
    varied = _varied(a, codes, groups) & _varied(b, codes, groups)
    for members in _equal_sized(np.where(varied, size, 0)):
        length = int(size[members[0]])
        if length > _PAIRWISE_UP_TO:
            rows = order[start[members[0]] : start[members[0]] + length]
            out[members] = _large_kendall(a[rows], b[rows])
        else:
            rows = order[start[members][:, None] + np.arange(length)]
            out[members] = _pairwise_kendall(a[rows], b[rows])
    return out


def _equal_sized(size: IntArray) -> Iterator[IntArray]:
    """Groups (of at least two rows) in batches of the same size that fit into memory; large groups one by one."""
    for length in np.unique(size[size >= 2]):
        members = np.flatnonzero(size == length)
        step = 1 if length > _PAIRWISE_UP_TO else max(1, _CHUNK // int(length) ** 2)
        for first in range(0, members.size, step):
            yield members[first : first + step]


def _pairwise_kendall(a: FloatArray, b: FloatArray) -> FloatArray:
    """Tau-b of each row of (g, m)."""
    left = np.sign(a[:, :, None] - a[:, None, :]).astype(np.int8)
    right = np.sign(b[:, :, None] - b[:, None, :]).astype(np.int8)
    net = (left * right).sum(axis=(1, 2), dtype=np.int64)
    untied_a = np.count_nonzero(left, axis=(1, 2)).astype(np.float64)
    untied_b = np.count_nonzero(right, axis=(1, 2)).astype(np.float64)
    return np.clip(ratio(net.astype(np.float64), np.sqrt(untied_a * untied_b)), -1, 1)


def _large_kendall(a: FloatArray, b: FloatArray) -> float:
    from scipy import stats

    return float(stats.kendalltau(a, b, variant="b").statistic)


GROUPED: dict[str, Grouped] = {
    "pearson": grouped_pearson,
    "spearman": grouped_spearman,
    "kendall": grouped_kendall,
}
