"""Intervals that hold at every look: their error rate under continuous looks, and what must always be true of them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.experiments.confidence_sequences import CELLS, ConfidenceSequence, advance
from tests.support.betting import log_wealth

VALUES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=60)
SEQUENCES, LENGTH = 2000, 1000


def ends(values: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both ends of the interval after each value."""
    _, low, high = advance(ConfidenceSequence(), values)
    return low, high


def ever_excluded(rows: FloatArray, mean: float, level: float = 0.95) -> float:
    """The share of rows whose interval excluded `mean` at any look, one after every value."""
    return float((log_wealth(rows, mean, level).max(axis=-1) >= math.log(1 / (1 - level))).mean())


@pytest.mark.parametrize(
    ("values", "shares"),
    [
        ((0.0, 1.0), (0.5, 0.5)),
        ((0.0, 0.5, 1.0), (0.1, 0.8, 0.1)),
        ((0.0, 0.5, 1.0), (0.4, 0.2, 0.4)),
        ((0.0, 1.0), (0.95, 0.05)),
        ((0.0, 0.5, 1.0), (0.05, 0.1, 0.85)),
    ],
)
def test_the_error_rate_under_continuous_looks_stays_below_its_level(
    values: tuple[float, ...], shares: tuple[float, ...]
) -> None:
    rng = np.random.default_rng(20)
    rows = rng.choice(values, size=(SEQUENCES, LENGTH), p=shares)
    true = float(np.dot(values, shares))
    assert ever_excluded(rows, true) <= 0.05
    assert ever_excluded(rows, true, 0.8) <= 0.2


def test_an_ordinary_interval_looked_at_so_often_is_wrong_far_more_often() -> None:
    rows = np.random.default_rng(21).choice([0.0, 1.0], size=(SEQUENCES, LENGTH))
    n = np.arange(1, LENGTH + 1)
    wrong = np.abs(rows.cumsum(axis=1) / n - 0.5) > 1.96 * 0.5 / np.sqrt(n)
    assert wrong[:, 20:].any(axis=1).mean() > 0.25


def test_a_true_difference_is_found_early_and_a_larger_one_earlier() -> None:
    rng = np.random.default_rng(22)
    found = []
    for win in (0.6, 0.7, 0.9):
        won = log_wealth((rng.random((400, LENGTH)) < win).astype(float), 0.5) >= math.log(20)
        assert won.any(axis=1).mean() > 0.9
        found.append(float(np.median(won.argmax(axis=1)[won.any(axis=1)])) + 1)
    assert found[0] > found[1] > found[2]
    assert found[1] < 100


def test_the_interval_of_few_ties_is_wider_than_of_many() -> None:
    rng = np.random.default_rng(23)
    widths = []
    for ties in (0.0, 0.5, 0.9):
        rows = rng.choice([0.0, 0.5, 1.0], size=500, p=[(1 - ties) / 2, ties, (1 - ties) / 2])
        low, high = ends(rows)
        widths.append(float(high[-1] - low[-1]))
    assert widths[0] > widths[1] > widths[2]


def test_by_hand_unanimous_values_decide_when_the_stakes_allow() -> None:
    """Stakes are at their bound, c / m = 1 at one half: each value multiplies the wealth by 1.5."""
    wealth = log_wealth(np.ones(12), 0.5)
    assert wealth[:6] == pytest.approx(np.log(0.5) + np.arange(1, 7) * np.log(1.5))
    low, high = ends(np.ones(12))
    assert int(np.flatnonzero(low >= 0.5)[0]) + 1 == math.ceil(math.log(40) / math.log(1.5)) == 10
    assert (high == 1).all()


@given(VALUES)
def test_the_ends_are_where_the_wealth_says(values: list[float]) -> None:
    sequence, _, _ = advance(ConfidenceSequence(), values)
    for mean in (0.25, 0.5, 0.9):
        refuted = bool(values) and log_wealth(values, mean).max() >= math.log(20)
        assert sequence.closed or refuted == (mean <= sequence.low or mean >= sequence.high)


@given(VALUES, st.integers(0, 60))
def test_values_may_come_in_pieces(values: list[float], cut: int) -> None:
    whole, low, high = advance(ConfidenceSequence(), values)
    first, low_1, high_1 = advance(ConfidenceSequence(), values[:cut])
    second, low_2, high_2 = advance(first, values[cut:])
    assert np.concatenate([low_1, low_2]) == pytest.approx(low)
    assert np.concatenate([high_1, high_2]) == pytest.approx(high)
    assert (second.n, second.closed) == (whole.n, whole.closed)
    assert second.mean == pytest.approx(whole.mean)


@given(VALUES)
def test_intervals_never_widen_and_are_never_empty(values: list[float]) -> None:
    low, high = ends(values)
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) <= 0).all()
    assert (low < high).all()
    assert ((low >= 0) & (high <= 1)).all()


@given(VALUES)
def test_the_mirrored_sample_has_the_mirrored_interval(values: list[float]) -> None:
    low, high = ends(values)
    turned_low, turned_high = ends(1 - np.array(values))
    # a cell more or less where a wealth of exactly the bound is rounded
    assert 1 - turned_high == pytest.approx(low, abs=1.5 / CELLS)
    assert 1 - turned_low == pytest.approx(high, abs=1.5 / CELLS)


def test_values_without_a_common_mean_keep_the_last_interval() -> None:
    sequence, low, high = advance(ConfidenceSequence(), [0.0] * 200 + [1.0] * 2000)
    assert sequence.closed
    assert low[-1] < high[-1]
    after, again, _ = advance(sequence, [1.0] * 50)
    assert (again == low[-1]).all()
    assert (after.n, after.low, after.high) == (2250, sequence.low, sequence.high)


def test_a_long_sequence_closes_in_on_its_mean() -> None:
    low, high = ends((np.random.default_rng(24).random(20_000) < 0.3).astype(float))
    assert low[-1] < 0.3 < high[-1]
    assert high[-1] - low[-1] < 0.05


@pytest.mark.parametrize("values", [[1.1], [-0.1], [float("nan")], [[0.5]]])
def test_what_is_no_value_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1|dimensions"):
        ends(values)


def test_a_level_outside_0_and_1_is_refused() -> None:
    with pytest.raises(ValueError, match="level"):
        ConfidenceSequence(level=1.0)
