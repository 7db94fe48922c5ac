"""One value from several raters: joint values by a rule, labels from raters of unequal skill, and how well the mean of each
subset of raters follows the truth. Arrays are (raters, n), NaN where a rater gave no value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement import GROUPED
from recjudge_tui.stats.arrays import BoolArray, FloatArray, Ids, IntArray, as_floats, encode, ratio, rows_of

Rule = Literal["strict", "conservative", "majority", "mean", "median", "dawid-skene"]
RULES: tuple[Rule, ...] = get_args(Rule)


class Joint(NamedTuple):
    """Values (n,), NaN where the rule gives none; the rule's confidence in each (n,) and its estimate of each rater's
    accuracy (raters,), if it has them."""

    values: FloatArray
    confidence: FloatArray | None = None
    accuracy: FloatArray | None = None


def joint(
    rule: Rule, ratings: npt.ArrayLike, quorum: int = 2, *, of_pairs: bool = False, between: bool = True
) -> Joint:
    """The joint values by a rule, of the items that at least `quorum` raters rated.

    - strict: the harsher label, the minimum (SAER, pointwise).
    - conservative: the common signed preference, 0 (a tie) on any disagreement (SAER, pairwise).
    - majority: the value given by more than half of those who rated; none on a split vote.
    - mean, median; of an even number the median is the mean of the two in the middle. Unless values may lie `between` the
      labels, a median that is no whole number gives way to the harsher of the two, `of_pairs` to the one nearer to a tie.
    - dawid-skene: see `dawid_skene`. `of_pairs`: the values are signed preferences, of which neither side is the first.
    """
    table = _table(ratings)
    if quorum < 1:
        raise ValueError("a quorum is at least one rater")
    votes = (~np.isnan(table)).sum(axis=0)
    enough = votes >= quorum
    if rule == "dawid-skene":
        fitted = dawid_skene(np.where(enough, table, np.nan), mirrored=of_pairs)
        return Joint(fitted.values(), fitted.confidence(), fitted.accuracy())
    lowest = np.where(np.isnan(table), np.inf, table).min(axis=0, initial=np.inf)
    highest = np.where(np.isnan(table), -np.inf, table).max(axis=0, initial=-np.inf)
    values = lowest
    if rule == "conservative":
        values = np.where(lowest == highest, lowest, 0.0)
    elif rule == "majority":
        values = np.full(votes.size, np.nan)
        for row in table:
            won = (table == row).sum(axis=0) * 2 > votes
            values[won] = row[won]
    elif rule == "mean":
        values = np.nansum(table, axis=0) / np.maximum(votes, 1)
    elif rule == "median":
        # NaN sorts last; an item that all raters rated has its upper middle inside the table
        ordered, last = np.sort(table, axis=0), max(0, table.shape[0] - 1)
        middle = (np.clip(half, 0, last) for half in ((votes - 1) // 2, votes // 2))
        low, high = (ordered[at, np.arange(votes.size)] for at in middle)
        values = (low + high) / 2
        if not between:
            harsher = np.where(np.abs(low) <= np.abs(high), low, high) if of_pairs else low
            values = np.where(values == np.rint(values), values, harsher)
    return Joint(np.where(enough, values, np.nan))


def _table(ratings: npt.ArrayLike) -> FloatArray:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError("ratings must be an array of (raters, items)")
    return table


# ---- raters of unequal skill ------------------------------------------------------------------------------------------

# pseudo-counts: of each label, and of each answer of a rater to each label
SMOOTHING = 0.01
MOST_LABELS = 20
_MOST_STEPS = 500
# of the log-likelihood of an item: a smaller gain ends the steps
_SETTLED = 1e-8
# posteriors closer than this count as equal: rounding must not decide a vote
_EVEN = 1e-6


@dataclass(frozen=True)
class DawidSkene:
    """The fitted model, with K labels in the order of the scale, R raters, n items. `posterior` (n, K): probability of each
    label, NaN for an item without ratings. `prior` (K,). `confusion` (R, K, K): row the true label, column the given one.
    `objective`: the penalised log-likelihood of each step; it never falls."""

    labels: FloatArray
    posterior: FloatArray
    prior: FloatArray
    confusion: FloatArray
    objective: tuple[float, ...]

    def values(self) -> FloatArray:
        """The most likely label of each item (n,); NaN if two are equally likely or the item has no ratings."""
        if self.labels.size < 2:
            return np.where(np.isnan(self.posterior).all(axis=1), np.nan, self.labels[:1].sum())
        ordered = np.sort(self.posterior, axis=1)
        best = self.labels[np.argmax(np.nan_to_num(self.posterior), axis=1)]
        return np.where(ordered[:, -1] - ordered[:, -2] > _EVEN, best, np.nan)

    def confidence(self) -> FloatArray:
        """The probability of the most likely label (n,), NaN if the item has no ratings."""
        top: FloatArray = self.posterior.max(axis=1, initial=0.0)
        return np.where(np.isnan(self.posterior).all(axis=1), np.nan, top)

    def accuracy(self) -> FloatArray:
        """Estimated share of right answers of each rater (R,): sum over labels of prior · confusion's diagonal."""
        accuracy: FloatArray = np.einsum("rkk,k->r", self.confusion, self.prior)
        return accuracy


def dawid_skene(ratings: npt.ArrayLike, *, mirrored: bool = False) -> DawidSkene:
    """Each rater's confusion matrix and each item's label by expectation-maximisation on `ratings` (R, n) (Dawid and Skene
    1979, Applied Statistics 28), from each item's shares of the votes until a step gains less than 1e-8 an item. Shares and
    logarithms are rounded to powers of two, so that sums are exact and no result depends on the order of raters and items.
    `mirrored`: signed preferences of which neither side is the first: a label and its opposite are equally frequent and
    treated alike. Raises ValueError for another shape or more than 20 labels."""
    table = _table(ratings)
    rater, item = np.nonzero(~np.isnan(table))
    given = table[rater, item]
    labels = np.unique(np.concatenate([given, -given]) + 0.0 if mirrored else given)
    if labels.size > MOST_LABELS:
        raise ValueError(f"{labels.size} different values are scores, not labels")
    said = np.searchsorted(labels, given)
    raters, items, size = *table.shape, labels.size
    if not size:
        nothing = np.full((items, 0), np.nan)
        return DawidSkene(labels, nothing, np.zeros(0), np.zeros((raters, 0, 0)), ())
    at = rater * size + said
    posterior = np.zeros((items, size))
    np.add.at(posterior, (item, said), 1.0)
    votes = posterior.sum(axis=1)
    rated: BoolArray = votes > 0
    posterior /= np.maximum(votes, 1.0)[:, None]
    # one rater's errors cannot be told from rare labels, so the labels are taken as given
    alone = np.unique(rater).size < 2
    objective: list[float] = []
    # of a logarithm: five before the point, the others for its fraction and for the sum over raters
    bits = 47 - raters.bit_length()
    while True:
        posterior = _stepped(posterior, 52 - items.bit_length())
        prior = posterior.sum(axis=0) + SMOOTHING
        # (raters, true label, label given)
        counts = np.full((raters, size, size), SMOOTHING)
        for k in range(size):
            counts[:, k] += np.bincount(at, posterior[item, k], raters * size).reshape(raters, size)
        if mirrored:
            prior, counts = (prior + prior[::-1]) / 2, (counts + counts[:, ::-1, ::-1]) / 2
        prior = prior / prior.sum()
        confusion = counts / counts.sum(axis=2, keepdims=True)
        if alone:
            break
        joint = np.tile(_stepped(np.log(prior), bits), (items, 1))
        errors = _stepped(np.log(confusion), bits)
        for k in range(size):
            joint[:, k] += np.bincount(item, errors[rater, k, said], items)
        top = joint.max(axis=1, keepdims=True)
        chance = np.exp(joint - top)
        total = chance.sum(axis=1)
        posterior = chance / total[:, None] * rated[:, None]
        height = float((np.log(total) + top[:, 0])[rated].sum())
        objective.append(height + SMOOTHING * float(np.log(prior).sum() + np.log(confusion).sum()))
        gain = objective[-1] - objective[-2] if len(objective) > 1 else math.inf
        if len(objective) > _MOST_STEPS or gain <= _SETTLED * max(int(rated.sum()), 1):
            break
    posterior = np.where(rated[:, None], posterior, np.nan)
    return DawidSkene(labels, posterior, prior, confusion, tuple(objective))


def _stepped(values: FloatArray, bits: int) -> FloatArray:
    """Rounded to multiples of 2**-bits."""
    return np.asarray(np.round(np.ldexp(values, bits)) * 2.0**-bits, dtype=np.float64)


# ---- ensembles --------------------------------------------------------------------------------------------------------

MOST_RATERS = 15
_CHUNK = 4_000_000


class SizeFigures(NamedTuple):
    """The figures of all subsets of one size; `low`, `mean`, `high` and `quartiles` over those that have one. `best`,
    `worst`: the members (row numbers) of the first subset with the highest and the lowest."""

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
    """For each size 1..K the correlation `stat` of the subsets' means with `truth` (n,). `ratings` (K, n), NaN where
    missing: a row counts only if the truth and ALL K raters have a value. With `groups`, the mean over the groups in which
    it is defined. Raises ValueError for unpaired input or more than 15 raters, KeyError for an unknown `stat`."""
    table, side = _table(ratings), as_floats(truth)
    if table.shape[1] != side.size:
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
    stat: str, members: BoolArray, table: FloatArray, truth: FloatArray, codes: IntArray, groups: int
) -> FloatArray:
    """The figure of each subset, NaN where undefined."""
    grouped = GROUPED[stat]
    if truth.size == 0 or groups == 0:
        return np.full(members.shape[0], np.nan)
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
        values = by_group.reshape(chosen.shape[0], groups)
        out.append(ratio(np.nansum(values, axis=1), (~np.isnan(values)).sum(axis=1).astype(np.float64)))
    return np.concatenate(out)


def _summary(size: int, members: BoolArray, values: FloatArray, n: int) -> SizeFigures:
    here = np.flatnonzero(members.sum(axis=1) == size)
    known = here[~np.isnan(values[here])]
    missing = here.size - known.size
    if not known.size:
        return SizeFigures(size, here.size, missing, None, None, None, None, (), (), n)
    of = values[known]
    low, first, middle, third, high = np.quantile(of, (0, 0.25, 0.5, 0.75, 1)).tolist()
    best, worst = (
        tuple(np.flatnonzero(members[known[at]]).tolist()) for at in (np.argmax(of), np.argmin(of))
    )
    quartiles = (first, middle, third)
    return SizeFigures(size, here.size, missing, low, float(of.mean()), high, quartiles, best, worst, n)
