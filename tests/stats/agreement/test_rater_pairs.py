"""The interval of a figure averaged over pairs of raters."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from recjudge_tui.stats.agreement import intervals as ai
from recjudge_tui.stats.agreement.rater_pairs import RatedPair, pairs_interval
from recjudge_tui.stats.resampling.intervals import FEW_USERS, NOT_REQUESTED

LABELS = [0.0, 1.0, 2.0]


def pair(users: int = 30, seed: int = 1) -> RatedPair:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, 2 * users).astype(np.float64)
    b = np.where(rng.random(a.size) < 0.7, a, rng.integers(0, 3, a.size))
    return RatedPair(a, b.astype(np.float64), np.repeat(np.arange(users), 2))


@pytest.mark.parametrize("stat", ["kappa", "qwk", "alpha_ordinal", "pearson", "kendall", "ac2"])
def test_of_one_pair_it_is_the_interval_of_two_raters(stat: str) -> None:
    alone = ai.agreement_estimates(*pair(), LABELS, [stat])[stat]
    shown = pairs_interval([pair()], LABELS, stat)
    assert (shown.low, shown.high) == pytest.approx((alone.ci_low, alone.ci_high))


@pytest.mark.parametrize("stat", ["percent", "qwk"])
def test_the_same_pair_twice_is_no_more_certain(stat: str) -> None:
    once, twice = pairs_interval([pair()], LABELS, stat), pairs_interval([pair(), pair()], LABELS, stat)
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))


def test_pairs_that_err_apart_are_more_certain_together() -> None:
    first, second = pair(seed=1), pair(seed=2)
    together = pairs_interval([first, second], LABELS, "qwk")
    widths = [pairs_interval([one], LABELS, "qwk") for one in (first, second)]
    assert together.low is not None
    assert together.high is not None
    assert all(together.high - together.low < (w.high or 0) - (w.low or 0) for w in widths)


def test_reasons_why_there_is_none() -> None:
    assert pairs_interval([pair()], LABELS, "qwk").note == NOT_REQUESTED
    assert pairs_interval([pair(4)], LABELS, "qwk").note == FEW_USERS
    a, _, users = pair()
    assert pairs_interval([RatedPair(a, np.ones(a.size), users)], LABELS, "qwk").note == ai.ONE_ALIKE
    assert (
        pairs_interval([RatedPair(np.ones(a.size), np.ones(a.size), users)], LABELS, "qwk").note
        == ai.FEW_VARIED
    )


def test_the_order_of_pairs_and_raters_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 3, (4, 40)).astype(np.float64)
    users = np.arange(40)
    pairs = [RatedPair(a, b, users) for a, b in combinations(values, 2)]
    turned = [RatedPair(b, a, users) for a, b, _ in reversed(pairs)]
    first, second = (pairs_interval(some, LABELS, "kappa") for some in (pairs, turned))
    assert (first.low, first.high) == pytest.approx((second.low, second.high))


@pytest.mark.parametrize(("users", "shown"), [(19, False), (20, True)])
def test_of_several_pairs_a_figure_corrected_for_chance_needs_twenty_users(users: int, shown: bool) -> None:
    pairs = [pair(users, 1), pair(users, 2)]
    by_chance, plain = (pairs_interval(pairs, LABELS, stat) for stat in ("qwk", "percent"))
    assert (by_chance.low is not None, plain.low is not None) == (shown, True)
    assert pairs_interval(pairs[:1], LABELS, "qwk").low is not None
