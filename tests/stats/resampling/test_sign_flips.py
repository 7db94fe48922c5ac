"""The sign-flip test against SciPy's permutation test, and what must not change it."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import binomtest, permutation_test

from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.resampling.sign_flips import SMALLEST_P, sign_flip_test

Rng = np.random.Generator
SAMPLES: dict[str, Callable[[Rng, int], FloatArray]] = {
    "normal": lambda rng, n: rng.normal(0.5, 1, n),
    "skewed": lambda rng, n: rng.lognormal(0, 1, n) - 1,
    "tied": lambda rng, n: rng.choice([-1.0, 0.0, 0.5, 1.0], n),
    "rare": lambda rng, n: rng.choice([-1.0, 0.0, 1.0], n, p=[0.05, 0.75, 0.2]),
    "thirds": lambda rng, n: rng.choice([-1 / 3, 1 / 3, 2 / 3, 1.0], n),
}


def by_scipy(differences: FloatArray, resamples: float) -> float:
    result = permutation_test(
        (differences, np.zeros(differences.size)), lambda a, b, axis: (a - b).mean(axis=axis), vectorized=True,
        permutation_type="samples", n_resamples=resamples, rng=np.random.default_rng(1),
    )  # fmt: skip
    return float(result.pvalue)


@pytest.mark.parametrize("kind", SAMPLES)
def test_few_users_equal_scipys_exact_test(kind: str) -> None:
    rng = np.random.default_rng([2, *kind.encode()])
    for n in (2, 3, 5, 8, 12):
        differences = SAMPLES[kind](rng, n)
        if differences.any():
            assert sign_flip_test(differences) == pytest.approx(by_scipy(differences, np.inf), abs=1e-12)


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("n", [16, 60, 300])
def test_many_users_equal_scipys_random_test(kind: str, n: int) -> None:
    differences = SAMPLES[kind](np.random.default_rng([3, n, *kind.encode()]), n)
    p, drawn = sign_flip_test(differences), by_scipy(differences, 9999)
    assert p is not None
    # rounding moves p by a few per cent, drawing by its own error
    assert abs(p - drawn) < 0.05 * p + 4 * np.sqrt(p * (1 - p) / 9999) + 2e-4


@pytest.mark.parametrize(("won", "lost"), [(5, 1), (30, 12), (400, 330), (900, 10)])
def test_equal_steps_are_the_sign_test(won: int, lost: int) -> None:
    p = sign_flip_test([0.2] * won + [-0.2] * lost + [0.0] * 7)
    exact = binomtest(won, won + lost).pvalue
    assert p == pytest.approx(max(exact, SMALLEST_P), rel=1e-4)


def test_nothing_to_test() -> None:
    assert sign_flip_test([]) is None
    assert sign_flip_test([0.0, float("nan"), 0.0]) is None
    assert sign_flip_test([0.3]) == 1.0
    assert sign_flip_test([0.3, 0.1, float("nan"), 0.2, 0.0, 0.1, 0.4]) == pytest.approx(2 / 32)


@settings(max_examples=40)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=40))
def test_sides_order_and_scale_change_nothing(differences: list[int]) -> None:
    p = sign_flip_test(differences)
    shuffled = np.random.default_rng(4).permutation(differences)
    assert sign_flip_test([-d for d in differences]) == p
    assert sign_flip_test(shuffled) == (None if p is None else pytest.approx(p, abs=1e-12))
    assert sign_flip_test([4.0 * d for d in differences]) == p
    assert p is None or 0 < p <= 1
