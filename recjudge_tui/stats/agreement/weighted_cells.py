"""Two raters' answers as weighted cells, and every statistic as a function of the weights.

Rows with the same pair of values are one cell. A statistic is a function of cell weights (r, P) -> (r,), so one
implementation serves the figure itself (one row of weights: the counts), the resampled figures (a row for each
resample) and the figures by group (a row for each group).
NaN marks an undefined figure; callers outside this package never see it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from recjudge_tui.stats.arrays import FloatArray, IntArray, encode, ratio

# share of the largest possible spread below which a spread may be a rounding error
_DUST = 1e-9

CellFunction = Callable[[FloatArray, "Cells"], FloatArray]


@dataclass(frozen=True)
class Levels:
    """The levels of one side of the cells: `code` (P,) of each cell, and the order that sorts them."""

    levels: FloatArray
    code: IntArray
    order: IntArray
    starts: IntArray

    def marginal(self, weights: FloatArray) -> FloatArray:
        """Weight of each level: (r, P) -> (r, L)."""
        sorted_weights: FloatArray = weights[:, self.order]
        if self.starts.size == self.order.size:  # each level is in exactly one cell: nothing to add up
            return sorted_weights
        total: FloatArray = np.add.reduceat(sorted_weights, self.starts, axis=1)
        return total

    def midranks(self, marginal: FloatArray) -> FloatArray:
        """Rank of each level, the mean rank where tied, from 0.5 on (a constant shift changes nothing)."""
        total: FloatArray = np.cumsum(marginal, axis=1) - marginal / 2
        return total


@dataclass(frozen=True)
class Cells:
    """The P distinct pairs of values and the label set, if there is one, as sorted values."""

    a: FloatArray
    b: FloatArray
    labels: FloatArray | None = None

    @cached_property
    def levels_a(self) -> Levels:
        return levels_of(self.a)

    @cached_property
    def levels_b(self) -> Levels:
        return levels_of(self.b)

    @cached_property
    def pooled(self) -> Levels:
        return levels_of(np.concatenate([self.a, self.b]))

    @cached_property
    def onehot(self) -> tuple[FloatArray, FloatArray]:
        """Indicators (P, q) of the label of each side. Raises ValueError for a value that is no label."""
        labels = self.label_set()
        for values in (self.a, self.b):
            strange = values[~np.isin(values, labels)]
            if strange.size:
                raise ValueError(f"{strange[0]:g} is not in the label set")
        return (
            (self.a[:, None] == labels).astype(np.float64),
            (self.b[:, None] == labels).astype(np.float64),
        )

    @cached_property
    def signs(self) -> FloatArray:
        """(P, P): 1 where two cells are concordant, -1 discordant, 0 tied on either side."""
        return np.sign(self.a[:, None] - self.a) * np.sign(self.b[:, None] - self.b)

    def label_set(self) -> FloatArray:
        if self.labels is None:
            raise ValueError("this statistic needs the label set")
        return self.labels


def levels_of(values: FloatArray) -> Levels:
    levels, code = np.unique(values, return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(levels.size))
    return Levels(levels, code.astype(np.int64), order.astype(np.int64), starts.astype(np.int64))


def make_cells(a: FloatArray, b: FloatArray, labels: FloatArray | None = None) -> tuple[Cells, IntArray]:
    """The cells of paired rows without missing values, and each row's cell."""
    code_a = np.unique(a, return_inverse=True)[1].astype(np.int64)
    levels_b, code_b = np.unique(b, return_inverse=True)
    codes, count = encode(code_a * levels_b.size + code_b.astype(np.int64))
    first = np.zeros(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    return Cells(a[first], b[first], labels), codes


def mirrored(statistic: CellFunction) -> CellFunction:
    """The statistic of signed preferences that have no first side: each cell counts half as it is and half with both
    values negated."""

    def of_both(w: FloatArray, cells: Cells) -> FloatArray:
        a, b = np.concatenate([cells.a, -cells.a]), np.concatenate([cells.b, -cells.b])
        return statistic(np.concatenate([w, w], axis=1) / 2, Cells(a, b, cells.labels))

    return of_both


def percent(w: FloatArray, cells: Cells) -> FloatArray:
    return ratio(w @ (cells.a == cells.b).astype(np.float64), w.sum(axis=1))


def bias(w: FloatArray, cells: Cells) -> FloatArray:
    """Mean of a - b: above 0 if a is the more generous rater."""
    return ratio(w @ (cells.a - cells.b), w.sum(axis=1))


def concurrence(w: FloatArray, cells: Cells) -> FloatArray:
    """Among rows where b has a direction (is not 0), the share where the sign of a is the same.

    Values are signed preferences (-1, 0, 1); a tie of a does not concur. Source: Liu et al., SIGIR 2026.
    """
    directed = cells.b != 0
    same = directed & (np.sign(cells.a) == np.sign(cells.b))
    return ratio(w @ same.astype(np.float64), w @ directed.astype(np.float64))


def distances(labels: FloatArray, power: int) -> FloatArray:
    """Disagreement (q, q) between labels: 0 or 1 for power 0, else |difference of values|^power."""
    gap = np.abs(labels[:, None] - labels)
    return (gap > 0).astype(np.float64) if power == 0 else gap**power


class Disagreement(NamedTuple):
    """Observed and expected disagreement (r,), as shares of the largest possible disagreement."""

    observed: FloatArray
    expected: FloatArray


def _corrected(disagreement: Disagreement) -> FloatArray:
    return 1 - ratio(disagreement.observed, disagreement.expected)


def kappa(w: FloatArray, cells: Cells) -> FloatArray:
    """Cohen's kappa (1960): 1 - observed disagreement / disagreement expected from the two marginals.

    Undefined when the expected disagreement is 0. Raises ValueError for a value outside the label set.
    """
    return _corrected(_of_marginals(w, cells, 0))


def kappa_linear(w: FloatArray, cells: Cells) -> FloatArray:
    """Cohen's weighted kappa (1968), disagreement = |difference of label values|; else as `kappa`."""
    return _corrected(_of_marginals(w, cells, 1))


def qwk(w: FloatArray, cells: Cells) -> FloatArray:
    return _corrected(_of_marginals(w, cells, 2))


def _of_marginals(w: FloatArray, cells: Cells, power: int) -> Disagreement:
    cost = distances(cells.label_set(), power)
    cost /= max(cost.max(), 1e-300)
    left, right = cells.onehot
    n = w.sum(axis=1)
    observed = ratio(w @ ((left @ cost) * right).sum(axis=1), n)
    expected = ratio(((w @ left @ cost) * (w @ right)).sum(axis=1), n**2)
    return Disagreement(observed, expected)


def ac1(w: FloatArray, cells: Cells) -> FloatArray:
    return _corrected(_unweighted_prevalence(w, cells))


def ac2(w: FloatArray, cells: Cells) -> FloatArray:
    return _corrected(_of_prevalence(w, cells))


def _unweighted_prevalence(w: FloatArray, cells: Cells) -> Disagreement:
    return _of_prevalence(w, cells, unweighted=True)


def _of_prevalence(w: FloatArray, cells: Cells, *, unweighted: bool = False) -> Disagreement:
    labels = cells.label_set()
    q = labels.size
    if q < 2:
        nothing = np.full(w.shape[0], np.nan)
        return Disagreement(nothing, nothing)
    cost = distances(labels, 2)
    credit = np.eye(q) if unweighted else 1 - cost / cost.max()
    left, right = cells.onehot
    n = w.sum(axis=1)
    observed = ratio(w @ ((left @ credit) * right).sum(axis=1), n)
    prevalence = ratio((w @ left + w @ right) / 2, n[:, None])
    chance = credit.sum() / (q * (q - 1)) * (prevalence * (1 - prevalence)).sum(axis=1)
    return Disagreement(1 - observed, 1 - chance)


def alpha_nominal(w: FloatArray, cells: Cells) -> FloatArray:
    """Krippendorff's alpha: 1 - observed / expected disagreement over pairs of ratings of the same item.

    Undefined when all ratings are equal. Source: Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011.
    """
    return _corrected(_nominal(w, cells))


def _nominal(w: FloatArray, cells: Cells) -> Disagreement:
    n = 2 * w.sum(axis=1)
    observed = 2 * (w @ (cells.a != cells.b).astype(np.float64))
    marginal = cells.pooled.marginal(np.concatenate([w, w], axis=1))
    return Disagreement(ratio(observed, n), ratio(n**2 - (marginal**2).sum(axis=1), n * (n - 1)))


def alpha_interval(w: FloatArray, cells: Cells) -> FloatArray:
    """Krippendorff's alpha, disagreement = squared difference of the values; else as `alpha_nominal`."""
    return _corrected(_interval(w, cells))


def _interval(w: FloatArray, cells: Cells) -> Disagreement:
    centre = (cells.a.mean() + cells.b.mean()) / 2
    a, b = cells.a - centre, cells.b - centre
    values = np.concatenate([a, b])
    n = 2 * w.sum(axis=1)
    expected = 2 * (n * (w @ (a**2 + b**2)) - (w @ (a + b)) ** 2)
    marginal = cells.pooled.marginal(np.concatenate([w, w], axis=1))
    expected[(marginal > 0).sum(axis=1) < 2] = 0
    largest = max(float(np.ptp(values)) ** 2, 1e-300)
    return Disagreement(ratio(2 * (w @ (a - b) ** 2), n * largest), ratio(expected, n * (n - 1) * largest))


def alpha_ordinal(w: FloatArray, cells: Cells) -> FloatArray:
    """Krippendorff's alpha, disagreement = squared difference of the pooled mean ranks, which is his ordinal distance;
    else as `alpha_nominal`."""
    return _corrected(_ordinal(w, cells))


def _ordinal(w: FloatArray, cells: Cells) -> Disagreement:
    marginal = cells.pooled.marginal(np.concatenate([w, w], axis=1))
    n = 2 * w.sum(axis=1)
    ranks = cells.pooled.midranks(marginal) - n[:, None] / 2
    expected = 2 * (n * (marginal * ranks**2).sum(axis=1) - (marginal * ranks).sum(axis=1) ** 2)
    expected[(marginal > 0).sum(axis=1) < 2] = 0
    of_a, of_b = np.split(cells.pooled.code, 2)
    observed = 2 * (w * (ranks[:, of_a] - ranks[:, of_b]) ** 2).sum(axis=1)
    given = marginal > 0
    largest = np.where(given, ranks, -np.inf).max(axis=1) - np.where(given, ranks, np.inf).min(axis=1)
    largest = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0) ** 2
    return Disagreement(ratio(observed, n * largest), ratio(expected, n * (n - 1) * largest))


DISAGREEMENTS: dict[str, Callable[[FloatArray, Cells], Disagreement]] = {
    "kappa": lambda w, cells: _of_marginals(w, cells, 0),
    "kappa_linear": lambda w, cells: _of_marginals(w, cells, 1),
    "qwk": lambda w, cells: _of_marginals(w, cells, 2),
    "ac1": _unweighted_prevalence,
    "ac2": _of_prevalence,
    "alpha_nominal": _nominal,
    "alpha_interval": _interval,
    "alpha_ordinal": _ordinal,
}


def _varied(w: FloatArray, cells: Cells) -> FloatArray:
    """1 where both sides take at least two values, else NaN."""
    both = ((cells.levels_a.marginal(w) > 0).sum(axis=1) > 1) & (
        (cells.levels_b.marginal(w) > 0).sum(axis=1) > 1
    )
    return np.where(both, 1.0, np.nan)


def pearson(w: FloatArray, cells: Cells) -> FloatArray:
    a, b = cells.a - cells.a.mean(), cells.b - cells.b.mean()
    n = w.sum(axis=1)
    sums = w @ np.stack([a, b, a * a, b * b, a * b], axis=1)
    mean_a, mean_b = ratio(sums[:, 0], n), ratio(sums[:, 1], n)
    cov = sums[:, 4] - n * mean_a * mean_b
    spread_a = np.maximum(sums[:, 2] - n * mean_a**2, 0)
    spread_b = np.maximum(sums[:, 3] - n * mean_b**2, 0)
    r: FloatArray = np.clip(ratio(cov, np.sqrt(spread_a * spread_b)), -1, 1)
    # a constant side has no spread except for rounding, so only tiny spreads are checked
    doubtful = (spread_a <= _DUST * n * (a * a).max()) | (spread_b <= _DUST * n * (b * b).max())
    r[doubtful] *= _varied(w[doubtful], cells)
    return r


def spearman(w: FloatArray, cells: Cells) -> FloatArray:
    half = w.sum(axis=1)[:, None] / 2
    left, right = cells.levels_a, cells.levels_b
    count_a, count_b = left.marginal(w), right.marginal(w)
    rank_a, rank_b = left.midranks(count_a) - half, right.midranks(count_b) - half
    # The weighted mean rank is half the total weight, so the centred ranks need no further mean.
    cov = np.einsum("rp,rp,rp->r", w, rank_a[:, left.code], rank_b[:, right.code])
    # ranks are halves: a constant side has a spread of exactly 0, and the ratio is undefined
    spread_a = np.einsum("rl,rl,rl->r", count_a, rank_a, rank_a)
    spread = spread_a * np.einsum("rl,rl,rl->r", count_b, rank_b, rank_b)
    return np.clip(ratio(cov, np.sqrt(spread)), -1, 1)


def kendall(w: FloatArray, cells: Cells) -> FloatArray:
    n = w.sum(axis=1)
    # Counts below 2^24 are exact in single precision, and nearly all the time is spent in the product.
    exact = np.float32 if n.max(initial=0) < 2**24 else np.float64
    net = ((w.astype(exact) @ cells.signs.astype(exact)) * w).sum(axis=1) / 2
    pairs = n * (n - 1) / 2
    count_a, count_b = cells.levels_a.marginal(w), cells.levels_b.marginal(w)
    untied_a = pairs - (count_a * (count_a - 1)).sum(axis=1) / 2
    untied_b = pairs - (count_b * (count_b - 1)).sum(axis=1) / 2
    return np.clip(ratio(net, np.sqrt(untied_a * untied_b)), -1, 1) * _varied(w, cells)
