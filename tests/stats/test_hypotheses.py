"""Tests over users: against printed figures, SciPy and closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import comb
from statistics import NormalDist

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import permutation_test

from recjudge_tui.stats import hypotheses as hy
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.intervals import mean_estimate

Rng = np.random.Generator
SAMPLES: dict[str, Callable[[Rng, int], FloatArray]] = {
    "normal": lambda rng, n: rng.normal(0.3, 1, n),
    "skewed": lambda rng, n: rng.lognormal(0, 1, n) - 1,
    "tied": lambda rng, n: rng.choice([-1.0, 0.0, 0.5, 1.0], n),
    "thirds": lambda rng, n: rng.choice([-1 / 3, 1 / 3, 2 / 3, 1.0], n),
}


def by_scipy(differences: FloatArray, resamples: float) -> float:
    result = permutation_test(
        (differences, np.zeros(differences.size)), lambda a, b, axis: (a - b).mean(axis=axis), vectorized=True,
        permutation_type="samples", n_resamples=resamples, random_state=np.random.default_rng(1),
    )  # fmt: skip
    return float(result.pvalue)


@pytest.mark.parametrize("kind", SAMPLES)
def test_sign_flips_are_scipys(kind: str) -> None:
    rng = np.random.default_rng([2, *kind.encode()])
    for n in (3, 8, 12):
        differences = SAMPLES[kind](rng, n)
        if differences.any():
            assert hy.sign_flip_test(differences) == pytest.approx(by_scipy(differences, np.inf), abs=1e-12)
    for n in (16, 60, 700):
        differences = SAMPLES[kind](rng, n)
        p, drawn = hy.sign_flip_test(differences), by_scipy(differences, 9999)
        assert abs(p - drawn) < 6 * np.sqrt(p * (1 - p) / 9999) + 2e-3


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=40))
def test_sides_order_and_scale_change_nothing(differences: list[int]) -> None:
    p = hy.sign_flip_test(differences)
    assert hy.sign_flip_test([-d for d in differences]) == p
    assert hy.sign_flip_test(np.random.default_rng(4).permutation(differences)) == p
    assert hy.sign_flip_test([4.0 * d for d in differences]) == p
    assert p is None or 0 < p <= 1


def test_each_user_counts_once() -> None:
    assert hy.user_means(np.array([1.0, 0.0, 1.0]), ["b", "a", "b"]).tolist() == [0.0, 1.0]
    users = ["u"] * 5 + ["v"] * 2 + ["w"] * 2 + ["x"]
    first = [1, 1, 1, 0, 1, 0, 0, 1, 0, 1]
    second = [0, 0, 0, 1, np.nan, 1, 0, 0, 1, np.nan]
    assert hy.users_for_each(first, second, users) == (1, 1)
    with pytest.raises(ValueError, match="paired"):
        hy.users_for_each([1, 0], [1], ["u", "u"])


@pytest.mark.parametrize(("first", "second"), [(9, 1), (1, 9), (5, 5), (7, 0), (12, 2)])
def test_with_one_row_a_user_it_is_mcnemars_exact_test(first: int, second: int) -> None:
    rows = np.array([(1, 1)] * 30 + [(1, 0)] * first + [(0, 1)] * second + [(0, 0)] * 4)
    n, less = first + second, min(first, second)
    tail = sum(comb(n, k) for k in range(less + 1)) / 2**n
    assert hy.sign_test(*hy.users_for_each(*rows.T, np.arange(len(rows)))) == pytest.approx(
        min(1.0, 2 * tail)
    )


def test_wrong_input_is_refused() -> None:
    assert hy.sign_test(0, 0) is None
    with pytest.raises(ValueError, match="count"):
        hy.sign_test(-1, 2)
    with pytest.raises(ValueError, match="p value"):
        hy.holm([1.2])
    for table, words in (
        ([[1, 2, 3], [4, 5, 6]], "not square"),
        ([[1, -2], [3, 4]], "counts"),
        ([[1, 0.5], [3, 4]], "counts"),
    ):
        with pytest.raises(ValueError, match=words):
            hy.stuart_maxwell(table)


def test_holm_by_hand() -> None:
    assert hy.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert hy.holm([0.6, 0.7]) == [1.0, 1.0]
    assert hy.holm([None, 0.02, None, 0.03]) == [None, 0.04, None, 0.04]
    assert hy.holm([0.01, 0.04, None, 0.03], 3) == pytest.approx([0.09, 0.18, None, 0.18])
    # the example of Benjamini and Hochberg 1995: Holm finds three of fifteen at .05
    p = (
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.324,
        0.4262,
        0.5719,
        0.6528,
        0.759,
        1.0,
    )
    assert sum((q or 1) < 0.05 for q in hy.holm(p)) == 3


@given(
    st.lists(st.one_of(st.none(), st.floats(0, 6).map(lambda z: round(z, 2))), max_size=8),
    st.sampled_from([0.9, 0.95]),
)
def test_claims_from_intervals_are_those_from_p_values(distances: list[float | None], level: float) -> None:
    normal = NormalDist()

    def shown(confidence: float) -> list[bool | None]:
        reach = normal.inv_cdf(1 - (1 - confidence) / 2)
        return [None if z is None else z > reach for z in distances]

    adjusted = hy.holm([None if z is None else 2 * (1 - normal.cdf(z)) for z in distances])
    assert hy.holm_claims(shown, level) == [p is not None and p < 1 - level for p in adjusted]


def test_means_of_systems_by_users_with_holm_within_the_figure() -> None:
    rng = np.random.default_rng(1)
    values = rng.random((60, 3)) + np.array([0.3, 0.0, 0.0])
    values[:5, 2] = np.nan
    tests = hy.mean_tests(values, np.arange(60) // 2)
    assert [test.separable for test in tests.values()] == [True, True, False]
    assert tests[0, 1].difference.n == 30
    p = sorted(test.p or 0 for test in tests.values())
    assert min(test.p_holm or 0 for test in tests.values()) == pytest.approx(3 * p[0])
    assert hy.mean_tests(np.array([[1.0, 1.0]]), np.zeros(1, dtype=int))[0, 1].note == hy.NO_DIFFERENCE
    assert hy.mean_tests(np.array([[1.0, np.nan]]), np.zeros(1, dtype=int))[0, 1].note == hy.NO_COMMON_USER


def test_near_newcombes_own_example() -> None:
    """Newcombe 1998, Statistics in Medicine 17:2635: 36, 12, 2 and 0 of 50; method 10 gives 0.0569 to 0.3404."""
    rows = np.array([(1, 1)] * 36 + [(1, 0)] * 12 + [(0, 1)] * 2)
    found = mean_estimate(rows[:, 0] - rows[:, 1], np.arange(50), (-1.0, 1.0))
    assert (found.value, found.n) == (pytest.approx(0.2), 50)
    assert (found.ci_low, found.ci_high) == pytest.approx((0.0569, 0.3404), abs=0.03)


# unaided distance vision of 7,477 women, right eye by left eye (Stuart 1953, 1955)
VISION = [[1520, 266, 124, 66], [234, 1512, 432, 78], [117, 362, 1772, 205], [36, 82, 179, 492]]
# two diagnosticians on 100 patients (Fleiss and Everitt 1971)
DIAGNOSES = [[35, 5, 0], [15, 20, 5], [10, 5, 5]]
# two raters, low, moderate and high (Uebersax, McNemar tests of marginal homogeneity)
UEBERSAX = [[20, 10, 5], [3, 30, 15], [0, 5, 40]]


@pytest.mark.parametrize(
    ("table", "statistic", "df", "p"),
    [(VISION, 11.957, 3, 0.0075), (UEBERSAX, 13.765, 2, 0.0010), (DIAGNOSES, 14.00, 2, 0.0009)],
)
def test_marginal_homogeneity_as_printed(table: list[list[int]], statistic: float, df: int, p: float) -> None:
    found = hy.stuart_maxwell(table)
    assert found.statistic == pytest.approx(statistic, abs=0.0006)
    assert (found.df, found.changed) == (df, np.sum(table) - np.trace(table))
    assert found.p == pytest.approx(p, abs=0.00006)


def test_symmetry_as_printed() -> None:
    found = hy.bowker(VISION)
    assert (found.statistic, found.df) == (pytest.approx(19.107, abs=0.0005), 6)
    assert found.p == pytest.approx(0.0040, abs=0.00005)


@given(st.integers(0, 60), st.integers(1, 60), st.integers(0, 60), st.integers(0, 60))
def test_with_two_labels_both_are_mcnemar_without_correction(a: int, b: int, c: int, d: int) -> None:
    by_hand = (b - c) ** 2 / (b + c)
    for found in (hy.stuart_maxwell([[a, b], [c, d]]), hy.bowker([[a, b], [c, d]])):
        assert (found.statistic, found.df) == (pytest.approx(by_hand), 1)
        assert found.p == pytest.approx(math.erfc(math.sqrt(by_hand / 2)))


def test_labels_that_never_change_into_each_other_are_tested_apart() -> None:
    """Two blocks without a change between them: a singular covariance, and the sum of two tests."""
    table = np.zeros((6, 6), dtype=int)
    table[:3, :3], table[3:5, 3:5], table[5, 5] = UEBERSAX, [[9, 12], [4, 9]], 7
    one, other = hy.stuart_maxwell(UEBERSAX), hy.stuart_maxwell([[9, 12], [4, 9]])
    found = hy.stuart_maxwell(table)
    assert found.statistic == pytest.approx((one.statistic or 0) + (other.statistic or 0))
    assert (found.df, found.changed) == (3, 38 + 16)


@pytest.mark.parametrize("table", [np.zeros((0, 0)), [[5]], [[3, 0], [0, 9]]])
def test_nothing_changed(table: list[list[int]]) -> None:
    for test in (hy.stuart_maxwell, hy.bowker):
        assert (test(table).p, test(table).changed, test(table).note) == (None, 0, hy.NOTHING_CHANGED)


def test_users_needed_by_the_formula() -> None:
    """A mean difference of .5 standard deviations needs 31.4 pairs at 80 %."""
    assert hy.users_needed(0.5, 1.0) == 32
    assert hy.users_needed(0.0, 1.0) is None
    assert hy.users_needed(1e-6, 1.0) is None
