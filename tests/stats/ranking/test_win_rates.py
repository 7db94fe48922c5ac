import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from recjudge_tui.stats.ranking import win_rates as rk
from recjudge_tui.stats.resampling.intervals import clopper_pearson

counts = st.integers(0, 50)


@pytest.mark.parametrize(("shares", "printed"), [((61.1, 14.7, 24.2), 1.9485), ((71.9, 11.0, 17.1), 2.9501)])
def test_q_as_published_by_recsys_arena(shares: tuple[float, float, float], printed: float) -> None:
    """The paper cuts after four places instead of rounding."""
    q = rk.q_score(*shares)
    assert q is not None
    assert np.floor(q * 10_000) / 10_000 == printed


def test_q_of_a_system_that_never_lost_is_undefined() -> None:
    assert rk.q_score(5, 0, 0) is None
    found = rk.outcome_estimates([1, 1], ["u", "v"])
    assert (found["q"].value, found["q"].note, found["q"].n) == (None, rk.NEVER_LOST, 2)
    assert found["win_rate"].value == 1


@given(counts, counts, counts)
def test_q_and_win_rate_from_the_other_side(wins: int, ties: int, losses: int) -> None:
    q, turned = rk.q_score(wins, ties, losses), rk.q_score(losses, ties, wins)
    if q and turned:
        assert q == pytest.approx(1 / turned)
    rate, other = rk.win_rate(wins, ties, losses), rk.win_rate(losses, ties, wins)
    if rate is None or other is None:
        assert wins + ties + losses == 0
    else:
        assert rate + other == pytest.approx(1)
        assert 0 <= rate <= 1


def test_a_failure_is_outside_n() -> None:
    assert rk.tally([1, 0, -1, np.nan, 1]) == rk.Tally(2, 1, 1, 1)
    assert rk.tally([1, 0, -1, np.nan, 1]).n == 4
    assert rk.outcome_estimates([np.nan], ["u"])["win_rate"].note == rk.NO_CASES
    with pytest.raises(ValueError, match="outcome"):
        rk.tally([2])


def test_estimates_hold_the_figure() -> None:
    outcomes = np.r_[np.ones(103), np.zeros(31), -np.ones(66)]
    found = rk.outcome_estimates(outcomes, np.arange(200))
    assert found["q"].value == pytest.approx(134 / 97)
    assert found["win_rate"].value == pytest.approx(0.5925)
    for estimate in found.values():
        assert estimate.n == 200
        assert (estimate.ci_low or 0) < (estimate.value or 0) < (estimate.ci_high or 0)


def test_a_win_rate_without_ties_is_exact_and_q_follows_from_it() -> None:
    found = rk.outcome_estimates([1] * 12 + [-1] * 8, range(20))
    exact = clopper_pearson(12, 20)
    assert (found["win_rate"].ci_low, found["win_rate"].ci_high) == (exact.ci_low, exact.ci_high)
    low, high = exact.ci_low or 0, exact.ci_high or 0
    assert (found["q"].ci_low, found["q"].ci_high) == pytest.approx((low / (1 - low), high / (1 - high)))


def test_all_ties_and_all_wins_have_intervals_with_a_width() -> None:
    tied = rk.outcome_estimates([0] * 12, range(12))["win_rate"]
    assert tied.value == 0.5
    assert tied.ci_low == pytest.approx(0.5 * 0.025 ** (1 / 12))
    won = rk.outcome_estimates([1, 1], [1, 2])["win_rate"]
    assert (won.value, won.ci_low, won.ci_high) == (1.0, pytest.approx(0.025**0.5), 1.0)


def test_ranks_share_places() -> None:
    assert rk.ranks([0.5, 2.0, None, 1.0, 1.0]) == [4, 1, None, 2, 2]
    assert rk.ranks([]) == []
