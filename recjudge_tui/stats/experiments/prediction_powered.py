"""Prediction-powered means: few human labels, many verdicts of a judge, and an interval valid for any judge.

Source: Angelopoulos, Duchi and Zrnic, PPI++: Efficient Prediction-Powered Inference (2023), for a mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray, Ids, IntArray, as_floats, encode, rows_of
from recjudge_tui.stats.defaults import ALPHA, LEVEL
from recjudge_tui.stats.estimate import Estimate, Interval, undefined
from recjudge_tui.stats.experiments.balance import balance_p
from recjudge_tui.stats.intervals import mean_estimate
from recjudge_tui.stats.resampling.intervals import interval_of
from recjudge_tui.stats.resampling.jackknife import UNEVEN, Spread, spreads, uneven

FEWEST_USERS = 10
FEWEST_APART = 5
PERMUTED_UP_TO = 2000
CAUTION = 4.0
NO_LABELS = "no case that the judge judged has a label"
ALL_LABELLED = "every case that the judge judged has a label: it has nothing to add"
FEW_UNLABELLED = f"the cases without a label are of fewer than {FEWEST_USERS} users: too few to add anything"
FEW_USERS = f"no interval: labels of fewer than {FEWEST_USERS} users"
ALIKE = f"no interval: fewer than {FEWEST_APART} users have a label other than the most common one"
UNVARIED = "the judge's verdicts do not vary: they add nothing"
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PredictionPoweredMean:
    """A mean three ways, each over cases and with an interval that resists several cases of one user.

    `human` uses the labels alone, `judge` the judge's verdicts alone (what the judge thinks, not what people think),
    `powered` both. `power` is lambda, the weight of the judge in the powered mean: 0 ignores it.
    `n_effective`: how many labels the human estimate would need to reach the variance of the powered one.
    `balance_p`: two-sided p value for equal means of the judge on labelled and unlabelled cases (Student's t, and below
    .05 a permutation test too); a small value suggests that the labelled cases are not a random sample. None with fewer
    than FEWEST_USERS users on either side, whose spread would hardly be known.
    """

    human: Estimate
    judge: Estimate
    powered: Estimate
    n_labelled: int
    n_judged: int
    power: float | None = None
    n_effective: float | None = None
    balance_p: float | None = None

    @property
    def saved(self) -> int | None:
        """Whole labels saved: n_effective - n_labelled, at least 0; None if undefined."""
        return None if self.n_effective is None else max(0, math.floor(self.n_effective - self.n_labelled))


class Scale(NamedTuple):
    """The lowest and highest value of a measure, such as 0 and 1 for a share or a win rate."""

    low: float
    high: float


SHARE = Scale(0.0, 1.0)


def prediction_powered_mean(
    human: npt.ArrayLike,
    judge: npt.ArrayLike,
    users: Ids,
    *,
    scale: Scale | None = SHARE,
    clip: bool = True,
    level: float = LEVEL,
) -> PredictionPoweredMean:
    """The mean human score of all cases, from labels (n,) on some of them and a judge's scores (n,); NaN where missing.

    With L the cases that have both and U those that only the judge scored, the estimate is

        mean_L(human) - lambda * (mean_L(judge) - mean_U(judge)).

    A label without a judge's score is left out. Users, not cases, are treated as independent: the variance is the sum
    over users of the squared contribution of the user's cases, labelled and not, to the error. lambda minimises this
    variance, within 0..1 if `clip` (for a judge on the same scale as people; not for a metric on its own scale). With
    one case per user, lambda is the paper's Cov(human, judge) / ((1 + n/N) Var(judge)), with the variance of the judge
    estimated separately on L and U. Cases have equal weight, so a user with more cases counts more.

    Intervals are those of `intervals.interval_of`, for both together with at most labelled users - 2 degrees of freedom
    (one is spent on lambda). A judge with few or no errors on a few labels may have been lucky, so the powered variance
    is shrunk towards the human one with the weight of CAUTION labels (the number that Agresti and Coull 1998 add to a
    proportion). The effect fades with more labels and keeps the coverage where the plain formula loses it; the tests
    repeat the simulation.

    Assumes that the labelled cases are a random sample: a label may be missing for any reason except its value. An
    undefined figure is None with the reason, such as unlabelled cases of fewer than FEWEST_USERS users: lambda would rest
    on their spread. There is no interval with labels of fewer than FEWEST_USERS users, or if
    fewer than FEWEST_APART of them have a label other than the most common one; the mean of one rater alone has an
    interval even then. Raises ValueError for a score outside `scale` and for arrays that do not match.
    """
    labels, scores = as_floats(human), as_floats(judge)
    _checked(labels, scores, scale if clip else None, scale)
    judged = ~np.isnan(scores)
    codes, count = encode(rows_of(users, judged))
    labels, scores = labels[judged], scores[judged]
    labelled: BoolArray = ~np.isnan(labels)
    sizes = int(labelled.sum()), labels.size
    alone = _alone(scores, codes, scale if clip else None, level)
    if not labelled.any():
        return PredictionPoweredMean(undefined(NO_LABELS), alone, undefined(NO_LABELS), *sizes)
    people = _alone(labels[labelled], codes[labelled], scale, level)
    if labelled.all():
        return PredictionPoweredMean(people, alone, undefined(ALL_LABELLED, sizes[0]), *sizes)
    if np.unique(codes[~labelled]).size < FEWEST_USERS:
        return PredictionPoweredMean(people, alone, undefined(FEW_UNLABELLED, sizes[0]), *sizes)
    return _combined(labels, scores, _Users(codes, count, labelled), people, alone, scale, clip, level)


class _Users(NamedTuple):
    """The users of the cases (codes 0..total-1), and which cases have a label."""

    codes: IntArray
    total: int
    labelled: BoolArray

    def adds(self, values: FloatArray, here: BoolArray) -> FloatArray:
        """Each user's contribution to the error of the mean of `values` over the cases `here`; the contributions sum
        to 0.
        """
        chosen, owners = values[here], self.codes[here]
        users = np.unique(owners).size
        correction = math.sqrt(users / (users - 1)) if users > 1 else 1.0
        apart = chosen - chosen.mean()
        sums = np.bincount(owners, weights=apart, minlength=self.total)
        added: FloatArray = correction * sums / chosen.size
        return added


def _combined(
    labels: FloatArray,
    scores: FloatArray,
    users: _Users,
    people: Estimate,
    alone: Estimate,
    scale: Scale | None,
    clip: bool,
    level: float,
) -> PredictionPoweredMean:
    here = users.labelled
    n = int(here.sum())
    of_people = users.adds(labels, here)
    of_judge = users.adds(scores, here) - users.adds(scores, ~here)
    varies = float(of_judge @ of_judge)
    gap = float(scores[here].mean() - scores[~here].mean())
    tuned = float(of_people @ of_judge) / varies if varies > _ROUNDING**2 else 0.0
    power = min(1.0, max(0.0, tuned)) if clip else tuned
    value = float(labels[here].mean()) - power * gap
    if scale is not None:
        value = min(scale.high, max(scale.low, value))
    plain = float(of_people @ of_people)
    left = of_people - power * of_judge
    owners = np.unique(users.codes[here])
    groups = owners.size
    reason = _unfit(labels[here], users.codes[here])
    notes = "" if varies > _ROUNDING**2 else UNVARIED
    variance = _cautious(float(left @ left), plain, groups)
    own = spreads(left[owners], np.zeros(groups, dtype=np.int64), np.zeros(1))[0]
    spread = Spread(groups, variance, max(1.0, min(groups - 2.0, own.freedom)), own.skewness, own.apart)
    ends = Interval(None, None, reason) if reason else interval_of(value, spread, scale, level)
    return PredictionPoweredMean(
        people,
        alone,
        Estimate(value, ends.low, ends.high, n, note=ends.note or notes),
        n,
        labels.size,
        power=power,
        n_effective=n * plain / variance if variance > 0 and not reason else None,
        balance_p=_balance(gap, varies, scores, users),
    )


def _balance(gap: float, variance: float, scores: FloatArray, users: _Users) -> float | None:
    """Student's two-sided p of a gap of 0, with the degrees of freedom of the side of fewer users; where that is below
    ALPHA, the larger of it and the permutation test's. Student's alone finds a difference between random halves of 100
    or 200 users with scores of 0 and 1 in 5.6 % of samples, since their gap takes few values; above PERMUTED_UP_TO cases
    in at most 5.2 %, and there it decides alone.
    """
    from scipy.special import stdtr

    here = users.labelled
    fewer = min(np.unique(users.codes[side]).size for side in (here, ~here))
    if fewer < FEWEST_USERS or variance <= _ROUNDING**2:
        return None
    student = float(2 * stdtr(fewer - 1, -abs(gap) / math.sqrt(variance)))
    if student >= ALPHA or here.size > PERMUTED_UP_TO:
        return student
    return max(student, balance_p(scores, users.codes, here))


def _cautious(variance: float, plain: float, groups: int) -> float:
    """The variance as if CAUTION additional labels had shown that the judge is useless."""
    own = max(1.0, groups - 2.0)
    return (own * variance + CAUTION * plain) / (own + CAUTION)


def _alone(values: FloatArray, codes: IntArray, scale: Scale | None, level: float) -> Estimate:
    """The mean of a single rater's scores."""
    return mean_estimate(values, codes, scale, level=level) if values.size else undefined("no verdicts")


def _unfit(values: FloatArray, codes: IntArray) -> str:
    """Why there is no interval for these labels; empty if there is one."""
    if np.unique(codes).size < FEWEST_USERS:
        return FEW_USERS
    if uneven(np.bincount(codes)):
        return UNEVEN
    levels, counts = np.unique(values, return_counts=True)
    apart = np.unique(codes[values != levels[np.argmax(counts)]]).size
    return ALIKE if apart < FEWEST_APART else ""


def _checked(
    labels: FloatArray, scores: FloatArray, of_scores: Scale | None, of_labels: Scale | None
) -> None:
    if labels.size != scores.size:
        raise ValueError(f"{labels.size} labels for {scores.size} scores; they must be paired")
    for values, scale in ((labels, of_labels), (scores, of_scores)):
        known = values[~np.isnan(values)]
        if scale is not None and known.size and (known.min() < scale.low or known.max() > scale.high):
            raise ValueError(f"a score lies outside the scale {scale.low:g} to {scale.high:g}")
