"""The jackknife over users: how a figure changes when one user with all their rows is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, ratio
from recjudge_tui.stats.defaults import RESAMPLES
from recjudge_tui.stats.resampling.design_effect import design, mean_squares

UNEVEN = "no interval: a few users have far more of the counted rows than the others"
# users with very different numbers of rows: see `uneven`
_EVEN_SHARE, _EVEN_ENOUGH, _ENOUGH_BY_DESIGN = 1 / 2, 20, 8
# a spread below this share of the figure's scale is a rounding error
_DUST = 1e-10


@dataclass(frozen=True)
class Spread:
    """How much a figure depends on single users. `users` were left out in turn, `variance` is the variance of the
    figure, `freedom` are the degrees of freedom of the variance, `skewness` is the skewness of the users' influences
    on the figure, `apart` counts the users whose influence is not the median one. `undefined`: left-out users without
    whom the figure has no value; the rest is then NaN or 0. `uneven`: why there is no interval where a few users have far
    more rows than the others; else empty. `doubt` is the part of the variance that only the similarity of a user's rows
    shows, which are then `worth` so many independent rows (`design_effect.design`). `split`: if the influences have only two
    values, the number of users with the higher one; else 0.
    """

    users: int
    variance: float
    freedom: float
    skewness: float
    apart: int = 0
    undefined: int = 0
    uneven: str = ""
    doubt: float = 0.0
    worth: float = np.inf
    split: int = 0


def uneven(row_counts: FloatArray | IntArray) -> bool:
    """Whether a few users have far more of the rows than the others, from each user's number of rows m (users,).

    Kish's effective number of users, (sum m)² / sum m² (Kish 1965, Survey Sampling, section 11.7), is then below half of
    the users that have rows, and below 20. If the few happen to be alike, the spread over users does not show how
    different others like them would be. Where the similarity of a user's rows is measured (`spreads`), 8 are enough.
    """
    return bool(_uneven(row_counts, np.zeros(row_counts.size, dtype=np.int64), 1, _EVEN_ENOUGH)[0])


def _uneven(row_counts: FloatArray | IntArray, groups: IntArray, count: int, enough: int) -> BoolArray:
    users, total, squares = (
        np.bincount(groups, weights=part, minlength=count)
        for part in (row_counts > 0, row_counts, row_counts**2)
    )
    few: BoolArray = total * total < np.minimum(_EVEN_SHARE * users, enough) * squares
    return few


def spread_of(
    whole: float,
    without: FloatArray,
    row_counts: FloatArray | IntArray | None = None,
    squares: FloatArray | None = None,
) -> Spread:
    """The spread of a figure from its values `without` (G,) each user; NaN where undefined. `row_counts` (users,) are the
    users' numbers of rows, None if all have one; `squares` (users,) as in `spreads`, not used where users were left out in
    groups.

    With the influence d_i = (G - 1) (whole - without_i) less its mean, the variance is sum d_i² / (G (G - 1)), the
    jackknife's (Tukey 1958; Efron and Tibshirani 1993, ch. 11), which errs upwards (Efron and Stein 1981). Its
    degrees of freedom are 2 G / (kurtosis of d - 1), between 1 and G - 1: a variance that depends on few users, as
    with rare events, is known less precisely than one to which all users contribute.
    """
    missing = int(np.isnan(without).sum())
    if missing:
        return Spread(without.size, np.nan, np.nan, np.nan, undefined=missing)
    users = without.size
    influence, alone = (users - 1) * (whole - without), np.zeros(users, dtype=np.int64)
    scale = np.array([abs(whole)])
    if row_counts is None or row_counts.size == users:
        return spreads(influence, alone, scale, row_counts, squares)[0]
    return replace(spreads(influence, alone, scale)[0], uneven=UNEVEN if uneven(row_counts) else "")


def spreads(
    influence: FloatArray,
    groups: IntArray,
    scale: FloatArray,
    row_counts: FloatArray | IntArray | None = None,
    squares: FloatArray | None = None,
) -> list[Spread]:
    """The spread of each of several figures from the `influence` (n,) of the users on the figure `groups` (n,).

    `scale` (figures,) is the size of each figure, against which a rounding error is judged. `row_counts` (n,) is the user's
    number of rows, None if all have one. `squares` (n,) is the sum of the squared influences of these rows
    (`design_effect.row_squares`): the variance is then at least the one by the design effect (`design_effect.design`).
    """
    count = scale.size
    users = np.bincount(groups, minlength=count)
    dust = _DUST * np.maximum(1.0, scale)

    def total(values: FloatArray | IntArray) -> FloatArray:
        return np.bincount(groups, weights=values, minlength=count).astype(np.float64)

    many = np.maximum(users, 1)
    centred = influence - (total(influence) / many)[groups]
    second, third, fourth = (total(centred**power) for power in (2, 3, 4))
    ordered = centred[np.lexsort((centred, groups))]
    middle = np.minimum(np.cumsum(users) - users + users // 2, max(0, ordered.size - 1))
    median = ordered[middle] if ordered.size else np.zeros(count)
    far = np.abs(centred - median[groups]) > dust[groups]
    apart = np.bincount(groups[far], minlength=count)
    found = [
        _moments(int(users[at]), second[at], third[at], fourth[at], float(dust[at]), int(apart[at]))
        for at in range(count)
    ]
    if row_counts is None:
        return found
    enough = _EVEN_ENOUGH if squares is None else _ENOUGH_BY_DESIGN
    for at in np.flatnonzero(_uneven(row_counts, groups, count, enough)).tolist():
        found[at] = replace(found[at], uneven=UNEVEN)
    if squares is None:
        return found
    left = total(row_counts)[groups] - row_counts
    least, worth = design(
        influence * left / np.maximum(users - 1, 1)[groups], row_counts, squares, groups, count
    )
    for at in np.flatnonzero(least > [spread.variance for spread in found]).tolist():
        doubt = float(least[at]) - found[at].variance
        found[at] = replace(found[at], variance=float(least[at]), doubt=doubt, worth=float(worth[at]))
    return found


def _moments(users: int, squares: float, cubes: float, fourths: float, dust: float, apart: int) -> Spread:
    if users < 2:
        return Spread(users, np.nan, np.nan, np.nan)
    usual = squares / users
    if usual <= dust**2:
        return Spread(users, 0.0, users - 1.0, 0.0)
    kurtosis = fourths / users / usual**2
    freedom = 2 * users / (kurtosis - 1) if kurtosis > 1 + _DUST else np.inf
    skewness = cubes / users / usual**1.5
    variance = squares / (users * (users - 1))
    # of two values, and of no others, the kurtosis is 1 more than the squared skewness (Pearson 1916)
    two = kurtosis - 1 - skewness**2 < _DUST * kurtosis
    split = round(users * (1 - skewness / (4 + skewness**2) ** 0.5) / 2) if two else 0
    return Spread(users, variance, max(1.0, min(users - 1.0, freedom)), skewness, apart, split=split)


def grouped_users(per_user: FloatArray, resamples: int = RESAMPLES, seed: int = 0) -> FloatArray:
    """The rows (users, k), or with more than `resamples` users the sums (resamples, k) of groups of users.

    Groups are drawn at random and evenly; leaving out a group at a time gives the same variance with more noise
    (Shao and Tu 1995, section 2.3), at a cost that does not grow with the number of users.
    """
    users = per_user.shape[0]
    if users <= resamples:
        return per_user
    order = np.random.default_rng(seed).permutation(users)
    of_user = np.empty(users, dtype=np.int64)
    of_user[order] = np.arange(users) % resamples
    return np.stack(
        [np.bincount(of_user, weights=column, minlength=resamples) for column in per_user.T], axis=1
    )


def sums_by_user(columns: FloatArray, codes: IntArray, users: int) -> FloatArray:
    """Sums (users, k) of the columns (k, n) over each user's rows."""
    return np.stack([np.bincount(codes, weights=column, minlength=users) for column in columns], axis=1)


def sums_spread(
    per_user: FloatArray,
    finish: Callable[[FloatArray], FloatArray],
    resamples: int = RESAMPLES,
    seed: int = 0,
    row_counts: FloatArray | IntArray | None = None,
    squares: FloatArray | None = None,
) -> Spread:
    """The spread of a statistic that is a function of sums over users.

    `per_user` (users, k): each user's terms of the sums. `finish` maps sums (r, k) to figures (r,), NaN if
    undefined. Examples: counts of wins, ties and losses -> Q; a confusion matrix -> kappa. `row_counts` and `squares`
    (users,) as for `spread_of`.
    """
    rows = grouped_users(per_user, resamples, seed)
    whole = rows.sum(axis=0)
    values: FloatArray = finish(np.concatenate([whole[None, :], whole - rows]))
    return spread_of(float(values[0]), values[1:], row_counts, squares)


def mean_spread(
    rows: FloatArray, codes: IntArray, users: int, resamples: int = RESAMPLES, seed: int = 0
) -> Spread:
    """The spread of the mean of the rows (n,) of the users `codes` (n,), with the design effect of similar rows."""
    sums = sums_by_user(np.stack([rows, np.ones(rows.size)]), codes, users)
    squares = mean_squares(rows, codes, users)
    return sums_spread(sums, lambda s: ratio(s[:, 0], s[:, 1]), resamples, seed, sums[:, 1], squares)
