"""Calibration against scikit-learn, numbers worked out by hand, and what it promises."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from sklearn.isotonic import IsotonicRegression

from recjudge_tui.stats import calibration as cal
from recjudge_tui.stats.intervals import clopper_pearson

SURE = [0.9, 0.9, 0.8, 0.8, 0.6, 0.4]
RIGHT = [1, 0, 1, 1, 0, 0]
USERS = [0, 1, 2, 3, 4, 5]


def test_reliability_by_hand() -> None:
    bins = cal.reliability(SURE, RIGHT, USERS, bins=5)
    assert [part.n for part in bins] == [0, 0, 1, 1, 4]
    assert [part.confidence for part in bins] == [None, None, 0.4, 0.6, pytest.approx(0.85)]
    assert bins[4].accuracy == clopper_pearson(3, 4)
    assert bins[0].accuracy.value is None
    assert (bins[4].low, bins[4].high) == (0.8, 1.0)


def test_expected_calibration_error_by_hand() -> None:
    # bins of a fifth: |0/1 - .4| / 6 + |0/1 - .6| / 6 + |3/4 - .85| * 4/6
    found = cal.calibration_error(SURE, RIGHT, USERS, bins=5)
    assert found.value == pytest.approx((0.4 + 0.6 + 0.4) / 6)
    assert found.n == 6
    assert (found.ci_low, found.note) == (None, cal.FEW_LABELLED)
    enough = cal.calibration_error(SURE * 3, RIGHT * 3, range(18), bins=5)
    assert 0 <= enough.ci_low < (found.value or 0) < enough.ci_high


def test_brier_and_overconfidence_by_hand() -> None:
    assert cal.brier_score(SURE, RIGHT, USERS).value == pytest.approx(
        (0.01 + 0.81 + 0.04 + 0.04 + 0.36 + 0.16) / 6
    )
    assert cal.overconfidence(SURE, RIGHT, USERS).value == pytest.approx((4.4 - 3) / 6)


def test_no_verdicts_and_wrong_input() -> None:
    assert cal.calibration_error([], [], []).value is None
    assert cal.calibration_error([0.5], [1], [0]).note.startswith("no interval")
    for sure, right in (([1.2], [1]), ([math.nan], [1]), ([0.5], [0.5]), ([0.5, 0.6], [1])):
        with pytest.raises(ValueError):
            cal.calibration_error(sure, right, [0] * len(sure))


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=1, max_size=60))
def test_isotonic_equals_scikit_learn_with_ties(rows: list[tuple[int, bool]]) -> None:
    sure = np.array([row[0] / 10 for row in rows])
    right = np.array([float(row[1]) for row in rows])
    theirs = IsotonicRegression(out_of_bounds="clip").fit(sure, right)
    points = np.linspace(0, 1, 31)
    ours = cal.isotonic(sure, right)
    if ours is None:
        assert set(right) in ({0.0}, {1.0})
    else:
        assert ours(points) == pytest.approx(theirs.predict(points), abs=1e-9)


def test_one_class_and_few_labels_give_no_map() -> None:
    sure = np.linspace(0.1, 0.9, 12)
    assert cal.calibrated(sure, np.ones(12), range(12))[1] == cal.ALL_RIGHT
    assert cal.calibrated(sure, np.zeros(12), range(12))[1] == cal.ALL_WRONG
    assert cal.calibrated(sure[:9], [1, 0, 1] * 3, range(9))[1] == cal.FEW_USERS
    values, why = cal.calibrated(sure, [1, 0, 1] * 4, [at // 2 for at in range(12)])
    assert (np.isnan(values).all(), why) == (True, cal.FEW_USERS)
    assert cal.calibrated(sure, np.full(12, np.nan), range(12))[1] == cal.FEW_USERS


def test_calibration_corrects_an_overconfident_judge() -> None:
    rng = np.random.default_rng(8)
    users = np.repeat(np.arange(400), 3)
    truth = rng.uniform(0.3, 0.95, users.size)
    right = (rng.random(users.size) < truth).astype(float)
    stated = truth**2.5 / (truth**2.5 + (1 - truth) ** 2.5)
    before = cal.calibration_error(stated, right, users)
    assert before.ci_low > 0.05
    after = cal.calibration_error(cal.calibrated(stated, right, users)[0], right, users)
    assert after.value < 0.04
    assert after.ci_low == 0.0


@pytest.mark.parametrize("shift", [0.0, 0.15])
def test_the_interval_of_the_error_covers(shift: float) -> None:
    """Users with several cases; the true error is `shift` in every bin."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(200):
        users = np.repeat(np.arange(60), 3)
        sure = rng.choice([0.35, 0.55, 0.75], users.size)
        right = (rng.random(users.size) < sure - shift).astype(float)
        found = cal.calibration_error(sure, right, users)
        hits += found.ci_low <= shift <= found.ci_high
    assert hits >= 184
