"""Tests over users, and corrections for several of them. A user counts once, however many rows they have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import (
    BoolArray,
    FloatArray,
    Ids,
    IntArray,
    as_floats,
    complete,
    encode,
    rows_of,
)
from recjudge_tui.stats.defaults import ALPHA, POWER
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.stats.intervals import Bounds, mean_estimate, t_quantile

Pair = tuple[int, int]
NO_COMMON_USER = "no user has a value for both"
NO_DIFFERENCE = "all users have the same value for both"
NOTHING_CHANGED = "no case changed, so there is nothing to test"
# up to this many users that differ all 2^n signs are counted, up to the second signs are drawn, above it the sum is normal
_ENUMERATED, _MOST_DRAWN, _DRAWS = 14, 500, 9999
_FEWEST_REACHING = 10
_ROUNDING = 1e-12
MOST_USERS = 10_000_000


def sign_flip_test(differences: npt.ArrayLike) -> float | None:
    """Two-sided p of a mean difference of 0: the share of the assignments of signs to the users' differences (n,) whose sum
    is at least as far from 0 (Fisher 1935). NaN and 0 are left out; None if no user differs. Up to 14 users all 2^n are
    counted; up to 500 9,999 are drawn, the observed one added; above, and where fewer than ten reach it, the normal
    distribution. Where all differ by the same amount it is the exact sign test."""
    array = as_floats(differences)
    # sorted and without signs, so that neither the order of users nor the side matters
    sizes = np.sort(np.abs(array[~np.isnan(array) & (array != 0)]))
    if not sizes.size:
        return None
    if sizes[-1] - sizes[0] <= 1e-9 * sizes[-1]:
        return sign_test(int((array > 0).sum()), int((array < 0).sum()))
    # the same sum in another order may differ in its last digit
    seen = abs(float(array[~np.isnan(array)].sum())) - 1e-9 * float(sizes.sum())
    if sizes.size <= _ENUMERATED:
        signs = 1.0 - 2.0 * ((np.arange(2 ** (sizes.size - 1))[:, None] >> np.arange(sizes.size)) & 1)
        return float((np.abs(signs @ sizes) >= seen).mean())
    if sizes.size <= _MOST_DRAWN:
        drawn = np.random.default_rng(0).integers(0, 2, (_DRAWS, sizes.size), dtype=np.int8)
        reached = int((np.abs(sizes.sum() - 2.0 * (drawn @ sizes)) >= seen).sum())
        if reached >= _FEWEST_REACHING:
            return (reached + 1) / (_DRAWS + 1)
    return min(1.0, math.erfc(max(0.0, seen) / math.sqrt(2.0 * float(sizes @ sizes))))


def user_means(differences: FloatArray, users: Ids) -> FloatArray:
    """The mean difference of each user; `differences` and `users` (n,) are known."""
    codes, count = encode(users)
    total = np.bincount(codes, weights=differences, minlength=count)
    mean = total / np.maximum(np.bincount(codes, minlength=count), 1)
    # the same two sums in another order differ in their last digits
    return np.where(np.abs(mean) < _ROUNDING, 0.0, mean)


def sign_test(positive: int, negative: int) -> float | None:
    """Two-sided exact sign test of counts without zeros (Dixon and Mood 1946); with one row per user McNemar's. None
    without any sign. Raises ValueError for a negative count."""
    if min(positive, negative) < 0:
        raise ValueError("a count cannot be negative")
    if positive + negative == 0:
        return None
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(positive, negative), positive + negative, 0.5)))


def holm(p_values: Sequence[float | None], groups: int = 1) -> list[float | None]:
    """P values adjusted by Holm's step-down method (1979), in their order: the k-th smallest of m becomes max over j <= k
    of min(1, (m - j + 1) p_(j)). None (not tested) stays None and is not counted. Of several `groups` of tests each p is
    also multiplied by their number (Bonferroni). Raises ValueError for a value outside 0..1."""
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    if any(not 0 <= p <= 1 for p, _ in known):
        raise ValueError("a p value lies between 0 and 1")
    raised = [min(1.0, (len(known) - rank) * groups * p) for rank, (p, _) in enumerate(known)]
    out: list[float | None] = [None] * len(p_values)
    for p, (_, at) in zip(accumulate(raised, max), known, strict=True):
        out[at] = p
    return out


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """P values adjusted for the false discovery rate (Benjamini and Hochberg 1995), in their order: the k-th smallest of m
    becomes min over j >= k of min(1, m p_(j) / j). None (not tested) stays None and is not counted."""
    known = sorted(((p, at) for at, p in enumerate(p_values) if p is not None), reverse=True)
    raised = [min(1.0, len(known) * p / (len(known) - rank)) for rank, (p, _) in enumerate(known)]
    out: list[float | None] = [None] * len(p_values)
    for p, (_, at) in zip(accumulate(raised, min), known, strict=True):
        out[at] = p
    return out


def holm_claims(shown: Callable[[float], Sequence[bool | None]], level: float) -> list[bool]:
    """Which of several claims, each based on an interval, can be made together (Holm 1979). `shown(confidence)` says of
    each whether its interval at that confidence shows it, None without one. Of m claims the first must be shown at 1 - (1 -
    level) / m, the next at 1 - (1 - level) / (m - 1) and so on."""
    first = shown(level)
    left = sum(claim is not None for claim in first)
    made = [False] * len(first)
    # usually no claim is shown at the plain level, and nothing has to be computed again
    while left and any(claim and not already for claim, already in zip(first, made, strict=True)):
        again = first if left == 1 else shown(1 - (1 - level) / left)
        fresh = [bool(claim) and not already for claim, already in zip(again, made, strict=True)]
        if not any(fresh):
            break
        made = [already or new for already, new in zip(made, fresh, strict=True)]
        left -= sum(fresh)
    return made


@dataclass(frozen=True, eq=False)
class PairTest:
    """The test of two systems, `first` < `second`: by `lead`, above 0 if the first is ahead, with its standard `error` over
    `users`. `differences` (users,): the mean differences of the users who judged both, where these are tested, within
    `reach`. `p` is None, with the reason in `note`, if they could not be tested; `p_holm` is adjusted over all pairs."""

    first: int
    second: int
    users: int
    lead: float
    error: float
    p: float | None
    p_holm: float | None = None
    note: str = ""
    differences: FloatArray | None = None
    reach: Bounds | None = None

    @property
    def difference(self) -> Estimate:
        """The mean of the differences with its interval; computed on demand, because few of many pairs need it."""
        apart = np.zeros(0) if self.differences is None else self.differences
        return mean_estimate(apart, np.arange(apart.size), self.reach)

    @property
    def apart(self) -> int:
        """How many users have a difference other than 0."""
        return 0 if self.differences is None else int(np.count_nonzero(self.differences))

    def ahead(self, system: int) -> float:
        """How far `system`, one of the two, is ahead of the other."""
        return self.lead if system == self.first else 0.0 - self.lead

    @property
    def separable(self) -> bool:
        return self.p_holm is not None and self.p_holm < ALPHA


def direct_test(
    first: int, second: int, differences: FloatArray, reason: str, reach: Bounds | None = None
) -> PairTest:
    """The sign-flip test of the users' mean differences; `reason`: why there is none where all are 0."""
    p, n = sign_flip_test(differences), differences.size
    error = float(differences.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    lead = float(differences.mean()) if n else math.nan
    return PairTest(first, second, n, lead, error, p, None, reason if p is None else "", differences, reach)


def adjusted(tests: Sequence[PairTest], groups: int = 1) -> dict[Pair, PairTest]:
    """The tests of pairs of systems, Holm-adjusted over all of them and for `groups` such tables."""
    p_values = holm([test.p for test in tests], groups)
    return {
        (test.first, test.second): replace(test, p_holm=p) for test, p in zip(tests, p_values, strict=True)
    }


def mean_tests(
    values: FloatArray, users: IntArray, bounds: Bounds | None = None, groups: int = 1
) -> dict[Pair, PairTest]:
    """The test of every pair of systems by one figure. `values` (occasions, systems), NaN where a system has none; `users`
    (occasions,) are the users of the occasions. Two systems are compared on the occasions that have both, and every user
    counts once."""
    reach = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    tests = []
    for first, second in combinations(range(values.shape[1]), 2):
        gaps = values[:, first] - values[:, second]
        known = ~np.isnan(gaps)
        reason = NO_DIFFERENCE if known.any() else NO_COMMON_USER
        tests.append(direct_test(first, second, user_means(gaps[known], users[known]), reason, reach))
    return adjusted(tests, groups)


def users_for_each(first: npt.ArrayLike, second: npt.ArrayLike, users: Ids) -> tuple[int, int]:
    """How many users have more rows in which `first` exceeds `second` than the reverse, and how many fewer, for
    `sign_test`. NaN rows are left out. Raises ValueError for arrays of different lengths."""
    left, right, kept = complete(first, second)
    codes, count = encode(rows_of(users, kept))
    net = np.bincount(codes, weights=np.sign(left - right), minlength=count)
    return int((net > 0).sum()), int((net < 0).sum())


def difference_of_groups(
    first: FloatArray, second: FloatArray, fewest: int = 2
) -> tuple[Estimate, float | None]:
    """The mean of one group of users minus another's, one value each, with interval and two-sided p of the t test for
    unequal variances, with the degrees of freedom of the smaller group (Moore and McCabe 1989, section 7.2). Without both,
    and with the reason, where a group has fewer than `fewest` users or none differs within both."""
    n = first.size + second.size
    value = float(first.mean() - second.mean())
    if min(first.size, second.size) < fewest:
        return Estimate(value, None, None, n, note=f"fewer than {fewest} users on one side"), None
    if first.min() == first.max() and second.min() == second.max():
        return Estimate(value, None, None, n, note="no user differs within either group"), None
    from scipy.special import stdtr

    spread = np.array([side.var(ddof=1) / side.size for side in (first, second)])
    freedom = min(first.size, second.size) - 1
    error = math.sqrt(spread.sum())
    half = float(t_quantile(freedom)) * error
    return Estimate(value, value - half, value + half, n), 2 * float(stdtr(freedom, -abs(value) / error))


@dataclass(frozen=True)
class ChiSquared:
    """A statistic, its degrees of freedom and its p value; all None, with the reason in `note`, if undefined.
    `changed` counts the cases off the diagonal, on which the test rests."""

    statistic: float | None
    df: int | None
    p: float | None
    changed: int
    note: str = ""


def stuart_maxwell(table: npt.ArrayLike) -> ChiSquared:
    """Stuart and Maxwell's test of marginal homogeneity of a table (k, k) of counts. With d_i = n_i. - n_.i, S_ii = n_i. +
    n_.i - 2 n_ii, S_ij = -(n_ij + n_ji), d' S^- d is compared with chi-squared; df is the rank of S. With two labels
    McNemar's test without continuity correction. Undefined if nothing changed. Raises ValueError for a table that is not
    square or holds no counts. Source: Stuart 1955, Biometrika 42:412; Maxwell 1970, British Journal of Psychiatry
    116:651."""
    from scipy.sparse.csgraph import connected_components

    counts = _square(table)
    changed = counts - np.diag(np.diag(counts))
    total = round(float(changed.sum()))
    if total == 0:
        return ChiSquared(None, None, None, 0, NOTHING_CHANGED)
    either = changed + changed.T
    covariance = np.diag(either.sum(axis=1)) - either
    difference = changed.sum(axis=1) - changed.sum(axis=0)
    # one label of each connected group is left out
    _, group = connected_components(either > 0, directed=False)
    kept: BoolArray = np.ones(group.size, dtype=np.bool_)
    kept[np.unique(group, return_index=True)[1]] = False
    d = difference[kept]
    return _tested(float(d @ np.linalg.solve(covariance[np.ix_(kept, kept)], d)), int(kept.sum()), total)


def bowker(table: npt.ArrayLike) -> ChiSquared:
    """Bowker's test of symmetry: sum over i < j of (n_ij - n_ji)² / (n_ij + n_ji), df the pairs of labels between which any
    case changed. Undefined if nothing changed. Errors as in `stuart_maxwell`. Source: Bowker 1948, Journal of the American
    Statistical Association 43:572."""
    counts = _square(table)
    above = np.triu_indices(counts.shape[0], 1)
    there, back = counts[above], counts.T[above]
    either = there + back
    met = either > 0
    if not met.any():
        return ChiSquared(None, None, None, 0, NOTHING_CHANGED)
    statistic = float(((there - back)[met] ** 2 / either[met]).sum())
    return _tested(statistic, int(met.sum()), round(float(either.sum())))


def _tested(statistic: float, df: int, changed: int) -> ChiSquared:
    from scipy.special import chdtrc

    # with equal margins, rounding may make the quadratic form slightly negative
    positive = max(statistic, 0.0)
    return ChiSquared(positive, df, float(chdtrc(df, positive)), changed)


def _square(table: npt.ArrayLike) -> FloatArray:
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise ValueError(f"a table of shape {counts.shape} is not square")
    if not np.isfinite(counts).all() or (counts < 0).any() or (counts != np.rint(counts)).any():
        raise ValueError("a table of changes holds counts")
    return counts


def users_needed(
    effect: float, spread: float, null: float | None = None, *, alpha: float = ALPHA, power: float = POWER
) -> int | None:
    """How many users a two-sided test of their mean needs to show `effect` with this power, by the normal formula:
    ((z_(1-alpha/2) null + z_power spread) / effect)², where `spread` is the standard deviation of one user's value, which
    holds the design effect of several rows, and `null` the same without an effect. None if the effect is 0 or more than ten
    million users would be needed."""
    if effect == 0:
        return None
    normal = NormalDist()
    reach = (
        normal.inv_cdf(1 - alpha / 2) * (spread if null is None else null) + normal.inv_cdf(power) * spread
    )
    needed = (reach / effect) ** 2
    return None if not needed <= MOST_USERS else max(1, math.ceil(needed - 1e-9))
