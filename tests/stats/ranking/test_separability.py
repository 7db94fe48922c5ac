"""Pairs of systems told apart by one exact test over users, whatever ranks them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from recjudge_tui.stats.arrays import IntArray
from recjudge_tui.stats.ranking.battles import UserCounts, user_counts
from recjudge_tui.stats.ranking.separability import (
    CONTRARY,
    NEVER_MET,
    NO_PREFERENCE,
    neighbours,
    pair_tests,
)
from recjudge_tui.stats.resampling.multiplicity import sign_test


def battles(outcomes: dict[tuple[int, int], list[int]], systems: int) -> UserCounts:
    """One battle of each pair by each user 0, 1, ..."""
    rows = [(a, b, y, user) for (a, b), values in outcomes.items() for user, y in enumerate(values)]
    a, b, y, user = (np.array(column) for column in zip(*rows, strict=True))
    return user_counts(a, b, y, user, systems)


def test_each_pair_by_the_exact_sign_test_with_holm_over_all_pairs() -> None:
    counts = battles({(0, 1): [1] * 9 + [-1], (1, 2): [1] * 6 + [0] * 4, (0, 2): [1] * 10}, 3)
    tests = pair_tests(counts)
    p = {pair: test.p or 0 for pair, test in tests.items()}
    assert p == {(0, 1): sign_test(9, 1), (1, 2): sign_test(6, 0), (0, 2): sign_test(10, 0)}
    assert tests[0, 2].p_holm == pytest.approx(3 * p[0, 2])
    assert tests[0, 1].p_holm == pytest.approx(2 * p[0, 1])
    found = neighbours([0, 1, 2], tests)
    assert [pair.separable for pair in found] == [True, True]
    several = pair_tests(counts, groups=4)
    assert several[0, 1].p_holm == pytest.approx(8 * p[0, 1])
    assert not neighbours([0, 1], several, groups=4)[0].separable


def test_two_battles_separate_nothing() -> None:
    (found,) = neighbours([0, 1], pair_tests(battles({(0, 1): [1, 1]}, 2)))
    assert (found.p, found.separable) == (0.5, False)
    assert found.more is not None


def test_a_user_counts_once_however_many_battles() -> None:
    rows = np.repeat(np.arange(4), 50)
    counts = user_counts(np.zeros(200), np.ones(200), np.ones(200), rows, 2)
    test = pair_tests(counts)[0, 1]
    assert (test.users, test.users_for, test.p) == (4, 4, 0.125)


def test_systems_that_never_met_are_compared_through_others() -> None:
    """Against the baseline 2, system 0 wins and 1 loses with every user."""
    tests = pair_tests(battles({(0, 2): [1] * 8, (1, 2): [-1] * 8}, 3))
    assert (tests[0, 1].direct, tests[0, 1].users_for, tests[0, 1].p) == (False, 8, sign_test(8, 0))
    assert neighbours([0, 1], tests)[0].separable
    apart = pair_tests(battles({(0, 1): [1] * 8, (2, 3): [1] * 8}, 4))
    assert neighbours([0, 2], apart)[0].note == NEVER_MET


def test_what_is_not_separable_says_why() -> None:
    tests = pair_tests(battles({(0, 1): [0] * 9, (1, 2): [-1] * 9}, 3))
    even, turned = neighbours([0, 1, 2], tests)
    assert (even.p, even.note) == (None, NO_PREFERENCE)
    assert (turned.separable, turned.note) == (False, CONTRARY)
    assert neighbours([0], tests) == []


def test_more_users_reach_the_power() -> None:
    """12 of 20 users: with the users asked for, four of five tests find a true share of .6."""
    (found,) = neighbours([0, 1], pair_tests(battles({(0, 1): [1] * 12 + [-1] * 8}, 2)))
    assert found.more is not None
    wins = np.random.default_rng(1).binomial(20 + found.more, 0.6, 3000)
    share = np.mean([(sign_test(int(won), 20 + found.more - int(won)) or 1) < 0.05 for won in wins])
    assert share == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(("users", "rows"), [(2, 1), (5, 1), (12, 1), (20, 3)])
def test_equal_systems_are_seldom_called_separable(users: int, rows: int) -> None:
    """Three equal systems, users with tastes of their own: at most one ranking of twenty has a false claim."""
    rng = np.random.default_rng([users, rows])
    pairs = np.tile(np.array(list(combinations(range(3), 2))), (users * rows, 1))
    owner: IntArray = np.repeat(np.arange(users), 3 * rows)
    claimed = 0
    for _ in range(300):
        taste = rng.normal(0, 1, (users, 3))
        lead = taste[owner, pairs[:, 0]] - taste[owner, pairs[:, 1]] + rng.logistic(size=owner.size)
        counts = user_counts(pairs[:, 0], pairs[:, 1], np.sign(np.trunc(2 * lead)), owner, 3)
        tallies = counts.total.tallies()
        order = np.argsort(tallies[:, 2] - tallies[:, 0]).tolist()
        claimed += any(pair.separable for pair in neighbours(order, pair_tests(counts)))
    assert claimed / 300 <= 0.05
