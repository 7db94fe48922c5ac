"""Planning, PPI++, early stopping and live traffic: figures of other sources, and what intervals and plans promise."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact, logistic, t

from recjudge_tui.stats import planning as pp
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.hypotheses import sign_flip_test
from recjudge_tui.stats.planning import (
    NO_CLICKS,
    NO_SPREAD,
    Arm,
    Discordance,
    StoppingRule,
    StoppingState,
    _after_user,
    detectable,
    initial_state,
    intraclass,
    is_decided,
    lift,
    mean_inverse,
    possible_correlation,
    power_of,
    share_discordance,
    two_proportions,
    units_needed,
    update_state,
    user_factor,
    win_rate_discordance,
)

# ---- how many users ---------------------------------------------------------------------------------------------------


def test_a_win_rate_without_ties_is_the_textbook_proportion_against_one_half() -> None:
    """194, 783 and 259 stand in power tables: ((1.96 * 0.5 + 0.8416 * sqrt(p (1 - p))) / d)²."""
    assert units_needed(win_rate_discordance(0.6)) == 194
    assert units_needed(win_rate_discordance(0.55)) == 783
    assert units_needed(win_rate_discordance(0.6), power=0.9) == 259


def test_mcnemar_by_hand() -> None:
    # 20 % against 10 %: (1.959964 sqrt(0.3) + 0.841621 sqrt(0.29))^2 / 0.01 = 233.07
    assert units_needed(Discordance(0.3, 0.1)) == 234
    # two independent proportions 0.6 and 0.5 need 388 each by the unpooled and pooled formula of the textbooks
    assert units_needed(share_discordance(0.6, 0.5)) == pytest.approx(388, abs=3)


def test_power_and_what_is_detectable_are_the_inverse() -> None:
    for found in (win_rate_discordance(0.57, 0.3, 0.9), share_discordance(0.3, 0.2, 0.2)):
        for factor in (1.0, 0.4):
            needed = units_needed(found, power=0.85, factor=factor)
            assert power_of(found, needed, factor=factor) >= 0.85 > power_of(found, needed - 1, factor=factor)
    options = {"alpha": 0.05, "power": 0.8}
    assert detectable(win_rate_discordance, 0.5, 1.0, 194, **options) == pytest.approx(0.6, abs=1e-3)
    assert detectable(lambda share: share_discordance(share, 0.5), 0.5, 1.0, 388, **options) == pytest.approx(
        0.6, abs=5e-3
    )
    assert detectable(win_rate_discordance, 0.5, 1.0, 3, **options) is None
    assert detectable(win_rate_discordance, 1.0, 1.0, 1000, **options) is None


def test_what_cannot_be() -> None:
    assert units_needed(win_rate_discordance(0.5)) is None
    assert units_needed(win_rate_discordance(0.6, consistency=0)) is None
    assert units_needed(win_rate_discordance(0.5 + 1e-5)) is None
    assert power_of(win_rate_discordance(0.5), 100) == 0
    for wrong in ((0.9, 0.5), (1.1, 0.0), (0.5, -0.1)):
        with pytest.raises(ValueError, match="rate"):
            win_rate_discordance(*wrong)
    with pytest.raises(ValueError, match="cannot correlate"):
        share_discordance(0.9, 0.1, 0.9)
    with pytest.raises(ValueError, match="is impossible"):
        Discordance(0.1, 0.2)


def test_the_nearest_possible_correlation_is_reached_and_not_passed() -> None:
    most = possible_correlation(0.6, 0.5, 1.0)
    assert share_discordance(0.6, 0.5, most).psi == pytest.approx(0.1)
    with pytest.raises(ValueError, match="cannot correlate"):
        share_discordance(0.6, 0.5, most + 0.01)
    least = possible_correlation(0.917, 0.333, -0.5)
    assert -0.5 < least < 0
    assert share_discordance(0.917, 0.333, least).psi == pytest.approx(0.75)
    assert possible_correlation(0.6, 0.5, 0.1) == 0.1
    assert possible_correlation(0.0, 0.5, 0.3) == 0


@pytest.mark.parametrize(("per_user", "icc"), [(1, 0.0), (3, 0.2), (10, 0.6)])
@pytest.mark.parametrize(("win_rate", "ties"), [(0.65, 0.2), (0.6, 0.4)])
def test_the_test_of_users_means_has_the_power_that_a_plan_promises(
    win_rate: float, ties: float, per_user: int, icc: float
) -> None:
    rng = np.random.default_rng(11)
    pairs = win_rate_discordance(win_rate, ties)
    needed = units_needed(pairs, factor=user_factor(mean_inverse(per_user), icc))
    assert needed is not None
    shares = np.array([(pairs.psi - pairs.delta) / 2, 1 - pairs.psi, (pairs.psi + pairs.delta) / 2])
    own = rng.dirichlet(shares * (1 - icc) / icc, (400, needed)) if icc else np.tile(shares, (400, needed, 1))
    drawn = rng.multinomial(per_user, own)
    p = [sign_flip_test(row) or 1.0 for row in (drawn[..., 2] - drawn[..., 0]) / per_user]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.8, abs=0.06)


def test_intraclass_by_hand() -> None:
    # means 1.5 and 4: MSB = 2 * (1.25^2 * 2) = 6.25, MSW = (0.5 + 2) / 2 = 1.25, m0 = 2
    found = intraclass([1, 2, 3, 5], [0, 0, 1, 1])
    assert found.value == pytest.approx((6.25 - 1.25) / (6.25 + 1.25))
    assert "no user with two cases" in intraclass([1, 2], [0, 1]).note
    assert "all values are equal" in intraclass([1, 1, 1], [0, 0, 1]).note
    assert "one user" in intraclass([1, 2], [0, 0]).note
    assert intraclass([], []).note == "no values"


# ---- prediction-powered means -----------------------------------------------------------------------------------------

LABELS = [1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0.5, 1, 0, 1, 1, 0, 0.5, 1, 0]
SAID = [1, 0, 1, 0.5, 0, 1, 1, 1, 1, 0, 0.5, 0.5, 1, 0, 0, 1, 0, 1, 1, 0]
BEYOND = [1, 1, 0, 1, 0, 1, 0.5, 1] * 10


def example() -> tuple[FloatArray, FloatArray]:
    return np.array(LABELS + [math.nan] * 80), np.array(SAID + BEYOND)


def test_by_hand_with_one_case_a_user() -> None:
    human, judge = example()
    found = pp.prediction_powered_mean(human, judge, range(100), scale=None)
    y, f, u = human[:20], judge[:20], judge[20:]
    varies = f.var(ddof=1) / 20 + u.var(ddof=1) / 80
    power = np.cov(y, f)[0, 1] / 20 / varies
    value = y.mean() - power * (f.mean() - u.mean())
    plain = y.var(ddof=1) / 20
    variance = plain - 2 * power * np.cov(y, f)[0, 1] / 20 + power**2 * varies
    assert found.power == pytest.approx(power)
    assert found.powered.value == pytest.approx(value)
    assert found.powered.ci_low is not None
    assert found.powered.ci_high is not None
    half = t.ppf(0.975, 19) * math.sqrt(variance)
    assert (found.powered.ci_low, found.powered.ci_high) == pytest.approx((value - half, value + half))
    bounded = pp.prediction_powered_mean(human, judge, range(100)).powered
    half /= value * (1 - value)
    ends = logistic.cdf(logistic.ppf(value) + half * np.array([-1, 1]))
    assert (bounded.ci_low, bounded.ci_high) == pytest.approx(tuple(ends))
    assert found.n_effective == pytest.approx(20 * plain / variance)
    assert found.saved == math.floor(20 * plain / variance - 20)
    assert (found.n_labelled, found.n_judged) == (20, 100)
    assert found.human.value == pytest.approx(y.mean())
    assert found.judge.value == pytest.approx(judge.mean())
    gap = (f.mean() - u.mean()) / math.sqrt(varies)
    assert found.balance_p == pytest.approx(2 * t.sf(abs(gap), 19))


def test_near_the_authors_program_where_labels_are_many() -> None:
    """ppi_py 0.2.3, ppi_mean_pointestimate and ppi_mean_ci, gives 0.40360 [0.38756, 0.41964] for these rows."""
    rng = np.random.default_rng(20231102)
    truth = (rng.random(22000) < 0.4).astype(float)
    judge = np.where(rng.random(22000) < 0.85, truth, 1 - truth)
    human = np.where(np.arange(22000) < 2000, truth, np.nan)
    found = pp.prediction_powered_mean(human, judge, np.arange(22000))
    assert found.powered.value == pytest.approx(0.40360, abs=2e-5)
    assert (found.powered.ci_low, found.powered.ci_high) == pytest.approx((0.38756, 0.41964), abs=1e-3)


def test_a_useless_judge_costs_nothing_and_a_perfect_one_saves() -> None:
    rng = np.random.default_rng(1)
    truth = (rng.random(1000) < 0.5).astype(float)
    human = np.where(np.arange(1000) < 100, truth, np.nan)
    useless = pp.prediction_powered_mean(human, rng.permutation(truth), range(1000))
    assert useless.n_effective == pytest.approx(100, abs=5)
    opposed = pp.prediction_powered_mean(human, 1 - truth, range(1000))
    assert opposed.power == 0.0
    assert opposed.powered.value == opposed.human.value
    assert opposed.saved == 0
    perfect = pp.prediction_powered_mean(human, truth, range(1000))
    assert 800 < perfect.saved <= 1000
    biased = pp.prediction_powered_mean(human, np.where(rng.random(1000) < 0.3, 1.0, truth), range(1000))
    assert biased.judge.value > 0.6
    assert abs(biased.powered.value - 0.5) < 0.1


def test_what_is_not_defined_says_why() -> None:
    human, judge = example()
    none = pp.prediction_powered_mean(np.full(100, np.nan), judge, range(100))
    assert (none.powered.value, none.powered.note, none.human.note) == (None, pp.NO_LABELS, pp.NO_LABELS)
    assert none.judge.value is not None
    whole = pp.prediction_powered_mean(human[:20], judge[:20], range(20))
    assert (whole.powered.value, whole.powered.note) == (None, pp.ALL_LABELLED)
    assert whole.human.ci_low is not None
    few = pp.prediction_powered_mean(human, judge, [at % 9 for at in range(20)] + list(range(20, 100)))
    assert (few.powered.ci_low, few.powered.note, few.n_effective) == (None, pp.FEW_USERS, None)
    assert few.powered.value is not None
    assert pp.prediction_powered_mean([], [], []).judge.value is None
    failed = pp.prediction_powered_mean([1.0, math.nan], [math.nan, 1.0], [0, 1])
    assert (failed.n_labelled, failed.n_judged, failed.powered.note) == (0, 1, pp.NO_LABELS)


def test_wrong_input() -> None:
    for human, judge in (([2.0], [1.0]), ([1.0], [2.0]), ([1.0], [1.0, 0.0])):
        with pytest.raises(ValueError):
            pp.prediction_powered_mean(human, judge, range(len(judge)))


def _world(rng: np.random.Generator, rate: float, skill: float) -> tuple[IntArray, FloatArray, FloatArray]:
    """400 users of 1 to 4 cases, some users kinder than others and some harder to judge: (user, label, verdict)."""
    user = np.repeat(np.arange(400), rng.integers(1, 5, 400))
    kind = rng.normal(0, 1, 400)[user]
    label = (rng.random(user.size) < 1 / (1 + np.exp(-kind - math.log(rate / (1 - rate))))).astype(float)
    eased = np.clip(skill + rng.normal(0, 0.1, 400), 0, 1)[user]
    return user, label, np.where(rng.random(user.size) < eased, label, 1 - label)


@pytest.mark.parametrize("drawn", ["users", "cases"])
@pytest.mark.parametrize(("rate", "skill"), [(0.3, 0.7), (0.6, 0.95)])
def test_intervals_cover_with_few_labels(drawn: str, rate: float, skill: float) -> None:
    """Labels of 40 of 400 users, or of 80 cases wherever they fall; the powered interval holds as the classical does."""
    rng = np.random.default_rng(5)
    spread = np.random.default_rng(1).normal(0, 1, 200_000)
    truth = float((1 / (1 + np.exp(-spread - math.log(rate / (1 - rate))))).mean())
    powered, classical, wider = [], [], []
    for _ in range(300):
        user, label, verdict = _world(rng, rate, skill)
        many = drawn == "users"
        chosen = rng.choice(400 if many else user.size, 40 if many else 80, replace=False)
        seen = np.isin(user if many else np.arange(user.size), chosen)
        found = pp.prediction_powered_mean(np.where(seen, label, np.nan), verdict, user)
        both, alone = ([e.ci_low or np.nan, e.ci_high or np.nan] for e in (found.powered, found.human))
        powered.append(both[0] <= truth <= both[1])
        classical.append(alone[0] <= truth <= alone[1])
        wider.append((both[1] - both[0]) / (alone[1] - alone[0]))
    assert min(np.mean(classical), np.mean(powered)) > 0.92
    assert np.mean(wider) < (0.8 if skill > 0.9 else 1.0)


# ---- early stopping ---------------------------------------------------------------------------------------------------

VALUES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=60)
SEQUENCES, LENGTH = 2000, 1000
ENDLESS = StoppingRule(1)


def log_wealth(values: npt.ArrayLike, mean: float, level: float = 0.95) -> FloatArray:
    """The wealth of the two bets behind a confidence sequence, by the formula, for many sequences at once (..., n).

    Log of the larger of K+ and K- against one candidate `mean`, after each value along the last axis. It reaches
    log(1/alpha) exactly where `mean` is first outside the confidence sequence of that row.
    """
    x = np.asarray(values, dtype=np.float64)
    i = np.arange(1, x.shape[-1] + 1)
    running = (0.5 + x.cumsum(axis=-1)) / (i + 1)
    variance = (0.25 + ((x - running) ** 2).cumsum(axis=-1)) / (i + 1)
    before = np.concatenate([np.full((*x.shape[:-1], 1), 0.25), variance[..., :-1]], axis=-1)
    stake = np.sqrt(2 * math.log(2 / (1 - level)) / (before * i * np.log(i + 1)))
    up = np.log(1 + np.minimum(stake, 0.5 / mean) * (x - mean)).cumsum(axis=-1)
    down = np.log(1 - np.minimum(stake, 0.5 / (1 - mean)) * (x - mean)).cumsum(axis=-1)
    return np.asarray(np.log(0.5) + np.maximum(up, down), dtype=np.float64)


def states(values: npt.ArrayLike) -> list[StoppingState]:
    """The state of one comparison after each value, never stopped."""
    rule, states = ENDLESS, [initial_state(ENDLESS)]
    for value in np.asarray(values, dtype=np.float64):
        states.append(_after_user(rule, states[-1], np.array([value])))
    return states[1:]


def ends(values: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both ends of the interval after each value."""
    after = states(values)
    return np.array([state.low[0] for state in after]), np.array([state.high[0] for state in after])


def ever_excluded(rows: FloatArray, mean: float, level: float = 0.95) -> float:
    """The share of rows whose interval excluded `mean` at any look, one after every value."""
    return float((log_wealth(rows, mean, level).max(axis=-1) >= math.log(1 / (1 - level))).mean())


@pytest.mark.parametrize(
    ("values", "shares"),
    [
        ((0.0, 1.0), (0.5, 0.5)),
        ((0.0, 0.5, 1.0), (0.1, 0.8, 0.1)),
        ((0.0, 0.5, 1.0), (0.4, 0.2, 0.4)),
        ((0.0, 1.0), (0.95, 0.05)),
        ((0.0, 0.5, 1.0), (0.05, 0.1, 0.85)),
    ],
)
def test_the_error_rate_under_continuous_looks_stays_below_its_level(
    values: tuple[float, ...], shares: tuple[float, ...]
) -> None:
    rng = np.random.default_rng(20)
    rows = rng.choice(values, size=(SEQUENCES, LENGTH), p=shares)
    true = float(np.dot(values, shares))
    assert ever_excluded(rows, true) <= 0.05
    assert ever_excluded(rows, true, 0.8) <= 0.2


def test_by_hand_unanimous_values_decide_when_the_stakes_allow() -> None:
    """Stakes are at their bound, c / m = 1 at one half: each value multiplies the wealth by 1.5."""
    wealth = log_wealth(np.ones(12), 0.5)
    assert wealth[:6] == pytest.approx(np.log(0.5) + np.arange(1, 7) * np.log(1.5))
    low, high = ends(np.ones(12))
    assert int(np.flatnonzero(low >= 0.5)[0]) + 1 == math.ceil(math.log(40) / math.log(1.5)) == 10
    assert (high == 1).all()


@given(VALUES)
def test_the_ends_are_where_the_wealth_says(values: list[float]) -> None:
    after = states(values)
    for mean in (0.25, 0.5, 0.9):
        refuted = bool(values) and log_wealth(values, mean).max() >= math.log(20)
        outside = bool(values) and not after[-1].low[0] < mean < after[-1].high[0]
        assert refuted == outside or after[-1].closed[0]


def test_what_is_no_value_is_refused() -> None:
    for value in (1.1, -0.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            update_state(ENDLESS, initial_state(ENDLESS), np.array([[value]]))


def test_it_stops_at_the_user_by_whom_the_last_pair_is_decided() -> None:
    """Ten unanimous users decide one pair at 95 %; two pairs have 97.5 % each and need log(80)/log(1.5), 11."""
    rule = StoppingRule(2)
    outcomes = np.ones((40, 2))
    outcomes[:5, 1] = np.nan
    ended = update_state(rule, initial_state(rule), outcomes)
    assert (ended.users, is_decided(rule, ended)) == (16, True)
    assert ended.n.tolist() == [16, 11]


def test_a_margin_decides_what_is_even() -> None:
    outcomes = np.full((400, 1), 0.5)
    assert not is_decided(
        StoppingRule(1), update_state(StoppingRule(1), initial_state(StoppingRule(1)), outcomes)
    )
    rule = StoppingRule(1, margin=0.2)
    ended = update_state(rule, initial_state(rule), outcomes)
    low, high = ends(outcomes[:, 0])
    assert ended.users == int(np.flatnonzero(high - low <= 0.2 + 1e-12)[0]) + 1 < 400


# ---- live traffic -----------------------------------------------------------------------------------------------------


def test_the_constructed_experiment_of_the_paper() -> None:
    new, old = Arm(30_950, 5_000_000), Arm(26_150, 5_000_000)
    assert two_proportions(new, old).z == pytest.approx(20.145, abs=5e-4)
    assert lift(new, old).value == pytest.approx(0.1836, abs=5e-5)
    p = two_proportions(new, old).p
    assert 0 < p < 1e-80


def test_no_clicks_are_no_figure() -> None:
    assert lift(Arm(3, 10), Arm(0, 10)).note == NO_CLICKS
    gone = lift(Arm(0, 10), Arm(3, 10))
    assert (gone.value, gone.ci_low, gone.ci_high) == (-1.0, None, None)
    for clicks in (0, 10):
        test = two_proportions(Arm(clicks, 10), Arm(clicks, 10))
        assert (test.z, test.p, test.note) == (None, None, NO_SPREAD)


def test_coverage_and_error_rate_by_simulation() -> None:
    rng = np.random.default_rng(5)
    covered = false = 0
    rounds, n, rate_a, rate_b = 2000, 20_000, 0.006, 0.005
    for a, b, same in zip(*(rng.binomial(n, rate, rounds) for rate in (rate_a, rate_b, rate_b)), strict=True):
        found = lift(Arm(int(a), n), Arm(int(b), n))
        covered += found.ci_low <= rate_a / rate_b - 1 <= found.ci_high
        p = two_proportions(Arm(int(same), n), Arm(int(b), n)).p
        false += p is not None and p < 0.05
    # three standard errors of a share of 0.05 in 2,000 rounds
    slack = 3 * math.sqrt(0.05 * 0.95 / rounds)
    assert covered / rounds == pytest.approx(0.95, abs=slack)
    assert false / rounds == pytest.approx(0.05, abs=slack)


@pytest.mark.parametrize(
    ("clicks", "impressions"),
    [
        ((7, 1), (9, 12)),
        ((0, 5), (40, 30)),
        ((12, 25), (700, 700)),
        ((5000, 5050), (9999, 10_100)),
        ((12, 25), (70_000, 70_000)),
    ],
)
def test_few_clicks_or_impressions_are_tested_by_fishers_exact_test(
    clicks: tuple[int, int], impressions: tuple[int, int]
) -> None:
    arms = [Arm(*arm) for arm in zip(clicks, impressions, strict=True)]
    others = [arm.impressions - arm.clicks for arm in arms]
    assert two_proportions(*arms).p == pytest.approx(fisher_exact([clicks, others]).pvalue)
