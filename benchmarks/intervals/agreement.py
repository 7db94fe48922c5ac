"""Agreement of two raters, by label, by user, of several raters, of flags, and of people with each other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from benchmarks.intervals.setting import Setting, Shown, estimated, owners
from benchmarks.populations import Rng
from recjudge_tui.stats.agreement import RatedCases, agreement_change
from recjudge_tui.stats.agreement.by_label import label_scores
from recjudge_tui.stats.agreement.detection import detection_estimates
from recjudge_tui.stats.agreement.intervals import agreement_estimates
from recjudge_tui.stats.agreement.many_raters import many_raters_estimates
from recjudge_tui.stats.agreement.rater_pairs import RatedPair, pairs_interval
from recjudge_tui.stats.agreement.registry import STATISTICS
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.estimate import Estimate, Interval

OF_LABELS = tuple(stat for stat, facts in STATISTICS.items() if not facts.directed)
OF_PREFERENCES = ("percent", "kappa", "qwk", "alpha_ordinal", "pearson", "concurrence")


def agreement_setting(name: str, marginal: tuple[float, ...], right: float, rows: int = 1) -> Setting:
    """The agreement of a judge with the reference."""
    labels = np.arange(len(marginal), dtype=np.float64)

    def figures(rng: Rng, users: int, resamples: int = 2000) -> dict[str, Estimate]:
        sides = _judged(rng, users, marginal, right, rows)
        return agreement_estimates(*sides, owners(users, rows), labels, OF_LABELS)

    return Setting(name, figures, lambda rng: estimated(figures(rng, 400_000 // rows, 0)))


def preference_setting(
    name: str, marginal: tuple[float, float, float], right: float, rows: int, *, mirrored: bool
) -> Setting:
    """The agreement on pairs of lists: B, Tie or A. `mirrored`: no baseline gives the pairs a first side."""

    def figures(rng: Rng, users: int, resamples: int = 2000) -> dict[str, Estimate]:
        judge, truth = _judged(rng, users, marginal, right, rows)
        return agreement_estimates(
            judge - 1, truth - 1, owners(users, rows), (-1.0, 0.0, 1.0), OF_PREFERENCES, mirrored=mirrored,
        )  # fmt: skip

    return Setting(name, figures, lambda rng: estimated(figures(rng, 400_000 // rows, 0)))


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
        scores = label_scores(*sides, owners(users, rows), labels)
        by_name = {"first": scores.by_label[0.0], **scores.averages}
        return {f"{part} {stat}": by_stat[stat] for part, by_stat in by_name.items() for stat in by_stat}

    def truth(rng: Rng) -> Mapping[str, float]:
        return {
            figure: float(value.value or 0.0) for figure, value in figures(rng, 400_000 // rows, 0).items()
        }

    return Setting(name, figures, truth)


def change_setting(name: str, later: float, earlier: float) -> Setting:
    """The change of a figure between two runs of a judge on the same cases, three of each user."""
    labels = np.arange(3, dtype=np.float64)

    def sample(rng: Rng, users: int) -> tuple[RatedCases, RatedCases]:
        truth = rng.integers(0, 3, 3 * users).astype(np.float64)
        sides = []
        other = rng.integers(0, 3, truth.size)
        luck = rng.random(truth.size)
        for right in (later, earlier):
            sides.append(RatedCases(np.where(luck < right, truth, other), truth, owners(users, 3)))
        return sides[0], sides[1]

    def figures(rng: Rng, users: int, resamples: int = 2000) -> dict[str, Estimate]:
        sides = sample(rng, users)
        return {
            f"change of {stat}": agreement_change(*sides, labels, stat).change
            for stat in ("qwk", "percent", "kappa", "alpha_ordinal", "pearson", "kendall")
        }

    return Setting(name, figures, lambda rng: estimated(figures(rng, 200_000, 0)))


def many_raters_setting(
    name: str, marginal: tuple[float, ...], right: float, raters: int, there: float = 1.0, rows: int = 1
) -> Setting:
    """Raters who give the case's label with probability `right`; each judged a share `there` of the cases."""
    labels = np.arange(len(marginal), dtype=np.float64)

    def figures(rng: Rng, users: int, resamples: int = 2000) -> dict[str, Estimate]:
        values = _rated(rng, users, marginal, right, raters, rows)
        values[rng.random(values.shape) > there] = np.nan
        items = np.tile(np.arange(users * rows), raters)
        return many_raters_estimates(values.ravel(), items, items // rows, labels)

    return Setting(name, figures, lambda rng: estimated(figures(rng, 200_000 // rows, 0)))


def _rated(
    rng: Rng, users: int, marginal: tuple[float, ...], right: float, raters: int, rows: int
) -> FloatArray:
    """Labels (raters, cases): the case's own with probability `right`, else one drawn from the marginal."""
    edges = np.cumsum(marginal)[:-1]
    common = np.repeat(rng.random(users), rows)
    case = np.searchsorted(
        edges, np.where(rng.random(common.size) < (0.4 if rows > 1 else 0), common, rng.random(common.size))
    )
    other = np.searchsorted(edges, rng.random((raters, case.size)))
    return np.where(rng.random(other.shape) < right, case, other).astype(np.float64)


def ceiling_setting(
    name: str, marginal: tuple[float, ...], right: float, raters: int, there: float = 1.0
) -> Setting:
    """The human ceiling: the mean over pairs of people, weighted by their cases."""
    labels = np.arange(len(marginal), dtype=np.float64)
    stats = ("percent", "kappa", "qwk", "alpha_ordinal", "pearson")

    def sample(rng: Rng, users: int) -> list[RatedPair]:
        values = _rated(rng, users, marginal, right, raters, 2)
        values[rng.random(values.shape) > there] = np.nan
        rows = owners(users, 2)
        shared = [(a, b, ~np.isnan(a + b)) for a, b in combinations(values, 2)]
        return [RatedPair(a[both], b[both], rows[both]) for a, b, both in shared]

    def defined(pairs: list[RatedPair], stat: str) -> list[tuple[RatedPair, Estimate]]:
        figures = [agreement_estimates(*pair, labels, [stat])[stat] for pair in pairs]
        return [(p, f) for p, f in zip(pairs, figures, strict=True) if f.value is not None]

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        pairs = sample(rng, users)
        known = {stat: [pair for pair, _ in defined(pairs, stat)] for stat in stats}
        return {
            stat: pairs_interval(some, labels.tolist(), stat) if some else Interval(None, None)
            for stat, some in known.items()
        }

    def truth(rng: Rng) -> Mapping[str, float]:
        pairs = sample(rng, 100_000)
        return {stat: float(np.mean([f.value for _, f in defined(pairs, stat)])) for stat in stats}

    return Setting(name, draw, truth)


def flags_setting(name: str, rare: float, sees: float, alarms: float) -> Setting:
    """Flags of a judge on ten items of each user; faults are concentrated in the lists of some users."""

    def figures(rng: Rng, users: int, resamples: int = 2000) -> dict[str, Estimate]:
        own = rng.beta(2 * rare, 2 * (1 - rare), users)
        fault = rng.random((users, 10)) < own[:, None]
        flagged = rng.random(fault.shape) < np.where(fault, sees, alarms)
        return detection_estimates(flagged.ravel(), fault.ravel(), owners(users, 10))

    return Setting(name, figures, lambda rng: estimated(figures(rng, 100_000, 0)))


def by_user_setting(name: str, rows: int, noise: float) -> Setting:
    """The mean over users of each user's agreement on `rows` cases."""
    labels = np.arange(1.0, 6.0)
    stats = ("percent", "kappa", "qwk", "alpha_interval", "ac2", "pearson", "spearman", "kendall")

    def figures(rng: Rng, users: int, resamples: int = 2000) -> dict[str, Estimate]:
        rows_of = owners(users, rows)
        truth = np.clip(np.rint(rng.normal(3.5, 1.2, rows_of.size)), 1, 5)
        judge = np.clip(
            np.rint(truth + rng.normal(0, noise, rows_of.size) * rng.gamma(2, 0.5, users)[rows_of]), 1, 5
        )
        return agreement_estimates(judge, truth, rows_of, labels, stats, groups=rows_of)

    return Setting(name, figures, lambda rng: estimated(figures(rng, 60_000, 0)))


AGREEMENT = (
    agreement_setting("balanced", (0.3, 0.4, 0.3), 0.7), agreement_setting("two labels", (0.5, 0.5), 0.75),
    agreement_setting("by chance", (0.3, 0.4, 0.3), 0.0), agreement_setting("rare label", (0.04, 0.06, 0.9), 0.8),
    agreement_setting("rare errors", (0.3, 0.4, 0.3), 0.96),
    agreement_setting("rare label, rare errors", (0.02, 0.03, 0.95), 0.95),
    agreement_setting("4 rows a user", (0.3, 0.4, 0.3), 0.7, 4),
    agreement_setting("rare label, 4 rows a user", (0.04, 0.06, 0.9), 0.8, 4),
    agreement_setting("rare errors, five labels, skewed", (0.05, 0.05, 0.2, 0.3, 0.4), 0.9),
    agreement_setting("rare errors, 4 rows a user", (0.3, 0.4, 0.3), 0.96, 4),
    preference_setting("preferences", (0.35, 0.2, 0.45), 0.6, 1, mirrored=False),
    preference_setting("preferences, no first side", (0.4, 0.2, 0.4), 0.6, 1, mirrored=True),
    preference_setting("preferences, no first side, rare errors, 3 rows", (0.4, 0.2, 0.4), 0.95, 3, mirrored=True),
    change_setting("two runs", 0.8, 0.6), change_setting("two equal runs", 0.7, 0.7),
)  # fmt: skip
BY_LABEL = (
    label_setting("balanced", (0.3, 0.4, 0.3), 0.7), label_setting("rare label", (0.04, 0.06, 0.9), 0.8),
    label_setting("4 rows a user", (0.3, 0.4, 0.3), 0.7, 4),
)  # fmt: skip
BY_USER = (
    by_user_setting("4 cases a user", 4, 1.0), by_user_setting("8 cases a user, good judge", 8, 0.4),
)  # fmt: skip
MANY_RATERS = (
    many_raters_setting("4 raters", (0.3, 0.4, 0.3), 0.7, 4), many_raters_setting("by chance", (0.3, 0.4, 0.3), 0.0, 3),
    many_raters_setting("rare label, 3 raters", (0.04, 0.06, 0.9), 0.8, 3),
    many_raters_setting("rare errors, 3 raters", (0.3, 0.4, 0.3), 0.96, 3),
    many_raters_setting("some errors, 3 raters", (0.3, 0.4, 0.3), 0.85, 3),
    many_raters_setting("rare errors, five labels, 3 raters", (0.2, 0.2, 0.2, 0.2, 0.2), 0.96, 3),
    many_raters_setting("6 raters, half of the cases", (0.3, 0.4, 0.3), 0.7, 6, 0.5),
    many_raters_setting("4 raters, 3 rows a user", (0.2, 0.3, 0.5), 0.7, 4, 0.8, 3),
)  # fmt: skip
CEILING = (
    ceiling_setting("3 people", (0.3, 0.4, 0.3), 0.75, 3), ceiling_setting("5 people, half", (0.3, 0.4, 0.3), 0.75, 5, 0.5),
    ceiling_setting("3 people, rare errors", (0.3, 0.4, 0.3), 0.96, 3),
    ceiling_setting("3 people, rare label", (0.04, 0.06, 0.9), 0.8, 3),
)  # fmt: skip
FLAGS = (
    flags_setting("common faults", 0.3, 0.7, 0.05), flags_setting("rare faults", 0.05, 0.6, 0.01),
    flags_setting("good judge", 0.2, 0.97, 0.005), flags_setting("by chance", 0.2, 0.2, 0.2),
)  # fmt: skip
