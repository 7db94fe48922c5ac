"""Shares, means, differences of means, costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.intervals.setting import Setting, Shown, labels_drawn, owners
from benchmarks.populations import (
    Rng,
    log_normal_rows,
    shares_drawn,
    shares_of_users,
    sparse_hits,
    uneven_rows,
)
from recjudge_tui.stats.agreement.change import mean_change
from recjudge_tui.stats.arrays import FloatArray, IntArray, ratio
from recjudge_tui.stats.hypotheses import share_difference
from recjudge_tui.stats.intervals import (
    SHARE,
    Bounds,
    difference_of_means,
    group_means,
    mean_estimate,
    quantile_estimate,
    share_estimate,
    sums_by_user,
)
from recjudge_tui.stats.resampling.intervals import sums_interval


def share_setting(name: str, share: float, rows: int = 1, alike: float = 0.0) -> Setting:
    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        return {"share": share_estimate(shares_drawn(rng, users, rows, share, alike), owners(users, rows))}

    return Setting(name, draw, lambda _: {"share": share})


def uneven_share_setting(
    name: str, rows: Callable[[Rng, int], IntArray], share: float, alike: float = 0.3
) -> Setting:
    """Users with very different numbers of rows, of whom each has an own share."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        owner = np.repeat(np.arange(users), rows(rng, users))
        own = shares_of_users(rng, users, share, alike)
        return {"share": share_estimate((rng.random(owner.size) < own[owner]).astype(np.float64), owner)}

    return Setting(name, draw, lambda _: {"share": share})


def mean_setting(
    name: str, values: Callable[[Rng, int], FloatArray], truth: float, bounds: Bounds | None
) -> Setting:
    """One value of each user."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        return {"mean": mean_estimate(values(rng, users), np.arange(users), bounds)}

    return Setting(name, draw, lambda _: {"mean": truth})


def ragged_setting() -> Setting:
    """Users with 1 to 12 values each, whose mean differs from user to user."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        rows = rng.choice([1, 2, 4, 12], users)
        owner = np.repeat(np.arange(users), rows)
        own = rng.beta(3, 2, users)
        values = rng.beta(8 * own[owner], 8 * (1 - own[owner]))
        return {"mean": mean_estimate(values, owner, SHARE)}

    return Setting("mean, 1 to 12 rows a user", draw, lambda _: {"mean": 0.6})


def hits_of(fewer: float, more: float) -> Callable[[Rng, int], FloatArray]:
    """Values -1 and 1 in these shares, and 0."""
    return lambda rng, n: rng.choice([-1.0, 0.0, 1.0], n, p=[fewer, 1 - fewer - more, more])


def half_of_users(_: Rng, users: int) -> IntArray:
    """Half of the users have 10 rows, the others one."""
    return uneven_rows(users, users // 2, 10)


def ten_each(_: Rng, users: int) -> IntArray:
    return np.full(users, 10)


def alike_mean_setting(
    name: str,
    values: Callable[[Rng, int], FloatArray],
    truth: float,
    bounds: Bounds | None,
    alike: float,
    rows_of: Callable[[Rng, int], IntArray] = half_of_users,
) -> Setting:
    """Rows of a user have an intraclass correlation of `alike`, because each may be a value that the user's rows share."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        owner = np.repeat(np.arange(users), rows_of(rng, users))
        own = rng.random(owner.size) < math.sqrt(alike)
        rows = np.where(own, values(rng, users)[owner], values(rng, owner.size))
        return {"mean": mean_estimate(rows, owner, bounds)}

    return Setting(name, draw, lambda _: {"mean": truth})


def difference_setting() -> Setting:
    """The mean of one system's labels minus another's, each user with a list of each."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        own = rng.normal(0, 0.7, users)
        values = np.clip(np.rint(rng.normal(3 + np.tile(own, 2), 1)), 1, 5)
        first = np.repeat([1.0, 0.0], users)
        return {"difference": difference_of_means(values, first, np.tile(np.arange(users), 2), (1.0, 5.0))}

    return Setting("difference of two systems' means", draw, lambda _: {"difference": 0.0})


def paired_setting(name: str, only_first: float, only_second: float) -> Setting:
    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        u = rng.random(users)
        first = (u < only_first) | (u > 0.7)
        second = ((u >= only_first) & (u < only_first + only_second)) | (u > 0.7)
        return {"difference": share_difference(first, second, np.arange(users))}

    return Setting(name, draw, lambda _: {"difference": only_first - only_second})


def changed_setting(name: str, kept: float, drift: float, bounds: Bounds | None) -> Setting:
    """The change of the mean of a rater's labels, a share of which stays the same: `compare`,
    gates.
    """

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        rows = owners(users, 2)
        before = labels_drawn(rng, rows.size, (0.1, 0.2, 0.3, 0.3, 0.1))
        moved = np.where(rng.random(rows.size) < drift, 1.0, rng.choice([-1.0, 1.0], rows.size))
        after = np.clip(before + np.where(rng.random(rows.size) < kept, 0.0, moved), 1, 5)
        return {"change": mean_change(after, before, rows, bounds).change}

    up = 0.9 * (drift + (1 - drift) / 2)
    down = 0.9 * (1 - drift) / 2
    return Setting(name, draw, lambda _: {"change": (1 - kept) * (up - down)})


def groups_setting() -> Setting:
    """One of three days of labels of users who differ and are not present every day: `trend`."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        rows = owners(users, 6)
        own = rng.beta(3, 2, users)
        values = (rng.random(rows.size) < own[rows]).astype(np.float64)
        days = rng.integers(0, 3, rows.size)
        return {"day": group_means(values, rows, days, 3, SHARE)[1]}

    return Setting("share of a day", draw, lambda _: {"day": 0.6})


def strictness_setting(name: str, shares: tuple[float, ...], alike: float) -> Setting:
    """A rater's labels minus the mean of two others', with two cases per user."""
    bounds = (1.0 - len(shares), len(shares) - 1.0)

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        rows = owners(users, 2)
        common = labels_drawn(rng, rows.size, shares)
        raters = [
            np.where(rng.random(rows.size) < alike, common, labels_drawn(rng, rows.size, shares))
            for _ in range(3)
        ]
        return {"bias": mean_estimate(raters[0] - (raters[1] + raters[2]) / 2, rows, bounds)}

    return Setting(name, draw, lambda _: {"bias": 0.0})


def cost_setting(name: str, sigma: float, most: int) -> Setting:
    """Dollars per judged case: users with 1 to `most` cases and prompts of different lengths; 5 % of the calls fail."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        rows = np.repeat(np.arange(users), rng.integers(1, most + 1, users))
        cost = rng.lognormal(0, sigma, users)[rows] * rng.lognormal(0, 0.2, rows.size)
        done = (rng.random(rows.size) < 0.95).astype(np.float64)
        sums = sums_by_user(np.stack([cost, done]), rows, users)
        return {"cost": sums_interval(sums, lambda s: ratio(s[:, 0], s[:, 1]), row_counts=np.bincount(rows))}

    return Setting(name, draw, lambda _: {"cost": math.exp(sigma**2 / 2 + 0.02) / 0.95})


def latency_setting() -> Setting:
    """Quantiles of seconds per call; `users` are tens of calls."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        seconds = rng.lognormal(0, 1, 10 * users)
        return {"median": quantile_estimate(seconds, 0.5), "95th": quantile_estimate(seconds, 0.95)}

    return Setting("latency", draw, lambda _: {"median": 1.0, "95th": math.exp(1.6448536)})


SHARES = (
    share_setting("balanced", 0.5), share_setting("hit rate .9", 0.9), share_setting("rare .03", 0.03),
    share_setting("clustered .5, 5 rows", 0.5, 5, 0.3), share_setting("clustered .1, 5 rows", 0.1, 5, 0.1),
    share_setting("clustered .03, 5 rows", 0.03, 5, 0.3), share_setting("independent .03, 5 rows", 0.03, 5),
    uneven_share_setting("one user in five has 30 rows", lambda _, n: uneven_rows(n, n // 5, 30), 0.2),
    uneven_share_setting("one user has two thirds of the rows", lambda _, n: uneven_rows(n, 1, 2 * n - 2), 0.2),
    uneven_share_setting("one user in ten has 6 rows", lambda _, n: uneven_rows(n, n // 10, 6), 0.2),
    uneven_share_setting("log-normal numbers of rows", log_normal_rows, 0.2),
    uneven_share_setting("half have 10 rows", half_of_users, 0.2),
    uneven_share_setting("half have 10 rows, much alike", half_of_users, 0.2, 0.5),
    uneven_share_setting("half have 10 rows, all equal", half_of_users, 0.2, 1.0),
    uneven_share_setting("half have 10 rows, rare .1", half_of_users, 0.1),
    uneven_share_setting("10 rows each, much alike, .1", ten_each, 0.1, 0.5),
    uneven_share_setting("10 rows each, much alike, .165", ten_each, 0.165, 0.5),
    share_setting("unanimous 1", 1.0), share_setting("unanimous 1, 5 rows", 1.0, 5), groups_setting(),
    paired_setting("paired shares", 0.2, 0.15), paired_setting("paired shares, lopsided", 0.15, 0.01),
    paired_setting("paired shares, equal", 0.0, 0.0),
)  # fmt: skip
MEANS = (
    mean_setting("nDCG, 60 % zero", lambda rng, n: sparse_hits(rng, n, 0.4), 0.4 * 1.5 / 3.5, SHARE),
    mean_setting("nDCG, 90 % zero", lambda rng, n: sparse_hits(rng, n, 0.1), 0.1 * 1.5 / 3.5, SHARE),
    mean_setting("dense metric", lambda rng, n: rng.beta(8, 2, n), 0.8, SHARE),
    mean_setting("skewed metric", lambda rng, n: rng.beta(0.5, 5, n), 1 / 11, SHARE),
    mean_setting("labels 1 to 5, skewed", labels_drawn, 4.38, (1.0, 5.0)),
    mean_setting("labels, all equal", lambda _, n: np.full(n, 3.0), 3.0, (1.0, 5.0)),
    ragged_setting(),
    alike_mean_setting("half have 10 rows", lambda rng, n: rng.beta(2, 3, n), 0.4, SHARE, 0.3),
    alike_mean_setting("half have 10 rows, all equal", lambda rng, n: rng.beta(2, 3, n), 0.4, SHARE, 1.0),
    alike_mean_setting(
        "half have 10 rows, difference of hits", lambda rng, n: rng.choice([-1.0, 0.0, 1.0], n, p=[0.2, 0.5, 0.3]),
        0.1, (-1.0, 1.0), 0.3,
    ),
    alike_mean_setting("half have 10 rows, unbounded", lambda rng, n: rng.exponential(1, n), 1.0, None, 0.3),
    alike_mean_setting("10 rows each, much alike, hits of .1", hits_of(0.0, 0.1), 0.1, SHARE, 0.5, ten_each),
    alike_mean_setting("10 rows each, alike, hits of .1", hits_of(0.0, 0.1), 0.1, SHARE, 0.3, ten_each),
    alike_mean_setting("10 rows each, much alike, paired hits", hits_of(0.01, 0.1), 0.09, (-1.0, 1.0), 0.5, ten_each),
    alike_mean_setting("10 rows each, alike, paired hits", hits_of(0.02, 0.12), 0.1, (-1.0, 1.0), 0.3, ten_each),
    mean_setting("unbounded, normal", lambda rng, n: rng.normal(3, 1, n), 3.0, None),
    mean_setting("unbounded, exponential", lambda rng, n: rng.exponential(1, n), 1.0, None),
    mean_setting("unbounded, log-normal .7", lambda rng, n: rng.lognormal(0, 0.7, n), math.exp(0.245), None),
    mean_setting("unbounded, log-normal 1", lambda rng, n: rng.lognormal(0, 1, n), math.exp(0.5), None),
)  # fmt: skip
COSTS = (
    mean_setting("labels 1 to 5, skewed, no bounds", labels_drawn, 4.38, None),
    cost_setting("cost, prompts alike", 0.2, 3), cost_setting("cost, prompts of all lengths", 0.7, 6),
    latency_setting(),
)  # fmt: skip
CHANGES = (
    difference_setting(),
    changed_setting("labels moved, half kept", 0.5, 0.3, (1.0, 5.0)),
    changed_setting("labels moved, 95 % kept", 0.95, 0.3, (1.0, 5.0)),
    changed_setting("labels moved, 90 % kept", 0.9, 0.0, (1.0, 5.0)),
    changed_setting("all moved one way, 90 % kept", 0.9, 1.0, (1.0, 5.0)),
    changed_setting("labels moved, half kept, no bounds", 0.5, 0.3, None),
    changed_setting("labels moved, 90 % kept, no bounds", 0.9, 0.0, None),
    changed_setting("all moved one way, 90 % kept, no bounds", 0.9, 1.0, None),
    strictness_setting("strictness, five labels", (0.2, 0.2, 0.2, 0.2, 0.2), 0.5),
    strictness_setting("strictness, rare label", (0.04, 0.96), 0.6),
)  # fmt: skip
