"""Intervals over users: the delete-one jackknife with Student's t on a figure's natural scale, and Korn and Graubard's.

Users are independent, rows are not: a user's rows are left out together. Undefined figures are NaN inside `stats` and
None, with the reason, in an `Estimate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray, Ids, IntArray, as_floats, encode, ratio, rows_of
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Estimate, Interval, join_notes, undefined

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Bounds = tuple[float, float]
SHARE: Bounds = (0.0, 1.0)
ONE_USER = "no interval: it needs at least two users"
ALL_EQUAL = "no interval: all users have the same value"
AT_END = "no interval: the figure is at the end of its range in this sample"
# a share has Korn and Graubard's interval where fewer users have any hit, or any miss
FEWEST_HITS = 10
# above this many users they are left out in so many groups
MOST_GROUPS = 2000
_CELLS = 4_000_000


@dataclass(frozen=True)
class Scale:
    """A monotone transformation `to` a scale without ends, and `back`: an interval made there keeps within the range."""

    to: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]

    @staticmethod
    def between(bounds: Bounds | None) -> Scale:
        """The logit between two bounds; the identity without bounds."""
        if bounds is None:
            return IDENTITY
        low, width = bounds[0], bounds[1] - bounds[0]
        return Scale(lambda x: _logit((x - low) / width), lambda z: low + width / (1 + np.exp(-z)))


def _logit(share: FloatArray) -> FloatArray:
    return np.log(share) - np.log1p(-share)


IDENTITY = Scale(lambda x: x, lambda z: z)
LOGIT = Scale.between(SHARE)
FISHER = Scale(np.arctanh, np.tanh)


def t_quantile(freedom: npt.ArrayLike, level: float = LEVEL) -> FloatArray:
    """Student's two-sided quantile at this level of confidence. Raises ValueError unless 0 < level < 1."""
    from scipy.special import stdtrit

    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, not at {level}")
    return np.asarray(stdtrit(np.asarray(freedom, dtype=np.float64), (1 + level) / 2), dtype=np.float64)


def jackknife_interval(
    value: float, left_out: FloatArray, scale: Scale = IDENTITY, level: float = LEVEL
) -> Interval:
    """The interval of a figure from its values (G,) without each of G users or groups of users. On the scale z the
    variance is (G - 1) / G sum (z_i - mean z)² (Quenouille 1956; Tukey 1958); Student's t has G - 1 degrees of
    freedom. Source: Efron and Tibshirani 1993, chapter 11. None, with the reason, if undefined without some user."""
    size, missing = left_out.size, int(np.isnan(left_out).sum())
    if size < 2:
        return Interval(None, None, ONE_USER)
    if missing:
        return Interval(None, None, f"no interval: undefined without {missing} of {size} users")
    with np.errstate(divide="ignore", invalid="ignore"):
        z, parts = scale.to(np.array([value])), scale.to(left_out)
        error = float(np.sqrt((size - 1) / size * np.square(parts - parts.mean()).sum()))
    if not np.isfinite(z[0] + error):
        return Interval(None, None, AT_END)
    if error <= 1e-12 * max(1.0, abs(float(z[0]))):
        return Interval(None, None, ALL_EQUAL)
    half = float(t_quantile(size - 1, level)) * error
    low, high = scale.back(z + np.array([-half, half])).tolist()
    return Interval(low, high)


def jackknife(
    sums: FloatArray | csr_matrix,
    figure: Callable[[FloatArray], FloatArray],
    scale: Scale = IDENTITY,
    level: float = LEVEL,
    most: int = MOST_GROUPS,
) -> Interval:
    """The interval of `figure`, a function (m, k) -> (m,) of sums over users, given as (users, k), by leaving out one user
    at a time. Above `most` users groups of them are left out (delete-a-group: Kott 2001, J. Official Statist. 17:521),
    drawn with a fixed seed from the users in an order of their sums, whatever their names and the order of rows."""
    from scipy.sparse import csr_matrix

    users, width = sums.shape
    if users > most:
        order = np.lexsort((sums @ np.random.default_rng(0).random((width, 2))).T)
        group = np.empty(users, dtype=np.int64)
        group[order[np.random.default_rng(0).permutation(users)]] = np.arange(users) % most
        sums = csr_matrix((np.ones(users), (group, np.arange(users))), shape=(most, users)) @ csr_matrix(sums)
    total = np.asarray(sums.sum(axis=0), dtype=np.float64).reshape(1, -1)
    step = max(1, _CELLS // max(width, 1))
    parts = (sums[at : at + step] for at in range(0, min(users, most), step))
    left_out = [figure(total - (part if isinstance(part, np.ndarray) else part.toarray())) for part in parts]
    ends = jackknife_interval(float(figure(total)[0]), np.concatenate(left_out), scale, level)
    note = f"users left out in {most:,} groups" if users > most else ""
    return Interval(ends.low, ends.high, join_notes(ends.note, note))


def share_interval(value: float, left_out: FloatArray, n: int) -> Interval:
    """The interval of a figure from 0 to 1 from its values without each user: jackknife on the logit scale, at the ends
    Korn and Graubard's."""
    ends = jackknife_interval(value, left_out, LOGIT)
    if ends.note in (AT_END, ALL_EQUAL):
        users = np.array([left_out.size])
        error, _ = _errors(left_out, np.zeros(left_out.size, dtype=np.int64), users)
        low, high = korn_graubard(np.array([value]), error, np.array([float(n)]), users)
        return Interval(min(value, float(low[0])), max(value, float(high[0])))
    return ends


class UserSums(NamedTuple):
    """Sums over a user's rows of one figure, one entry for each user and figure: the ratio's numerator and denominator,
    the number of rows and the figure (n,)."""

    above: FloatArray
    below: FloatArray
    rows: FloatArray
    figure: IntArray


def ratios(
    sums: UserSums, figures: int, bounds: Sequence[Bounds | None] | Bounds | None = None, level: float = LEVEL
) -> list[Estimate]:
    """The ratio of sums over users of each figure, with its interval: means, shares, win rates, s = Q / (1 + Q). `bounds`:
    the lowest and highest value of a figure or of each. Without them Student's t, cut off at the one that is finite; with
    them the jackknife on the logit scale, and where fewer than FEWEST_HITS users are above the lowest or below the highest
    value Korn and Graubard's interval (1998, Survey Methodology 24:193): Clopper and Pearson's for the effective number of
    rows, n over the design effect, times the squared ratio of t quantiles with n - 1 and users - 1 degrees of freedom; at
    the bounds the number of users. A difference (bounds -x, x) that is the same for all users has none."""
    at, count = sums.figure, figures
    floor, top = _each_bounds(bounds, count).T
    bounded = np.isfinite(top - floor)
    low_end, width = (np.where(bounded, x, np.nan) for x in (floor, top - floor))
    # the range of a difference, which is 0 in its middle: there users who are all alike are not so many coins
    apart = bounded & (floor == -top)

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(at, weights=values, minlength=count).astype(np.float64)

    users = np.bincount(at, minlength=count)
    hits = np.where(bounded[at], (sums.above - low_end[at] * sums.below) / width[at], sums.above)
    whole, size = total(hits), total(sums.below)
    place = ratio(whole, size)
    place = np.where(bounded, np.clip(place, 0, 1), place)
    without = ratio(whole[at] - hits, size[at] - sums.below)
    error, undefined_without = _errors(without, at, users)
    few = np.minimum(
        total((hits > 1e-9 * sums.below).astype(float)), total((hits < (1 - 1e-9) * sums.below).astype(float))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(bounded, _logit(place), place)
        logit_error, _ = _errors(np.where(bounded[at], _logit(np.clip(without, 0, 1)), without), at, users)
        half = t_quantile(np.maximum(users - 1, 1), level) * logit_error
        low, high = z - half, z + half
        low, high = (np.where(bounded, 1 / (1 + np.exp(-end)), end) for end in (low, high))
        binomial = bounded & ((few < FEWEST_HITS) | ~np.isfinite(z + half) | (error <= 1e-9))
        if binomial.any():
            exact = korn_graubard(place[binomial], error[binomial], size[binomial], users[binomial], level)
            low[binomial], high[binomial] = exact
    value, low, high = (np.where(bounded, low_end + width * x, x) for x in (place, low, high))
    low, high = np.fmax(low, floor), np.fmin(high, top)
    n = total(sums.rows)
    out = []
    for f in range(count):
        if not users[f] or np.isnan(value[f]):
            out.append(undefined("no values", int(n[f])))
            continue
        note = ONE_USER if users[f] < 2 else ""
        if not note and undefined_without[f]:
            note = f"no interval: undefined without {undefined_without[f]} of {users[f]} users"
        alike = error[f] <= 1e-12 * max(1.0, abs(value[f]))
        if not note and alike and (not bounded[f] or (apart[f] and abs(place[f] - 0.5) < 0.5)):
            note = ALL_EQUAL
        figure = float(value[f])
        least, most = (None, None) if note else (min(float(low[f]), figure), max(float(high[f]), figure))
        out.append(Estimate(figure, least, most, int(n[f]), int(users[f]), note=note))
    return out


def _each_bounds(bounds: Sequence[Bounds | None] | Bounds | None, figures: int) -> FloatArray:
    """The lowest and highest value of each figure (figures, 2), NaN without bounds."""
    each = [bounds] * figures if bounds is None or isinstance(bounds[0], float | int) else bounds
    ends = [(np.nan, np.nan) if known is None else known for known in each]
    return np.array(ends, dtype=np.float64).reshape(-1, 2)


def _errors(without: FloatArray, at: IntArray, users: IntArray) -> tuple[FloatArray, IntArray]:
    """The jackknife's standard error of each figure from its values without each user, and the undefined ones' number."""
    many = np.maximum(users, 1)
    missing = np.bincount(at[np.isnan(without)], minlength=users.size)
    apart = without - (np.bincount(at, weights=without, minlength=users.size) / many)[at]
    squares = np.bincount(at, weights=apart * apart, minlength=users.size)
    return np.sqrt(np.maximum(users - 1, 0) / many * squares), missing


def korn_graubard(
    share: FloatArray, error: FloatArray, n: FloatArray, users: IntArray, level: float = LEVEL
) -> tuple[FloatArray, FloatArray]:
    """Both ends for shares (m,) of `n` rows of `users` with this standard error; see `ratios`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(error > 1e-9, n / np.maximum(n - 1, 1) * share * (1 - share) / error**2, np.inf)
        known = (t_quantile(np.maximum(n - 1, 1), level) / t_quantile(np.maximum(users - 1, 1), level)) ** 2
        inside = (share > 1e-12) & (share < 1 - 1e-12) & np.isfinite(effective)
        size = np.where(inside, effective * known, np.minimum(n, users))
    return _clopper_pearson(share, size, level)


def _clopper_pearson(share: FloatArray, n: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    hits, misses = np.maximum(share * n, 0), np.maximum((1 - share) * n, 0)
    some, short = hits > 1e-9, misses > 1e-9
    low = np.where(some, betaincinv(np.where(some, hits, 1), misses + 1, tail), 0.0)
    high = np.where(short, betaincinv(hits + 1, np.where(short, misses, 1), 1 - tail), 1.0)
    return low, high


def clopper_pearson(successes: int, n: int, level: float = LEVEL) -> Estimate:
    """A share of n independent cases with the exact interval of Clopper and Pearson (1934). Undefined for n = 0. For
    several cases of one user use `share_estimate`. Raises ValueError unless 0 <= successes <= n and 0 < level < 1."""
    if not (0 <= successes <= n and 0 < level < 1):
        raise ValueError(f"{successes} successes of {n} cases at level {level} is not possible")
    if n == 0:
        return undefined("no cases")
    low, high = _clopper_pearson(np.array([successes / n]), np.array([float(n)]), level)
    return Estimate(successes / n, float(low[0]), float(high[0]), n)


def sums_by_user(columns: FloatArray, codes: IntArray, users: int) -> FloatArray:
    """Sums (users, k) of the columns (k, n) over each user's rows."""
    return np.stack([np.bincount(codes, weights=column, minlength=users) for column in columns], axis=1)


def ratio_of_sums(
    above: npt.ArrayLike, below: npt.ArrayLike, users: Ids, *, level: float = LEVEL
) -> Estimate:
    """sum(above) / sum(below) over rows (n,) with its interval; rows with NaN are left out, users with 0 below too."""
    upper, lower = as_floats(above), as_floats(below)
    kept = ~(np.isnan(upper) | np.isnan(lower))
    codes, count = encode(rows_of(users, kept))
    sums = sums_by_user(np.stack([upper[kept], lower[kept], np.ones(int(kept.sum()))]), codes, count)
    top, bottom, n = sums[sums[:, 1] != 0].T
    return ratios(UserSums(top, bottom, n, np.zeros(n.size, dtype=np.int64)), 1, level=level)[0]


def group_means(
    values: npt.ArrayLike,
    users: Ids,
    groups: IntArray,
    count: int,
    bounds: Sequence[Bounds | None] | Bounds | None = None,
    *,
    level: float = LEVEL,
) -> list[Estimate]:
    """Mean over the rows of each group 0..count-1 with its interval; `Estimate.groups` counts the group's users.
    `values`, `users` and `groups` (n,); NaN rows are left out and counted in the note. `bounds`: lowest and highest
    value of a row, or of each group's. Raises ValueError for a value outside the bounds."""
    array, group = as_floats(values), np.asarray(groups)
    kept = ~np.isnan(array)
    rows, here = array[kept], group[kept]
    low, high = _each_bounds(bounds, count)[here].T
    strange: BoolArray = (rows < low - 1e-9 * (high - low)) | (rows > high + 1e-9 * (high - low))
    if strange.any():
        raise ValueError(f"a value of {rows[strange][0]:g} lies outside its bounds")
    codes, _ = encode(rows_of(users, kept))
    cell, cells = encode(codes * max(count, 1) + here)
    owner = np.zeros(cells, dtype=np.int64)
    owner[cell] = here
    size = np.bincount(cell, minlength=cells).astype(np.float64)
    total = np.bincount(cell, weights=rows, minlength=cells).astype(np.float64)
    missing = np.bincount(group[~kept], minlength=count)
    found = ratios(UserSums(total, size, size, owner), count, bounds, level)
    return [
        replace(estimate, note=join_notes(estimate.note, f"{left_out} missing left out" if left_out else ""))
        for estimate, left_out in zip(found, missing, strict=True)
    ]


def mean_estimates(
    values: Sequence[FloatArray], users: Sequence[IntArray], bounds: Sequence[Bounds | None]
) -> list[Estimate]:
    """The mean of each of several measures, with an array of values and of their users for each."""
    if not values:
        return []
    group = np.repeat(np.arange(len(values)), [part.size for part in values])
    return group_means(np.concatenate(values), np.concatenate(users), group, len(values), bounds)


def mean_estimate(
    values: npt.ArrayLike, users: Ids, bounds: Bounds | None = None, *, level: float = LEVEL
) -> Estimate:
    """Mean over rows with its interval over users; as one group of `group_means`."""
    one = np.zeros(np.size(values), dtype=np.int64)
    return replace(group_means(values, users, one, 1, bounds, level=level)[0], groups=None)


def share_estimate(hits: npt.ArrayLike, users: Ids, *, level: float = LEVEL) -> Estimate:
    """Share of rows that are 1 among rows of 0 and 1; NaN rows are left out. Raises ValueError for another value."""
    array = as_floats(hits)
    rows = array[~np.isnan(array)]
    if rows.size == 0:
        return undefined("no values")
    if not np.isin(rows, SHARE).all():
        raise ValueError("a share is counted over rows of 0 and 1")
    estimate = mean_estimate(array, users, SHARE, level=level)
    return estimate if estimate.ci_low is None else replace(estimate, note="")


def difference_of_means(values: npt.ArrayLike, first: npt.ArrayLike, users: Ids) -> Estimate:
    """Mean of the rows marked `first` minus the mean of the others; NaN rows are left out. A user's rows on both
    sides are left out together, so what a user does to both cancels."""
    array = as_floats(values)
    kept = ~np.isnan(array)
    rows, left = array[kept], rows_of(first, kept).astype(np.float64)
    if not left.any() or left.all():
        return undefined("one of the two has no verdicts", rows.size)
    codes, count = encode(rows_of(users, kept))
    sums = sums_by_user(np.stack([rows * left, left, rows * (1 - left), 1 - left]), codes, count)
    whole = sums.sum(axis=0)

    def finish(parts: FloatArray) -> FloatArray:
        return ratio(parts[:, 0], parts[:, 1]) - ratio(parts[:, 2], parts[:, 3])

    value = float(finish(whole[None, :])[0])
    ends = jackknife_interval(value, finish(whole - sums))
    return Estimate(value, ends.low, ends.high, rows.size, note=ends.note)


def quantile_estimate(values: npt.ArrayLike, p: float) -> Estimate:
    """The p-quantile of independent values with SciPy's distribution-free interval (Hahn and Meeker 1991, section 5.2). NaN
    rows are left out; undefined without values. Raises ValueError unless 0 < p < 1."""
    from scipy.stats import quantile_test

    if not 0 < p < 1:
        raise ValueError(f"a quantile lies between 0 and 1, not at {p}")
    array = as_floats(values)
    known = array[~np.isnan(array)]
    if not known.size:
        return undefined("no values")
    value = float(np.quantile(known, p))
    ends: Any = quantile_test(known, p=p).confidence_interval(LEVEL)
    if np.isnan([ends.low, ends.high]).any():
        return Estimate(value, None, None, known.size, note=f"no interval: {known.size} values are too few")
    if ends.low == ends.high:
        note = "no interval: the values around the quantile are equal"
        return Estimate(value, None, None, known.size, note=note)
    return Estimate(value, float(ends.low), float(ends.high), known.size)
