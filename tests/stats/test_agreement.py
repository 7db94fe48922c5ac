"""Agreement: published figures, scikit-learn, krippendorff and SciPy, and what must hold of any interval."""

from __future__ import annotations

import csv
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import hypothesis.strategies as st
import krippendorff
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from scipy import stats
from scipy.stats import pearsonr
from sklearn import metrics
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support

from recjudge_tui.stats import agreement as ag
from recjudge_tui.stats.agreement import (
    AVERAGES,
    LABEL_STATISTICS,
    RatedPair,
    agreement_change,
    agreement_estimates,
    association,
    detection_estimates,
    figure,
    label_scores,
    many_raters_estimates,
    mean_change,
    pairs_interval,
)
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.intervals import ALL_EQUAL, AT_END, FISHER, jackknife_interval
from recjudge_tui.stats.registry import MANY_RATERS, NO_ROWS, STATISTICS

LABELS = (1, 2, 3, 4, 5)
THREE = (0.0, 1.0, 2.0)
NAN = np.nan
Metric = Literal["nominal", "ordinal", "interval"]
METRICS: tuple[Metric, ...] = ("nominal", "ordinal", "interval")
ALPHAS = tuple(f"alpha_{metric}" for metric in METRICS)
LABELLED = ("kappa", "kappa_linear", "qwk", "ac1", "ac2")
rating_pairs = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=40)
light = settings(deadline=None, max_examples=30)


def abstractors() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """100 records classed by two abstractors (Gwet 2014, table `cont3x3abstractors` of R's irrCAC)."""
    counts = {(0, 0): 13, (1, 1): 20, (1, 2): 7, (2, 1): 4, (2, 2): 56}
    rows = np.array([cell for cell, count in counts.items() for _ in range(count)])
    return rows[:, 0], rows[:, 1]


def sides(pairs: list[tuple[int, int]]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    table = np.array(pairs, dtype=float)
    return table[:, 0], table[:, 1]


def test_published_values_of_the_abstractors() -> None:
    a, b = abstractors()
    assert ag.percent(a, b) == pytest.approx(0.89)
    assert figure("kappa", a, b, (0, 1, 2)) == pytest.approx(0.7964094, abs=1e-7)
    assert ag.ac2(a, b, (0, 1, 2)) == pytest.approx(0.94024, abs=5e-6)
    assert figure("alpha_nominal", a, b) == pytest.approx(0.7972585, abs=1e-7)
    assert figure("ac1", a, b, (0, 1, 2)) == pytest.approx(0.8493305, abs=1e-7)


def test_ac2_counts_labels_that_nobody_used() -> None:
    a, b = [1, 2, 2, 3], [1, 2, 3, 3]
    q, shares = 5, np.array([1, 2.5 - 1, 1.5, 0, 0]) / 4
    credit = 1 - (np.arange(q)[:, None] - np.arange(q)) ** 2 / 16
    chance = credit.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum()
    observed = (3 + 15 / 16) / 4
    assert ag.ac2(a, b, LABELS) == pytest.approx((observed - chance) / (1 - chance))
    assert ag.ac2(a, b, LABELS) != pytest.approx(ag.ac2(a, b, (1, 2, 3)))


@pytest.mark.parametrize(
    ("ours", "weights"),
    [
        ("kappa", None),
        ("kappa_linear", "linear"),
        ("qwk", "quadratic"),
    ],
)
@pytest.mark.parametrize("labels", [(0, 1, 2), (-1, 0, 1), LABELS])
def test_kappas_equal_scikit_learn(ours: str, weights: str | None, labels: tuple[int, ...]) -> None:
    rng = np.random.default_rng(7)
    a = rng.choice(labels, 300)
    b = np.where(rng.random(300) < 0.6, a, rng.choice(labels, 300))
    theirs = cohen_kappa_score(a, b, labels=labels, weights=weights)
    assert figure(ours, a, b, labels) == pytest.approx(theirs)


@pytest.mark.parametrize("metric", METRICS)
def test_alpha_equals_krippendorff_with_missing_ratings(metric: Metric) -> None:
    rng = np.random.default_rng(3)
    ratings = rng.integers(1, 6, (2, 120)).astype(float)
    ratings[1] = np.where(rng.random(120) < 0.7, ratings[0], ratings[1])
    ratings[rng.random((2, 120)) < 0.25] = np.nan
    theirs = krippendorff.alpha(reliability_data=ratings, level_of_measurement=metric)
    assert figure(f"alpha_{metric}", *ratings) == pytest.approx(theirs)


def test_constant_equal_ratings_leave_kappa_and_alpha_undefined_but_not_ac2() -> None:
    a = [4, 4, 4]
    assert figure("kappa", a, a, LABELS) is None
    assert ag.figure("qwk", a, a, LABELS) is None
    assert [figure(alpha, a, a) for alpha in ALPHAS] == [None] * 3
    assert ag.percent(a, a) == 1
    assert ag.ac2(a, a, LABELS) == pytest.approx(1)


def test_rows_with_a_missing_side_are_left_out() -> None:
    nan = np.nan
    a, b = [1, 2, nan, 3, 5], [1, nan, 2, 3, 4]
    assert ag.percent(a, b) == pytest.approx(2 / 3)
    assert ag.figure("qwk", a, b, LABELS) == ag.figure("qwk", [1, 3, 5], [1, 3, 4], LABELS)
    assert ag.percent([nan], [1]) is None
    assert figure("alpha_interval", [1, nan], [nan, 2]) is None


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="not in the label set"):
        ag.figure("qwk", [1, 6], [1, 2], LABELS)
    with pytest.raises(ValueError, match="sorted"):
        ag.figure("qwk", [1], [1], (2, 1))
    with pytest.raises(ValueError, match="paired"):
        ag.percent([1, 2], [1])
    with pytest.raises(ValueError, match="infinite"):
        ag.percent([np.inf], [1])


@light
@given(rating_pairs)
def test_symmetry(pairs: list[tuple[int, int]]) -> None:
    a, b = sides(pairs)
    for statistic in (*LABELLED, *ALPHAS):
        turned = figure(statistic, b, a, LABELS)
        assert figure(statistic, a, b, LABELS) == pytest.approx(turned, nan_ok=False)
    turned = figure("bias", b, a)
    assert figure("bias", a, b) == pytest.approx(-(turned or 0.0))


@light
@given(rating_pairs, st.permutations(LABELS))
def test_nominal_figures_do_not_depend_on_the_names_of_labels(
    pairs: list[tuple[int, int]], names: list[int]
) -> None:
    a, b = sides(pairs)
    to = np.array([0, *names], dtype=float)
    c, d = to[a.astype(int)], to[b.astype(int)]
    for statistic in ("kappa", "alpha_nominal", "ac1"):
        renamed = figure(statistic, c, d, LABELS)
        assert figure(statistic, a, b, LABELS) == pytest.approx(renamed)


SCIPY: dict[str, Callable[[FloatArray, FloatArray], float]] = {
    "pearson": lambda a, b: float(stats.pearsonr(a, b).statistic),
    "spearman": lambda a, b: float(stats.spearmanr(a, b).statistic),
    "kendall": lambda a, b: float(stats.kendalltau(a, b).statistic),
}
METHODS = sorted(SCIPY)
SINGLE = {"pearson": ag.pearson, "spearman": ag.spearman, "kendall": ag.kendall}


def by_scipy(method: str, a: FloatArray, b: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    out = np.full(groups, np.nan)
    for group in range(groups):
        x, y = a[codes == group], b[codes == group]
        if x.size > 1 and np.ptp(x) > 0 and np.ptp(y) > 0:
            out[group] = SCIPY[method](x, y)
    return out


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("continuous", [False, True])
def test_every_group_equals_scipy(method: str, continuous: bool) -> None:
    rng = np.random.default_rng(11)
    codes = np.r_[np.repeat(np.arange(150), rng.integers(0, 9, 150)), np.full(300, 150)]
    rng.shuffle(codes)
    a = rng.integers(1, 6, codes.size).astype(float)
    b = rng.normal(size=codes.size) if continuous else rng.integers(1, 6, codes.size).astype(float)
    ours = ag.GROUPED[method](a, b, codes, 151)
    theirs = by_scipy(method, a, b, codes, 151)
    assert np.isnan(theirs).any()
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_undefined(method: str) -> None:
    assert SINGLE[method]([1], [2]) is None
    assert SINGLE[method]([3, 3, 3], [1, 2, 3]) is None
    assert SINGLE[method]([0.1, 0.1, 0.1], [1, 2, 3]) is None
    assert SINGLE[method]([1, np.nan], [1, 2]) is None


@light
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=30))
def test_ranks_within_groups_equal_scipy(pairs: list[tuple[int, int]]) -> None:
    codes, values = np.array(pairs).T
    ours = ag.ranks_within(values.astype(float), codes)
    for group in np.unique(codes):
        np.testing.assert_array_equal(ours[codes == group], stats.rankdata(values[codes == group]))


@pytest.mark.data
def test_third_party_annotator_rows_of_zhang_2024() -> None:
    """Annotator 1: persuasiveness 19.88 / 18.31 / 16.72; mean of two: transparency 24.53 / 25.36 / 23.12."""
    folder = Path(os.environ["RECJUDGE_DATA"]) / "zhang2024"
    with (folder / "explanations.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))

    def column(name: str) -> FloatArray:
        return np.array([float(row[name] or 3) for row in table])

    users = np.array([row["user_id"] for row in table])
    films = np.array([f"{row['user_id']} {row['movie_id']}" for row in table])
    everything = np.zeros(len(table), dtype=np.int64)
    mean = (column("transparency_1") + column("transparency_2")) / 2
    for rater, truth, published in (
        (column("persuasiveness_1"), column("persuasiveness"), (19.88, 18.31, 16.72)),
        (mean, column("transparency"), (24.53, 25.36, 23.12)),
    ):
        levels = [ag.group_mean("pearson", rater, truth, g) for g in (everything, users, films)]
        assert [round(100 * (value or 0), 2) for value in levels] == list(published)


# Krippendorff 2011, four observers and twelve units
OBSERVERS = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
])  # fmt: skip


def _values(
    table: np.ndarray, labels: tuple[float, ...], stats: tuple[str, ...] = tuple(MANY_RATERS), **words: bool
) -> dict[str, float | None]:
    """The figures of ratings (raters, items)."""
    items = np.broadcast_to(np.arange(table.shape[1]), table.shape).ravel()
    estimates = many_raters_estimates(table.ravel(), items, items // 2, labels, stats, **words)
    return {stat: estimate.value for stat, estimate in estimates.items()}


def test_krippendorffs_four_observers() -> None:
    values = _values(OBSERVERS, (1, 2, 3, 4, 5))
    assert [round(values[stat] or 0, 3) for stat in ALPHAS] == [0.743, 0.815, 0.849]
    # irrCAC on the same data (Gwet)
    assert values["ac1"] == pytest.approx(0.77544, abs=5e-6)
    assert values["fleiss"] == pytest.approx(0.76117, abs=5e-6)


@pytest.mark.parametrize("seed", range(6))
def test_ragged_ratings_equal_the_krippendorff_package(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.clip(np.round(rng.normal(2, 1, 30) + rng.normal(0, 0.7, (5, 30))), 0, 4)
    table[rng.random(table.shape) < 0.5] = NAN
    values = _values(table, (0, 1, 2, 3, 4), ALPHAS)
    for stat in ALPHAS:
        theirs = krippendorff.alpha(
            reliability_data=table,
            level_of_measurement=stat.removeprefix("alpha_"),
            value_domain=[0, 1, 2, 3, 4],
        )
        assert values[stat] == pytest.approx(theirs)


@pytest.mark.parametrize("stat", ["fleiss", "fleiss_linear", "fleiss_quadratic", "ac1", "ac2_linear", "ac2"])
def test_weighted_figures_follow_from_pairs_of_ratings(stat: str) -> None:
    rng = np.random.default_rng(8)
    table = rng.integers(0, 4, (4, 25)).astype(np.float64)
    table[rng.random(table.shape) < 0.3] = NAN
    power = {"": 0, "linear": 1, "quadratic": 2}[
        stat.partition("_")[2] or ("quadratic" if stat == "ac2" else "")
    ]

    def credit(a: float, b: float) -> float:
        return float(a == b) if power == 0 else 1 - (abs(a - b) / 3) ** power

    agreed, shares = [], []
    for column in table.T:
        given = column[~np.isnan(column)]
        if given.size:
            shares.append([(given == label).mean() for label in range(4)])
        pairs = [(a, b) for i, a in enumerate(given) for j, b in enumerate(given) if i != j]
        if pairs:
            agreed.append(np.mean([credit(a, b) for a, b in pairs]))
    seen, share = float(np.mean(agreed)), np.mean(shares, axis=0)
    weights = np.array([[credit(a, b) for b in range(4)] for a in range(4)])
    chance = (
        share @ weights @ share
        if stat.startswith("fleiss")
        else weights.sum() / 12 * (share * (1 - share)).sum()
    )
    assert _values(table, (0, 1, 2, 3), (stat,))[stat] == pytest.approx((seen - chance) / (1 - chance))


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


@pytest.mark.parametrize("n", [3, 5, 6])
def test_p_counts_all_orders(n: int) -> None:
    a, b = np.random.default_rng(n).normal(size=(2, n))
    sums = [abs(np.corrcoef(a, order)[0, 1]) for order in itertools.permutations(b)]
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


def test_detection_figures_equal_those_of_scikit_learn() -> None:
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


@pytest.mark.parametrize("given", [(0, 1, 2), (0, 1), (2,)])
@pytest.mark.parametrize("true", [(0, 1, 2), (0, 2), (1, 2)])
def test_label_figures_equal_those_of_scikit_learn(given: tuple[int, ...], true: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    truth = rng.choice(true, 120)
    answers = np.where((rng.random(120) < 0.6) & np.isin(truth, given), truth, rng.choice(given, 120))
    scores = label_scores(answers, truth, np.arange(120) // 3, THREE)
    sides = {"y_true": truth, "y_pred": answers, "labels": [0, 1, 2], "zero_division": np.nan}
    by_stat = precision_recall_fscore_support(**sides)[:3]
    for stat, expected in zip(LABEL_STATISTICS, by_stat, strict=True):
        values = [scores.by_label[label][stat].value for label in THREE]
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
    weighted = label_scores([2, 2, 2], [1, 1, 1], [1, 2, 3], THREE).averages["weighted"]
    assert weighted["precision"].value is None
    assert weighted["precision"].note == "the rater never gave a label of the reference"
    assert (weighted["recall"].value, weighted["f1"].value) == (0, 0)


def raters(
    users: int = 40, rows: int = 3, seed: int = 1, right: float = 0.6
) -> tuple[FloatArray, FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, users * rows).astype(np.float64)
    b = np.where(rng.random(a.size) < right, a, rng.integers(0, 3, a.size)).astype(np.float64)
    return a, b, np.repeat(np.arange(users), rows)


def test_a_figure_of_many_raters_says_why_it_is_undefined_or_has_no_interval() -> None:
    equal = many_raters_estimates([2] * 60, np.arange(60) // 3, np.arange(60) // 3, THREE)
    for stat, estimate in equal.items():
        reason = MANY_RATERS[stat].undefined
        assert (estimate.value, estimate.note) == (
            (1, ag.FEW_DISAGREEING) if stat.startswith("ac") else (None, reason)
        )
    alone = many_raters_estimates([0, 1], ["a", "b"], ["a", "b"], (0, 1))
    assert {estimate.note for estimate in alone.values()} == {ag.NO_ITEM}
    one_label = many_raters_estimates([1, 1], ["a", "a"], ["a", "a"], (1,), ("ac1",))["ac1"]
    assert (one_label.value, one_label.note) == (None, "the label set has fewer than two labels")
    with pytest.raises(ValueError, match="7 is not in the label set"):
        many_raters_estimates([7], ["a"], ["a"], (0, 1))
    with pytest.raises(ValueError, match="one user"):
        many_raters_estimates([0, 1], ["a", "a"], ["u", "v"], (0, 1))
    with pytest.raises(KeyError, match="qwk"):
        many_raters_estimates([0], ["a"], ["a"], (0, 1), ("qwk",))


@pytest.mark.parametrize("stat", ["kappa", "qwk", "alpha_ordinal", "ac1", "spearman", "kendall"])
def test_intervals_come_from_leaving_out_each_users_rows(stat: str) -> None:
    a, b, users = raters()
    labels = THREE if STATISTICS[stat].labels else None
    without = [figure(stat, a[users != at], b[users != at], labels) for at in range(40)]
    value = figure(stat, a, b, labels)
    assert value is not None
    ends = jackknife_interval(value, np.array(without, dtype=float), FISHER)
    found = agreement_estimates(a, b, users, THREE, [stat])[stat]
    assert (found.value, found.ci_low, found.ci_high) == pytest.approx((value, ends.low, ends.high))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_names_row_order_and_other_statistics_do_not_matter_and_ends_stay_in_range(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.choice(3, (2, 40), p=[0.6, 0.3, 0.1]).astype(float)
    users = rng.integers(0, 15, 40)
    order, names = rng.permutation(40), rng.permutation(15)
    together = agreement_estimates(a, b, users, THREE)
    for stat, found in together.items():
        alone = agreement_estimates(a[order], b[order], names[users[order]], THREE, [stat])[stat]
        assert alone.note == found.note
        assert (alone.value is None) == (found.value is None)
        if found.value is not None:
            assert alone.value == pytest.approx(found.value, abs=1e-9)
        if found.ci_low is not None and found.ci_high is not None and found.value is not None:
            assert (alone.ci_low, alone.ci_high) == pytest.approx((found.ci_low, found.ci_high), abs=1e-7)
            low, high = STATISTICS[stat].bounds or (-2, 2)
            assert low <= found.ci_low <= found.value <= found.ci_high <= high


def test_figures_without_a_value_or_an_interval_say_why() -> None:
    a, b, users = raters()
    none = agreement_estimates(a + 0.5, b, users, None)
    assert none["percent"].note == none["qwk"].note == "needs a label set"
    assert none["pearson"].ci_low is not None
    assert "between the labels" in agreement_estimates(a + 0.5, b, users, THREE, ["percent"])["percent"].note
    assert "none of the labels" in agreement_estimates(a + 5, b, users, THREE, ["qwk"])["qwk"].note
    assert "no direction" in agreement_estimates(a, b, users, THREE, ["concurrence"])["concurrence"].note
    empty = agreement_estimates([np.nan], [1], ["u"], THREE)
    assert {estimate.note for estimate in empty.values()} == {
        f"{NO_ROWS}; 1 of 1 rows left out: a rating is missing"
    }
    assert agreement_estimates([1], [1], ["u"], THREE, ["pearson"])["pearson"].note == ag.TOO_FEW
    assert agreement_estimates(a, np.ones(a.size), users, THREE, ["pearson"])["pearson"].value is None
    assert agreement_estimates(a, a, users, THREE, ["pearson"])["pearson"].note == AT_END
    with pytest.raises(KeyError, match="unknown statistic 'vibes'"):
        agreement_estimates(a, b, users, THREE, ["vibes"])


def test_kappa_and_its_kin_have_no_interval_on_rare_labels_or_disagreements() -> None:
    """Withheld with fewer than ten users with a rare label, or fewer than four who show a disagreement; the value stays."""
    users = np.arange(60)
    for varied, wrong, note in ((9, 5, ag.FEW_VARIED), (12, 3, ag.FEW_DISAGREEING), (12, 4, "")):
        a = np.where(users < varied, 1.0, 0.0)
        b = np.where(users < varied - wrong, 1.0, 0.0)
        found = agreement_estimates(a, b, users, (0, 1), ["kappa", "alpha_nominal", "ac1", "percent"])
        assert [found[stat].note for stat in ("kappa", "alpha_nominal")] == [note] * 2
        assert found["ac1"].note == ("" if wrong >= 4 else ag.FEW_DISAGREEING)
        assert found["kappa"].value == pytest.approx(cohen_kappa_score(a, b))
        assert found["percent"].ci_low is not None


@pytest.mark.parametrize("method", sorted(ag.GROUPED))
def test_groups_without_a_figure_count_neither_in_the_mean_nor_in_the_degrees_of_freedom(method: str) -> None:
    a, b, users = raters(users=30, rows=5)
    b = a + b / 2
    a[users >= 12] = 1.0
    found = agreement_estimates(a, b, users, None, [method], groups=users)[method]
    each = [SCIPY[method](a[users == at], b[users == at]) for at in range(12)]
    assert (found.value, found.groups, found.groups_undefined) == (pytest.approx(np.mean(each)), 30, 18)
    without = np.array([np.mean(np.delete(each, at)) for at in range(12)])
    ends = jackknife_interval(float(np.mean(each)), without, FISHER)
    assert (found.ci_low, found.ci_high) == pytest.approx((ends.low, ends.high))


def test_other_statistics_by_group_and_groups_across_users() -> None:
    a, b, users = raters(users=12, rows=6)
    found = agreement_estimates(a, b, users, THREE, ["qwk", "percent", "bias"], groups=users)
    each = [figure("qwk", a[users == at], b[users == at], THREE) for at in range(12)]
    assert found["qwk"].value == pytest.approx(np.mean([value for value in each if value is not None]))
    assert found["percent"].value == pytest.approx(np.mean(a == b))
    with pytest.raises(ValueError, match="within one user"):
        agreement_estimates(a, b, users, THREE, ["qwk"], groups=users // 2)
    nothing = agreement_estimates(a, np.ones(a.size), users, None, ["pearson"], groups=users)["pearson"]
    assert (nothing.value, nothing.groups_undefined) == (None, 12)


def test_very_many_distinct_values() -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(size=4000)
    b = a + rng.normal(size=4000)
    users = np.repeat(np.arange(1000), 4)
    found = agreement_estimates(a, b, users, None, ["kendall", "spearman", "pearson", "alpha_interval"])
    assert found["kendall"].value == pytest.approx(SCIPY["kendall"](a, b))
    assert found["spearman"].value == pytest.approx(SCIPY["spearman"](a, b))
    assert (found["kendall"].ci_low, found["kendall"].note) == (None, ag.MANY_CELLS)
    for stat in ("spearman", "pearson", "alpha_interval"):
        estimate = found[stat]
        assert (estimate.ci_low or 1) < (estimate.value or 0) < (estimate.ci_high or 0)


def pair(seed: int = 1) -> RatedPair:
    return RatedPair(*raters(seed=seed))


def test_pairs_of_people_together() -> None:
    first, second = pair(1), pair(2)
    together = pairs_interval([first, second], THREE, "qwk")
    turned = pairs_interval([RatedPair(b, a, users) for a, b, users in (second, first)], THREE, "qwk")
    assert (together.low, together.high) == pytest.approx((turned.low, turned.high))
    widths = [
        (one.high or 0) - (one.low or 0)
        for one in (pairs_interval([p], THREE, "qwk") for p in (first, second))
    ]
    assert all((together.high or 0) - (together.low or 0) < width for width in widths)
    a, _, users = first
    assert (
        pairs_interval([RatedPair(np.ones(a.size), np.ones(a.size), users)], THREE, "qwk").note
        == ag.FEW_VARIED
    )


@pytest.mark.parametrize("stat", ["percent", "bias", "concurrence", "qwk", "ac1"])
def test_one_pair_of_people_has_the_interval_of_two_raters_and_several_the_share_of_all_rows(
    stat: str,
) -> None:
    """Also where all agree, which a logit cannot hold."""
    labels, both = (-1.0, 0.0, 1.0), [RatedPair(a - 1, b - 1, users) for a, b, users in (pair(1), pair(2))]
    for pairs in ([both[0]], [both[0]._replace(b=both[0].a)], both[: 2 if stat == "percent" else 1]):
        a, b, users = (np.concatenate(side) for side in zip(*pairs, strict=True))
        alone = ag.agreement_estimates(a, b, users, labels, (stat,))[stat]
        found = pairs_interval(pairs, labels, stat)
        assert (found.low, found.high, found.note) == (alone.ci_low, alone.ci_high, alone.note)


def test_groups_of_one_row_are_too_few_and_not_constant() -> None:
    found = ag.agreement_estimates([0, 1, 2], [0, 2, 1], [1, 2, 3], THREE, ("kendall",), groups=[1, 2, 3])
    assert found["kendall"].note == f"undefined in every group: {ag.TOO_FEW}"


def test_a_change_between_two_runs_on_other_rows_of_the_same_users() -> None:
    good, truth, users = raters(users=60, rows=4, right=0.9)
    poor, other, _ = raters(users=60, rows=4, seed=2, right=0.2)
    found = agreement_change(RatedPair(good, truth, users), RatedPair(poor, other, users), THREE, "qwk")
    now, before = (figure("qwk", *side, THREE) for side in ((good, truth), (poor, other)))
    assert (found.later, found.earlier) == (now, before)
    assert 0 < (found.change.ci_low or 0) < (found.change.value or 0) < (found.change.ci_high or 0) <= 2
    # the order of the rows of one run says nothing about the other
    turn = np.roll(np.arange(users.size), 7)
    again = agreement_change(
        RatedPair(good, truth, users), RatedPair(poor[turn], other[turn], users[turn]), THREE, "qwk"
    )
    assert again.change.ci_low == pytest.approx(found.change.ci_low)
    same = agreement_change(RatedPair(good, truth, users), RatedPair(good, truth, users), THREE, "qwk")
    assert (same.change.value, same.change.note) == (0.0, ALL_EQUAL)


def test_a_change_that_is_undefined_says_why() -> None:
    def change(later: list[float], earlier: list[float], labels: object, stat: str) -> ag.Change:
        truth, users = [0, 1, 2.0], [0, 1, 2]
        return agreement_change(
            RatedPair(later, truth, users), RatedPair(earlier, truth, users), labels, stat
        )  # type: ignore[arg-type]

    assert "no case" in change([NAN] * 3, [1] * 3, THREE, "qwk").change.note
    constant = change([1] * 3, [0, 1, 2], None, "pearson")
    assert (constant.later, constant.earlier) == (None, pytest.approx(1.0))
    assert "undefined for the later run" in constant.change.note
    assert "label set" in change([0, 1, 2], [0, 1, 2], None, "qwk").change.note
    assert "no case" in mean_change([np.nan], [1], [0]).change.note
    means = mean_change([1, 0, 1, np.nan], [0, 0, 1, 1], [0, 1, 2, 3])
    assert (means.later, means.earlier, means.change.value) == pytest.approx((2 / 3, 1 / 3, 1 / 3))
    with pytest.raises(ValueError, match="paired"):
        agreement_change(RatedPair([1.0], [1.0, 2.0], [0]), RatedPair([1.0], [1.0], [0]), THREE, "qwk")
    with pytest.raises(KeyError):
        change([1.0] * 3, [1.0] * 3, THREE, "vibes")


def test_false_alarms_about_a_change_are_as_rare_as_stated() -> None:
    alarms = 0
    for at in range(300):
        (new, truth, users), (old, other, _) = raters(60, 4, seed=2 * at), raters(60, 4, seed=2 * at + 1)
        change = agreement_change(
            RatedPair(new, truth, users), RatedPair(old, other, users), THREE, "qwk"
        ).change
        alarms += change.ci_low is None or change.ci_high is None or not change.ci_low <= 0 <= change.ci_high
    assert alarms / 300 <= 0.085


def test_averages_over_labels_have_intervals() -> None:
    a, b, users = raters()
    for by_stat in label_scores(a, b, users, THREE).averages.values():
        for estimate in by_stat.values():
            assert (estimate.ci_low or 1) < (estimate.value or 0) < (estimate.ci_high or 0)
    perfect = label_scores([2] * 12, [2] * 12, range(12), THREE).averages["macro"]["f1"]
    assert (perfect.value, perfect.ci_low, perfect.ci_high) == (1, pytest.approx(0.025 ** (1 / 12)), 1)
    assert label_scores([np.nan], [1], ["a"], THREE).averages["macro"]["f1"].note == NO_ROWS
    with pytest.raises(ValueError, match="4 is not in the label set"):
        label_scores([4], [1], ["a"], THREE)


def test_with_many_cells_users_are_left_out_in_as_many_groups_as_the_work_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    a = rng.integers(0, 3, 600)
    b = np.where(rng.random(600) < 0.6, a, rng.integers(0, 3, 600))

    def ends(**bounds: int) -> tuple[float | None, float | None]:
        with monkeypatch.context() as patched:
            for name, value in bounds.items():
                patched.setattr(ag, name, value)
            found = agreement_estimates(a, b, np.arange(600), [0, 1, 2], ["kappa"])["kappa"]
        return found.ci_low, found.ci_high

    whole, in_ten, in_five = (ends(MOST_GROUPS=most) for most in (600, 10, 5))
    assert len({whole, in_ten, in_five}) == 3
    # nine cells
    assert ends(_WORK=90, _FEWEST_GROUPS=5) == in_ten
    assert ends(_WORK=9, _FEWEST_GROUPS=5) == in_five
    assert ends() == whole
