"""What few users may not show: values that are rare among the rows seen, and fill the rows of users not seen."""

from __future__ import annotations

import numpy as np
import pytest

from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.confidence.calibration import brier_score, overconfidence
from recjudge_tui.stats.estimate import Estimate, Interval
from recjudge_tui.stats.resampling.group_means import group_means, mean_estimates, user_sums
from recjudge_tui.stats.resampling.intervals import SHARE, mean_estimate, share_estimate
from recjudge_tui.stats.resampling.unseen import distances, unseen_share, with_unseen

USERS = np.repeat(np.arange(10), 10)
ONE_HIT = np.eye(1, 100)[0]


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.ci_low is not None
    assert estimate.ci_high is not None
    return estimate.ci_low, estimate.ci_high


def test_unseen_share_leaves_half_of_the_error() -> None:
    assert (1 - unseen_share(10)) ** 10 == pytest.approx(0.025)


def test_distances_by_hand() -> None:
    rows = np.array([5.0, 0.0, 0.0, 1.0, 3.0, -1.0, 7.0])
    seen = distances(rows, np.array([1, 0, 0, 0, 0, 0, 1]), 3)
    assert seen.middle[:2].tolist() == [0.0, 7.0]
    assert seen.above[:2].tolist() == [0.8, 0.0]
    assert seen.below[:2].tolist() == [0.2, 1.0]
    assert seen.up[:2].tolist() == [2.5, 0.0]
    assert seen.down[:2].tolist() == [1.0, 2.0]
    assert np.isnan(seen.middle[2])


def test_a_row_may_stand_for_several() -> None:
    values, times = np.array([0.0, 1.0, 0.0, 1.0]), np.array([3.0, 1.0, 0.0, 2.0])
    groups = np.array([0, 0, 1, 1])
    repeated = np.repeat(values, times.astype(int)), np.repeat(groups, times.astype(int))
    for part, other in zip(
        distances(values, groups, 2, times), distances(repeated[0], repeated[1], 2), strict=True
    ):
        np.testing.assert_array_equal(part, other)


def test_one_hit_does_not_lower_the_high_end() -> None:
    """A hundred rows with a hit in one cannot say more of users not seen than a hundred without any."""
    none, one = (ends(share_estimate(hits, USERS)) for hits in (np.zeros(100), ONE_HIT))
    assert none[1] == pytest.approx(unseen_share(10))
    assert one[1] >= none[1]
    assert 0 < one[0] < 0.01
    assert ends(share_estimate(1 - ONE_HIT, USERS)) == pytest.approx((1 - one[1], 1 - one[0]))


def test_a_rare_difference_is_allowed_for_on_its_side_only() -> None:
    low, high = ends(mean_estimate(ONE_HIT, USERS, (-1.0, 1.0)))
    assert high == pytest.approx(unseen_share(10))
    assert low > -0.1


def test_values_on_both_sides_change_nothing() -> None:
    rows = np.random.default_rng(2).beta(8, 2, 100)
    shown = Interval(rows.mean() - 0.02, rows.mean() + 0.02)
    seen = distances(rows, np.zeros(100, dtype=np.int64), 1)
    assert with_unseen(shown, seen, 0, 10) == shown
    assert with_unseen(Interval(None, None, "why"), seen, 0, 10) == Interval(None, None, "why")


@pytest.mark.parametrize("rows", [ONE_HIT, 1 - ONE_HIT, 0.3 * ONE_HIT + 0.4])
def test_all_means_have_the_same_ends(rows: FloatArray) -> None:
    alone = ends(mean_estimate(rows, USERS, SHARE))
    (group,) = group_means(rows, USERS, np.zeros(100, dtype=np.int64), 1, SHARE)
    (measure,) = mean_estimates(user_sums([rows], [USERS], 10), [SHARE])
    assert ends(group) == pytest.approx(alone)
    assert ends(measure) == pytest.approx(alone)


def test_confidence_in_verdicts_none_of_which_is_wrong() -> None:
    """Ten users cannot show that fewer than 31 % of users have wrong verdicts only."""
    sure, right = np.linspace(0.93, 0.97, 20), np.ones(20)
    users = np.repeat(np.arange(10), 2)
    over = ends(overconfidence(sure, right, users))
    assert over[1] >= -0.05 + unseen_share(10)
    assert over[0] > -0.1
    assert ends(brier_score(sure, right, users))[1] >= 0.9 * unseen_share(10)
