"""Live experiments: figures computed elsewhere, and intervals that hold what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

from recjudge_tui.stats.experiments.online import NO_CLICKS, NO_SPREAD, Arm, lift, two_proportions


def test_the_constructed_experiment_of_the_paper() -> None:
    new, old = Arm(30_950, 5_000_000), Arm(26_150, 5_000_000)
    assert two_proportions(new, old).z == pytest.approx(20.145, abs=5e-4)
    assert lift(new, old).value == pytest.approx(0.1836, abs=5e-5)
    p = two_proportions(new, old).p
    assert p is not None
    assert 0 < p < 1e-80


def test_z_and_p_against_the_chi_square_of_scipy() -> None:
    from scipy.stats import chi2_contingency

    test = two_proportions(Arm(3000, 20_000), Arm(2970, 20_400))
    expected = chi2_contingency([[3000, 17_000], [2970, 17_430]], correction=False)
    assert test.z is not None
    assert test.z**2 == pytest.approx(expected.statistic)
    assert test.p == pytest.approx(expected.pvalue)


def test_the_interval_of_the_lift_against_scipy() -> None:
    from scipy.stats.contingency import relative_risk

    found = lift(Arm(30, 200), Arm(18, 210))
    expected = relative_risk(30, 200, 18, 210).confidence_interval(0.95)
    assert found.ci_low == pytest.approx(expected.low - 1)
    assert found.ci_high == pytest.approx(expected.high - 1)


def test_no_clicks_are_no_figure() -> None:
    assert lift(Arm(3, 10), Arm(0, 10)).note == NO_CLICKS
    gone = lift(Arm(0, 10), Arm(3, 10))
    assert (gone.value, gone.ci_low, gone.ci_high) == (-1.0, None, None)
    for clicks in (0, 10):
        test = two_proportions(Arm(clicks, 10), Arm(clicks, 10))
        assert (test.z, test.p, test.note) == (None, None, NO_SPREAD)


@pytest.mark.parametrize(("clicks", "impressions"), [(11, 10), (-1, 10), (0, 0)])
def test_impossible_counts(clicks: int, impressions: int) -> None:
    with pytest.raises(ValueError, match="not possible"):
        Arm(clicks, impressions)


def test_coverage_and_error_rate_by_simulation() -> None:
    rng = np.random.default_rng(5)
    covered = false = 0
    rounds, n, rate_a, rate_b = 2000, 20_000, 0.006, 0.005
    for a, b, same in zip(*(rng.binomial(n, rate, rounds) for rate in (rate_a, rate_b, rate_b)), strict=True):
        found = lift(Arm(int(a), n), Arm(int(b), n))
        assert found.ci_low is not None
        assert found.ci_high is not None
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


@pytest.mark.parametrize("n", [2, 5, 8, 12, 20, 50])
@pytest.mark.parametrize("rate", [0.03, 0.1, 0.3, 0.5])
def test_equal_rates_are_called_different_in_5_percent_at_most(n: int, rate: float) -> None:
    chance = binom.pmf(np.arange(n + 1), n, rate)
    wrong = sum(
        chance[a] * chance[b]
        for a in range(n + 1)
        for b in range(n + 1)
        if (two_proportions(Arm(a, n), Arm(b, n)).p or 1.0) < 0.05
    )
    assert wrong <= 0.05
