"""Pearson over systems: the figures that RecSys Arena prints."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import pearsonr

from recjudge_tui.stats.agreement.association import association, min_max, orders_agree

AUC = (0.5004, 0.4990, 0.4985, 0.4956)


@pytest.mark.parametrize(
    ("q", "r", "p"),
    [
        ((2.9501, 2.0607, 1.985, 1.56), 0.9001, 0.0998),
        ((2.3123, 2.0828, 1.9162, 1.7215), 0.9530, 0.0469),
        ((1.8119, 1.4991, 1.7283, 1.4571), 0.7443, 0.2556),
    ],
    ids=["GPT-4o", "DeepSeek", "Llama"],
)
def test_auc_and_q_on_mind_as_published(q: tuple[float, ...], r: float, p: float) -> None:
    found = association(AUC, q)
    assert found.value == pytest.approx(r, abs=2e-4)
    assert found.p_normal == pytest.approx(p, abs=2e-4)
    assert found.n == 4


def test_against_scipy() -> None:
    a, b = [1.0, 4.0, 2.0, 8.0, 5.0], [2.0, 3.0, 3.0, 9.0, 4.0]
    theirs = pearsonr(a, b)
    found = association(a, b)
    assert (found.value, found.p_normal) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(theirs.confidence_interval()))


def test_missing_figures_are_left_out_and_too_few_are_undefined() -> None:
    found = association([1.0, None, 2.0, 4.0], [1.0, 9.0, 3.0, 3.5])
    assert found.n == 3
    assert found.ci_low is None
    few = association([1.0, 2.0, None], [1.0, 2.0, 3.0])
    assert (few.value, few.p, few.n) == (None, None, 2)
    assert "three are needed" in few.note
    flat = association([1.0, 1.0, 1.0], [1.0, 2.0, 3.0])
    assert flat.value is None
    assert "same for all" in flat.note
    with pytest.raises(ValueError):
        association([1.0], [1.0, 2.0])


def test_a_straight_line() -> None:
    found = association([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0])
    assert found.value == pytest.approx(1)
    assert found.p_normal == pytest.approx(0, abs=1e-9)
    # both orders of four systems that lie on a line
    assert found.p == pytest.approx(2 / 24)


@pytest.mark.parametrize("n", [3, 5, 6])
def test_p_counts_all_orders(n: int) -> None:
    a, b = np.random.default_rng(n).normal(size=(2, n))
    sums = [abs(np.corrcoef(a, order)[0, 1]) for order in permutations(b)]
    expected = np.mean(np.array(sums) >= abs(np.corrcoef(a, b)[0, 1]) - 1e-9)
    assert association(a.tolist(), b.tolist()).p == pytest.approx(expected)


def test_p_of_many_systems_is_drawn_and_does_not_depend_on_their_order() -> None:
    a, b = np.exp(np.random.default_rng(2).normal(size=(2, 12)))
    b += 0.6 * a
    rng = np.random.default_rng(1)
    drawn = [abs(np.corrcoef(a, rng.permutation(b))[0, 1]) for _ in range(2000)]
    found = association(a.tolist(), b.tolist()).p
    assert found == pytest.approx(np.mean(np.array(drawn) >= abs(np.corrcoef(a, b)[0, 1])), abs=0.02)
    order = np.random.default_rng(3).permutation(12)
    assert association(a[order].tolist(), b[order].tolist()).p == found


def test_orders() -> None:
    assert orders_agree(AUC, (9.0, 5.0, 4.0, 1.0)) is True
    assert orders_agree(AUC, (9.0, 4.0, 5.0, 1.0)) is False
    assert orders_agree([1.0, 1.0], [1.0, 2.0]) is False
    assert orders_agree([1.0, None], [1.0, 2.0]) is None


def test_min_max() -> None:
    assert min_max([2.0, 4.0, None, 3.0]) == [0.0, 1.0, None, 0.5]
    assert min_max([2.0, 4.0]) == [None, None]
    assert min_max([2.0, 2.0, 2.0]) == [None, None, None]


def test_the_interval_is_fishers_or_wider_and_moves_with_neither_order_nor_unit() -> None:
    rng = np.random.default_rng(4)
    skewed = np.exp(rng.normal(size=12))
    other = skewed * np.exp(0.4 * rng.normal(size=12))
    measured = association(skewed.tolist(), other.tolist())
    fisher = pearsonr(skewed, other).confidence_interval()
    assert measured.ci_low is not None
    assert measured.ci_high is not None
    assert measured.ci_low <= fisher.low + 1e-12
    assert measured.ci_high >= fisher.high - 1e-12
    assert (measured.ci_low, measured.ci_high) != pytest.approx(tuple(fisher))
    turned = association((3 + 7 * skewed[::-1]).tolist(), other[::-1].tolist())
    assert (turned.ci_low, turned.ci_high) == pytest.approx((measured.ci_low, measured.ci_high))


@pytest.mark.parametrize("far", [9.0, 2.0])
def test_no_interval_where_the_others_lie_on_a_line_without_one_system(far: float) -> None:
    measured = association([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, far])
    assert measured.value is not None
    assert (measured.ci_low, measured.ci_high) == (None, None)
