"""Experiments: how many users a comparison needs, few labels with many verdicts (PPI++), early stopping, live traffic."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray, Ids, IntArray, as_floats, encode, rows_of
from recjudge_tui.stats.defaults import ALPHA, LEVEL, POWER
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.hypotheses import users_needed
from recjudge_tui.stats.intervals import (
    AT_END,
    SHARE,
    Bounds,
    Scale,
    clopper_pearson,
    mean_estimate,
    t_quantile,
)

# ---- how many users ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Discordance:
    """How often cases favour one of two systems. `psi`: the share that favours either; `delta`: that for a minus that for
    b, so the win rate with ties half is 1/2 + delta/2. Raises ValueError unless 0 <= |delta| <= psi <= 1."""

    psi: float
    delta: float

    def __post_init__(self) -> None:
        if not 0 <= abs(self.delta) <= self.psi <= 1:
            raise ValueError(f"a difference of {self.delta:g} is impossible if only {self.psi:.1%} differ")


def win_rate_discordance(win_rate: float, ties: float = 0.0, consistency: float = 1.0) -> Discordance:
    """Pairs of lists judged in both orders: psi = c (1 - t), delta = c (2 w - 1). The win rate w (ties half) and the
    share t of ties are those of the pairs judged alike in both orders, of which `consistency` c is the share; the
    others become position ties. Raises ValueError for values outside 0..1, or unless |2 w - 1| <= 1 - t."""
    if not all(0 <= value <= 1 for value in (win_rate, ties, consistency)):
        raise ValueError("a win rate, a tie rate and a consistency lie between 0 and 1")
    if abs(2 * win_rate - 1) > 1 - ties + 1e-12:
        raise ValueError(f"with {ties:.1%} ties the win rate cannot be {win_rate:.1%}")
    psi = consistency * (1 - ties)
    return Discordance(psi, max(-psi, min(psi, consistency * (2 * win_rate - 1))))


def share_discordance(share_a: float, share_b: float, correlation: float = 0.0) -> Discordance:
    """Two shares over the same users: psi = p_a (1 - p_b) + p_b (1 - p_a) - 2 phi sqrt(p_a (1 - p_a) p_b (1 - p_b)), delta
    = p_a - p_b. Raises ValueError for shares outside 0..1, or a correlation phi that is impossible for them."""
    if not all(0 <= share <= 1 for share in (share_a, share_b)):
        raise ValueError("a share lies between 0 and 1")
    spread = math.sqrt(share_a * (1 - share_a) * share_b * (1 - share_b))
    both = share_a * share_b + correlation * spread
    if not max(0.0, share_a + share_b - 1) - 1e-12 <= both <= min(share_a, share_b) + 1e-12:
        raise ValueError(f"shares of {share_a:.1%} and {share_b:.1%} cannot correlate by {correlation:g}")
    return Discordance(min(1.0, max(abs(share_a - share_b), share_a + share_b - 2 * both)), share_a - share_b)


def possible_correlation(share_a: float, share_b: float, correlation: float) -> float:
    """The correlation nearest to the given one that two yes-or-no answers with these shares can have; 0 if one never
    varies."""
    spread = math.sqrt(share_a * (1 - share_a) * share_b * (1 - share_b))
    if spread <= 0:
        return 0.0
    both = share_a * share_b
    lowest = (max(0.0, share_a + share_b - 1) - both) / spread
    return min((min(share_a, share_b) - both) / spread, max(lowest, correlation))


def mean_inverse(cases_per_user: float) -> float:
    """The mean of 1 / m over users with this mean number m of cases (at least one), as nearly equal as can be."""
    fewer = max(1, math.floor(cases_per_user))
    more = max(0.0, cases_per_user - fewer)
    return (1 - more) / fewer + more / (fewer + 1)


def user_factor(inverse: float, icc: float = 0.0) -> float:
    """The variance of a user's mean over that of one case: the mean of (1 + (m - 1) icc) / m for m cases of a user, the
    design effect (Kish 1965) over the cases. `inverse`: the mean of 1 / m; a correlation below 0 counts as 0."""
    alike = min(1.0, max(0.0, icc))
    return alike + (1 - alike) * inverse


def units_needed(
    found: Discordance, *, alpha: float = ALPHA, power: float = POWER, factor: float = 1.0
) -> int | None:
    """The number of users with which the test of their means shows the difference with this power: the normal formula
    (Miettinen 1968; Connor 1987 for one case a user) with the `user_factor`. None if there is none below ten million."""
    spread = math.sqrt(factor * max(0.0, found.psi - found.delta**2))
    null = math.sqrt(factor * found.psi)
    return users_needed(found.delta, spread, null, alpha=alpha, power=power)


def power_of(found: Discordance, n: int, *, alpha: float = ALPHA, factor: float = 1.0) -> float:
    """The power of `n` users: Φ((sqrt(n) |delta| - z_(1-alpha/2) sqrt(psi f)) / sqrt((psi - delta²) f)), the inverse of
    `units_needed`. 0 if there is no difference."""
    if found.delta == 0 or n <= 0:
        return 0.0
    reach = NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(factor * found.psi)
    gap = math.sqrt(n) * abs(found.delta) - reach
    spread = math.sqrt(factor * max(0.0, found.psi - found.delta**2))
    return NormalDist().cdf(gap / spread) if spread > 0 else float(gap >= 0)


def detectable(
    of: Callable[[float], Discordance],
    base: float,
    most: float,
    n: int,
    *,
    alpha: float,
    power: float,
    factor: float = 1.0,
) -> float | None:
    """The smallest value from `base` to `most` that `n` users would have shown with this power, `of` being what a value
    means; the root of `power_of`. None if even `most` would not show."""
    from scipy.optimize import brentq

    def short(value: float) -> float:
        return power_of(of(value), n, alpha=alpha, factor=factor) - power

    return None if base >= most or short(most) < 0 else float(brentq(short, base, most, xtol=1e-12))


def intraclass(values: npt.ArrayLike, users: Ids) -> Estimate:
    """Correlation of two cases of one user, by one-way analysis of variance; no interval. icc = (MSB - MSW) / (MSB + (m0 -
    1) MSW), m0 = (N - sum(m_u^2) / N) / (k - 1) (Donner 1986, International Statistical Review 54:67-82). NaN rows are left
    out. Undefined with one user, no user of two cases, or equal values."""
    array = as_floats(values)
    kept = ~np.isnan(array)
    rows = array[kept]
    codes, count = encode(rows_of(users, kept))
    if count < 2 or rows.size == count:
        reason = "one user only" if count == 1 else "no user with two cases" if rows.size else "no values"
        return undefined(reason, rows.size)
    sizes = np.bincount(codes, minlength=count).astype(np.float64)
    means = np.bincount(codes, weights=rows, minlength=count) / sizes
    within = float(((rows - means[codes]) ** 2).sum()) / (rows.size - count)
    between = float((sizes * (means - rows.mean()) ** 2).sum()) / (count - 1)
    usual = (rows.size - float((sizes**2).sum()) / rows.size) / (count - 1)
    total = between + (usual - 1) * within
    if total <= 0:
        return undefined("all values are equal", rows.size)
    return Estimate((between - within) / total, None, None, rows.size, groups=count, note="no interval")


# ---- prediction-powered means -----------------------------------------------------------------------------------------

FEWEST_USERS = 10
NO_LABELS = "no case that the judge judged has a label"
ALL_LABELLED = "every case that the judge judged has a label: it has nothing to add"
FEW_UNLABELLED = f"the cases without a label are of fewer than {FEWEST_USERS} users: too few to add anything"
FEW_USERS = f"no interval: labels of fewer than {FEWEST_USERS} users"
ALIKE = "no interval: all labels are the same"
UNVARIED = "the judge's verdicts do not vary: they add nothing"
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PredictionPoweredMean:
    """A mean three ways, each with an interval over users: of the labels (`human`), of the judge's verdicts (`judge`), of
    both (`powered`). `power` is lambda, the judge's weight. `n_effective`: how many labels alone would reach the variance
    of `powered`. `balance_p`: Student's two-sided p for equal means of the judge on labelled and unlabelled cases; None
    with fewer than FEWEST_USERS users on either side."""

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


def prediction_powered_mean(
    human: npt.ArrayLike, judge: npt.ArrayLike, users: Ids, *, scale: Bounds | None = SHARE, clip: bool = True
) -> PredictionPoweredMean:
    """The mean human score of all cases, from labels (n,) on some of them and a judge's scores (n,); NaN where missing.

    PPI++ (Angelopoulos, Duchi and Zrnic 2023): with L the cases that have both and U those that only the judge scored,

        mean_L(human) - lambda * (mean_L(judge) - mean_U(judge)).

    A label without a judge's score is left out. Users, not cases, are independent: the variance is the sum over users of
    the squared contribution of the user's cases, labelled and not, to the error. lambda minimises this variance, within 0..1
    if `clip` (for a judge on the same scale as people; not for a metric on its own scale). Student's t has the degrees of
    freedom of the labelled users, on the logit scale between the ends of `scale`.

    Assumes that the labelled cases are a random sample: a label may be missing for any reason except its value. An
    undefined figure is None with the reason. Raises ValueError for a score outside `scale` and for arrays that do not match.
    """
    labels, scores = as_floats(human), as_floats(judge)
    if labels.size != scores.size:
        raise ValueError(f"{labels.size} labels for {scores.size} scores; they must be paired")
    of_judge = scale if clip else None
    judged = ~np.isnan(scores)
    alone = _mean_alone(scores[judged], rows_of(users, judged), of_judge)
    codes, count = encode(rows_of(users, judged))
    known = labels[~np.isnan(labels)]
    if scale is not None and known.size and (known.min() < scale[0] or known.max() > scale[1]):
        raise ValueError(f"a score lies outside the scale {scale[0]:g} to {scale[1]:g}")
    labels, scores = labels[judged], scores[judged]
    here: BoolArray = ~np.isnan(labels)
    n = int(here.sum())
    if not n:
        return PredictionPoweredMean(undefined(NO_LABELS), alone, undefined(NO_LABELS), 0, labels.size)
    people = _mean_alone(labels[here], codes[here], scale)
    owners, others = (np.unique(codes[side]).size for side in (here, ~here))
    if here.all() or others < FEWEST_USERS:
        why = ALL_LABELLED if here.all() else FEW_UNLABELLED
        return PredictionPoweredMean(people, alone, undefined(why, n), n, labels.size)
    of_people = _adds(labels, here, codes, count)
    apart = _adds(scores, here, codes, count) - _adds(scores, ~here, codes, count)
    varies, plain = float(apart @ apart), float(of_people @ of_people)
    gap = float(scores[here].mean() - scores[~here].mean())
    tuned = float(of_people @ apart) / varies if varies > _ROUNDING**2 else 0.0
    weight = min(1.0, max(0.0, tuned)) if clip else tuned
    value = float(labels[here].mean()) - weight * gap
    if scale is not None:
        value = min(scale[1], max(scale[0], value))
    left = of_people - weight * apart
    variance = float(left @ left)
    reason = FEW_USERS if owners < FEWEST_USERS else ALIKE if plain <= _ROUNDING**2 else ""
    low, high = (None, None) if reason else _wald(value, math.sqrt(variance), owners - 1, scale)
    note = reason or ("" if low is not None else AT_END) or ("" if varies > _ROUNDING**2 else UNVARIED)
    balance = None
    if min(owners, others) >= FEWEST_USERS and varies > _ROUNDING**2:
        from scipy.special import stdtr

        balance = float(2 * stdtr(min(owners, others) - 1, -abs(gap) / math.sqrt(varies)))
    effective = n * plain / variance if variance > 0 and not reason else None
    powered = Estimate(value, low, high, n, note=note)
    return PredictionPoweredMean(people, alone, powered, n, labels.size, weight, effective, balance)


def _adds(values: FloatArray, here: BoolArray, codes: IntArray, users: int) -> FloatArray:
    """Each user's contribution (users,) to the error of the mean of `values` over the cases `here`; they sum to 0."""
    chosen, owners = values[here], codes[here]
    count = np.unique(owners).size
    correction = math.sqrt(count / (count - 1)) if count > 1 else 1.0
    sums = np.bincount(owners, weights=chosen - chosen.mean(), minlength=users)
    added: FloatArray = correction * sums / chosen.size
    return added


def _wald(
    value: float, error: float, freedom: int, scale: Bounds | None
) -> tuple[float | None, float | None]:
    """Student's interval, between bounds on the logit scale by the delta method."""
    half, between = float(t_quantile(freedom)) * error, Scale.between(scale)
    if scale is not None:
        slope = (value - scale[0]) * (scale[1] - value) / (scale[1] - scale[0])
        if slope <= 0:
            return None, None
        half /= slope
    low, high = between.back(between.to(np.array([value])) + np.array([-half, half])).tolist()
    return low, high


def _mean_alone(values: FloatArray, users: Ids, scale: Bounds | None) -> Estimate:
    return mean_estimate(values, users, scale) if values.size else undefined("no verdicts")


# ---- early stopping ---------------------------------------------------------------------------------------------------

EVEN = 0.5
CELLS = 1000
_GRID: FloatArray = np.arange(1, CELLS) / CELLS
# a bet risks at most this share of the wealth, so no bettor goes bankrupt
_MAX_STAKE = 0.5


@dataclass(frozen=True)
class StoppingRule:
    """Stop when each of `pairs` comparisons, means of values between 0 and 1, is decided: its interval lies on one side of
    one half, or is no wider than `margin`. All hold together, at every look, with probability `level` (Bonferroni)."""

    pairs: int
    margin: float | None = None
    level: float = LEVEL


@dataclass(frozen=True, eq=False)
class StoppingState:
    """The comparisons after `users` users. Of each (pairs,): the `n` values with sum `total`, and the interval low < mean <
    high, whose ends other than 0 and 1 are rejected. `spread`: sum of squared distances from the running means. `up`,
    `down` (pairs, candidates): log winnings of betting that the mean lies above, below. `closed`: every candidate is
    rejected; the last interval that is not empty stays."""

    users: int
    n: IntArray
    total: FloatArray
    spread: FloatArray
    low: FloatArray
    high: FloatArray
    closed: BoolArray
    up: FloatArray
    down: FloatArray


def initial_state(rule: StoppingRule) -> StoppingState:
    """The state before the first user. Raises ValueError for a rule without pairs."""
    if rule.pairs < 1:
        raise ValueError("nothing is compared")
    none, wealth = np.zeros(rule.pairs), np.zeros((rule.pairs, _GRID.size))
    return StoppingState(0, none.astype(np.int64), none, none, none, none + 1, none > 0, wealth, wealth)


def is_decided(rule: StoppingRule, state: StoppingState) -> bool:
    """Whether every comparison is decided."""
    # an end is itself rejected, so an end at one half decides
    decided = (state.low >= EVEN) | (state.high <= EVEN)
    if rule.margin is not None:
        decided |= state.high - state.low <= rule.margin + 1e-12
    return bool(decided.all())


def update_state(rule: StoppingRule, state: StoppingState, outcomes: FloatArray) -> StoppingState:
    """The state after `outcomes` (users, pairs), values in 0..1, NaN where a user has none for a pair; users after the one
    who decides the last comparison are ignored, however the users are split over calls.

    With probability `level` all means lie inside ALL of their intervals, whenever one stops looking: the hedged betting
    confidence sequence of Waudby-Smith and Ramdas (JRSS B 2024), with predictable plug-in stakes and the running
    intersection. For a candidate mean m two bettors start with 1/2 each and

        K+_t(m) = 1/2 prod (1 + min(s_i, c/m) (x_i - m))        K-_t(m) = 1/2 prod (1 - min(s_i, c/(1-m)) (x_i - m))
        s_i^2 = 2 log(2/alpha) / (v_{i-1} i log(i + 1))          alpha = (1 - level) / pairs, c = 1/2

    where v is the variance so far, starting at 1/4. If m is the mean, the probability that one of them ever reaches 1/alpha
    is at most alpha (Ville's inequality). K+ falls and K- rises in m, so the candidates that remain form an interval; its
    ends are rounded outwards to thousandths. Assumes that each value has the same mean given those before it: one value per
    user, users in random order. Raises ValueError for values outside 0..1.
    """
    if ((outcomes < 0) | (outcomes > 1)).any():
        raise ValueError("the values must lie between 0 and 1")
    for values in outcomes:
        if is_decided(rule, state):
            break
        state = _after_user(rule, state, values)
    return state


def _after_user(rule: StoppingRule, before: StoppingState, values: FloatArray) -> StoppingState:
    known = ~np.isnan(values)
    x = np.where(known, values, 0.0)
    rejection = math.log(2 * rule.pairs / (1 - rule.level))
    time = before.n + 1
    variance = (0.25 + before.spread) / time
    stake = np.sqrt(2 * rejection / (variance * time * np.log(time + 1.0)))[:, None]
    distance = x[:, None] - _GRID
    up = before.up + np.log1p(np.minimum(stake, _MAX_STAKE / _GRID) * distance)
    down = before.down + np.log1p(-np.minimum(stake, _MAX_STAKE / (1 - _GRID)) * distance)
    total = before.total + x
    spread = before.spread + (x - (0.5 + total) / (time + 1)) ** 2
    ends = np.concatenate([[0.0], _GRID, [1.0]])
    low = np.maximum(before.low, ends[(up >= rejection).sum(axis=1)])
    high = np.minimum(before.high, ends[CELLS - (down >= rejection).sum(axis=1)])
    closed = before.closed | (low >= high)
    moves = known & ~closed
    return StoppingState(
        before.users + 1,
        before.n + known,
        total,
        np.where(known, spread, before.spread),
        np.where(moves, low, before.low),
        np.where(moves, high, before.high),
        np.where(known, closed, before.closed),
        np.where(known[:, None], up, before.up),
        np.where(known[:, None], down, before.down),
    )


# ---- live traffic -----------------------------------------------------------------------------------------------------

FEWEST_EXPECTED = 20
FEWEST_IMPRESSIONS = 10_000
NO_CLICKS = "b was never clicked, so there is no rate to compare with"
NO_SPREAD = "all impressions were clicked, or none, so there is nothing to test"


@dataclass(frozen=True)
class Arm:
    """One system's share of an experiment. Raises ValueError unless 0 <= clicks <= impressions > 0."""

    clicks: int
    impressions: int

    def __post_init__(self) -> None:
        if not 0 <= self.clicks <= self.impressions or self.impressions == 0:
            raise ValueError(f"{self.clicks} clicks of {self.impressions} impressions is not possible")

    @property
    def rate(self) -> float:
        return self.clicks / self.impressions

    def estimate(self, level: float = LEVEL) -> Estimate:
        """Click rate with Clopper and Pearson's interval."""
        return clopper_pearson(self.clicks, self.impressions, level)


class TwoProportions(NamedTuple):
    """z and its two-sided p value, or None with the reason in `note`."""

    z: float | None
    p: float | None
    note: str = ""


def lift(a: Arm, b: Arm) -> Estimate:
    """Relative lift of a over b, rate_a / rate_b - 1, with the log interval of Katz et al. (1978, Biometrics 34:469):
    exp(ln(rate_a / rate_b) ± z sqrt(1/x_a - 1/n_a + 1/x_b - 1/n_b)) - 1 for x clicks of n independent impressions.
    Undefined if b has no click; no interval if a has none."""
    n = a.impressions + b.impressions
    if not b.clicks:
        return undefined(NO_CLICKS, n)
    if not a.clicks:
        return Estimate(-1.0, None, None, n, note="no interval: a was never clicked")
    from scipy.stats.contingency import relative_risk

    ratio = relative_risk(a.clicks, a.impressions, b.clicks, b.impressions)
    ends = ratio.confidence_interval(LEVEL)
    return Estimate(ratio.relative_risk - 1, float(ends.low) - 1, float(ends.high) - 1, n)


def two_proportions(a: Arm, b: Arm) -> TwoProportions:
    """Two-proportion z test with the pooled rate r, two-sided: z = (rate_a - rate_b) / sqrt(r (1 - r) (1/n_a + 1/n_b))
    (Fleiss, Levin and Paik 2003, ch. 3, without continuity correction). Where an arm has fewer than FEWEST_IMPRESSIONS, or
    would have fewer than FEWEST_EXPECTED clicks or non-clicks at r, p is Fisher's exact (1935). Undefined if r is 0 or
    1."""
    clicks, impressions = a.clicks + b.clicks, a.impressions + b.impressions
    if clicks in (0, impressions):
        return TwoProportions(None, None, NO_SPREAD)
    pooled = clicks / impressions
    error = math.sqrt(pooled * (1 - pooled) * (1 / a.impressions + 1 / b.impressions))
    z = (a.rate - b.rate) / error
    fewer = min(a.impressions, b.impressions)
    if fewer < FEWEST_IMPRESSIONS or fewer * min(pooled, 1 - pooled) < FEWEST_EXPECTED:
        from scipy.stats import fisher_exact

        table = np.array([[arm.clicks, arm.impressions - arm.clicks] for arm in (a, b)])
        return TwoProportions(z, float(fisher_exact(table).pvalue))
    return TwoProportions(z, math.erfc(abs(z) / math.sqrt(2)))
