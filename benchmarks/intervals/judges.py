"""Calibration, biases, position, prediction-powered means, early stopping, clicks, correlations over systems."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.intervals.setting import Setting, Shown, estimated, labels_drawn, owners
from benchmarks.populations import Rng, sparse_hits
from recjudge_tui.stats.agreement.association import association
from recjudge_tui.stats.agreement.consistency import position_consistency_estimate
from recjudge_tui.stats.agreement.homogeneity_bias import homogeneity_bias
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.confidence.calibration import (
    brier_score,
    calibration_error,
    cross_fitted,
    fit,
    overconfidence,
    reliability,
)
from recjudge_tui.stats.defaults import FOLDS
from recjudge_tui.stats.estimate import Estimate, Interval
from recjudge_tui.stats.experiments.confidence_sequences import ConfidenceSequence, advance
from recjudge_tui.stats.experiments.online import Arm, lift
from recjudge_tui.stats.experiments.prediction_powered import Scale, prediction_powered_mean
from recjudge_tui.stats.intervals import mean_estimate, share_estimate


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


def powered_mean_setting(name: str, noise: float, rows: int, scale: Scale | None) -> Setting:
    """A mean of labels 1 to 5 by prediction-powered inference, of users who differ. Without a scale the judge is a metric
    on its own scale."""

    def sample(rng: Rng, users: int) -> tuple[FloatArray, FloatArray]:
        own = np.repeat(rng.normal(0, 0.6, users), rows)
        truth = np.clip(np.rint(rng.normal(3.8 + own, 1)), 1, 5)
        judge = truth + rng.normal(0.4, noise, truth.size)
        return truth, judge * 7 if scale is None else np.clip(np.rint(judge), 1, 5)

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        truth, judge = sample(rng, 6 * users)
        human = np.where(np.arange(truth.size) < rows * users, truth, np.nan)
        powered = prediction_powered_mean(
            human, judge, owners(6 * users, rows), scale=scale, clip=scale is not None
        )
        return {"both": powered.powered, "people": powered.human, "judge": powered.judge}

    def truth(rng: Rng) -> Mapping[str, float]:
        people, judge = sample(rng, 400_000)
        return {"both": float(people.mean()), "people": float(people.mean()), "judge": float(judge.mean())}

    return Setting(name, draw, truth)


def calibration_setting(
    name: str, off: float, sure: tuple[float, float] = (0.55, 0.95), at: int = 7, bins: int = 10
) -> Setting:
    """A judge whose confidence, between `sure`, exceeds the share of right verdicts by `off`; the accuracy is that of bin
    `at`."""

    def sample(rng: Rng, users: int) -> tuple[FloatArray, FloatArray]:
        right = rng.uniform(sure[0] - off / 2, sure[1] - off, 2 * users)
        return right + off, (rng.random(right.size) < right).astype(np.float64)

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        stated, right = sample(rng, users)
        who = owners(users, 2)
        return {
            "ece": calibration_error(stated, right, who, bins),
            "overconfidence": overconfidence(stated, right, who),
            "Brier": brier_score(stated, right, who),
            "accuracy, a bin": reliability(stated, right, who, bins)[at].accuracy,
        }

    def truth(rng: Rng) -> Mapping[str, float]:
        stated, right = sample(rng, 1_000_000)
        here = (stated >= at / bins) & (stated < (at + 1) / bins)
        return {
            "ece": off, "overconfidence": off, "Brier": float(((stated - right) ** 2).mean()),
            "accuracy, a bin": float(right[here].mean()),
        }  # fmt: skip

    return Setting(name, draw, truth)


def calibrated_setting(name: str, method: str) -> Setting:
    """Confidences 0.12 too high that were calibrated on the same labels (cross-fitting). The true figures are those of the
    map, so they are computed for each sample.
    """

    def sample(rng: Rng, users: int) -> tuple[FloatArray, FloatArray]:
        right = rng.uniform(0.4, 0.85, 2 * users)
        return right + 0.12, right

    fresh, chance = sample(np.random.default_rng(7), 4000)

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        stated, likely = sample(rng, users)
        right, who = (rng.random(likely.size) < likely).astype(np.float64), owners(users, 2)
        learned, sure = fit(method, stated, right, who), cross_fitted(method, stated, right, who)
        if learned.apply is None or np.isnan(sure).any():
            return {}
        mapped = learned.apply(fresh)
        gaps = (
            np.bincount(np.minimum((mapped * 10).astype(np.int64), 9), weights=mapped - chance) / mapped.size
        )
        return {
            "ece": _moved(calibration_error(sure, right, who, 10), float(np.abs(gaps).sum())),
            "overconfidence": _moved(overconfidence(sure, right, who), float((mapped - chance).mean())),
            "Brier": _moved(
                brier_score(sure, right, who, folds=FOLDS),
                float((chance * (1 - mapped) ** 2 + (1 - chance) * mapped**2).mean()),
            ),
        }

    return Setting(name, draw, lambda _: {"ece": 0.0, "overconfidence": 0.0, "Brier": 0.0})


def _moved(shown: Estimate, true: float) -> Interval | None:
    """The interval of the error, None if there is none."""
    if shown.ci_low is None or shown.ci_high is None:
        return None
    return Interval(shown.ci_low - true, shown.ci_high - true)


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
        bias = homogeneity_bias(*sample(rng, users), owners(users, 2))
        return {"slope": bias.difference, "rank": bias.rank}

    def truth(rng: Rng) -> Mapping[str, float]:
        bias = homogeneity_bias(*sample(rng, 200_000), owners(200_000, 2), resamples=0)
        return {"slope": 1.0, "rank": float(bias.rank.value or 0.0)}

    return Setting("homogeneity bias", draw, truth)


def position_setting(name: str, decided: float, first: float, rows: int) -> Setting:
    """A judge that is consistent in a share `decided` of a user's pairs, and otherwise chooses Set 1 with probability
    `first`.
    """

    def sample(rng: Rng, users: int) -> tuple[FloatArray, FloatArray]:
        skill = np.repeat(
            rng.beta(4 * decided, 4 * (1 - decided), users) if rows > 1 else np.full(users, decided), rows
        )
        answer = rng.choice([1.0, 0.0, -1.0], skill.size, p=(0.4, 0.2, 0.4))
        set_1 = np.where(rng.random(skill.size) < first, 1.0, -1.0)
        steady = rng.random(skill.size) < skill
        return np.where(steady, answer, set_1), np.where(steady, answer, -set_1)

    def figures(rng: Rng, users: int, resamples: int = 2000) -> dict[str, Estimate]:
        straight, swapped = sample(rng, users)
        who = owners(users, rows)
        apart = straight != swapped
        chosen = np.concatenate([straight[apart], -swapped[apart]])
        return {
            "consistency": position_consistency_estimate(straight, swapped, who),
            "favour": mean_estimate((straight - swapped) / 2, who, (-1.0, 1.0)),
            "set 1": share_estimate(chosen > 0, np.tile(who[apart], 2)),
        }

    return Setting(name, figures, lambda rng: estimated(figures(rng, 200_000, 0)))


def length_setting(name: str, prefers: float, texts: int) -> Setting:
    """A judge's preference for the longer text over all pairs of a user's texts, and its excess over that of two
    people.
    """
    first, second = np.triu_indices(texts, 1)

    def figures(rng: Rng, users: int, resamples: int = 2000) -> dict[str, Estimate]:
        length = rng.normal(size=(users, texts))
        quality = rng.normal(size=(users, texts))

        def votes(weight: float) -> FloatArray:
            score = np.rint(quality + weight * length + rng.normal(0, 0.7, length.shape))
            preferred: FloatArray = np.sign(score[:, first] - score[:, second])
            return preferred

        longer = np.sign(length[:, first] - length[:, second])
        judge, people = votes(prefers), (votes(0.1) + votes(0.1)) / 2
        who = owners(users, first.size)
        return {
            "preference": mean_estimate((judge * longer).ravel(), who, (-1.0, 1.0)),
            "beyond people": mean_estimate(
                ((judge - people) * longer).ravel(), who, (-2.0, 2.0)
            ),
        }

    return Setting(name, figures, lambda rng: estimated(figures(rng, 100_000, 0)))


def sequence_setting(name: str, values: Callable[[Rng, int], FloatArray], mean: float) -> Setting:
    """A confidence sequence: its last interval is within all earlier ones, so if it contains the mean, they all do."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        sequence, _, _ = advance(ConfidenceSequence(), values(rng, users))
        return {"at every look": Interval(sequence.low, sequence.high)}

    return Setting(name, draw, lambda _: {"at every look": mean})


def systems_setting(name: str, correlation: float, shape: Callable[[FloatArray], FloatArray]) -> Setting:
    """Pearson's r of two figures over systems; the number of users is the number of systems here."""

    def sample(rng: Rng, systems: int) -> tuple[FloatArray, FloatArray]:
        common, own = rng.normal(size=(2, systems))
        return shape(common), shape(correlation * common + math.sqrt(1 - correlation**2) * own)

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        measured = association(*(part.tolist() for part in sample(rng, users)))
        return {"r": Interval(measured.ci_low, measured.ci_high)}

    return Setting(name, draw, lambda rng: {"r": float(np.corrcoef(*sample(rng, 2_000_000))[0, 1])})


def click_setting(name: str, rate: float, impressions: int) -> Setting:
    """Click rate and lift; `users` are thousands of impressions."""

    def draw(rng: Rng, users: int) -> Mapping[str, Shown]:
        n = impressions * users
        a, b = (Arm(int(rng.binomial(n, rate * factor)), n) for factor in (1.2, 1.0))
        return {"click rate": b.estimate(), "lift": lift(a, b)}

    return Setting(name, draw, lambda _: {"click rate": rate, "lift": 0.2})


CALIBRATION = (
    calibration_setting("calibrated", 0.0), calibration_setting("too sure by .1", 0.1),
    calibration_setting("few verdicts wrong", 0.0, (0.92, 0.98), 9),
    calibrated_setting("after temperature scaling", "temperature"),
    calibrated_setting("after isotonic regression", "isotonic"),
)  # fmt: skip
POWERED = (
    powered_setting("balanced", 0.5, 0.8), powered_setting("rare .1", 0.1, 0.8),
    powered_setting("rare .03", 0.03, 0.8), powered_setting("good judge", 0.3, 0.97),
    powered_mean_setting("labels, good judge", 0.4, 1, Scale(1.0, 5.0)),
    powered_mean_setting("labels, poor judge, 3 rows", 1.5, 3, Scale(1.0, 5.0)),
    powered_mean_setting("metric of its own scale", 0.8, 1, None),
)  # fmt: skip
BIASES = (
    bias_setting(), position_setting("steady judge", 0.8, 0.5, 1), position_setting("leans to Set 1, 3 rows", 0.5, 0.8, 3),
    position_setting("nearly always steady", 0.97, 0.5, 2), length_setting("longer of 3 texts", 0.3, 3),
    length_setting("no preference, 5 texts", 0.0, 5),
)  # fmt: skip
EXPERIMENTS = (
    click_setting("clicks 1 %", 0.01, 1000), click_setting("clicks, few", 0.001, 500),
    sequence_setting("early stopping, even", lambda rng, n: (rng.random(n) < 0.5).astype(np.float64), 0.5),
    sequence_setting("early stopping, lopsided", lambda rng, n: (rng.random(n) < 0.9).astype(np.float64), 0.9),
    sequence_setting("early stopping, labels", lambda rng, n: (labels_drawn(rng, n) - 1) / 4, 0.845),
    sequence_setting("early stopping, sparse", lambda rng, n: sparse_hits(rng, n, 0.4), 0.4 * 1.5 / 3.5),
)  # fmt: skip
SYSTEMS = (
    systems_setting("normal, r = .6", 0.6, lambda x: x), systems_setting("normal, r = 0", 0.0, lambda x: x),
    systems_setting("normal, r = .95", 0.95, lambda x: x),
    systems_setting("log-normal .5, r = .6", 0.6, lambda x: np.exp(0.5 * x)),
    systems_setting("log-normal .5, r = .9", 0.9, lambda x: np.exp(0.5 * x)),
    systems_setting("shares, r = .8", 0.8, lambda x: 1 / (1 + np.exp(-2 * x))),
)  # fmt: skip
