"""Dawid and Skene's model against an independent one, on pairs of renamed systems, and where it must refuse."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from recjudge_tui.stats.combining.dawid_skene import SMOOTHING, dawid_skene
from recjudge_tui.stats.combining.ensemble_labels import ensemble_labels

Floats = npt.NDArray[np.float64]
NAN = np.nan


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
                counts = {m: SMOOTHING + (1.0 if m == k else 0.0) for m in labels}
                for ballot, b in zip(ballots, belief, strict=True):
                    if r in ballot:
                        counts[ballot[r]] += b[k]
                for m in labels:
                    says[r, k, m] = counts[m] / sum(counts.values())
        height = SMOOTHING * sum(math.log(prior[k]) for k in labels)
        height += sum(
            (SMOOTHING + (1.0 if m == k else 0.0)) * math.log(says[r, k, m])
            for r in raters for k in labels for m in labels
        )  # fmt: skip
        for at, ballot in enumerate(ballots):
            joint = {k: prior[k] * math.prod(says[r, k, v] for r, v in ballot.items()) for k in labels}
            height += math.log(sum(joint.values()))
            belief[at] = {k: joint[k] / sum(joint.values()) for k in labels}
    return [[b[k] for k in labels] for b in belief], height


def voted(truth: Floats, skills: list[float], labels: list[float], missing: float, seed: int) -> Floats:
    """Votes (raters, n): right with the rater's skill, else another label."""
    rng = np.random.default_rng(seed)
    rows = []
    for skill in skills:
        other = [rng.choice([k for k in labels if k != true]) for true in truth]
        row = np.where(rng.random(truth.size) < skill, truth, other)
        rows.append(np.where(rng.random(truth.size) < missing, NAN, row))
    votes = np.array(rows)
    return votes[:, ~np.isnan(votes).all(axis=0)]


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("rare", [0.5, 0.06])
def test_an_independent_implementation_agrees(missing: float, rare: float) -> None:
    truth = np.where(np.random.default_rng(3).random(250) < rare, 1.0, 0.0)
    votes = voted(truth, [0.95, 0.85, 0.8, 0.75], [0.0, 1.0], missing, seed=8)
    fitted = dawid_skene(votes)
    posterior, height = plain_em(votes, [0.0, 1.0], 100)
    assert fitted.objective[-1] == pytest.approx(height, abs=1e-3)
    np.testing.assert_allclose(fitted.posterior, posterior, atol=2e-3)


def test_restarts_reach_at_least_the_published_start() -> None:
    labels = [1.0, 2.0, 3.0]
    higher = 0
    for seed in range(6):
        truth = np.random.default_rng(seed).choice(labels, 80, p=[0.7, 0.2, 0.1])
        votes = voted(truth, [0.6, 0.5, 0.45], labels, 0.1, seed)
        best = dawid_skene(votes).objective[-1]
        _, height = plain_em(votes, labels, 200)
        assert best >= height - 1e-3
        higher += best > height + 0.01
    assert higher > 0


def preferences(seed: int, missing: float = 0.0) -> Floats:
    """Signed votes on pairs of lists, most of them for A, where raters who see a tie like it more than others."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([1.0, 0.0, -1.0], 120, p=[0.6, 0.1, 0.3])
    return voted(truth, [0.9, 0.7, 0.65, 0.6], [1.0, 0.0, -1.0], missing, seed)


@pytest.mark.parametrize("seed", range(5))
def test_exchanging_the_two_systems_of_some_pairs_turns_their_answers_and_nothing_else(seed: int) -> None:
    votes = preferences(seed, missing=0.2)
    turn = np.random.default_rng(seed + 100).choice([1.0, -1.0], votes.shape[1])
    labels = ensemble_labels(votes, list("abcd"), of_pairs=True)
    renamed = ensemble_labels(votes * turn, list("abcd"), of_pairs=True)
    np.testing.assert_array_equal(renamed.values, labels.values * turn)
    np.testing.assert_allclose(renamed.confidence, labels.confidence, atol=1e-6)
    np.testing.assert_allclose(renamed.accuracy, labels.accuracy, atol=1e-6)


def test_labels_that_occur_on_one_side_alone_have_their_mirror() -> None:
    votes = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(dawid_skene(votes, mirrored=True).labels, [-1, 0, 1])
    np.testing.assert_array_equal(ensemble_labels(votes, list("abc"), of_pairs=True).values, [1, 1, 0])


def test_unanimous_labels_are_kept() -> None:
    votes = np.tile([3.0] * 400 + [4.0, 1.0], (5, 1))
    labels = ensemble_labels(votes, list("abcde"), of_pairs=False)
    assert labels.refused == ""
    np.testing.assert_array_equal(labels.values, votes[0])


def two_careless_raters(together: int) -> Floats:
    """300 items, 2 of them rare (1): two raters say 1 in 60 more, and in `together` of those nobody else voted."""
    votes = np.zeros((6, 300))
    votes[:, -2:] = 1.0
    votes[2:, :together] = NAN
    votes[:2, :together] = 1.0
    votes[0, together:60] = 1.0
    votes[1, 60 : 120 - together] = 1.0
    return votes


def test_a_few_overturned_votes_are_left_out_alone() -> None:
    labels = ensemble_labels(two_careless_raters(3), list("abcdef"), of_pairs=False)
    assert labels.refused == ""
    assert np.flatnonzero(labels.overturned).tolist() == [0, 1, 2]
    assert np.flatnonzero(np.isnan(labels.values)).tolist() == [0, 1, 2]


def test_a_model_that_overturns_many_unanimous_votes_is_refused() -> None:
    labels = ensemble_labels(two_careless_raters(12), list("abcdef"), of_pairs=False)
    assert labels.refused == (
        "the model overturns 12 of 204 unanimous votes, so it does not fit; use --rule majority"
    )


def test_a_rater_below_chance_is_refused_by_name() -> None:
    truth = np.tile([0.0, 1.0], 30)
    votes = np.array([truth, truth, truth, 1 - truth])
    labels = ensemble_labels(votes, ["ann", "bob", "cid", "dan"], of_pairs=False)
    assert "dan is right in" in labels.refused
    assert "ann" not in labels.refused


def test_a_rater_who_guesses_is_no_reason_to_refuse() -> None:
    rng = np.random.default_rng(2)
    refused = 0
    for _ in range(20):
        truth = rng.choice([0.0, 1.0], 100)
        votes = np.array(
            [truth, truth, np.where(rng.random(100) < 0.9, truth, 1 - truth), rng.choice([0.0, 1.0], 100)]
        )
        refused += ensemble_labels(votes, list("abcd"), of_pairs=False).refused != ""
    assert refused <= 2
