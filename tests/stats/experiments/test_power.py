"""How many cases: against figures of other sources, and power held by simulation."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom, norm

from recjudge_tui.stats.experiments.power import (
    Discordance,
    detectable_share,
    detectable_win_rate,
    intraclass,
    of_users,
    possible_correlation,
    power_of,
    share_discordance,
    units_needed,
    user_sizes,
    win_rate_discordance,
)
from recjudge_tui.stats.hypotheses import sign_test

Draws = npt.NDArray[Any]


def test_a_win_rate_without_ties_is_the_textbook_proportion_against_one_half() -> None:
    # one proportion, p0 = 0.5: ((1.96 * 0.5 + 0.8416 * sqrt(p (1 - p))) / d)^2; 194, 783 and 259 stand in power
    # tables; the exact test needs a few more, and more still until no larger number has less power
    assert units_needed(win_rate_discordance(0.6)) == 210
    assert units_needed(win_rate_discordance(0.55)) == 820
    assert units_needed(win_rate_discordance(0.6), power=0.9) == 274


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(
    ("win_rate", "ties"), [(0.95, 0.0), (0.8, 0.0), (0.75, 0.2), (0.6, 0.0), (0.55, 0.3)]
)
def test_from_the_number_needed_on_no_number_has_less_power(
    win_rate: float, ties: float, power: float
) -> None:
    found = win_rate_discordance(win_rate, ties)
    needed = units_needed(found, power=power)
    assert needed is not None
    assert power_of(found, needed - 1) < power
    assert min(power_of(found, units) for units in range(needed, 2 * needed, 1 + needed // 60)) >= power
    assert all(power_of(found, units) >= power for units in range(needed, needed + 30))


def test_power_by_the_sum_over_both_binomials() -> None:
    found, units = Discordance(0.6, 0.2), 37
    by_hand = 0.0
    for split in range(units + 1):
        for wins in range(split + 1):
            p = sign_test(wins, split - wins)
            if p is not None and p < 0.05 and 2 * wins > split:
                by_hand += float(binom.pmf(split, units, 0.6) * binom.pmf(wins, split, 0.4 / 0.6))
    assert power_of(found, units) == pytest.approx(by_hand)


def test_mcnemar_by_hand() -> None:
    # 20 % against 10 %: (1.959964 sqrt(0.3) + 0.841621 sqrt(0.29))^2 / 0.01 = 233.07
    # and the exact test 15 more
    assert units_needed(Discordance(0.3, 0.1)) == 249


def test_independent_shares_cost_about_what_two_samples_do() -> None:
    # two independent proportions 0.6 and 0.5 need 388 each by the unpooled and pooled formula of the textbooks
    needed = units_needed(share_discordance(0.6, 0.5))
    assert needed is not None
    assert 388 <= needed <= 388 + 25
    alike = units_needed(share_discordance(0.6, 0.5, 0.5))
    assert alike is not None
    assert alike < 0.55 * needed


def test_ties_and_inconsistency() -> None:
    found = win_rate_discordance(0.55, ties=0.2, consistency=0.8)
    assert found.psi == pytest.approx(0.64)
    assert found.delta == pytest.approx(0.08)
    expected = (norm.ppf(0.975) * sqrt(0.64) + norm.ppf(0.8) * sqrt(0.64 - 0.0064)) ** 2 / 0.0064
    needed = units_needed(found)
    assert needed is not None
    assert ceil(expected) <= needed <= 1.05 * expected


def test_power_is_the_inverse() -> None:
    for found in (win_rate_discordance(0.57, 0.3, 0.9), share_discordance(0.3, 0.2, 0.2)):
        needed = units_needed(found, power=0.85)
        assert needed is not None
        assert power_of(found, needed) >= 0.85 > power_of(found, needed - 1)


def test_detectable_is_the_inverse_too() -> None:
    reach = detectable_win_rate(194)
    assert reach == pytest.approx(0.6, abs=5e-3)
    share = detectable_share(391, 0.5)
    assert share == pytest.approx(0.6, abs=5e-3)
    assert detectable_win_rate(3) is None
    assert detectable_share(2, 0.5) is None
    assert detectable_share(1000, 1.0) is None


def test_what_cannot_be() -> None:
    assert units_needed(win_rate_discordance(0.5)) is None
    assert units_needed(win_rate_discordance(0.6, consistency=0)) is None
    assert units_needed(win_rate_discordance(0.5 + 1e-5)) is None
    assert power_of(win_rate_discordance(0.5), 100) == 0
    assert units_needed(win_rate_discordance(1.0)) == 6
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


def test_an_impossible_correlation_does_not_stop_a_search_for_what_is_detectable() -> None:
    reach = detectable_share(40, 0.333, -0.5)
    assert reach is not None
    assert 0.333 < reach < 1


@pytest.mark.parametrize(("win_rate", "ties"), [(0.9, 0.0), (0.75, 0.2), (0.65, 0.2), (0.6, 0.0)])
def test_the_sign_test_reaches_the_power_that_a_plan_promises(win_rate: float, ties: float) -> None:
    found = win_rate_discordance(win_rate, ties)
    needed = units_needed(found)
    assert needed is not None
    drawn = outcomes(np.random.default_rng(23), (6000, needed), win_rate, ties, 1.0)
    won, lost = (drawn == 1).sum(axis=1), (drawn == -1).sum(axis=1)
    share = np.mean([(sign_test(int(a), int(b)) or 1) < 0.05 for a, b in zip(won, lost, strict=True)])
    assert share >= 0.785
    assert share == pytest.approx(power_of(found, needed), abs=0.02)


def test_a_user_with_several_cases_leans_as_most_of_them_do() -> None:
    pairs = Discordance(0.8, 0.3)
    # three independent cases: more wins than losses in 3, 2 with or without a loss, or 1 without one
    win, tie, loss = 0.55, 0.2, 0.25
    ahead, behind = (p**3 + 3 * p**2 * (tie + q) + 3 * p * tie**2 for p, q in ((win, loss), (loss, win)))
    three = of_users(pairs, user_sizes(3))
    assert (three.psi, three.delta) == pytest.approx((ahead + behind, ahead - behind))
    assert of_users(pairs, user_sizes(1)) == pairs
    alike = of_users(pairs, user_sizes(7), 0.9999999)
    assert (alike.psi, alike.delta) == pytest.approx((0.8, 0.3), abs=1e-5)
    assert of_users(pairs, user_sizes(3), 1.0) == pairs
    mixed, two = of_users(pairs, user_sizes(2.25)), of_users(pairs, user_sizes(2))
    assert mixed.delta == pytest.approx(0.75 * two.delta + 0.25 * three.delta)
    assert of_users(pairs, user_sizes(5000)) == of_users(pairs, user_sizes(100))


def test_intraclass_by_hand() -> None:
    # means 1.5 and 4: MSB = 2 * (1.25^2 * 2) = 6.25, MSW = (0.5 + 2) / 2 = 1.25, m0 = 2
    found = intraclass([1, 2, 3, 5], [0, 0, 1, 1])
    assert found.value == pytest.approx((6.25 - 1.25) / (6.25 + 1.25))
    assert "no user with two cases" in intraclass([1, 2], [0, 1]).note
    assert "all values are equal" in intraclass([1, 1, 1], [0, 0, 1]).note
    assert "one user" in intraclass([1, 2], [0, 0]).note
    assert intraclass([], []).note == "no values"


def test_intraclass_finds_what_was_put_in() -> None:
    rng = np.random.default_rng(2)
    users = np.repeat(np.arange(3000), rng.integers(1, 8, 3000))
    values = rng.normal(size=3000)[users] * sqrt(0.3) + rng.normal(size=users.size) * sqrt(0.7)
    assert intraclass(values, users).value == pytest.approx(0.3, abs=0.03)


def outcomes(
    rng: np.random.Generator, size: tuple[int, ...], win_rate: float, ties: float, c: float
) -> Draws:
    """1, 0, -1 as a judge with these habits gives them; an inconsistent one gives ties."""
    win = win_rate - ties / 2
    drawn = rng.choice([1, 0, -1], p=[win, ties, 1 - win - ties], size=size)
    return np.where(rng.random(size) < c, drawn, 0)


def rejected(values: Draws) -> float:
    """Share of rounds (rounds, users, cases) whose mean, over its spread between users, shows a difference."""
    by_user = values.sum(axis=2)
    z = by_user.sum(axis=1) / np.sqrt((by_user**2).sum(axis=1))
    return float((np.abs(z) > norm.ppf(0.975)).mean())


@pytest.mark.parametrize(
    ("win_rate", "ties", "consistency", "power"), [(0.6, 0.2, 0.8, 0.8), (0.57, 0.4, 0.95, 0.9)]
)
def test_the_number_of_cases_has_the_power_it_promises(
    win_rate: float, ties: float, consistency: float, power: float
) -> None:
    rng = np.random.default_rng(7)
    needed = units_needed(win_rate_discordance(win_rate, ties, consistency), power=power)
    assert needed is not None
    found = rejected(outcomes(rng, (3000, needed, 1), win_rate, ties, consistency))
    assert found == pytest.approx(power, abs=0.03)
    null = rejected(outcomes(rng, (3000, needed, 1), 0.5, ties, consistency))
    assert null == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize(("per_user", "icc"), [(2, 0.0), (3, 0.2), (10, 0.0), (10, 0.6)])
def test_the_sign_test_over_users_with_several_cases_reaches_it_too(per_user: int, icc: float) -> None:
    rng = np.random.default_rng(11)
    pairs = win_rate_discordance(0.65, 0.2)
    users = units_needed(of_users(pairs, user_sizes(per_user), icc))
    assert users is not None
    shares = np.array([(pairs.psi - pairs.delta) / 2, 1 - pairs.psi, (pairs.psi + pairs.delta) / 2])
    own = rng.dirichlet(shares * (1 - icc) / icc, (2000, users)) if icc else np.tile(shares, (2000, users, 1))
    drawn = rng.multinomial(per_user, own)
    lead = np.sign(drawn[..., 2] - drawn[..., 0])
    won, lost = (lead == 1).sum(axis=1), (lead == -1).sum(axis=1)
    shown = np.mean([(sign_test(int(a), int(b)) or 1) < 0.05 for a, b in zip(won, lost, strict=True)])
    assert 0.77 <= shown <= 0.87


def test_paired_shares_have_the_power_they_promise() -> None:
    rng = np.random.default_rng(13)
    p_a, p_b, phi = 0.55, 0.4, 0.4
    needed = units_needed(share_discordance(p_a, p_b, phi))
    assert needed is not None
    both = p_a * p_b + phi * sqrt(p_a * (1 - p_a) * p_b * (1 - p_b))
    drawn = rng.choice(
        [0, 1, -1, 2], p=[both, p_a - both, p_b - both, 1 - p_a - p_b + both], size=(3000, needed, 1)
    )
    # this test is not exact, so it finds slightly more than the sign test that the plan is made for
    assert 0.79 <= rejected(np.where(drawn == 2, 0, drawn)) <= 0.86
