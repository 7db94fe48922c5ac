"""Votes put together: rules of consensus, Dawid and Skene's model, and subsets of raters, against plain loops."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from recjudge_tui.stats.combining import (
    SMOOTHING,
    Rule,
    dawid_skene,
    joint,
    subset_figures,
    subsets,
)

# ---- rules ----------------------------------------------------------------------------------------------------------


NAN = np.nan


def test_strict_takes_the_harsher_label() -> None:
    np.testing.assert_array_equal(joint("strict", [[2, 1, 0], [1, 1, 2]]).values, [1, 1, 0])


def test_conservative_makes_any_disagreement_a_tie() -> None:
    np.testing.assert_array_equal(
        joint("conservative", [[1, 1, -1, 0, -1], [1, -1, -1, 1, 0]]).values, [1, 0, -1, 0, 0]
    )


def test_majority_gives_a_split_vote_to_nobody() -> None:
    ratings = np.array([[1, 1, 1, 0], [1, -1, -1, 0], [-1, -1, 0, NAN], [NAN, 1, 0, NAN]])
    np.testing.assert_array_equal(joint("majority", ratings).values, [1, NAN, NAN, 0])


@pytest.mark.parametrize("rule", ["strict", "conservative", "majority", "mean"])
def test_quorum(rule: Rule) -> None:
    ratings = [[1, NAN, NAN], [NAN, 1, NAN]]
    np.testing.assert_array_equal(joint(rule, ratings).values, [NAN, NAN, NAN])
    np.testing.assert_array_equal(joint(rule, ratings, quorum=1).values, [1, 1, NAN])
    with pytest.raises(ValueError, match="at least one"):
        joint(rule, ratings, quorum=0)
    with pytest.raises(ValueError, match="raters, items"):
        joint(rule, [1, 2])


# ---- Dawid and Skene ------------------------------------------------------------------------------------------------


Floats = npt.NDArray[np.float64]


def confusions(labels: int, skills: list[float]) -> Floats:
    """Raters who are right with their skill, and else say the next label twice as often as any other."""
    out = np.zeros((len(skills), labels, labels))
    for rater, skill in enumerate(skills):
        for true in range(labels):
            wrong = np.ones(labels)
            wrong[(true + 1) % labels] = 2.0
            wrong[true] = 0.0
            out[rater, true] = (1 - skill) * wrong / wrong.sum()
            out[rater, true, true] = skill
    return out


def simulated(
    confusion: Floats, items: int, seed: int, missing: float = 0.0
) -> tuple[npt.NDArray[np.int64], Floats]:
    """True labels 0..K-1 and the votes (raters, items) on them."""
    rng = np.random.default_rng(seed)
    labels = confusion.shape[1]
    truth = rng.choice(labels, items, p=np.arange(labels, 0, -1) / (labels * (labels + 1) / 2))
    cumulated = confusion.cumsum(axis=2)[:, truth]
    votes = (rng.random((confusion.shape[0], items, 1)) > cumulated).sum(axis=2).astype(float)
    votes[rng.random(votes.shape) < missing] = NAN
    return truth, votes


def plain_em(votes: Floats, labels: list[float], steps: int) -> tuple[list[list[float]], float]:
    """Dawid and Skene by hand, item by item, from the shares of votes: posteriors, and the penalised log-likelihood."""
    ballots = [{r: float(v) for r, v in enumerate(item) if not math.isnan(v)} for item in votes.T]
    belief = [{k: sum(v == k for v in b.values()) / len(b) for k in labels} for b in ballots]
    raters = range(votes.shape[0])
    height = -math.inf
    for _ in range(steps):
        prior = {k: SMOOTHING + sum(b[k] for b in belief) for k in labels}
        prior = {k: prior[k] / sum(prior.values()) for k in labels}
        says = {}
        for r in raters:
            for k in labels:
                counts = dict.fromkeys(labels, SMOOTHING)
                for ballot, b in zip(ballots, belief, strict=True):
                    if r in ballot:
                        counts[ballot[r]] += b[k]
                for m in labels:
                    says[r, k, m] = counts[m] / sum(counts.values())
        height = SMOOTHING * (sum(map(math.log, prior.values())) + sum(map(math.log, says.values())))
        for at, ballot in enumerate(ballots):
            joint = {k: prior[k] * math.prod(says[r, k, v] for r, v in ballot.items()) for k in labels}
            height += math.log(sum(joint.values()))
            belief[at] = {k: joint[k] / sum(joint.values()) for k in labels}
    return [[b[k] for k in labels] for b in belief], height


@pytest.mark.parametrize("labels", [2, 5])
@pytest.mark.parametrize("missing", [0.0, 0.6])
def test_a_plain_loop_agrees(labels: int, missing: float) -> None:
    """Crowds of seven with two and five classes, most labels missing: the same posteriors, and accuracy to .5 points."""
    truth, votes = simulated(confusions(labels, [0.9, 0.85, 0.8, 0.7, 0.65, 0.6, 0.5]), 250, labels, missing)
    rated = ~np.isnan(votes).all(axis=0)
    truth, votes = truth[rated], votes[:, rated]
    fitted = dawid_skene(votes)
    posterior, height = plain_em(votes, [float(k) for k in range(labels)], len(fitted.objective))
    assert fitted.objective[-1] == pytest.approx(height, abs=1e-6)
    np.testing.assert_allclose(fitted.posterior, posterior, atol=1e-9)
    told = np.argmax(posterior, axis=1) == truth
    assert (fitted.values() == truth).mean() == pytest.approx(told.mean(), abs=0.005)


def test_labels_that_occur_on_one_side_alone_have_their_mirror() -> None:
    votes = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(dawid_skene(votes, mirrored=True).labels, [-1, 0, 1])


@pytest.mark.parametrize("labels", [2, 3, 4, 5])
def test_planted_confusion_matrices_are_recovered(labels: int) -> None:
    planted = confusions(labels, [0.95, 0.8, 0.7, 0.6, 0.55])
    _, votes = simulated(planted, 6000, seed=labels, missing=0.2)
    found = dawid_skene(votes)
    assert np.abs(found.confusion - planted).max() < 0.1
    assert np.abs(found.confusion - planted).mean() < 0.02
    expected = np.arange(labels, 0, -1) / (labels * (labels + 1) / 2)
    np.testing.assert_allclose(found.prior, expected, atol=0.03)
    np.testing.assert_allclose(found.accuracy(), [0.95, 0.8, 0.7, 0.6, 0.55], atol=0.05)


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0]), min_size=1, max_size=60), st.integers(1, 5))
def test_labels_that_all_agree_on_are_kept(given_labels: list[float], raters: int) -> None:
    votes = np.tile(given_labels, (raters, 1))
    np.testing.assert_array_equal(dawid_skene(votes).values(), votes[0])


def test_nobody_rated() -> None:
    found = dawid_skene(np.full((3, 2), NAN))
    assert np.isnan(found.values()).all()
    assert np.isnan(found.confidence()).all()
    assert dawid_skene(np.zeros((3, 0))).values().size == 0
    mixed = dawid_skene(np.array([[1.0, NAN], [1.0, NAN], [1.0, NAN]]))
    np.testing.assert_array_equal(mixed.values(), [1, NAN])


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="raters, items"):
        dawid_skene(np.zeros(3))
    with pytest.raises(ValueError, match="scores, not labels"):
        dawid_skene([np.arange(30) / 30])


def voted() -> st.SearchStrategy[Floats]:
    shape = st.tuples(st.integers(1, 5), st.integers(1, 25))
    return shape.flatmap(
        lambda size: arrays(np.float64, size, elements=st.sampled_from([0.0, 1.0, 2.0, NAN]))
    )


@given(voted())
def test_the_objective_never_falls_and_posteriors_are_distributions(votes: Floats) -> None:
    found = dawid_skene(votes)
    steps = np.diff(found.objective)
    assert (steps >= -1e-7 * np.maximum(1, np.abs(found.objective[:-1]))).all()
    rated = ~np.isnan(votes).all(axis=0)
    assert np.isnan(found.posterior[~rated]).all()
    np.testing.assert_allclose(found.posterior[rated].sum(axis=1), np.ones(rated.sum()))
    if found.labels.size:
        np.testing.assert_allclose(found.confusion.sum(axis=2), np.ones((len(votes), found.labels.size)))


# ---- subsets of raters ----------------------------------------------------------------------------------------------


METHODS = ("pearson", "spearman", "kendall")
SCIPY: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def plain_subsets(
    stat: str, ratings: Floats, truth: Floats, groups: npt.NDArray[np.int64]
) -> dict[tuple[int, ...], float]:
    """The figure of each subset by SciPy, groups with a constant side left out; NaN where there is none."""
    found = {}
    for size in range(1, len(ratings) + 1):
        for members in combinations(range(len(ratings)), size):
            sums = ratings[list(members)].sum(axis=0)
            figures = []
            for group in np.unique(groups):
                a, b = sums[groups == group], truth[groups == group]
                if a.size > 1 and np.ptp(a) > 0 and np.ptp(b) > 0:
                    figures.append(float(SCIPY[stat](a, b)[0]))
            found[members] = float(np.mean(figures)) if figures else np.nan
    return found


def rated(raters: int = 5, groups: int = 12, rows: int = 90) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(3)
    of = rng.integers(0, groups, rows)
    truth = rng.integers(1, 6, rows).astype(float)
    return np.clip(np.rint(0.5 * truth + rng.normal(2, 1.2, (raters, rows))), 1, 5), truth, of


@pytest.mark.parametrize("stat", METHODS)
@pytest.mark.parametrize("grouped", [False, True])
def test_every_size_equals_a_loop_over_its_subsets(stat: str, grouped: bool) -> None:
    ratings, truth, groups = rated()
    found = subset_figures(stat, ratings, truth, groups if grouped else None)
    by_loop = plain_subsets(stat, ratings, truth, groups if grouped else np.zeros_like(groups))
    assert [size.subsets for size in found] == [5, 10, 10, 5, 1]
    for size in found:
        figures = {members: value for members, value in by_loop.items() if len(members) == size.size}
        values = list(figures.values())
        assert (size.low, size.mean, size.high) == pytest.approx((min(values), np.mean(values), max(values)))
        assert size.quartiles == pytest.approx(np.percentile(values, (25, 50, 75)))
        assert figures[size.best] == pytest.approx(max(values))
        assert figures[size.worst] == pytest.approx(min(values))
        assert (size.n, size.undefined) == (90, 0)


def test_a_row_counts_only_where_all_raters_and_the_truth_are_there() -> None:
    nan = np.nan
    ratings = np.array([[1, 2, 3, 5, 4], [1, nan, 3, 4, 5]])
    found = subset_figures("pearson", ratings, [1, 9, 3, nan, 4])
    assert [size.n for size in found] == [3, 3]
    assert found[0].low == pytest.approx(stats.pearsonr([1, 3, 5], [1, 3, 4])[0])


@pytest.mark.parametrize("stat", METHODS)
def test_nothing_to_compare(stat: str) -> None:
    assert [size.mean for size in subset_figures(stat, [[np.nan], [1.0]], [1.0])] == [None, None]
    assert [size.undefined for size in subset_figures(stat, [[2.0], [1.0]], [1.0])] == [2, 1]


def test_subsets_and_bad_input() -> None:
    assert subsets(2).tolist() == [[True, False], [False, True], [True, True]]
    with pytest.raises(ValueError, match="65,535 subsets"):
        subset_figures("pearson", np.zeros((16, 3)), np.zeros(3))
    with pytest.raises(ValueError, match="raters, rows"):
        subset_figures("pearson", np.zeros((2, 3)), np.zeros(4))
    with pytest.raises(KeyError):
        subset_figures("qwk", np.zeros((2, 3)), np.zeros(3))
