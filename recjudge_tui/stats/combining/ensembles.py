"""Ensembles: the correlation of the mean of every subset of raters with the truth, by the size of the subset.

Source: Zhang et al., Large Language Models as Evaluators for Recommendation Explanations, 2024 (ensembles).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement import GROUPED
from recjudge_tui.stats.arrays import BoolArray, FloatArray, Ids, IntArray, as_floats, encode, ratio, rows_of

MOST_RATERS = 15
_CHUNK = 4_000_000
# a spread below this share of its parts' spread is a rounding error
_ROUNDING = 1e-12


@dataclass(frozen=True)
class SizeFigures:
    """The figures of all subsets of one size; `low`, `mean`, `high` and the `quartiles` (25, 50, 75 %, interpolated) over
    those that have one (None if none has).

    `best` and `worst` are the members (row numbers, rising) of the first subset with the highest and the lowest.
    """

    size: int
    subsets: int
    undefined: int
    low: float | None
    mean: float | None
    high: float | None
    quartiles: tuple[float, float, float] | None
    best: tuple[int, ...]
    worst: tuple[int, ...]
    n: int


def subset_figures(
    stat: str, ratings: npt.ArrayLike, truth: npt.ArrayLike, groups: Ids | None = None
) -> tuple[SizeFigures, ...]:
    """For each size 1..K the correlation `stat` (pearson, spearman, kendall) of the subsets' means with `truth` (n,).

    `ratings` (K, n), NaN where missing: a row counts only if the truth and ALL K raters have a value, so that all
    sizes are compared on the same rows (`n`). With `groups`, the figure of a subset is the mean over the groups
    in which it is defined. Raises ValueError for unpaired input or more than 15 raters, KeyError for an unknown `stat`.
    """
    table = np.asarray(ratings, dtype=np.float64)
    side = as_floats(truth)
    if table.ndim != 2 or table.shape[1] != side.size:
        raise ValueError("ratings must be an array of (raters, rows of the truth)")
    if table.shape[0] > MOST_RATERS:
        raise ValueError(f"{table.shape[0]} raters have {2 ** table.shape[0] - 1:,} subsets")
    kept = ~np.isnan(side) & ~np.isnan(table).any(axis=0)
    codes = np.zeros(side.size, dtype=np.int64) if groups is None else np.asarray(groups)
    of_row, count = encode(rows_of(codes, kept))
    members = subsets(table.shape[0])
    values = _values(stat, members, table[:, kept], side[kept], of_row, count)
    return tuple(_summary(size, members, values, int(kept.sum())) for size in range(1, table.shape[0] + 1))


def subsets(raters: int) -> BoolArray:
    """All non-empty subsets as rows (2^K - 1, K), those with the first raters first within each size."""
    numbers = np.arange(1, 2**raters)
    members: BoolArray = (numbers[:, None] >> np.arange(raters)) & 1 == 1
    return members


def _values(
    stat: str,
    members: BoolArray,
    table: FloatArray,
    truth: FloatArray,
    codes: IntArray,
    groups: int,
) -> FloatArray:
    """The figure of each subset, NaN where undefined."""
    grouped = GROUPED[stat]
    if truth.size == 0 or groups == 0:
        return np.full(members.shape[0], np.nan)
    if stat == "pearson":
        return _pearson(members, table, truth, codes, groups)
    out: list[FloatArray] = []
    digits = 12 - math.ceil(math.log10(max(float(np.abs(table).sum(axis=0).max()), 1e-300)))
    step = max(1, _CHUNK // truth.size)
    for first in range(0, members.shape[0], step):
        chosen = members[first : first + step]
        # sums instead of means: a correlation is the same, and equal sums are equal to the last digit
        sums = np.round(chosen.astype(np.float64) @ table, digits)
        of = codes + np.arange(chosen.shape[0])[:, None] * groups
        sides = np.broadcast_to(truth, sums.shape).reshape(-1)
        by_group = grouped(sums.reshape(-1), sides, of.reshape(-1), groups * chosen.shape[0])
        out.append(_mean_defined(by_group.reshape(chosen.shape[0], groups)))
    return np.concatenate(out)


def _mean_defined(values: FloatArray) -> FloatArray:
    has = ~np.isnan(values)
    return ratio(np.where(has, values, 0.0).sum(axis=1), has.sum(axis=1).astype(np.float64))


def _pearson(
    members: BoolArray, table: FloatArray, truth: FloatArray, codes: IntArray, groups: int
) -> FloatArray:
    """Pearson's r from the products of the members' deviations in each group, without a pass over the rows per subset.

    cov(sum, t) = sum of cov(member, t); var(sum) = sum over all pairs of members of their covariance.
    """
    size = np.bincount(codes, minlength=groups).astype(np.float64)

    def centred(values: FloatArray) -> FloatArray:
        return values - (np.bincount(codes, weights=values, minlength=groups) / size)[codes]

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(codes, weights=values, minlength=groups).astype(np.float64)

    rows, side = [centred(row) for row in table], centred(truth)
    raters = len(rows)
    with_truth = np.stack([total(row * side) for row in rows])
    among = np.empty((raters, groups, raters))
    for first in range(raters):
        for second in range(first, raters):
            among[first, :, second] = among[second, :, first] = total(rows[first] * rows[second])
    spread_truth = total(side * side)
    spread_truth[spread_truth <= _ROUNDING**2 * total(truth * truth)] = 0
    own = np.stack([raters * _ROUNDING * total(row * row) for row in rows])
    own += np.stack([_ROUNDING**2 * total(row * row) for row in table])
    out: list[FloatArray] = []
    step = max(1, _CHUNK // (groups * raters))
    for start in range(0, members.shape[0], step):
        chosen = members[start : start + step].astype(np.float64)
        half = (chosen @ among.reshape(raters, -1)).reshape(chosen.shape[0], groups, raters)
        spread = (half * chosen[:, None, :]).sum(axis=2)
        spread[spread <= chosen @ own] = 0
        r = ratio(chosen @ with_truth, np.sqrt(spread * spread_truth))
        out.append(_mean_defined(np.clip(r, -1, 1)))
    return np.concatenate(out)


def _summary(size: int, members: BoolArray, values: FloatArray, n: int) -> SizeFigures:
    here = np.flatnonzero(members.sum(axis=1) == size)
    figures = values[here]
    known = here[~np.isnan(figures)]
    missing = here.size - known.size
    total = math.comb(members.shape[1], size)
    if known.size == 0:
        return SizeFigures(size, total, missing, None, None, None, None, (), (), n)
    best, worst = known[np.argmax(values[known])], known[np.argmin(values[known])]
    first, middle, third = (float(figure) for figure in np.quantile(values[known], (0.25, 0.5, 0.75)))
    return SizeFigures(
        size,
        total,
        missing,
        float(values[worst]),
        float(values[known].mean()),
        float(values[best]),
        (first, middle, third),
        _places(members[best]),
        _places(members[worst]),
        n,
    )


def _places(chosen: BoolArray) -> tuple[int, ...]:
    return tuple(np.flatnonzero(chosen).tolist())
