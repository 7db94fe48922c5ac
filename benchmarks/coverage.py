"""How often each interval holds the true value; `claims.py` measures what is said of them.

    python benchmarks/coverage.py [FIGURE...] [--draws 2000] [--users 2,3,5,10,20,50] [--markdown]

Every figure that the tool shows with an interval is drawn many times from a known population by the functions the
tool itself uses. `covered` is the share of the shown intervals that hold the true value, `shown` the share of draws
that have an interval, `width` the median width. The bound: at least 93.5 % with 10 users or more; more than 96.5 % is
marked: exact intervals of rare or few events cannot do otherwise.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.populations import Rng, battles_drawn, shares_drawn, sparse_hits
from benchmarks.rows import bounded_row
from recjudge_tui.stats.agreement.by_label import label_scores
from recjudge_tui.stats.agreement.change import RatedCases, agreement_change, difference_of_means
from recjudge_tui.stats.agreement.homogeneity_bias import homogeneity_bias
from recjudge_tui.stats.agreement.intervals import agreement_estimates
from recjudge_tui.stats.agreement.paired import share_difference
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.confidence.calibration import calibration_error
from recjudge_tui.stats.estimate import Estimate, Interval
from recjudge_tui.stats.experiments.online import Arm, lift
from recjudge_tui.stats.experiments.prediction_powered import prediction_powered_mean
from recjudge_tui.stats.ranking.battles import crowd_counts, user_counts
from recjudge_tui.stats.ranking.bradley_terry import MEAN, SCALE, bradley_terry, rating_intervals
from recjudge_tui.stats.ranking.elo import elo, elo_intervals
from recjudge_tui.stats.ranking.outcome_intervals import system_intervals
from recjudge_tui.stats.ranking.win_rates import outcome_estimates
from recjudge_tui.stats.resampling.intervals import (
    SHARE,
    Bounds,
    mean_estimate,
    quantile_estimate,
    share_estimate,
)
from recjudge_tui.stats.resampling.two_way import crowd_mean_estimate

DRAWS = 2000
USERS = (2, 3, 5, 10, 20, 50)
LOW, HIGH = 0.935, 0.965
FEWEST_SHOWN = 50
Shown = Estimate | Interval | None


class Setting(NamedTuple):
    """`draw(rng, users)` gives the intervals of one sample by the name of the figure; `truth` the true values."""

    name: str
    draw: Callable[[Rng, int], Mapping[str, Shown]]
    truth: Callable[[Rng], Mapping[str, float]]


class Coverage(NamedTuple):
    setting: str
    figure: str
    users: int
    covered: float | None
    shown: float
    width: float | None


def coverages(setting: Setting, users: int, draws: int, seed: int = 1) -> Iterator[Coverage]:
    rng = np.random.default_rng([seed, users, *setting.name.encode()])
    truths = setting.truth(np.random.default_rng([seed, *setting.name.encode()]))
    ends: dict[str, list[tuple[float, float]]] = {figure: [] for figure in truths}
    for _ in range(draws):
        for figure, shown in setting.draw(rng, users).items():
            low, high = _ends(shown)
            if low is not None and high is not None:
                ends[figure].append((low, high))
    for figure, truth in truths.items():
        lows, highs = np.array(ends[figure], dtype=np.float64).reshape(-1, 2).T
        some = lows.size >= min(FEWEST_SHOWN, draws // 10)
        held = (lows <= truth + 1e-9) & (truth <= highs + 1e-9)
        yield Coverage(
            setting.name, figure, users,
            float(held.mean()) if some else None, lows.size / draws, float(np.median(highs - lows)) if some else None,
        )  # fmt: skip


def _ends(shown: Shown) -> tuple[float | None, float | None]:
    if shown is None:
        return None, None
    return (shown.ci_low, shown.ci_high) if isinstance(shown, Estimate) else (shown.low, shown.high)


# populations: rows of one user are alike where `alike` is above 0


def _users(users: int, rows: int) -> npt.NDArray[np.int64]:
    return np.repeat(np.arange(users), rows)


def share_setting(name: str, share: float, rows: int = 1, alike: float = 0.0) -> Setting:
    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        return {"share": share_estimate(shares_drawn(rng, users, rows, share, alike), _users(users, rows))}

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


def outcome_setting(name: str, win: float, tie: float, rows: int = 1, alike: float = 0.0) -> Setting:
    loss = 1 - win - tie

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        fresh = rng.random(users * rows)
        common = np.repeat(rng.random(users), rows)
        u = np.where(rng.random(fresh.size) < alike, common, fresh)
        outcome = np.where(u < win, 1.0, np.where(u < win + tie, 0.0, -1.0))
        return outcome_estimates(outcome, _users(users, rows))

    return Setting(name, draw, lambda _: {"q": (win + tie) / (loss + tie), "win_rate": win + tie / 2})


AGREEMENT = (
    "percent", "kappa", "qwk", "ac2", "alpha_nominal", "alpha_ordinal", "alpha_interval", "pearson",
    "spearman", "kendall", "bias",
)  # fmt: skip


def agreement_setting(
    name: str, marginal: tuple[float, ...], right: float, rows: int = 1, figures: tuple[str, ...] = AGREEMENT
) -> Setting:
    """The agreement of a judge with the reference."""
    labels = np.arange(len(marginal), dtype=np.float64)

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        sides = _judged(rng, users, marginal, right, rows)
        return agreement_estimates(*sides, _users(users, rows), labels, figures)

    def truth(rng: Rng) -> Mapping[str, float]:
        size = 400_000 // rows
        sides = _judged(rng, size, marginal, right, rows)
        values = agreement_estimates(*sides, _users(size, rows), labels, figures, resamples=0)
        return {figure: float(value.value or 0.0) for figure, value in values.items()}

    return Setting(name, draw, truth)


def _judged(
    rng: Rng, users: int, marginal: tuple[float, ...], right: float, rows: int
) -> tuple[FloatArray, FloatArray]:
    """A judge who gives the reference's label with probability `right`, else a label drawn from the marginal."""
    edges = np.cumsum(marginal)
    common = np.repeat(rng.random(users), rows)
    u = np.where(rng.random(common.size) < (0.4 if rows > 1 else 0), common, rng.random(common.size))
    truth = np.minimum(np.searchsorted(edges, u), edges.size - 1)
    other = np.minimum(np.searchsorted(edges, rng.random(u.size)), edges.size - 1)
    skill = np.full(users, right)
    if rows > 1 and 0 < right < 1:
        skill = rng.beta(6 * right, 6 * (1 - right), users)
    judge = np.where(rng.random(u.size) < np.repeat(skill, rows), truth, other)
    return judge.astype(np.float64), truth.astype(np.float64)


def label_setting(name: str, marginal: tuple[float, ...], right: float, rows: int = 1) -> Setting:
    """Precision, recall and F1 of a judge against the reference: of the first label, and their averages."""
    labels = np.arange(len(marginal), dtype=np.float64)

    def figures(rng: Rng, users: int, resamples: int = 2000) -> dict[str, Estimate]:
        sides = _judged(rng, users, marginal, right, rows)
        scores = label_scores(*sides, _users(users, rows), labels, resamples=resamples)
        by_name = {"first": scores.by_label[0.0], **scores.averages}
        return {f"{part} {stat}": by_stat[stat] for part, by_stat in by_name.items() for stat in by_stat}

    def truth(rng: Rng) -> Mapping[str, float]:
        return {
            figure: float(value.value or 0.0) for figure, value in figures(rng, 400_000 // rows, 0).items()
        }

    return Setting(name, figures, truth)


def change_setting(name: str, later: float, earlier: float) -> Setting:
    """The change of kappa between two runs of a judge on the same cases, three of each user."""
    labels = np.arange(3, dtype=np.float64)

    def sample(rng: Rng, users: int) -> tuple[RatedCases, RatedCases]:
        truth = rng.integers(0, 3, 3 * users).astype(np.float64)
        sides = []
        other = rng.integers(0, 3, truth.size)
        luck = rng.random(truth.size)
        for right in (later, earlier):
            sides.append(RatedCases(np.where(luck < right, truth, other), truth, _users(users, 3)))
        return sides[0], sides[1]

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        return {"change of qwk": agreement_change(*sample(rng, users), labels, "qwk").change}

    def truth(rng: Rng) -> Mapping[str, float]:
        change = agreement_change(*sample(rng, 200_000), labels, "qwk", resamples=0).change.value
        return {"change of qwk": change or 0.0}

    return Setting(name, draw, truth)


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


def powered_setting(name: str, share: float, right: float) -> Setting:
    """A share by prediction-powered inference: labels of some users, verdicts of a judge on ten times as many."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        size = 11 * users
        truth = (rng.random(size) < share).astype(np.float64)
        judge = np.where(rng.random(size) < right, truth, rng.random(size) < share).astype(np.float64)
        human = np.where(np.arange(size) < users, truth, np.nan)
        powered = prediction_powered_mean(human, judge, np.arange(size))
        return {"both": powered.powered, "people": powered.human}

    return Setting(name, draw, lambda _: {"both": share, "people": share})


def rating_setting(
    name: str, strength: tuple[float, ...], tie: float, rows: int = 1, alike: float = 0.0
) -> Setting:
    """The rating of the first system by Bradley and Terry's model with Davidson's ties."""
    true = np.array(strength)

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        counts = user_counts(*battles_drawn(rng, true, tie, users, rows, alike), true.size)
        return {"bt": rating_intervals(counts, bradley_terry(counts.total), "davidson")[0]}

    def truth(rng: Rng) -> Mapping[str, float]:
        if not alike:
            return {"bt": MEAN + SCALE * float(true[0] - true.mean())}
        counts = user_counts(*battles_drawn(rng, true, tie, 40_000, rows, alike), true.size)
        return {"bt": float(bradley_terry(counts.total).ratings[0])}

    return Setting(name, draw, truth)


def crowd_setting(name: str, win: float, taste: float, lean: float, raters: int) -> Setting:
    """A win rate, a mean and a rating of two systems from a crowd: each user is judged by three of `raters` raters. Users
    differ by `taste`, raters by `lean`; both have standard deviation 1 where they are 1."""
    middle = float(ndtri(win)) * math.sqrt(1 + taste**2 + lean**2)

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        owner = np.repeat(np.arange(users), 3)
        rater = np.concatenate([rng.choice(raters, 3, replace=False) for _ in range(users)])
        latent = middle + taste * rng.normal(size=users)[owner] + lean * rng.normal(size=raters)[rater]
        won = latent + rng.normal(size=owner.size) > 0
        first = np.zeros(owner.size, dtype=np.int64)
        counts = crowd_counts(first, first + 1, np.where(won, 1.0, -1.0), owner, rater, 2)
        shown: dict[str, Shown] = {
            "win rate": system_intervals(counts, "win_rate")[0],
            "mean": crowd_mean_estimate(won.astype(np.float64), owner, rater, SHARE),
        }
        if 0 < won.mean() < 1:
            shown["bt"] = rating_intervals(counts, bradley_terry(counts.total), "davidson")[0]
        return shown

    rating = MEAN + SCALE * math.log(win / (1 - win)) / 2
    return Setting(name, draw, lambda _: {"win rate": win, "mean": win, "bt": rating})


def elo_setting(name: str, strength: tuple[float, ...], tie: float, users: int) -> Setting:
    """Elo's rating of the first system. Its true value is the mean over samples of this size: it depends on the size."""
    true = np.array(strength)

    def draw(rng: Rng, size: int) -> Mapping[str, Shown]:
        if size != users:
            return {}
        a, b, outcome, owner = battles_drawn(rng, true, tie, size, 1, 0.0)
        return {"elo": elo_intervals(a, b, outcome, owner, true.size)[0]}

    def truth(rng: Rng) -> Mapping[str, float]:
        samples = (battles_drawn(rng, true, tie, users, 1, 0.0) for _ in range(4000))
        return {"elo": float(np.mean([elo(a, b, outcome, true.size)[0] for a, b, outcome, _ in samples]))}

    return Setting(name, draw, truth)


def calibration_setting(name: str, off: float, bins: int = 10) -> Setting:
    """A judge whose confidence exceeds the share of right verdicts by `off`."""

    def sample(rng: Rng, users: int) -> tuple[FloatArray, FloatArray]:
        right = rng.uniform(0.55 - off / 2, 0.95 - off, 2 * users)
        return right + off, (rng.random(right.size) < right).astype(np.float64)

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        sure, right = sample(rng, users)
        return {"ece": calibration_error(sure, right, _users(users, 2), bins, resamples=500)}

    return Setting(name, draw, lambda _: {"ece": off})


def bias_setting() -> Setting:
    """The slope and the rank difference of a judge who favours uniform lists by one point from 0 to 1."""

    def sample(rng: Rng, users: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        uniform = rng.beta(2, 3, 2 * users)
        own = rng.normal(0, 0.5, uniform.size)
        return (
            uniform,
            own + uniform + rng.normal(0, 0.5, uniform.size),
            own + rng.normal(0, 0.5, uniform.size),
        )

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        found = homogeneity_bias(*sample(rng, users), _users(users, 2))
        return {"slope": found.difference, "rank": found.rank}

    def truth(rng: Rng) -> Mapping[str, float]:
        found = homogeneity_bias(*sample(rng, 200_000), _users(200_000, 2), resamples=0)
        return {"slope": 1.0, "rank": float(found.rank.value or 0.0)}

    return Setting("homogeneity bias", draw, truth)


def click_setting(name: str, rate: float, impressions: int) -> Setting:
    """Click rate and lift; `users` are thousands of impressions."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        n = impressions * users
        a, b = (Arm(int(rng.binomial(n, rate * factor)), n) for factor in (1.2, 1.0))
        return {"click rate": b.estimate(), "lift": lift(a, b)}

    return Setting(name, draw, lambda _: {"click rate": rate, "lift": 0.2})


def quantile_setting() -> Setting:
    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        return {"median": quantile_estimate(rng.exponential(size=users), 0.5)}

    return Setting("median latency", draw, lambda _: {"median": float(np.log(2))})


_RATINGS = (1.0, 2.0, 3.0, 4.0, 5.0)
_LABELS = (0.02, 0.03, 0.1, 0.25, 0.6)
SETTINGS: dict[str, tuple[Setting, ...]] = {
    "shares": (
        share_setting("balanced", 0.5), share_setting("hit rate .9", 0.9), share_setting("rare .03", 0.03),
        share_setting("clustered .5, 5 rows", 0.5, 5, 0.3), share_setting("clustered .1, 5 rows", 0.1, 5, 0.1),
        share_setting("clustered .03, 5 rows", 0.03, 5, 0.3), share_setting("independent .03, 5 rows", 0.03, 5),
        share_setting("unanimous 1", 1.0), share_setting("unanimous 1, 5 rows", 1.0, 5),
    ),
    "means": (
        mean_setting("nDCG, 60 % zero", lambda rng, n: sparse_hits(rng, n, 0.4), 0.4 * 1.5 / 3.5, SHARE),
        mean_setting("nDCG, 90 % zero", lambda rng, n: sparse_hits(rng, n, 0.1), 0.1 * 1.5 / 3.5, SHARE),
        mean_setting("dense metric", lambda rng, n: rng.beta(8, 2, n), 0.8, SHARE),
        mean_setting("skewed metric", lambda rng, n: rng.beta(0.5, 5, n), 1 / 11, SHARE),
        mean_setting("labels 1 to 5, skewed", lambda rng, n: rng.choice(_RATINGS, n, p=_LABELS), 4.38, (1.0, 5.0)),
        mean_setting("labels, all equal", lambda _, n: np.full(n, 3.0), 3.0, (1.0, 5.0)),
        ragged_setting(),
        mean_setting("unbounded, normal", lambda rng, n: rng.normal(3, 1, n), 3.0, None),
        mean_setting("unbounded, exponential", lambda rng, n: rng.exponential(1, n), 1.0, None),
        mean_setting("unbounded, log-normal .7", lambda rng, n: rng.lognormal(0, 0.7, n), math.exp(0.245), None),
        mean_setting("unbounded, log-normal 1", lambda rng, n: rng.lognormal(0, 1, n), math.exp(0.5), None),
        difference_setting(),
        paired_setting("paired shares", 0.2, 0.15), paired_setting("paired shares, lopsided", 0.15, 0.01),
        paired_setting("paired shares, equal", 0.0, 0.0),
    ),
    "outcomes": (
        outcome_setting("balanced, 20 % ties", 0.4, 0.2), outcome_setting("lopsided .85", 0.85, 0.05),
        outcome_setting("lopsided .9, 3 rows", 0.9, 0.05, 3, 0.3), outcome_setting("mostly ties", 0.06, 0.9),
        outcome_setting("balanced, 3 rows alike", 0.4, 0.2, 3, 0.5), outcome_setting("all ties", 0.0, 1.0),
    ),
    "agreement": (
        agreement_setting("balanced", (0.3, 0.4, 0.3), 0.7), agreement_setting("two labels", (0.5, 0.5), 0.75),
        agreement_setting("by chance", (0.3, 0.4, 0.3), 0.0), agreement_setting("rare label", (0.04, 0.06, 0.9), 0.8),
        agreement_setting("rare errors", (0.3, 0.4, 0.3), 0.96),
        agreement_setting("rare label, rare errors", (0.02, 0.03, 0.95), 0.95),
        agreement_setting("4 rows a user", (0.3, 0.4, 0.3), 0.7, 4),
        agreement_setting("rare label, 4 rows a user", (0.04, 0.06, 0.9), 0.8, 4),
        change_setting("two runs", 0.8, 0.6), change_setting("two equal runs", 0.7, 0.7),
    ),
    "by label": (
        label_setting("balanced", (0.3, 0.4, 0.3), 0.7), label_setting("rare label", (0.04, 0.06, 0.9), 0.8),
        label_setting("4 rows a user", (0.3, 0.4, 0.3), 0.7, 4),
    ),
    "powered": (
        powered_setting("balanced", 0.5, 0.8), powered_setting("rare .1", 0.1, 0.8),
        powered_setting("rare .03", 0.03, 0.8), powered_setting("good judge", 0.3, 0.97),
    ),
    "ratings": (
        rating_setting("three equal", (0.0, 0.0, 0.0), 0.5), rating_setting("three apart", (0.0, 1.0, 2.5), 0.01),
        rating_setting("two lopsided", (0.0, 2.9), 0.01),
        rating_setting("three, tastes differ, 3 rows", (0.0, 0.5, 1.0), 0.3, 3, 1.0),
        *(elo_setting(f"Elo, three apart, {n}", (0.0, 0.5, 1.0), 0.3, n) for n in (10, 20, 50)),
    ),
    "crowd": (
        crowd_setting("all alike, 10 raters", 0.5, 0.0, 0.0, 10), crowd_setting("raters lean, 5", 0.6, 0.0, 1.0, 5),
        crowd_setting("raters lean, 10", 0.6, 0.0, 1.0, 10), crowd_setting("users differ, 10", 0.6, 1.0, 0.0, 10),
        crowd_setting("users and raters differ, 10", 0.8, 0.7, 0.7, 10),
        crowd_setting("users and raters differ, 30", 0.8, 0.7, 0.7, 30),
    ),
    "other": (
        calibration_setting("calibrated", 0.0), calibration_setting("too sure by .1", 0.1), bias_setting(),
        click_setting("clicks 1 %", 0.01, 1000), quantile_setting(),
    ),
}  # fmt: skip


def measure(draws: int = 200) -> list[dict[str, Any]]:
    """One row per group of figures: the lowest coverage with 10 users or more."""
    rows: list[dict[str, Any]] = []
    for name, settings in SETTINGS.items():
        start = time.perf_counter()
        covered = [c for setting in settings for users in (10, 50) for c in coverages(setting, users, draws)]
        worst = min((c for c in covered if c.covered is not None), key=lambda c: c.covered or 0.0)
        noise = 3 * float(np.sqrt(0.05 * 0.95 / draws))
        note = f"{worst.setting}: {worst.figure}, {worst.users} users; {time.perf_counter() - start:.0f} s"
        rows.append(bounded_row(f"coverage: {name}", worst.covered or 0.0, LOW - noise, True, note))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *SETTINGS])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--users", default=",".join(map(str, USERS)))
    parser.add_argument("--markdown", action="store_true", help="tables for docs/statistics.md")
    options = parser.parse_args()
    sizes = [int(size) for size in options.users.split(",")]
    for name in options.names or SETTINGS:
        lines = [_lines(setting, sizes, options.draws) for setting in SETTINGS[name]]
        if options.markdown:
            print(f"\n| {name} | figure | " + " | ".join(str(size) for size in sizes) + " |")
            print("|---|---|" + "---|" * len(sizes))
        for line in (line for part in lines for line in part):
            print(
                ("| " + " | ".join(line) + " |")
                if options.markdown
                else "  ".join(f"{cell:>13}" for cell in line)
            )
        sys.stdout.flush()


def _lines(setting: Setting, sizes: list[int], draws: int) -> list[list[str]]:
    by_figure: dict[str, list[str]] = {}
    for size in sizes:
        for coverage in coverages(setting, size, draws):
            by_figure.setdefault(coverage.figure, []).append(_cell(coverage))
    return [[setting.name, figure, *cells] for figure, cells in by_figure.items()]


def _cell(coverage: Coverage) -> str:
    """`94.6`, `98.9+` above the target, `90.1!` below it from 10 users on, `95.0 (61)` if 61 % of draws have one."""
    if coverage.covered is None:
        return "none"
    low = coverage.covered < LOW and coverage.users >= 10
    mark = "!" if low else "+" if coverage.covered > HIGH else ""
    partly = f" ({100 * coverage.shown:.0f})" if coverage.shown < 0.995 else ""
    return f"{100 * coverage.covered:.1f}{mark}{partly}"


if __name__ == "__main__":
    main()
