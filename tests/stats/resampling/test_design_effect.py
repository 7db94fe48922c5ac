"""Where users have unequal numbers of rows, the similarity of a user's rows widens the interval."""

from collections.abc import Callable

import numpy as np
import pytest

from recjudge_tui.stats.agreement.by_label import label_scores
from recjudge_tui.stats.agreement.intervals import agreement_estimates
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.confidence.calibration import brier_score
from recjudge_tui.stats.estimate import Estimate, Interval
from recjudge_tui.stats.ranking.battles import crowd_counts, user_counts
from recjudge_tui.stats.ranking.bradley_terry import bradley_terry, rating_intervals
from recjudge_tui.stats.ranking.outcome_intervals import system_intervals
from recjudge_tui.stats.ranking.win_rates import outcome_estimates
from recjudge_tui.stats.resampling import jackknife
from recjudge_tui.stats.resampling.design_effect import Design, design, mean_squares, row_squares
from recjudge_tui.stats.resampling.group_means import group_means, mean_estimates, user_sums
from recjudge_tui.stats.resampling.intervals import SHARE, mean_estimate, share_estimate
from recjudge_tui.stats.resampling.two_way import UNEVEN_RATERS, crowd_mean_estimate

HALF = np.repeat(np.arange(20), np.where(np.arange(20) < 10, 10, 1))
"""Of 20 users, ten with ten rows and ten with one."""

Rows = tuple[FloatArray, FloatArray, IntArray]


def ends(shown: Estimate | Interval) -> tuple[float, float]:
    low, high = (shown.ci_low, shown.ci_high) if isinstance(shown, Estimate) else (shown.low, shown.high)
    assert low is not None
    assert high is not None
    return low, high


def test_rho_is_the_published_intraclass_correlation() -> None:
    """Shrout and Fleiss (1979, Psychol. Bull. 86:420), six targets rated four times: ICC(1,1) = .17."""
    ratings = np.array([9, 2, 5, 8, 6, 1, 3, 2, 8, 4, 6, 8, 7, 1, 2, 6, 10, 5, 6, 9, 6, 2, 4, 7], dtype=float)
    target, alone = np.repeat(np.arange(6), 4), np.zeros(6, dtype=np.int64)
    sums = np.bincount(target, weights=ratings - ratings.mean())
    found = design(sums, np.full(6, 4.0), mean_squares(ratings, target, 6), alone, 1)
    effect = 24 / (found.worth[0] + 1)
    assert (effect - 1) / 3 == pytest.approx(0.17, abs=0.005)
    assert np.isnan(found.variance[0])


def test_users_with_many_equal_rows_may_be_alike_by_chance() -> None:
    """All ten users with ten rows have 0, two of the others 1: rows of a user are alike, so the ten are not 100 cases."""
    hits = np.where(np.isin(HALF, (10, 11)), 1.0, 0.0)
    low, high = ends(share_estimate(hits, HALF))
    assert low < 2 / 110
    # a share of .2 gives such ten users in a tenth of samples
    assert 0.2 < high < 0.5


def test_independent_rows_count_singly() -> None:
    hits = np.zeros(110)
    hits[:100:9] = 1
    low, high = ends(share_estimate(hits, HALF))
    assert high - low < 0.17


@pytest.mark.parametrize(("share", "alike"), [(0.2, 1.0), (0.1, 1.0), (0.2, 0.5)])
def test_intervals_hold_the_share_of_users_whose_rows_are_alike(share: float, alike: float) -> None:
    rng, held = np.random.default_rng(8), 0
    for _ in range(200):
        own = rng.beta(share * (1 / alike - 1), (1 - share) * (1 / alike - 1), 20) if alike < 1 else None
        own = (rng.random(20) < share).astype(float) if own is None else own
        low, high = ends(share_estimate(rng.random(HALF.size) < own[HALF], HALF))
        held += low <= share <= high
    assert held >= 184


def drawn() -> Rows:
    """Labels of two raters, equal for all rows of a user; the ten users with most rows are nearly all alike."""
    a = np.isin(np.arange(20), (0, 10, 12, 14, 16, 18))
    b = a ^ np.isin(np.arange(20), (10, 13, 14, 17))
    return a[HALF].astype(np.float64), b[HALF].astype(np.float64), HALF


def sides(users: IntArray) -> tuple[IntArray, IntArray]:
    return np.zeros_like(users), np.ones_like(users)


def rating(values: FloatArray, users: IntArray) -> Interval:
    counts = user_counts(*sides(users), 2 * values - 1, users, 2)
    return rating_intervals(counts, bradley_terry(counts.total), "davidson")[0]


SHOWN: dict[str, Callable[[FloatArray, FloatArray, IntArray], Estimate | Interval]] = {
    "mean": lambda a, b, users: mean_estimate(a - b, users, (-1.0, 1.0)),
    "mean without bounds": lambda a, b, users: mean_estimate(a, users),
    "day": lambda a, b, users: group_means(a, users, np.zeros_like(users), 1, SHARE)[0],
    "metric": lambda a, b, users: mean_estimates(user_sums([a], [users], 20), [None])[0],
    "q": lambda a, b, users: outcome_estimates(2 * a - 1, users)["q"],
    "bt": lambda a, b, users: rating(a, users),
    "kappa": lambda a, b, users: agreement_estimates(
        np.where(users < 5, 1 - a, a), np.where(users < 5, 1 - b, b), users, [0, 1], ["kappa"]
    )["kappa"],
    "weighted f1": lambda a, b, users: label_scores(a, b, users, [0, 1]).averages["weighted"]["f1"],
    "by user": lambda a, b, users: agreement_estimates(
        a, b, users, [0, 1], ["percent"], groups=np.arange(users.size)
    )["percent"],
    "Brier": lambda a, b, users: brier_score(0.6 + a / 5, b, users, folds=5),
}


def without_design_effect(*arguments: object) -> Design:
    return Design(np.full(1, np.nan), np.full(1, np.nan))


@pytest.mark.parametrize("figure", SHOWN)
def test_every_figure_of_uneven_users_has_the_design_effect(
    figure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    low, high = ends(SHOWN[figure](*drawn()))
    monkeypatch.setattr(jackknife, "design", without_design_effect)
    inner_low, inner_high = ends(SHOWN[figure](*drawn()))
    assert high - low > 1.01 * (inner_high - inner_low)


@pytest.mark.parametrize("figure", SHOWN)
def test_users_with_equally_many_rows_keep_their_intervals(
    figure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    users = np.repeat(np.arange(20), 3)
    a = (rng.random(60) < 0.4).astype(np.float64)
    rows = a, np.where(rng.random(60) < 0.7, a, 1 - a), users
    whole = SHOWN[figure](*rows)
    monkeypatch.setattr(jackknife, "design", without_design_effect)
    assert SHOWN[figure](*rows) == whole


def test_the_mean_by_rows_left_out_equals_the_mean_by_distances() -> None:
    rng = np.random.default_rng(1)
    rows = rng.random(HALF.size)
    without = (rows.sum() - rows) / (rows.size - 1)
    found = row_squares(float(rows.mean()), without, np.arange(rows.size), HALF, 20)
    np.testing.assert_allclose(found, mean_squares(rows, HALF, 20))


def crowd(most: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Values of 60 users by ten raters, the first two of whom gave `most` verdicts for each of the others'."""
    rng = np.random.default_rng(6)
    often = np.where(np.arange(10) < 2, most, 1.0)
    rater = rng.choice(10, 180, p=often / often.sum())
    return (rng.random(180) < 0.4 + 0.02 * rater).astype(np.float64), np.repeat(np.arange(60), 3), rater


def test_two_raters_with_most_verdicts_take_the_interval_away() -> None:
    for most, shown in ((3, True), (40, False)):
        values, users, raters = crowd(most)
        mean = crowd_mean_estimate(values, users, raters, SHARE)
        counts = crowd_counts(*sides(users), 2 * values - 1, users, raters, 2)
        win_rate = system_intervals(counts, "win_rate")[0]
        rated = rating_intervals(counts, bradley_terry(counts.total), "davidson")[0]
        assert (mean.ci_low is not None, win_rate.low is not None, rated.low is not None) == (shown,) * 3
        assert {mean.note, win_rate.note, rated.note} == ({""} if shown else {UNEVEN_RATERS})


def test_raters_whose_verdicts_are_alike_widen_a_crowds_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten raters, five of whom gave ten times as many verdicts, each with an opinion of their own."""
    often = np.where(np.arange(10) < 5, 10, 1)
    rater = np.repeat(np.arange(10), often)
    users = np.arange(rater.size) % 18
    values = np.isin(rater, (0, 5, 6, 7)).astype(np.float64)
    low, high = ends(crowd_mean_estimate(values, users, rater, SHARE))
    monkeypatch.setattr(jackknife, "design", without_design_effect)
    inner_low, inner_high = ends(crowd_mean_estimate(values, users, rater, SHARE))
    assert high - low > 1.01 * (inner_high - inner_low)
