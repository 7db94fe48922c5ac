"""Makes every interval of a figure over users, from the figure, its spread over users and its bounds.

Counts of independent cases have Clopper and Pearson's exact interval. A figure with a lowest and a highest value (a
share, a win rate, a mean of labels, a coefficient of agreement) has the same interval for the effective number of
users. A figure without bounds has Student's t corrected for skewness, a rating plain Student's t.
`benchmarks/coverage.py` measures how often each contains the true value.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import FloatArray, Ids, IntArray, as_floats, encode, ratio, rows_of
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Estimate, Interval, join_notes, undefined
from recjudge_tui.stats.intervals import sums_by_user
from recjudge_tui.stats.resampling.design_effect import mean_squares
from recjudge_tui.stats.resampling.jackknife import Spread, sums_spread
from recjudge_tui.stats.resampling.unseen import distances, unseen_share, with_unseen

FEWEST_USERS = 5
FEWEST_APART = 3
_KNOWN = 2 / 5
Bounds = tuple[float, float]
SHARE: Bounds = (0.0, 1.0)
NOT_REQUESTED = "no interval was requested"
ONE_USER = "no interval: it needs at least two users"
FEW_USERS = f"no interval: it needs at least {FEWEST_USERS} users"
ALL_EQUAL = "no interval: all users have the same value"
ALIKE = f"no interval: fewer than {FEWEST_APART} users differ from the others"


def clopper_pearson(successes: int, n: int, level: float = LEVEL) -> Estimate:
    """A share of n independent cases with the exact interval of Clopper and Pearson (1934).

    For every true share it contains the share at least as often as its level says; with few cases, more often.
    Undefined for n = 0. For several cases of one user use `share_estimate`. Raises ValueError unless
    0 <= successes <= n and 0 < level < 1.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} cases is not possible")
    if n == 0:
        return undefined("no cases")
    low, high = _beta_ends(successes / n, n, _tail(level))
    return Estimate(successes / n, low, high, n)


def interval_of(
    value: float, spread: Spread, bounds: Bounds | None = None, level: float = LEVEL, fewest: int = 2
) -> Interval:
    """The interval of a figure; none, with the reason, with fewer than `fewest` users, an undefined spread, or
    users of whom a few have far more rows than the others (`jackknife.uneven`).

    With `bounds`: the effective number of users is p (1 - p) / v, with p and v the figure and its variance on the
    scale 0..1 between the bounds, times (z / t)² for its uncertainty (`_freedom`); Clopper and Pearson's interval for
    that number (Korn and Graubard 1998, Survey Methodology 24:193), with the whole error on one side where the other
    side cannot err (`_one_sided`). If all users have the same value x, a share of more than u = 1 - (tail)^(1/users)
    of users with another value would have shown in the sample, so the ends are x - u (x - lowest) and x + u (highest
    - x). If the users have only two values, the figure is a share of them, and the exact interval of that share lies
    within the ends: without this, 92.2 % contained the worst share.

    Without: Hall's transformation of Student's t, which corrects for skewness (Hall 1992, J. R. Statist. Soc. B
    54:221), with two fifths of the degrees of freedom, because few users of a skewed figure rarely show its tail; at
    least FEWEST_USERS users are needed, of whom FEWEST_APART differ from the others.
    """
    tail = _tail(level)
    if spread.undefined:
        return Interval(
            None, None, f"no interval: undefined without {spread.undefined} of {spread.users} users"
        )
    if spread.users < max(2, fewest):
        return Interval(None, None, ONE_USER if spread.users < 2 else few_users(fewest))
    if spread.uneven:
        return Interval(None, None, spread.uneven)
    return _open(value, spread, tail) if bounds is None else _bounded(value, spread, bounds, tail)


def student_interval(
    value: float, spread: Spread, level: float = LEVEL, fewest: int = FEWEST_USERS
) -> Interval:
    """Student's t on the figure's own scale, for a figure that is a logarithm already, such as a rating."""
    from scipy.special import stdtrit

    tail = _tail(level)
    if spread.users < max(2, fewest):
        return Interval(None, None, few_users(fewest))
    if spread.uneven:
        return Interval(None, None, spread.uneven)
    if spread.undefined or spread.variance == 0:
        return Interval(None, None, ALL_EQUAL)
    half = float(stdtrit(spread.freedom, 1 - tail)) * math.sqrt(spread.variance)
    return Interval(value - half, value + half)


def few_users(fewest: int) -> str:
    """The note that there is no interval with fewer users than this."""
    return ONE_USER if fewest <= 2 else f"no interval: it needs at least {fewest} users"


def _tail(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, not at {level}")
    return (1 - level) / 2


def _beta_ends(share: float, n: float, tail: float) -> tuple[float, float]:
    from scipy.special import betaincinv

    hits, misses = share * n, (1 - share) * n
    low = float(betaincinv(hits, misses + 1, tail)) if hits > 1e-9 else 0.0
    high = float(betaincinv(hits + 1, misses, 1 - tail)) if misses > 1e-9 else 1.0
    return low, high


def _one_sided(share: float, n: float, tail: float) -> tuple[float, float]:
    """Clopper and Pearson's ends without the part of the error that a rare event cannot use.

    No sample of n excludes a share below u = 1 - tail^(1/n) as too high, since even a sample without any hit does
    not. The test of such a share (at most one half) may therefore spend both tails on samples with too many hits
    and still errs in at most 2 tail of samples. The low end rises accordingly, and the high end falls for shares
    near 1.
    """
    low, high = _beta_ends(share, n, tail)
    inner_low, inner_high = _beta_ends(share, n, 2 * tail)
    rare = min(0.5, unseen_share(n, 1 - 2 * tail))
    return min(inner_low, max(low, rare)), max(inner_high, min(high, 1 - rare))


def _freedom(place: float, variance: float, spread: Spread) -> float:
    """Degrees of freedom of the effective number of users, place (1 - place) / variance; at most twice the variance's.

    The variance has 2 G / k of them, with k the kurtosis of the influences less 1. For rare events it varies with the
    figure itself, as place (1 - place) does, and their ratio hardly varies. By the delta method k becomes
    k - 2 g τ + τ², with g the skewness and τ = s (1 - 2 place) / (place (1 - place)), s² = G · variance: 0 for two
    values, about k / 2 for skewed continuous figures. Few users tell kurtosis and skewness badly, so k / 2 is kept
    and twice that is added.
    """
    k = 2 * spread.users / spread.freedom
    slope = math.sqrt(variance * spread.users) * (1 - 2 * place) / (place * (1 - place))
    of_ratio = max(0.0, k - 2 * spread.skewness * slope + slope**2)
    known = 2 * spread.users / (k / 2 + 2 * of_ratio)
    return max(spread.freedom, min(spread.users - 1.0, known))


def _certain(place: float, spread: Spread, width: float) -> float:
    """The variance of a figure at `place` between bounds `width` apart: rows between bounds vary no more than if each had
    one of the two values, so what the design effect adds has a limit."""
    limit = place * (1 - place) * width**2 / spread.worth
    return (
        max(spread.variance - spread.doubt, min(spread.variance, limit)) if spread.doubt else spread.variance
    )


def _bounded(value: float, spread: Spread, bounds: Bounds, tail: float) -> Interval:
    from scipy.special import ndtri, stdtrit

    lowest, width = bounds[0], bounds[1] - bounds[0]
    place = min(1.0, max(0.0, (value - lowest) / width))
    variance = _certain(place, spread, width) / width**2
    if variance == 0 or place in (0.0, 1.0):
        unseen = unseen_share(spread.users, 1 - 2 * tail)
        low, high = place * (1 - unseen), place + (1 - place) * unseen
    else:
        freedom = _freedom(place, variance, spread)
        known_as_well = (ndtri(1 - tail) / stdtrit(freedom, 1 - tail)) ** 2
        low, high = _one_sided(place, float(place * (1 - place) / variance * known_as_well), tail)
    if spread.split and not spread.doubt:
        low, high = _of_two_values(place, math.sqrt(variance), spread, tail, low, high)
    # rounding must not move an end past the figure
    return Interval(min(value, lowest + width * low), max(value, lowest + width * high))


def _of_two_values(
    place: float, error: float, spread: Spread, tail: float, low: float, high: float
) -> tuple[float, float]:
    """The ends, not inside those of the exact interval of the share of users that have the higher of two values."""
    share = spread.split / spread.users
    apart = error * math.sqrt((spread.users - 1) / (share * (1 - share)))
    exact_low, exact_high = _beta_ends(share, spread.users, tail)
    return min(low, place - apart * (share - exact_low)), max(high, place + apart * (exact_high - share))


def _open(value: float, spread: Spread, tail: float) -> Interval:
    from scipy.special import stdtrit

    if spread.users < FEWEST_USERS:
        return Interval(None, None, FEW_USERS)
    if spread.variance == 0:
        return Interval(None, None, ALL_EQUAL)
    if spread.apart < FEWEST_APART:
        return Interval(None, None, ALIKE)
    root, error = math.sqrt(spread.users), math.sqrt(spread.variance)
    reach = float(stdtrit(max(1.0, _KNOWN * spread.freedom), 1 - tail))
    a, b = spread.skewness / 3, spread.skewness / 6

    def turned(t: float) -> float:
        moved = t - b / root
        if abs(a) < 1e-6:
            return moved
        return float(root / a * (np.cbrt(1 + 3 * a / root * moved) - 1))

    return Interval(value - turned(reach) * error, value - turned(-reach) * error)


def sums_interval(
    per_user: FloatArray,
    finish: Callable[[FloatArray], FloatArray],
    bounds: Bounds | None = None,
    *,
    row_counts: FloatArray | IntArray,
    squares: FloatArray | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
    fewest: int = 2,
) -> Interval:
    """Interval of a statistic that is a function of sums over users; arguments as in `jackknife.sums_spread`.

    With more than `resamples` users, groups of them are left out; `resamples=0` gives no interval.
    """
    _tail(level)
    if resamples == 0:
        return Interval(None, None, NOT_REQUESTED)
    if per_user.shape[0] < max(2, fewest):
        return Interval(None, None, few_users(fewest))
    spread = sums_spread(per_user, finish, resamples, seed, row_counts, squares)
    value = float(finish(per_user.sum(axis=0)[None, :])[0])
    return interval_of(value, spread, bounds, level, fewest)


def mean_estimate(
    values: npt.ArrayLike,
    users: Ids,
    bounds: Bounds | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Estimate:
    """Mean over rows with its interval; users, not rows, are treated as independent.

    `bounds`: the lowest and the highest value a row can have, None if there is none; with them, the interval allows for
    users with rare values whom the sample does not show (`unseen.with_unseen`). NaN rows are left out and counted in the
    note. If every user has one row, or equally many equal ones, and every row is one of the bounds, the interval is
    Clopper and Pearson's.
    Raises ValueError for a value outside the bounds.
    """
    array = as_floats(values)
    kept = ~np.isnan(array)
    rows = array[kept]
    left_out = f"{array.size - rows.size} missing left out" if rows.size < array.size else ""
    if rows.size == 0:
        return undefined(join_notes("no values", left_out))
    check_bounds(rows, bounds)
    codes, count = encode(rows_of(users, kept))
    value = float(rows.mean())
    sums = sums_by_user(np.stack([rows, np.ones(rows.size)]), codes, count)
    if bounds is not None and resamples and count > 1 and is_count(sums, bounds):
        interval = count_interval(count, value, bounds, level)
    else:
        interval = sums_interval(
            sums,
            lambda s: ratio(s[:, 0], s[:, 1]),
            bounds,
            row_counts=sums[:, 1],
            squares=mean_squares(rows, codes, count),
            resamples=resamples,
            seed=seed,
            level=level,
        )
        if bounds is not None:
            seen = distances(rows, np.zeros(rows.size, dtype=np.int64), 1)
            interval = with_unseen(interval, seen, 0, count, level)
    return Estimate(value, interval.low, interval.high, rows.size, note=join_notes(interval.note, left_out))


def check_bounds(rows: FloatArray, bounds: Bounds | None) -> None:
    """Raises ValueError if a row lies outside the bounds, with room for rounding."""
    if bounds is not None and rows.size:
        slack = 1e-9 * (bounds[1] - bounds[0])
        if rows.min() < bounds[0] - slack or rows.max() > bounds[1] + slack:
            raise ValueError(f"a value lies outside {bounds[0]:g} to {bounds[1]:g}")


def is_count(sums: FloatArray, bounds: Bounds) -> bool:
    """Whether all users, with sums and numbers of rows (users, 2), have equally many rows, all with the lowest or all
    with the highest value. The mean is then a share of users.
    """
    total, size = sums.T
    return bool((size == size[0]).all() and np.isin(total / size, bounds).all())


def count_interval(n: int, mean: float, bounds: Bounds, level: float) -> Interval:
    """Clopper and Pearson's interval of a mean of n independent rows that are the lowest or the highest value."""
    width = bounds[1] - bounds[0]
    share = clopper_pearson(round(n * (mean - bounds[0]) / width), n, level)
    assert share.ci_low is not None
    assert share.ci_high is not None
    return Interval(bounds[0] + width * share.ci_low, bounds[0] + width * share.ci_high)


def share_estimate(
    hits: npt.ArrayLike, users: Ids, *, resamples: int = RESAMPLES, seed: int = 0, level: float = LEVEL
) -> Estimate:
    """Share of rows that are 1 among rows of 0 and 1; NaN rows are left out. Raises ValueError for another value."""
    array = as_floats(hits)
    rows = array[~np.isnan(array)]
    if rows.size == 0:
        return undefined("no values")
    if not np.isin(rows, SHARE).all():
        raise ValueError("a share is counted over rows of 0 and 1")
    estimate = mean_estimate(array, users, SHARE, resamples=resamples, seed=seed, level=level)
    note = estimate.note if estimate.ci_low is None else ""
    return Estimate(estimate.value, estimate.ci_low, estimate.ci_high, estimate.n, note=note)


def quantile_estimate(values: npt.ArrayLike, p: float, *, level: float = LEVEL) -> Estimate:
    """The p-quantile of independent values (linear between order statistics), with a distribution-free interval.

    With B binomial (n, p), the l-th and u-th smallest values enclose the quantile with probability
    P(l <= B < u). l is the largest with P(B < l) <= a/2, u the smallest with P(B >= u) <= a/2, a = 1 - level, so the
    coverage is at least `level` whatever the distribution. Without such a pair (few values, or p near 0 or 1) there
    is no interval. NaN rows are left out; undefined without values. Raises ValueError unless 0 < p < 1 and
    0 < level < 1. Sources: Thompson (1936); Hahn and Meeker (1991), section 5.2.
    """
    from scipy.special import bdtr

    if not (0 < p < 1 and 0 < level < 1):
        raise ValueError(f"a quantile and a level lie between 0 and 1, not at {p} and {level}")
    array = as_floats(values)
    ordered = np.sort(array[~np.isnan(array)])
    n = ordered.size
    if n == 0:
        return undefined("no values")
    value = float(np.quantile(ordered, p))
    tail = (1 - level) / 2
    # P(B <= 0), P(B <= 1), ...: P(B < l) is entry l - 1, and P(B >= u) is 1 less entry u - 1
    up_to = bdtr(np.arange(n + 1), n, p)
    low = int(np.searchsorted(up_to, tail, side="right"))
    high = int(np.searchsorted(up_to, 1 - tail, side="left")) + 1
    if low < 1 or high > n:
        return Estimate(value, None, None, n, note=f"no interval: {n} values are too few")
    if ordered[low - 1] == ordered[high - 1]:
        return Estimate(value, None, None, n, note="no interval: the values around the quantile are equal")
    return Estimate(value, float(ordered[low - 1]), float(ordered[high - 1]), n)
