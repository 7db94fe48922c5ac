"""Precision, recall and F1 against scikit-learn, and what is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from recjudge_tui.stats.agreement.detection import detection_estimates


def test_the_figures_equal_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random(400) < 0.2
    marked = np.where(rng.random(400) < 0.8, truth, rng.random(400) < 0.1)
    by_stat = detection_estimates(marked, truth, np.arange(400) // 4)
    expected = {
        "precision": metrics.precision_score(truth, marked),
        "recall": metrics.recall_score(truth, marked),
        "f1": metrics.f1_score(truth, marked),
        "kappa": metrics.cohen_kappa_score(truth, marked),
    }
    assert {stat: by_stat[stat].value for stat in expected} == pytest.approx(expected)
    for estimate in by_stat.values():
        assert estimate.ci_low is not None
        assert estimate.value is not None
        assert estimate.ci_high is not None
        assert estimate.ci_low < estimate.value < estimate.ci_high


@pytest.mark.parametrize(
    ("marked", "truth", "undefined"),
    [
        ([0, 0], [0, 0], {"precision", "recall", "f1", "kappa"}),
        ([1, 0], [0, 0], {"recall"}),
        ([0, 0], [1, 0], {"precision"}),
        ([1, 1], [1, 1], {"kappa"}),
        ([], [], {"precision", "recall", "f1", "kappa"}),
    ],
)
def test_a_denominator_of_zero_is_undefined_with_a_reason(
    marked: list[int], truth: list[int], undefined: set[str]
) -> None:
    by_stat = detection_estimates(marked, truth, list(range(len(truth))))
    assert {stat for stat, estimate in by_stat.items() if estimate.value is None} == undefined
    assert all(by_stat[stat].note for stat in undefined)


def test_marks_are_0_or_1_and_paired() -> None:
    with pytest.raises(ValueError, match="0 or 1"):
        detection_estimates([0.5], [1], [1])
    with pytest.raises(ValueError, match="paired"):
        detection_estimates([1, 0], [1], [1])
