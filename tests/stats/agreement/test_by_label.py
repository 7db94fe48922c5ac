"""Precision, recall and F1 by label against scikit-learn, and what is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from recjudge_tui.stats.agreement.by_label import AVERAGES, LABEL_STATISTICS, label_scores

LABELS = (0.0, 1.0, 2.0)


@pytest.mark.parametrize("given", [(0, 1, 2), (0, 1), (2,)])
@pytest.mark.parametrize("true", [(0, 1, 2), (0, 2), (1, 2)])
def test_the_figures_equal_those_of_scikit_learn(given: tuple[int, ...], true: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    truth = rng.choice(true, 120)
    answers = np.where((rng.random(120) < 0.6) & np.isin(truth, given), truth, rng.choice(given, 120))
    scores = label_scores(answers, truth, np.arange(120) // 3, LABELS)
    sides = {"y_true": truth, "y_pred": answers, "labels": [0, 1, 2], "zero_division": np.nan}
    by_stat = precision_recall_fscore_support(**sides)[:3]
    for stat, expected in zip(LABEL_STATISTICS, by_stat, strict=True):
        values = [scores.by_label[label][stat].value for label in LABELS]
        np.testing.assert_allclose(np.array(values, dtype=float), expected)
    for average in AVERAGES:
        expected = np.array(precision_recall_fscore_support(**sides, average=average)[:3], dtype=float)
        figures = scores.averages[average]
        mine = np.array([figures[stat].value for stat in LABEL_STATISTICS], dtype=float)
        np.testing.assert_allclose(mine, expected)


def test_undefined_labels_have_reasons_and_are_left_out_of_the_averages() -> None:
    scores = label_scores([2, 2, 1, 2, 1, 2], [2, 2, 0, 2, 1, 2], list("abcdef"), (0, 1, 2, 3))
    assert scores.by_label[0]["precision"].value is None
    assert scores.by_label[0]["precision"].note == "the rater never gave this label"
    assert scores.by_label[3]["recall"].note == "the reference never gave this label"
    assert scores.by_label[3]["f1"].note == "neither rater gave this label"
    macro, weighted = scores.averages["macro"], scores.averages["weighted"]
    assert macro["precision"].value == pytest.approx((1 / 2 + 1) / 2)
    assert macro["precision"].note.endswith("over 2 of 4 labels")
    assert macro["recall"].note.endswith("over 3 of 4 labels")
    assert weighted["precision"].value == pytest.approx((1 / 2 + 4) / 5)
    assert weighted["recall"].value == pytest.approx(5 / 6)
    assert "labels" not in weighted["recall"].note


def test_weighted_precision_is_undefined_without_a_label_of_the_reference() -> None:
    weighted = label_scores([2, 2, 2], [1, 1, 1], [1, 2, 3], LABELS).averages["weighted"]
    assert weighted["precision"].value is None
    assert weighted["precision"].note == "the rater never gave a label of the reference"
    assert (weighted["recall"].value, weighted["f1"].value) == (0, 0)


def test_intervals_hold_the_figure_and_unanimous_labels_have_no_zero_width() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 90)
    answers = np.where(rng.random(90) < 0.7, truth, rng.integers(0, 3, 90))
    for by_stat in label_scores(answers, truth, np.arange(90) // 3, LABELS).averages.values():
        for estimate in by_stat.values():
            assert estimate.ci_low is not None
            assert estimate.value is not None
            assert estimate.ci_high is not None
            assert estimate.ci_low < estimate.value < estimate.ci_high
    perfect = label_scores([2] * 12, [2] * 12, range(12), LABELS).averages["macro"]["f1"]
    assert (perfect.value, perfect.ci_high) == (1, 1)
    assert perfect.ci_low == pytest.approx(0.025 ** (1 / 12))


def test_no_rows_and_few_users() -> None:
    empty = label_scores([np.nan], [1], ["a"], LABELS)
    assert empty.averages["macro"]["f1"].note == "no item rated by both"
    assert empty.by_label[1]["f1"].value is None
    two = label_scores([1, 2], [1, 1], ["a", "b"], LABELS).averages["macro"]["recall"]
    assert (two.value, two.ci_low) == (0.5, None)
    assert two.note.startswith("no interval: fewer than 10 users have a label")
    few = label_scores([1, 2, *[0] * 20], [1, 2, *[0] * 20], range(22), LABELS).averages
    assert few["macro"]["f1"].ci_low is None
    assert few["weighted"]["f1"].ci_low is not None
    with pytest.raises(ValueError, match="4 is not in the label set"):
        label_scores([4], [1], ["a"], LABELS)
    with pytest.raises(ValueError, match="paired"):
        label_scores([1, 2], [1], ["a"], LABELS)
