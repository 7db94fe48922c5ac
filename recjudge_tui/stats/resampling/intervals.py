"""Intervals: Wilson's for a proportion, order statistics for a quantile, resampled users for everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import FloatArray, Ids, IntArray, as_floats, encode, ratio, rows_of
from recjudge_tui.stats.estimate import Estimate, Interval, join_notes, undefined

RESAMPLES = 2000
LEVEL = 0.95
MOST_UNDEFINED = 0.05
ONE_USER = "no interval: resampling users needs at least two"
# larger arrays do not stay in the cache
_CHUNK = 400_000
_COLLAPSE_FROM = 1000


def wilson(successes: int, n: int, level: float = LEVEL) -> Estimate:
    """Proportion with Wilson's score interval (Wilson 1927).

    centre = (p + z²/2n) / (1 + z²/n), half width = z/(1 + z²/n) · sqrt(p(1-p)/n + z²/4n²).
    Undefined for n = 0. Trials must be independent; for several cases of one user use `share_estimate`.
    Raises ValueError unless 0 <= successes <= n and 0 < level < 1.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} trials is not possible")
    z = _quantile(level)
    if n == 0:
        return undefined("no trials")
    p = successes / n
    spread = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / spread
    half = z / spread * float(np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Estimate(p, low, high, n)


def _quantile(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, not at {level}")
    return NormalDist().inv_cdf(0.5 + level / 2)


def percentile_interval(values: FloatArray, level: float = LEVEL) -> Interval:
    """Percentile interval of resampled values; NaN marks a resample whose figure was undefined.

    Undefined resamples are left out; if there are more than 5 % of them, there is no interval.
    """
    kept = values[~np.isnan(values)]
    missing = values.size - kept.size
    if values.size == 0:
        return Interval(None, None, "no interval was requested")
    if missing > MOST_UNDEFINED * values.size:
        return Interval(None, None, f"no interval: undefined in {missing} of {values.size} resamples")
    tail = (1 - level) / 2
    low, high = np.quantile(kept, [tail, 1 - tail])
    return Interval(float(low), float(high))


def percentile_intervals(table: FloatArray, level: float = LEVEL) -> list[Interval]:
    """`percentile_interval` of each column of (resamples, figures), those without NaN at once."""
    if not len(table):
        return [percentile_interval(column, level) for column in table.T]
    tail = (1 - level) / 2
    ends = np.quantile(table, [tail, 1 - tail], axis=0).T.tolist()
    return [
        percentile_interval(column, level) if np.isnan(low) else Interval(low, high)
        for (low, high), column in zip(ends, table.T, strict=True)
    ]


def user_weights(users: int, resamples: int, seed: int, width: int = 1) -> Iterator[FloatArray]:
    """How often each user was drawn: arrays (r, users), in chunks that add up to `resamples` rows.

    Each row draws `users` users with replacement. `width` is the length of the longest array that the caller
    makes for one resample; it keeps the chunks small enough for memory.
    """
    rng = np.random.default_rng(seed)
    step = max(1, _CHUNK // max(users, width, 1))
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = rng.integers(0, users, size=(rows, users))
        drawn += np.arange(rows)[:, None] * users
        counts = np.bincount(drawn.reshape(-1), minlength=rows * users)
        yield counts.reshape(rows, users).astype(np.float64)


def resampled_sums(per_user: FloatArray, resamples: int, seed: int) -> Iterator[FloatArray]:
    """Column sums (r, k) of `per_user` (users, k) over resampled users, in chunks.

    Users with equal rows are exchangeable. If most rows are equal (one vote each, say), their numbers in a
    resample are drawn from a multinomial, which has the same distribution and costs less.
    """
    users, width = per_user.shape
    if users >= _COLLAPSE_FROM:
        rows, counts = np.unique(per_user, axis=0, return_counts=True)
        if rows.shape[0] * 4 <= users:
            yield from _profile_sums(rows, counts.astype(np.int64), resamples, seed)
            return
    for weights in user_weights(users, resamples, seed, width):
        yield weights @ per_user


def _profile_sums(rows: FloatArray, counts: IntArray, resamples: int, seed: int) -> Iterator[FloatArray]:
    rng = np.random.default_rng(seed)
    users = int(counts.sum())
    step = max(1, _CHUNK // max(rows.shape))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        yield rng.multinomial(users, counts / users, size=size).astype(np.float64) @ rows


def bootstrap_sums(
    per_user: FloatArray,
    finish: Callable[[FloatArray], FloatArray],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Interval:
    """Interval of a statistic that is a function of sums over users.

    `per_user` (users, k): each user's terms of the sums. `finish` maps sums (r, k) to figures (r,), NaN if
    undefined. Examples: counts of wins, ties and losses -> Q; a confusion matrix -> kappa.
    """
    _quantile(level)
    if per_user.shape[0] < 2:
        return Interval(None, None, ONE_USER)
    parts = [finish(sums) for sums in resampled_sums(per_user, resamples, seed)]
    return percentile_interval(np.concatenate(parts) if parts else np.zeros(0), level)


def cluster_bootstrap(
    statistic: Callable[[IntArray], float | None],
    clusters: Ids,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Interval:
    """Interval of any statistic, clusters (users) resampled with replacement.

    `statistic` receives the row numbers of a resample (a row occurs as often as its user was drawn)
    and returns the figure or None. Slow but general; prefer `bootstrap_sums`.
    """
    _quantile(level)
    codes, users = encode(clusters)
    if users < 2:
        return Interval(None, None, ONE_USER)
    values: list[float] = []
    for weights in user_weights(users, resamples, seed, codes.size):
        for row in weights:
            figure = statistic(np.repeat(np.arange(codes.size), row[codes].astype(np.int64)))
            values.append(np.nan if figure is None else figure)
    return percentile_interval(np.asarray(values), level)


def sums_by_user(columns: FloatArray, codes: IntArray, users: int) -> FloatArray:
    """Sums (users, k) of the columns (k, n) over each user's rows."""
    return np.stack([np.bincount(codes, weights=column, minlength=users) for column in columns], axis=1)


def mean_estimate(
    values: npt.ArrayLike, users: Ids, *, resamples: int = RESAMPLES, seed: int = 0, level: float = LEVEL
) -> Estimate:
    """Mean over rows with an interval from users resampled; NaN rows are left out and counted in the note."""
    array = as_floats(values)
    kept = ~np.isnan(array)
    rows = array[kept]
    left_out = f"{array.size - rows.size} missing left out" if rows.size < array.size else ""
    if rows.size == 0:
        return undefined(join_notes("no values", left_out))
    codes, count = encode(rows_of(users, kept))
    sums = sums_by_user(np.stack([rows, np.ones(rows.size)]), codes, count)
    interval = bootstrap_sums(
        sums, lambda s: ratio(s[:, 0], s[:, 1]), resamples=resamples, seed=seed, level=level
    )
    note = join_notes(interval.note, left_out)
    return Estimate(float(rows.mean()), interval.low, interval.high, rows.size, note=note)


def share_estimate(
    hits: npt.ArrayLike, users: Ids, *, resamples: int = RESAMPLES, seed: int = 0, level: float = LEVEL
) -> Estimate:
    """Share of rows that are 1 among rows of 0 and 1; NaN rows are left out.

    Wilson's interval if every user has one row. Otherwise users are resampled; if all rows
    are equal, no resample can differ, and the interval is Wilson's for the number of users.
    """
    array = as_floats(hits)
    kept = ~np.isnan(array)
    rows = array[kept]
    if rows.size == 0:
        return undefined("no values")
    if not np.isin(rows, (0.0, 1.0)).all():
        raise ValueError("a share is counted over rows of 0 and 1")
    count = np.unique(rows_of(users, kept)).size
    if count == rows.size:
        return wilson(int(rows.sum()), rows.size, level)
    if rows.min() == rows.max():
        bound = wilson(count if rows[0] else 0, count, level)
        note = "all rows agree: Wilson's interval for the number of users"
        return Estimate(float(rows[0]), bound.ci_low, bound.ci_high, rows.size, note=note)
    return mean_estimate(array, users, resamples=resamples, seed=seed, level=level)


def quantile_estimate(values: npt.ArrayLike, p: float, *, level: float = LEVEL) -> Estimate:
    """The p-quantile of independent values (linear between order statistics), with a distribution-free interval.

    With B binomial (n, p), the l-th and u-th smallest values enclose the quantile with probability
    P(l <= B < u). l is the largest with P(B < l) <= a/2, u the smallest with P(B >= u) <= a/2, a = 1 - level, so the
    coverage is at least `level` whatever the distribution. Without such a pair (few values, or p near 0 or 1) there
    is no interval. NaN rows are left out; undefined without values. Raises ValueError unless 0 < p < 1 and
    0 < level < 1. Sources: Thompson (1936); Hahn and Meeker (1991), section 5.2.
    """
    from scipy.stats import binom

    if not (0 < p < 1 and 0 < level < 1):
        raise ValueError(f"a quantile and a level lie between 0 and 1, not at {p} and {level}")
    array = as_floats(values)
    ordered = np.sort(array[~np.isnan(array)])
    n = ordered.size
    if n == 0:
        return undefined("no values")
    value = float(np.quantile(ordered, p))
    tail = (1 - level) / 2
    low = int(binom.ppf(tail, n, p))
    if binom.cdf(low - 1, n, p) > tail:
        low -= 1
    high = int(binom.ppf(1 - tail, n, p)) + 1
    if low < 1 or high > n:
        return Estimate(value, None, None, n, note=f"no interval: {n} values are too few")
    return Estimate(value, float(ordered[low - 1]), float(ordered[high - 1]), n)
