"""Win rates, Q, ratings, and leaderboards of a crowd."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np
from recjudge_tui.stats.ranking.battles import crowd_counts
from scipy.special import ndtri

from benchmarks.intervals.setting import Setting, Shown, owners
from benchmarks.populations import Rng, battles_drawn, log_normal_rows, shares_of_users, uneven_rows
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.intervals import SHARE
from recjudge_tui.stats.ranking import (
    MEAN,
    SCALE,
    Ties,
    bradley_terry,
    outcome_estimates,
    rating_intervals,
    system_intervals,
    user_counts,
)
from recjudge_tui.stats.resampling.two_way import crowd_mean_estimate


def outcome_setting(name: str, win: float, tie: float, rows: int = 1, alike: float = 0.0) -> Setting:
    loss = 1 - win - tie

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        fresh = rng.random(users * rows)
        common = np.repeat(rng.random(users), rows)
        u = np.where(rng.random(fresh.size) < alike, common, fresh)
        outcome = np.where(u < win, 1.0, np.where(u < win + tie, 0.0, -1.0))
        return outcome_estimates(outcome, owners(users, rows))

    return Setting(name, draw, lambda _: {"q": (win + tie) / (loss + tie), "win_rate": win + tie / 2})


def uneven_outcome_setting(name: str, rows: Callable[[Rng, int], IntArray]) -> Setting:
    """Users with very different numbers of comparisons, of whom each has an own share of wins; no ties."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        owner = np.repeat(np.arange(users), rows(rng, users))
        own = shares_of_users(rng, users, 0.6, 0.3)
        return outcome_estimates(np.where(rng.random(owner.size) < own[owner], 1.0, -1.0), owner)

    return Setting(name, draw, lambda _: {"q": 1.5, "win_rate": 0.6})


def opponents_setting(name: str, strength: tuple[float, ...], tie: float, rows: int, alike: float) -> Setting:
    """Q and the win rate of the first system against all its opponents."""
    true = np.array(strength)

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        counts = user_counts(*battles_drawn(rng, true, tie, users, rows, alike), true.size)
        return {"q": system_intervals(counts, "q")[0], "win_rate": system_intervals(counts, "win_rate")[0]}

    def truth(rng: Rng) -> Mapping[str, float]:
        won, tied, lost = user_counts(
            *battles_drawn(rng, true, tie, 100_000, rows, alike), true.size
        ).total.tallies()[0]
        return {"q": (won + tied) / (lost + tied), "win_rate": (won + tied / 2) / (won + tied + lost)}

    return Setting(name, draw, truth)


def rating_setting(
    name: str,
    strength: tuple[float, ...],
    tie: float,
    rows: int = 1,
    alike: float = 0.0,
    ties: Ties = "davidson",
) -> Setting:
    """The rating of the first system by Bradley and Terry's model."""
    true = np.array(strength)

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        counts = user_counts(*battles_drawn(rng, true, tie, users, rows, alike), true.size)
        return {"bt": rating_intervals(counts, bradley_terry(counts.total, ties), ties)[0]}

    def truth(rng: Rng) -> Mapping[str, float]:
        if not alike and ties == "davidson":
            return {"bt": MEAN + SCALE * float(true[0] - true.mean())}
        counts = user_counts(*battles_drawn(rng, true, tie, 40_000, rows, alike), true.size)
        return {"bt": float(bradley_terry(counts.total, ties).ratings[0])}

    return Setting(name, draw, truth)


def crowd_setting(
    name: str, win: float, taste: float, lean: float, raters: int, busy: int = 0, times: float = 1.0
) -> Setting:
    """A win rate, a mean and a rating of two systems from a crowd: each user is judged by three of `raters` raters. Users
    differ by `taste`, raters by `lean`; both have standard deviation 1 where they are 1. `busy` raters judge so many
    `times` as often as the others."""
    middle = float(ndtri(win)) * math.sqrt(1 + taste**2 + lean**2)
    often = np.where(np.arange(raters) < busy, times, 1.0)
    often /= often.sum()

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        owner = np.repeat(np.arange(users), 3)
        rater = np.concatenate([rng.choice(raters, 3, replace=False, p=often) for _ in range(users)])
        latent = middle + taste * rng.normal(size=users)[owner] + lean * rng.normal(size=raters)[rater]
        won = latent + rng.normal(size=owner.size) > 0
        first = np.zeros(owner.size, dtype=np.int64)
        counts = crowd_counts(first, first + 1, np.where(won, 1.0, -1.0), owner, rater, 2)
        shown: dict[str, Shown] = {
            "win rate": system_intervals(counts, "win_rate")[0], "q": system_intervals(counts, "q")[0],
            "mean": crowd_mean_estimate(won.astype(np.float64), owner, rater, SHARE),
        }  # fmt: skip
        if 0 < won.mean() < 1:
            shown["bt"] = rating_intervals(counts, bradley_terry(counts.total), "davidson")[0]
        return shown

    rating = MEAN + SCALE * math.log(win / (1 - win)) / 2
    return Setting(name, draw, lambda _: {"win rate": win, "q": win / (1 - win), "mean": win, "bt": rating})


def steady_setting(name: str, elsewhere: float, users: int) -> Setting:
    """The rating of a system that a user puts third of four, or, with probability `elsewhere`, first."""
    first, second = np.array(list(combinations(range(4), 2))).T

    def sample(rng: Rng, size: int) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
        others = np.argsort(np.argsort(rng.normal(0, 1, (size, 3)) - np.linspace(0.7, 0, 3), axis=1), axis=1)
        own = np.where(rng.random(size) < elsewhere, -1.0, 1.5)
        place = np.concatenate([own[:, None], others], axis=1)
        won = np.sign(place[:, second] - place[:, first])
        return np.tile(first, size), np.tile(second, size), won.ravel(), owners(size, first.size)

    def draw(rng: Rng, size: int) -> Mapping[str, Shown]:
        if size != users:
            return {}
        a, b, won, owner = sample(rng, size)
        counts = user_counts(a, b, won, owner, 4)
        return {"bt": rating_intervals(counts, bradley_terry(counts.total), "davidson")[0]}

    def truth(rng: Rng) -> Mapping[str, float]:
        a, b, won, owner = sample(rng, 100_000)
        return {"bt": float(bradley_terry(user_counts(a, b, won, owner, 4).total).ratings[0])}

    return Setting(name, draw, truth)


OUTCOMES = (
    outcome_setting("balanced, 20 % ties", 0.4, 0.2), outcome_setting("lopsided .85", 0.85, 0.05),
    outcome_setting("lopsided .9, 3 rows", 0.9, 0.05, 3, 0.3), outcome_setting("mostly ties", 0.06, 0.9),
    outcome_setting("balanced, 3 rows alike", 0.4, 0.2, 3, 0.5), outcome_setting("all ties", 0.0, 1.0),
    uneven_outcome_setting("one user in five has 30 rows", lambda _, n: uneven_rows(n, n // 5, 30)),
    uneven_outcome_setting("log-normal numbers of rows", log_normal_rows),
    uneven_outcome_setting("half have 10 rows", lambda _, n: uneven_rows(n, n // 2, 10)),
    opponents_setting("two opponents", (0.5, 0.0, -0.5), 0.3, 1, 0.0),
    opponents_setting("three opponents, lopsided, tastes differ", (2.5, 0.0, 0.0, -1.0), 0.1, 1, 1.0),
)  # fmt: skip
STRENGTHS = (
    rating_setting("three equal", (0.0, 0.0, 0.0), 0.5), rating_setting("three apart", (0.0, 1.0, 2.5), 0.01),
    rating_setting("two lopsided", (0.0, 2.9), 0.01),
    rating_setting("three, tastes differ, 3 rows", (0.0, 0.5, 1.0), 0.3, 3, 1.0),
    rating_setting("three apart, ties as half wins", (0.0, 0.7, 1.5), 0.5, ties="half"),
    *(steady_setting(f"nearly always third, {n}", 0.05, n) for n in (10, 20, 50)),
)  # fmt: skip
CROWD = (
    crowd_setting("all alike, 10 raters", 0.5, 0.0, 0.0, 10), crowd_setting("raters lean, 5", 0.6, 0.0, 1.0, 5),
    crowd_setting("raters lean, 10", 0.6, 0.0, 1.0, 10), crowd_setting("users differ, 10", 0.6, 1.0, 0.0, 10),
    crowd_setting("users and raters differ, 10", 0.8, 0.7, 0.7, 10),
    crowd_setting("users and raters differ, 30", 0.8, 0.7, 0.7, 30),
    crowd_setting("two of 10 raters judge 30 times as often", 0.6, 0.3, 1.0, 10, 2, 30),
    crowd_setting("five of 10 raters judge 10 times as often", 0.6, 0.3, 1.0, 10, 5, 10),
    crowd_setting("ten of 20 raters judge 10 times as often", 0.6, 0.3, 1.0, 20, 10, 10),
)  # fmt: skip
