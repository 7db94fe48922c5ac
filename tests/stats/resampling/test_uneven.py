"""No interval where a few users have far more rows than the others; a wide one where some do and a user's rows are alike."""

from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from recjudge_tui.stats.agreement.change import difference_of_means
from recjudge_tui.stats.agreement.intervals import agreement_estimates
from recjudge_tui.stats.agreement.many_raters import many_raters_estimates
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.confidence.calibration import calibration_error
from recjudge_tui.stats.estimate import Estimate, Interval
from recjudge_tui.stats.experiments.prediction_powered import prediction_powered_mean
from recjudge_tui.stats.ranking.battles import user_counts
from recjudge_tui.stats.ranking.bradley_terry import bradley_terry, rating_intervals
from recjudge_tui.stats.ranking.win_rates import outcome_estimates
from recjudge_tui.stats.resampling.group_means import group_means
from recjudge_tui.stats.resampling.intervals import SHARE, mean_estimate
from recjudge_tui.stats.resampling.jackknife import UNEVEN, uneven

USERS = 24
Rows = tuple[FloatArray, FloatArray, IntArray]


def drawn(most: int) -> Rows:
    """Labels of 0 and 1 of two raters and the user of each row; the first two users have `most` rows, the others two."""
    rng = np.random.default_rng(3)
    users = np.repeat(np.arange(USERS), np.where(np.arange(USERS) < 2, most, 2))
    a = (rng.random(users.size) < 0.5).astype(np.float64)
    return a, np.where(rng.random(users.size) < 0.7, a, 1 - a), users


def signed(values: FloatArray) -> FloatArray:
    return 2 * values - 1


def sides(users: IntArray) -> tuple[IntArray, IntArray]:
    return np.zeros_like(users), np.ones_like(users)


SHOWN: dict[str, Callable[[FloatArray, FloatArray, IntArray], Estimate | Interval]] = {
    "mean": lambda a, b, users: mean_estimate(a, users, SHARE),
    "mean without bounds": lambda a, b, users: mean_estimate(a, users),
    "group": lambda a, b, users: group_means(a, users, np.zeros_like(users), 1, SHARE)[0],
    "win rate": lambda a, b, users: outcome_estimates(signed(a), users)["win_rate"],
    "q": lambda a, b, users: outcome_estimates(signed(a), users)["q"],
    "kappa": lambda a, b, users: agreement_estimates(a, b, users, [0, 1], ["kappa"])["kappa"],
    "percent": lambda a, b, users: agreement_estimates(a, b, users, [0, 1], ["percent"])["percent"],
    "alpha": lambda a, b, users: many_raters_estimates(
        np.concatenate([a, b]), np.tile(np.arange(a.size), 2), np.tile(users, 2), [0, 1], ["alpha_nominal"]
    )["alpha_nominal"],
    "difference": lambda a, b, users: difference_of_means(a, np.arange(a.size) % 2 == 0, users, SHARE),
    "calibration": lambda a, b, users: calibration_error((a + 2) / 4, b, users),
    "powered": lambda a, b, users: (
        prediction_powered_mean(np.where(np.arange(a.size) % 2 == 0, a, np.nan), b, users).powered
    ),
    "bt": lambda a, b, users: _rating(a, users),
}


def _rating(a: FloatArray, users: IntArray) -> Interval:
    counts = user_counts(*sides(users), signed(a), users, 2)
    return rating_intervals(counts, bradley_terry(counts.total), "davidson")[0]


def low_of(shown: Estimate | Interval) -> float | None:
    return shown.ci_low if isinstance(shown, Estimate) else shown.low


@pytest.mark.parametrize("figure", SHOWN)
def test_two_users_with_most_rows_take_the_interval_away(figure: str) -> None:
    assert low_of(SHOWN[figure](*drawn(10))) is not None
    many = SHOWN[figure](*drawn(60))
    assert (low_of(many), many.note) == (None, UNEVEN)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 400), min_size=2, max_size=120))
def test_few_users_of_many_rows_by_kishs_number(counts: list[int]) -> None:
    here = [count for count in counts if count]
    kish = sum(here) ** 2 / sum(count**2 for count in here) if here else 0.0
    assert uneven(np.array(counts)) == (kish < min(len(here) / 2, 20))
    assert uneven(np.array(counts) * 7) == uneven(np.array(counts)[::-1])


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 9), st.data())
def test_users_of_whom_none_has_more_than_5_times_the_rows_of_another_are_even(
    fewest: int, data: st.DataObject
) -> None:
    counts = data.draw(st.lists(st.integers(fewest, 5 * fewest), min_size=1, max_size=80))
    assert not uneven(np.array(counts))
