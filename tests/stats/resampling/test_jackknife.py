"""The jackknife over users, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from recjudge_tui.stats.arrays import ratio
from recjudge_tui.stats.resampling.jackknife import (
    grouped_users,
    spread_of,
    spreads,
    sums_by_user,
    sums_spread,
)


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = np.random.default_rng(1).exponential(size=40)
    table = np.stack([values, np.ones(40)], axis=1)
    found = sums_spread(table, lambda sums: ratio(sums[:, 0], sums[:, 1]))
    apart = values - values.mean()
    assert found.variance == pytest.approx(values.var(ddof=1) / 40)
    assert found.skewness == pytest.approx((apart**3).mean() / values.std() ** 3)
    kurtosis = (apart**4).mean() / values.var() ** 2
    assert found.freedom == pytest.approx(min(39, 80 / (kurtosis - 1)))
    assert (found.users, found.apart) == (40, 39)


def test_a_rare_event_leaves_few_degrees_of_freedom() -> None:
    values = np.zeros(50)
    values[:3] = 1
    without = (values.sum() - values) / 49
    found = spread_of(0.06, without)
    assert found.apart == 3
    assert 1 < found.freedom < 8


def test_equal_users_have_no_spread_and_missing_ones_are_counted() -> None:
    assert spread_of(0.1 + 0.2, np.full(7, 0.3)).variance == 0
    assert spread_of(0.5, np.array([0.4, np.nan, 0.6])).undefined == 1


def test_many_figures_at_once_equal_each_alone() -> None:
    rng = np.random.default_rng(2)
    influence, group = rng.normal(size=300), rng.integers(0, 5, 300)
    together = spreads(influence, group, np.zeros(6))
    for at in range(5):
        here = influence[group == at]
        alone = spreads(here, np.zeros(here.size, dtype=np.int64), np.zeros(1))[0]
        assert together[at] == pytest.approx(alone)
    assert together[5].users == 0


def test_groups_of_many_users_give_nearly_the_same_spread() -> None:
    rng = np.random.default_rng(3)
    table = np.stack([rng.random(20_000), np.ones(20_000)], axis=1)
    grouped = grouped_users(table, 500, seed=4)
    assert grouped.shape == (500, 2)
    assert grouped.sum(axis=0) == pytest.approx(table.sum(axis=0))
    figure = sums_spread(table, lambda sums: ratio(sums[:, 0], sums[:, 1]), resamples=500)
    assert figure.variance == pytest.approx(table[:, 0].var() / 20_000, rel=0.2)


def test_sums_by_user() -> None:
    found = sums_by_user(np.array([[1.0, 2.0, 4.0]]), np.array([0, 2, 2]), 3)
    assert found.tolist() == [[1.0], [0.0], [6.0]]
