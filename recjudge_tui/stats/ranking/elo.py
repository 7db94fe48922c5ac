"""Elo's ratings (Elo 1978): of battles in a given order, and the mean over random orders.

After each battle the first system's rating changes by K (s - e) and the second's by -K (s - e). The score s is
1, 1/2 or 0, and e = 1 / (1 + 10^((R_second - R_first) / 400)) is the score expected from the ratings before the battle.
Every system starts at 1000, so the mean stays 1000. Late battles count more than early ones, especially with a large
K. The mean over orders depends neither on the order of the rows nor on the numbers of the systems. For a fixed set of
verdicts prefer Bradley and Terry's model, which has no K either.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray, Ids, IntArray, as_floats, encode, rows_of
from recjudge_tui.stats.defaults import ELO_ORDERS, K_FACTOR, LEVEL
from recjudge_tui.stats.estimate import Interval
from recjudge_tui.stats.ranking.battle_order import order_by_record
from recjudge_tui.stats.ranking.battles import user_counts
from recjudge_tui.stats.ranking.outcome_intervals import SAME_RECORD, records_alike
from recjudge_tui.stats.resampling.intervals import FEWEST_USERS, ONE_USER, student_interval
from recjudge_tui.stats.resampling.jackknife import Spread, spread_of

MEAN = 1000.0
MOST_LEFT_OUT = 500
FEWEST_ORDERS = 5
_MOST_STEPS = 2_000_000
# of intervals, where each step changes the ratings without each user
_MOST_INTERVAL_ORDERS = 20
_MOST_INTERVAL_STEPS = 100_000
LOPSIDED = "no interval: only won or only lost"
_POINTS = 400.0


def elo(
    a: npt.ArrayLike, b: npt.ArrayLike, outcome: npt.ArrayLike, systems: int, *, k: float = K_FACTOR
) -> FloatArray:
    """Ratings (systems,) after all battles in the order of the rows; 1000 for a system without a battle.

    `a` and `b` are numbers 0..systems-1; `outcome` is 1, 0, -1 from the view of `a`, NaN (left out) if it failed.
    Raises ValueError unless K is a finite positive number.
    """
    first, second, score, _ = _rows(a, b, outcome, k)
    ratings = [MEAN] * systems
    for i, j, won in zip(first.tolist(), second.tolist(), score.tolist(), strict=True):
        change = k * (won - 1 / (1 + 10 ** ((ratings[j] - ratings[i]) / _POINTS)))
        ratings[i] += change
        ratings[j] -= change
    return np.array(ratings)


def elo_mean_over_orders(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    outcome: npt.ArrayLike,
    users: Ids,
    systems: int,
    *,
    k: float = K_FACTOR,
    orders: int = ELO_ORDERS,
    seed: int = 0,
) -> FloatArray:
    """The mean rating over random orders of the battles; arguments and errors as for `elo`.

    The battles are first put into an order that depends on who won what for whom, and not on the systems' numbers
    (`order_by_record`); the orders are drawn from that with `seed`. Systems that the users' battles do not tell apart get
    their common mean. With many battles fewer orders are drawn (`_MOST_STEPS`), at least FEWEST_ORDERS.
    """
    first, second, score, kept = _rows(a, b, outcome, k)
    record = order_by_record(first, second, score, encode(rows_of(users, kept))[0], systems)
    count = min(orders, max(FEWEST_ORDERS, _MOST_STEPS // max(1, first.size)))
    rng = np.random.default_rng(seed)
    total = np.zeros(systems)
    for _ in range(count):
        drawn = rng.permutation(record.order)
        total += elo(first[drawn], second[drawn], 2 * score[drawn] - 1, systems, k=k)
    members = np.bincount(record.classes, minlength=systems)
    return (np.bincount(record.classes, weights=total, minlength=systems) / np.maximum(members, 1))[
        record.classes
    ] / count


def elo_intervals(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    outcome: npt.ArrayLike,
    users: Ids,
    systems: int,
    *,
    k: float = K_FACTOR,
    around: FloatArray | None = None,
    most: int = MOST_LEFT_OUT,
    seed: int = 0,
    level: float = LEVEL,
) -> list[Interval]:
    """The interval of each system's rating by the jackknife: each user's battles are left out in turn.

    `around`: None for ratings in the order of the rows, else the ratings (systems,) by `elo_mean_over_orders`; fewer
    random orders are then drawn than for these, the same for every user left out. With more than `most` users, as many
    groups of users drawn with `seed` are left out. All are computed together, in one pass over the rows with arrays of
    length `most`. A single order also varies by chance, which leaving out a user hardly shows. The variance is
    therefore multiplied by G / (G - 1) for G users left out, and its degrees of freedom are halved; with 10 or more users
    the interval then contains the true value as often as its level says (benchmarks/coverage.py). A system that won or
    lost all of its battles has no interval: without the opposite result there is no information on how much its rating
    could vary. A system has no interval either if its record is the same for every user (`records_alike`).
    """
    first, second, score, kept = _rows(a, b, outcome, k)
    codes, count = encode(rows_of(users, kept))
    groups = min(count, most)
    if groups < 2:
        return [Interval(None, None, ONE_USER)] * systems
    rng = np.random.default_rng(seed)
    order = rng.permutation(count) if count > groups else np.arange(count)
    of_user = np.empty(count, dtype=np.int64)
    of_user[order] = np.arange(count) % groups
    factor = np.full((groups, groups + 1), k)
    factor[np.arange(groups), np.arange(groups) + 1] = 0
    drawn: list[IntArray] = [np.arange(first.size)]
    if around is not None:
        rows = order_by_record(first, second, score, codes, systems).order
        orders = min(_MOST_INTERVAL_ORDERS, max(1, _MOST_INTERVAL_STEPS // first.size))
        drawn = [rng.permutation(rows) for _ in range(orders)]
    ratings = np.mean(
        [_played(first[at], second[at], score[at], factor, of_user[codes[at]], systems) for at in drawn],
        axis=0,
    )
    centre = ratings[:, 0] if around is None else around
    lopsided = _lopsided(first, second, score, systems)
    alike = records_alike(user_counts(first, second, 2 * score - 1, codes, systems))
    intervals = []
    for system, row in enumerate(ratings):
        spread = _widened(spread_of(float(row[0]), row[1:], np.bincount(codes)))
        shown = student_interval(float(centre[system]), spread, level)
        if alike[system] and count >= FEWEST_USERS:
            shown = Interval(None, None, SAME_RECORD)
        intervals.append(Interval(None, None, LOPSIDED) if lopsided[system] else shown)
    return intervals


def _widened(spread: Spread) -> Spread:
    wider = spread.variance * spread.users / (spread.users - 1)
    return replace(spread, variance=wider, freedom=max(1.0, spread.freedom / 2))


def _lopsided(first: IntArray, second: IntArray, score: FloatArray, systems: int) -> BoolArray:
    """(systems,): whether a system has only wins or only losses."""
    own, scores = np.concatenate([first, second]), np.concatenate([score, 1 - score])
    battles = np.bincount(own, minlength=systems)
    total = np.bincount(own, weights=scores, minlength=systems)
    alike: BoolArray = (total == 0) | (total == battles)
    return alike


def _played(
    first: IntArray, second: IntArray, score: FloatArray, factor: FloatArray, codes: IntArray, systems: int
) -> FloatArray:
    """Ratings (systems, r); `factor` (groups, r) is K, or 0 where the group of users is left out."""
    ratings = np.full((systems, factor.shape[1]), MEAN)
    change = np.empty(factor.shape[1])
    power = -np.log(10) / _POINTS
    rows = zip(first.tolist(), second.tolist(), score.tolist(), codes.tolist(), strict=True)
    for i, j, won, user in rows:
        np.subtract(ratings[i], ratings[j], out=change)
        change *= power
        np.exp(change, out=change)
        change += 1
        np.divide(-1.0, change, out=change)
        change += won
        change *= factor[user]
        ratings[i] += change
        ratings[j] -= change
    return ratings


def _rows(
    a: npt.ArrayLike, b: npt.ArrayLike, outcome: npt.ArrayLike, k: float
) -> tuple[IntArray, IntArray, FloatArray, BoolArray]:
    """Both systems and the score (1, 1/2, 0) of the rows that did not fail, and the mask of these rows."""
    if not (np.isfinite(k) and k > 0):
        raise ValueError(f"K is a positive number, not {k}")
    first, second = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
    value = as_floats(outcome)
    if not first.shape == second.shape == value.shape:
        raise ValueError(f"{first.size} and {second.size} systems for {value.size} outcomes")
    kept = ~np.isnan(value)
    if not np.isin(value[kept], (1.0, 0.0, -1.0)).all():
        raise ValueError("an outcome is 1 (win), 0 (tie), -1 (loss) or missing")
    if (first == second).any():
        raise ValueError("a system cannot be compared with itself")
    return first[kept], second[kept], (value[kept] + 1) / 2, kept
