"""Means of many groups of rows and of many measures: as each would come out alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from recjudge_tui.stats.arrays import IntArray
from recjudge_tui.stats.resampling import group_means as module
from recjudge_tui.stats.resampling.group_means import UserSums, group_means, mean_estimates, user_sums
from recjudge_tui.stats.resampling.intervals import SHARE, clopper_pearson, mean_estimate

NAN = np.nan


def test_one_group_is_the_mean_over_rows() -> None:
    values, users = [1.0, 0.0, 1.0, 1.0, 0.0], ["a", "a", "b", "c", "d"]
    (found,) = group_means(values, users, np.zeros(5, dtype=np.int64), 1)
    usual = mean_estimate(values, users)
    assert (found.value, found.ci_low, found.ci_high, found.n) == (
        usual.value, usual.ci_low, usual.ci_high, usual.n,
    )  # fmt: skip
    assert found.groups == 4


def test_rows_that_failed_are_left_out_and_counted() -> None:
    values = [1.0, np.nan, np.nan, 0.0]
    first, second, third = group_means(values, [1, 2, 1, 2], np.array([0, 0, 1, 2]), 3)
    assert (first.value, first.n, first.note) == (
        1.0, 1, "no interval: it needs at least two users; 1 missing left out",
    )  # fmt: skip
    assert (second.value, second.note) == (None, "no values; 1 missing left out")
    assert third.value == 0.0


@pytest.mark.parametrize("filled", [1.0, 0.9, 0.04])
def test_each_group_has_the_interval_of_its_rows_alone(filled: float) -> None:
    rng = np.random.default_rng(3)
    users, groups = 300, 7
    user, group = np.tile(np.arange(users), groups), np.repeat(np.arange(groups), users)
    value = rng.random(user.size) + group
    kept = rng.random(user.size) < filled
    found = group_means(value[kept], user[kept], group[kept], groups, bounds=(0.0, 7.0))
    for at, estimate in enumerate(found):
        here = kept & (group == at)
        usual = mean_estimate(value[here], user[here], (0.0, 7.0))
        assert estimate.value == pytest.approx(usual.value)
        assert None not in (estimate.ci_low, usual.ci_low, estimate.ci_high, usual.ci_high)
        assert (estimate.ci_low, estimate.ci_high) == pytest.approx((usual.ci_low, usual.ci_high))


def test_counts_stand_beside_groups_that_need_a_spread() -> None:
    rng = np.random.default_rng(11)
    user, group = np.tile(np.arange(40), 4), np.repeat(np.arange(4), 40)
    value = np.where(group % 2 == 0, rng.integers(0, 2, user.size), rng.random(user.size))
    for at, estimate in enumerate(group_means(value, user, group, 4, SHARE)):
        here = group == at
        (alone,) = group_means(value[here], user[here], np.zeros(40, dtype=np.int64), 1, SHARE)
        assert estimate == alone
        assert estimate.ci_low is not None


def test_many_cells_are_summed_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    user, group, value = rng.integers(0, 40, 500), rng.integers(0, 9, 500), rng.random(500)
    usual = group_means(value, user, group, 9)
    monkeypatch.setattr(module, "_MOST_CELLS", 1)
    for one, other in zip(group_means(value, user, group, 9), usual, strict=True):
        assert (one.n, one.groups) == (other.n, other.groups)
        assert (one.value, one.ci_low, one.ci_high) == pytest.approx(
            (other.value, other.ci_low, other.ci_high)
        )


def sums(table: npt.ArrayLike, users: IntArray | None = None) -> UserSums:
    """The sums of a table (rows, measures); without `users` each row is another user's."""
    rows = np.asarray(table, dtype=np.float64)
    owners = np.arange(rows.shape[0]) if users is None else users
    return user_sums(list(rows.T), [owners] * rows.shape[1], rows.shape[0])


@pytest.mark.parametrize("lists", [1, 3])
def test_equal_to_each_column_alone(lists: int) -> None:
    """With one list of each user, and with several, which stay together."""
    users = np.sort(np.arange(300) // lists)
    rng = np.random.default_rng(3)
    table = rng.normal(size=(300, 4))
    table[:40, 1] = NAN
    table[:40, 3] = NAN
    table[100:, 2] = NAN
    found = mean_estimates(sums(table, users), [None] * 4)
    for column, estimate in zip(table.T, found, strict=True):
        alone = mean_estimate(column, users)
        assert estimate.n == alone.n
        assert estimate.value == pytest.approx(alone.value)
        assert estimate.ci_low == pytest.approx(alone.ci_low)
        assert estimate.ci_high == pytest.approx(alone.ci_high)


def test_nobody_and_one_user() -> None:
    none, one, two = mean_estimates(sums([[NAN, 2.0, 1.0], [NAN, NAN, 1.0]]), [SHARE, (0.0, 3.0), SHARE])
    assert (none.value, none.n) == (None, 0)
    assert none.note
    assert (one.value, one.n, one.ci_low) == (2.0, 1, None)
    assert "at least two" in one.note
    assert (two.value, two.ci_low, two.ci_high) == (1.0, clopper_pearson(2, 2).ci_low, 1.0)


def test_no_resamples_no_interval() -> None:
    (estimate,) = mean_estimates(sums([[1.0], [2.0]]), [None], resamples=0)
    assert estimate.value == 1.5
    assert estimate.ci_low is None
    assert estimate.note


def test_no_measures() -> None:
    assert mean_estimates(sums(np.zeros((5, 0))), []) == []


def test_sums_of_users() -> None:
    found = user_sums([np.array([1.0, 2.0, NAN])], [np.array([3, 0, 3])], 4)
    np.testing.assert_array_equal(found.sums, [[2.0], [0.0], [0.0], [1.0]])
    np.testing.assert_array_equal(found.counts, [[1.0], [0.0], [0.0], [1.0]])
