"""Tests of pairs of means: what they compare, how they are adjusted, and what must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import permutation_test

from recjudge_tui.stats.ranking.mean_tests import (
    NO_COMMON_USER,
    NO_DIFFERENCE,
    MeanTest,
    adjusted,
    mean_tests,
)
from recjudge_tui.stats.resampling.multiplicity import holm

NAN = float("nan")


def _drawn(users: int, systems: int, seed: int = 1) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    return rng.beta(1, 3, (users, systems)) + np.arange(systems) / 5


def test_every_pair_against_scipy_and_holm() -> None:
    values = _drawn(10, 3)
    (tests,) = adjusted([mean_tests(values, np.arange(10))])
    expected = {}
    for (a, b), test in tests.items():
        result = permutation_test(
            (values[:, a], values[:, b]), lambda x, y, axis: (x - y).mean(axis=axis), vectorized=True,
            permutation_type="samples", n_resamples=np.inf,
        )  # fmt: skip
        expected[a, b] = float(result.pvalue)
        assert test.p == pytest.approx(result.pvalue)
        assert test.difference.value == pytest.approx((values[:, a] - values[:, b]).mean())
        assert (test.difference.n, test.apart) == (10, 10)
    assert [test.p_holm for test in tests.values()] == pytest.approx(holm(list(expected.values())))
    assert tests[0, 2].separable


def test_a_user_counts_once_and_only_common_occasions_count() -> None:
    # user 7 has three occasions, one without the second system; user 9 has none with both
    values = np.array([[1.0, 0.0], [0.5, 0.5], [0.9, NAN], [0.2, 0.4], [NAN, 0.1]])
    (test,) = mean_tests(values, np.array([7, 7, 7, 8, 9])).values()
    assert test.difference.n == 2
    assert test.difference.value == pytest.approx((0.5 - 0.2) / 2)
    assert test.p == 1.0


def test_what_cannot_be_tested_has_a_reason() -> None:
    apart = mean_tests(np.array([[1.0, NAN], [NAN, 0.0]]), np.arange(2))[0, 1]
    assert (apart.p, apart.difference.value, apart.note) == (None, None, NO_COMMON_USER)
    equal = mean_tests(np.array([[0.3, 0.1 + 0.2], [0.5, 0.5]]), np.arange(2), (0.0, 1.0))[0, 1]
    assert (equal.p, equal.difference.value, equal.apart, equal.note) == (None, 0.0, 0, NO_DIFFERENCE)
    assert not equal.separable


def test_a_rare_large_value_may_be_unseen() -> None:
    # every user is .05 better so far; the other system's hits come once in 20
    values = np.column_stack([np.full(8, 0.05), np.zeros(8)])
    (test,) = adjusted([mean_tests(values, np.arange(8), (0.0, 1.0))])[0].values()
    assert test.p_holm is not None
    assert test.p_holm < 0.05
    assert not test.separable
    (unbounded,) = adjusted([mean_tests(values, np.arange(8))])[0].values()
    assert unbounded.separable


def test_figures_and_groups_are_counted_together() -> None:
    figures = [mean_tests(_drawn(9, 2, seed), np.arange(9)) for seed in (1, 1)]
    alone = adjusted(figures[:1])[0][0, 1].p_holm
    both = adjusted(figures)[0][0, 1].p_holm
    groups = adjusted(figures, 3)[0][0, 1].p_holm
    assert alone is not None
    assert both is not None
    assert groups is not None
    assert alone < both < groups
    assert groups == pytest.approx(min(1.0, 3 * both))


@pytest.mark.parametrize("users", [4, 9, 40])
def test_renaming_systems_changes_nothing_but_the_sign(users: int) -> None:
    values, owners = _drawn(users, 4), np.arange(users) // 2
    order = np.array([2, 0, 3, 1])
    (usual,) = adjusted([mean_tests(values, owners, (0.0, 2.0))])
    shuffle = np.random.default_rng(5).permutation(users)
    (renamed,) = adjusted([mean_tests(values[shuffle][:, order], owners[shuffle], (0.0, 2.0))])
    for (a, b), test in renamed.items():
        one, other = int(order[a]), int(order[b])
        same = usual[min(one, other), max(one, other)]
        turned = -1 if one > other else 1
        assert (test.p, test.p_holm) == pytest.approx((same.p, same.p_holm))
        assert test.difference.value == pytest.approx(turned * (same.difference.value or 0.0))
        assert _ends(test, turned) == pytest.approx(_ends(same, 1))


def _ends(test: MeanTest, turned: int) -> list[float]:
    return sorted(turned * (end or 0.0) for end in (test.difference.ci_low, test.difference.ci_high))


@pytest.mark.parametrize(("users", "fragile"), [(6, True), (7, True), (8, False), (30, False)])
def test_a_claim_that_one_more_user_would_undo_is_fragile(users: int, fragile: bool) -> None:
    # all differ alike: with one more user the other way, p is 2 (users + 2) / 2^(users + 1)
    values = np.stack([np.full(users, 0.6), np.full(users, 0.4)], axis=1)
    ((test,),) = ([*tests.values()] for tests in adjusted([mean_tests(values, np.arange(users))]))
    assert test.separable
    assert test.fragile is fragile
    again = 2 * (users + 2) / 2 ** (users + 1)
    assert fragile is (again >= 0.05)


def test_where_a_scale_ends_is_how_far_one_more_user_can_be() -> None:
    # twenty users .2 or .6 apart: one more could be as far the other way, or 2.5 where the scale allows
    values = np.stack([np.tile([0.6, 1.0], 10), np.full(20, 0.4)], axis=1)
    reaches = (None, (0.0, 1.0), (0.0, 2.5))
    tests = [adjusted([mean_tests(values, np.arange(20), reach)])[0][0, 1] for reach in reaches]
    assert [(test.separable, test.fragile) for test in tests] == [(True, False), (True, False), (True, True)]


def test_what_is_not_separable_is_not_fragile_either() -> None:
    (tests,) = adjusted([mean_tests(_drawn(5, 2), np.arange(5))])
    assert [(test.separable, test.fragile) for test in tests.values()] == [(False, False)]


def test_correction_for_many_pairs_counts_in_what_is_fragile() -> None:
    values = np.stack([np.full(12, 0.6), np.full(12, 0.4)], axis=1)
    alone, among = (adjusted([mean_tests(values, np.arange(12))], groups)[0][0, 1] for groups in (1, 20))
    assert (alone.separable, alone.fragile) == (True, False)
    assert (among.separable, among.fragile) == (True, True)
