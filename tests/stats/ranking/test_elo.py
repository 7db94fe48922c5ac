"""Elo's ratings against evalica and by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import evalica
import numpy as np
import numpy.typing as npt
import pytest

from recjudge_tui.stats.ranking.elo import LOPSIDED, elo, elo_intervals, elo_mean_over_orders
from recjudge_tui.stats.ranking.outcome_intervals import SAME_RECORD
from recjudge_tui.stats.resampling.intervals import student_interval
from recjudge_tui.stats.resampling.jackknife import spread_of

Draws = npt.NDArray[Any]
WINNERS = {1: evalica.Winner.X, 0: evalica.Winner.Draw, -1: evalica.Winner.Y}


def test_one_battle_by_hand() -> None:
    assert elo([0], [1], [1], 2, k=32).tolist() == [1016, 984]
    assert elo([0, 0], [1, 1], [1, 1], 2, k=32)[0] == pytest.approx(
        1016 + 32 * (1 - 1 / (1 + 10 ** (-32 / 400)))
    )
    assert elo([0], [1], [0], 3).tolist() == [1000, 1000, 1000]


@pytest.mark.parametrize("k", [4.0, 32.0])
def test_against_evalica(k: float) -> None:
    rng = np.random.default_rng(7)
    a = rng.integers(0, 6, 2000)
    b, outcome = (a + rng.integers(1, 6, 2000)) % 6, rng.integers(-1, 2, 2000)
    theirs = evalica.elo(a, b, [WINNERS[y] for y in outcome.tolist()], k=k)
    assert elo(a, b, outcome, 6, k=k) == pytest.approx(theirs.scores.sort_index().to_numpy(), abs=1e-8)


def test_it_depends_on_the_order_and_the_mean_over_orders_does_not() -> None:
    a, b, outcome = [0] * 20, [1] * 20, [1] * 10 + [-1] * 10
    forth, back = elo(a, b, outcome, 2, k=32), elo(a, b, outcome[::-1], 2, k=32)
    assert forth[0] < 1000 < back[0]
    users = list(range(20))
    one = elo_mean_over_orders(a, b, outcome, users, 2, k=32, orders=30, seed=1)
    turned = elo_mean_over_orders(a, b, outcome[::-1], users[::-1], 2, k=32, orders=30, seed=1)
    assert turned == pytest.approx(one)
    assert forth[0] < one[0] < back[0]
    assert one.mean() == pytest.approx(1000)


def _drawn(rng: np.random.Generator, systems: int) -> tuple[Draws, ...]:
    """Few users, many ties or none: systems with equal records are common."""
    n = int(rng.integers(1, 25))
    a = rng.integers(0, systems, n)
    b = (a + rng.integers(1, systems, n)) % systems
    return (
        a,
        b,
        rng.choice([1.0, 0.0, -1.0], n, p=rng.dirichlet([1, 1, 1])),
        rng.integers(0, rng.integers(1, 6), n),
    )


@pytest.mark.parametrize("seed", range(40))
def test_other_numbers_orders_and_sides_give_the_same_ratings_and_intervals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    systems = int(rng.integers(2, 7))
    a, b, outcome, users = _drawn(rng, systems)
    ratings = elo_mean_over_orders(a, b, outcome, users, systems, k=32, orders=5)
    ends = elo_intervals(a, b, outcome, users, systems, k=32, around=ratings)
    number, rows = rng.permutation(systems), rng.permutation(a.size)
    sides = rng.random(a.size) < 0.5
    one, other = (np.where(sides, number[y], number[x])[rows] for x, y in ((a, b), (b, a)))
    turned = np.where(sides, -outcome, outcome)[rows]
    renumbered = elo_mean_over_orders(one, other, turned, users[rows], systems, k=32, orders=5)
    assert renumbered[number] == pytest.approx(ratings)
    theirs = elo_intervals(one, other, turned, users[rows], systems, k=32, around=renumbered)
    for system, mine in enumerate(ends):
        same = theirs[number[system]]
        assert (mine.low is None) == (same.low is None)
        assert mine.low is None or (mine.low, mine.high) == pytest.approx((same.low, same.high))


def test_systems_with_equal_records_have_equal_ratings() -> None:
    # a circle of three, and a fourth that lost to each
    a, b = [0, 1, 2, 0, 1, 2], [1, 2, 0, 3, 3, 3]
    ratings = elo_mean_over_orders(a, b, [1.0] * 6, [0] * 6, 4, k=32, orders=7)
    assert ratings[0] == ratings[1] == ratings[2] > 1000 > ratings[3]


def test_failed_battles_are_left_out() -> None:
    assert elo([0, 0, 1], [1, 1, 0], [1, np.nan, 0], 2).tolist() == elo([0, 1], [1, 0], [1, 0], 2).tolist()


def test_intervals_leave_out_each_users_battles() -> None:
    rng = np.random.default_rng(2)
    a, users = rng.integers(0, 3, 60), rng.integers(0, 12, 60)
    b, outcome = (a + rng.integers(1, 3, 60)) % 3, rng.integers(-1, 2, 60)
    found = elo_intervals(a, b, outcome, users, 3, k=20)
    whole = elo(a, b, outcome, 3, k=20)
    without = [elo(a[users != u], b[users != u], outcome[users != u], 3, k=20) for u in range(12)]
    for system, ends in enumerate(found):
        alone = np.array([ratings[system] for ratings in without])
        spread = spread_of(whole[system], alone)
        wider = replace(spread, variance=spread.variance * 12 / 11, freedom=spread.freedom / 2)
        expected = student_interval(whole[system], wider)
        assert (ends.low, ends.high) == pytest.approx((expected.low, expected.high))


def test_many_users_are_left_out_in_groups() -> None:
    rng = np.random.default_rng(3)
    a, outcome = rng.integers(0, 2, 3000), rng.choice([1, 0, -1], 3000)
    one, other = (elo_intervals(a, 1 - a, outcome, np.arange(3000), 2, most=most)[0] for most in (100, 400))
    assert None not in (one.low, one.high, other.low, other.high)
    assert (one.high or 0) - (one.low or 0) == pytest.approx((other.high or 0) - (other.low or 0), rel=0.3)


def test_a_system_that_won_everything_has_no_interval() -> None:
    found = elo_intervals([0] * 9, [1] * 9, [1] * 9, range(9), 2)
    assert [ends.note for ends in found] == [LOPSIDED, LOPSIDED]


def test_a_system_that_every_user_puts_in_the_middle_has_no_interval() -> None:
    """Users disagree on the other two alone; with one more who puts it first, it has one."""
    pairs = np.array([(0, 1), (0, 2), (1, 2)] * 8).T
    outcome = np.array([[1, 1, 1], [-1, -1, -1]] * 4, dtype=float).ravel()
    users = np.repeat(np.arange(8), 3)
    assert [ends.note for ends in elo_intervals(*pairs, outcome, users, 3)] == ["", SAME_RECORD, ""]
    outcome[:3] = -1, 1, 1
    assert [ends.note for ends in elo_intervals(*pairs, outcome, users, 3)] == ["", "", ""]


def test_what_cannot_be_is_refused() -> None:
    for k in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="K"):
            elo([0], [1], [1], 2, k=k)
    with pytest.raises(ValueError, match="outcome"):
        elo([0], [1], [3], 2)
    with pytest.raises(ValueError, match="itself"):
        elo([0], [0], [1], 2)


def test_nobody_has_no_interval() -> None:
    assert [ends.low for ends in elo_intervals([], [], [], [], 2)] == [None, None]
