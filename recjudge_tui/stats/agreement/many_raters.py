"""Agreement of two or more raters, not all of whom rated everything: alpha, Fleiss' kappa, AC1 and AC2. All figures
are computed from counts of labels by item, summed over users, so one function of the sums serves the figure and the
jackknife over users.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement.coefficients import label_array
from recjudge_tui.stats.agreement.intervals import cases_seen, figure_interval, varied_users
from recjudge_tui.stats.agreement.registry import MANY_RATERS
from recjudge_tui.stats.arrays import FloatArray, Ids, IntArray, as_floats, encode, ratio, rows_of
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Estimate, Interval, undefined
from recjudge_tui.stats.intervals import sums_by_user
from recjudge_tui.stats.resampling.intervals import FEW_USERS, FEWEST_USERS, NOT_REQUESTED, few_users
from recjudge_tui.stats.resampling.jackknife import sums_spread

# with fewer of either, only 80 to 92 % of the 95 % intervals of chance-corrected figures contained the true value
FEWEST_BY_CHANCE = 20
FEWEST_VARIED = 10
# squared differences depend on the ends of the scale: with fewer users there, 89 % of the 95 % intervals contained
# the true value
FEWEST_AT_END = 8
_SHARE_AT_END = 1 / 4
SQUARED = ("alpha_interval", "fleiss_quadratic")
FEW_AT_END = "no interval: too few users have the lowest or the highest label"
FEW_VARIED = f"no interval: fewer than {FEWEST_VARIED} users have a value other than the most common one"
NO_ITEM = "no item rated by two raters"


class _Sums(NamedTuple):
    """Sums over items (r, ...), from which every statistic follows.

    `coincidences` (r, q, q): ordered pairs of ratings of one item by label, over the number of ratings less 1
    (Krippendorff); `pairs` (r, q, q): the same over the number of ordered pairs, so that an item counts as 1; `shares`
    (r, q): shares of labels of every rated item; `items` (r,): rated items.
    """

    coincidences: FloatArray
    pairs: FloatArray
    shares: FloatArray
    items: FloatArray


class _Chance(NamedTuple):
    """Observed and expected disagreement (r,), as shares of the largest possible disagreement."""

    observed: FloatArray
    expected: FloatArray


def many_raters_estimates(
    values: npt.ArrayLike,
    items: Ids,
    users: Ids,
    labels: npt.ArrayLike,
    stats: Sequence[str] = tuple(MANY_RATERS),
    *,
    mirrored: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, Estimate]:
    """MANY_RATERS of ratings (n,), one row per rater and item. `users` (n,) are the users of the items; intervals are
    over users.

    `labels` are the values of the label set, rising. Rows with NaN are left out; n counts the items with two ratings or
    more. `mirrored`: ratings are signed preferences without a first side, so each item counts half as it is and half
    with all values negated.

    Alpha (Krippendorff 2011) leaves out items with one rating. Fleiss' kappa (1971) and AC1, AC2 (Gwet 2014, chapters
    2 to 5) average the agreement over items with two ratings or more, and the shares of labels over all rated items.
    Raises KeyError for an unknown statistic, ValueError for a value outside the label set or an item of two users.
    """
    for stat in stats:
        if stat not in MANY_RATERS:
            raise KeyError(f"unknown statistic {stat!r}; there are {', '.join(MANY_RATERS)}")
    ratings, known = as_floats(values), label_array(labels)
    kept = ~np.isnan(ratings)
    ratings = ratings[kept]
    strange = np.setdiff1d(ratings, known)
    if strange.size:
        raise ValueError(f"{strange[0]:g} is not in the label set")
    item, item_count = encode(rows_of(items, kept))
    user, user_count = encode(rows_of(users, kept))
    owner = np.zeros(item_count, dtype=np.int64)
    owner[item] = user
    if (owner[item] != user).any():
        raise ValueError("an item must belong to one user")
    counts = _counts(item, np.searchsorted(known, ratings), item_count, known.size)
    n = int((counts.sum(axis=1) >= 2).sum())
    if n == 0:
        return {stat: undefined(NO_ITEM) for stat in stats}
    per_user = sums_by_user(_columns(counts, known, mirrored), owner, user_count)
    kinds = counts + counts[:, ::-1] if mirrored else counts
    seen = cases_seen(owner, *kinds.astype(np.int64).T)
    reason = _too_few(user_count, varied_users(ratings, user))
    lacking = dict.fromkeys((stat for stat in stats if MANY_RATERS[stat].by_chance), reason)
    if not reason and _few_at_end(ratings, user, known, mirrored):
        lacking |= dict.fromkeys(SQUARED, FEW_AT_END)
    return {
        stat: _estimate(
            stat, per_user, known, n, seen, lacking.get(stat, ""), resamples=resamples, seed=seed, level=level
        )
        for stat in stats
    }


def _few_at_end(ratings: FloatArray, user: IntArray, known: FloatArray, mirrored: bool) -> bool:
    """Whether one end of the label set was given to the cases of few users, by number and by share of the users."""
    ends = [np.isin(ratings, known[[0, -1]])] if mirrored else [ratings == known[0], ratings == known[-1]]
    fewest = min(np.unique(user[at]).size for at in ends)
    return fewest < min(FEWEST_AT_END, _SHARE_AT_END * np.unique(user).size)


def _estimate(
    stat: str,
    per_user: FloatArray,
    known: FloatArray,
    n: int,
    seen: int,
    lacking: str,
    *,
    resamples: int,
    seed: int,
    level: float,
) -> Estimate:
    """One statistic from sums by user (u, s) with `seen` different cases; `lacking` is the reason why it has no interval, if
    there is one."""

    def chance_of(sums: FloatArray) -> _Chance:
        return _chance(stat, _sums(sums, known.size), known)

    chance = chance_of(per_user.sum(axis=0)[None, :])
    value = float(_corrected(chance)[0])
    if np.isnan(value):
        return undefined(MANY_RATERS[stat].undefined, n)
    if not resamples:
        ends = Interval(None, None, NOT_REQUESTED)
    elif len(per_user) < FEWEST_USERS:
        ends = Interval(None, None, FEW_USERS)
    elif lacking:
        ends = Interval(None, None, lacking)
    else:
        spread = sums_spread(
            per_user,
            lambda sums: _corrected(chance_of(sums)),
            resamples,
            seed,
            _sums(per_user, known.size).items,
        )
        lowest = 1 - 1 / float(chance.expected[0])
        ends = figure_interval(stat, value, spread, (min(lowest, value), 1.0), level, seen)
    return Estimate(value, ends.low, ends.high, n, note=ends.note)


def few_by_chance(a: FloatArray, b: FloatArray, users: IntArray) -> str:
    """Why a figure corrected for chance has no interval if pairs of more than two raters gave the values a and b (n,); else
    empty."""
    varied = varied_users(np.concatenate([a, b]), np.concatenate([users, users]))
    return _too_few(np.unique(users).size, varied)


def _too_few(users: int, varied: int) -> str:
    if users < FEWEST_BY_CHANCE:
        return few_users(FEWEST_BY_CHANCE)
    return FEW_VARIED if varied < FEWEST_VARIED else ""


def _counts(item: IntArray, label: npt.NDArray[np.intp], items: int, labels: int) -> FloatArray:
    flat = np.bincount(item * labels + label, minlength=items * labels)
    return flat.reshape(items, labels).astype(np.float64)


def _columns(counts: FloatArray, labels: FloatArray, mirrored: bool) -> FloatArray:
    """The terms of `_Sums` of each item (columns, items), from its counts (items, q)."""
    if mirrored:
        if not np.array_equal(labels, -labels[::-1]):
            raise ValueError("labels without a first side need the mirror of each label")
        return (_columns(counts, labels, False) + _columns(counts[:, ::-1], labels, False)) / 2
    ratings = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(labels.size)
    flat = pairs.reshape(counts.shape[0], -1)
    others = np.maximum(ratings - 1, 1)[:, None]
    columns = [flat / others, flat / (ratings[:, None] * others), counts / ratings[:, None]]
    return np.concatenate([*columns, np.ones((ratings.size, 1))], axis=1).T


def _sums(columns: FloatArray, q: int) -> _Sums:
    coincidences, pairs, shares, items = np.split(columns, [q * q, 2 * q * q, 2 * q * q + q], axis=1)
    square = (columns.shape[0], q, q)
    return _Sums(coincidences.reshape(square), pairs.reshape(square), shares, items[:, 0])


def _corrected(chance: _Chance) -> FloatArray:
    return 1 - ratio(chance.observed, chance.expected)


def _chance(stat: str, sums: _Sums, labels: FloatArray) -> _Chance:
    if stat.startswith("alpha"):
        return _of_alpha(sums, _alpha_distances(stat, sums, labels))
    cost = 1 - _credit(stat, labels)
    total = sums.pairs.sum(axis=(1, 2))
    observed = ratio((sums.pairs * cost).sum(axis=(1, 2)), total)
    shares = ratio(sums.shares, sums.items[:, None])
    if stat.startswith("fleiss"):
        expected = ((shares @ cost) * shares).sum(axis=1)
        # below this it is a rounding error: all ratings are equal
        expected[(shares > 0).sum(axis=1) < 2] = 0
        return _Chance(observed, expected)
    q = labels.size
    if q < 2:
        return _Chance(observed, np.full(observed.size, np.nan))
    by_chance = (1 - cost).sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=1)
    return _Chance(observed, 1 - by_chance)


def _credit(stat: str, labels: FloatArray) -> FloatArray:
    """Gwet's weights (q, q): 1 for equal labels; by the difference of values, its square, or the labels between."""
    gap = np.abs(labels[:, None] - labels)
    kind = stat.partition("_")[2] or ("quadratic" if stat == "ac2" else "")
    if kind == "ordinal":
        steps = np.abs(np.subtract.outer(np.arange(labels.size), np.arange(labels.size)))
        cost = steps * (steps + 1) / 2
    else:
        cost = {"": (gap > 0).astype(np.float64), "linear": gap, "quadratic": gap**2}[kind]
    credit: FloatArray = 1 - cost / max(float(cost.max()), 1e-300)
    return credit


def _alpha_distances(stat: str, sums: _Sums, labels: FloatArray) -> FloatArray:
    """Krippendorff's distances (r, q, q) as shares of the largest between labels that were given."""
    totals = sums.coincidences.sum(axis=2)
    if stat == "alpha_nominal":
        return np.broadcast_to((labels[:, None] != labels).astype(np.float64), sums.coincidences.shape)
    places = labels[None, :] if stat == "alpha_interval" else np.cumsum(totals, axis=1) - totals / 2
    distances = np.broadcast_to((places[:, :, None] - places[:, None, :]) ** 2, sums.coincidences.shape)
    given = totals > 0
    among = np.where(given[:, :, None] & given[:, None, :], distances, 0.0)
    largest = among.max(axis=(1, 2))
    scaled: FloatArray = among / np.where(largest > 0, largest, 1.0)[:, None, None]
    return scaled


def _of_alpha(sums: _Sums, distances: FloatArray) -> _Chance:
    totals = sums.coincidences.sum(axis=2)
    n = totals.sum(axis=1)
    observed = ratio((sums.coincidences * distances).sum(axis=(1, 2)), n)
    products = totals[:, :, None] * totals[:, None, :]
    return _Chance(observed, ratio((products * distances).sum(axis=(1, 2)), n * (n - 1)))
