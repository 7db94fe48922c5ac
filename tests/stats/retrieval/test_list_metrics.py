"""What held-out events make true, and each metric of one list where it may be undefined."""

from __future__ import annotations

import math

import pytest

from recjudge_tui.stats.retrieval.held_out import HeldOut, ground_truth
from recjudge_tui.stats.retrieval.list_metrics import (
    LIST_METRICS,
    EvaluationData,
    RankedList,
    categories_of,
    evaluation_data,
)


def data(*events: HeldOut) -> EvaluationData:
    return evaluation_data({"u": list(events)}, {"a": "x|y", "b": "x", "c": "y", "d": ""}, {"a": 3, "b": 1})


def ranked(*items: str, scores: tuple[float | None, ...] | None = None, user: str = "u") -> RankedList:
    return RankedList(user, list(items), list(scores) if scores else [None] * len(items))


def test_relevant_without_a_value_or_from_the_mean_on() -> None:
    truth = ground_truth([HeldOut("a", 4, 3.5), HeldOut("b", 3, 3.5), HeldOut("c", None, 3.5)])
    assert truth.relevant == {"a", "c"}
    assert truth.gains == {"a": 4, "b": 3, "c": 1}
    assert truth.valued
    assert not ground_truth([HeldOut("c", None, None)]).valued


def test_zero_is_never_relevant_even_where_it_is_the_mean() -> None:
    assert ground_truth([HeldOut("a", 0, 0.0), HeldOut("b", 0, 0.0)]).relevant == frozenset()
    assert ground_truth([HeldOut("a", -1, -3.0)]).relevant == frozenset()


def test_equal_values_are_all_relevant_whatever_rounding_does_to_their_mean() -> None:
    mean = (0.1 + 0.1 + 0.1) / 3
    assert mean > 0.1
    assert ground_truth([HeldOut("a", 0.1, mean)]).relevant == {"a"}


def test_of_several_values_the_last_is_the_gain() -> None:
    truth = ground_truth([HeldOut("a", 5, 3.0), HeldOut("a", 2, 3.0), HeldOut("a", None, 3.0)])
    assert truth.gains == {"a": 2}
    assert truth.relevant == {"a"}


def test_categories() -> None:
    assert categories_of("Comedy| Drama |") == {"Comedy", "Drama"}
    assert categories_of("") == frozenset()


def test_auc_takes_every_candidate_whatever_k_is() -> None:
    here = data(HeldOut("c", None, None))
    scored = ranked("a", "b", "c", scores=(3.0, 2.0, 1.0))
    assert LIST_METRICS["auc"].of(scored, here, 1) == 0
    tied = ranked("a", "b", "c", scores=(3.0, 2.0, 2.0))
    assert LIST_METRICS["auc"].of(tied, here, 1) == 0.25


def test_auc_counts_a_repeated_candidate_once_where_it_first_stands() -> None:
    here = data(HeldOut("b", None, None))
    repeated = ranked("a", "b", "c", "b", scores=(4.0, 3.0, 2.0, 1.0))
    assert LIST_METRICS["auc"].of(repeated, here, 10) == 0.5


@pytest.mark.parametrize(
    "scored",
    [
        ranked("a", "b", scores=(2.0, None)),
        ranked("a", scores=(2.0,)),
        ranked("b", "c", scores=(2.0, 1.0)),
        ranked("a", "b", scores=(2.0, 1.0), user="nobody"),
        ranked(),
    ],
)
def test_auc_needs_scores_and_both_classes(scored: RankedList) -> None:
    assert LIST_METRICS["auc"].of(scored, data(HeldOut("a", None, None)), 10) is None


def test_explicit_needs_values_and_one_below_zero_counts_zero() -> None:
    bought, rated, disliked = HeldOut("a", None, None), HeldOut("b", 4, 4.0), HeldOut("c", -2, 1.0)
    explicit = LIST_METRICS["ndcg_explicit"]
    assert explicit.of(ranked("a"), data(bought), 10) is None
    for events in ((bought, rated), (bought, rated, disliked)):
        assert explicit.of(ranked("a", "b", "c"), data(*events), 10) == pytest.approx(
            (1 + 4 / math.log2(3)) / (4 + 1 / math.log2(3))
        )
    assert LIST_METRICS["ndcg"].of(ranked("a", "b"), data(bought, rated, disliked), 10) == pytest.approx(1)


def test_explicit_exponential_gain_too_large() -> None:
    watched = data(HeldOut("a", 7200.0, 60.0))
    assert LIST_METRICS["ndcg_exp"].of(ranked("a"), watched, 10) is None
    assert LIST_METRICS["ndcg_explicit"].of(ranked("a"), watched, 10) == 1


@pytest.mark.parametrize(
    "name",
    ["ndcg", "ndcg_exp", "ndcg_explicit", "precision", "recall", "map", "mrr", "hit_rate", "err", "rprec"],
)
def test_nothing_held_out(name: str) -> None:
    assert LIST_METRICS[name].of(ranked("a", user="nobody"), data(HeldOut("a", 5, 3.0)), 10) is None
    assert LIST_METRICS[name].reason


def test_diversity_novelty_and_popularity_where_nothing_is_known() -> None:
    here = data()
    assert LIST_METRICS["urd"].of(ranked("d", "unknown"), here, 10) is None
    assert LIST_METRICS["ild"].of(ranked("a", "d"), here, 10) is None
    assert LIST_METRICS["novelty"].of(ranked("c"), here, 10) is None
    assert LIST_METRICS["popularity"].of(ranked(), here, 10) is None
    assert LIST_METRICS["novelty"].of(ranked("b"), here, 10) == 2
    assert LIST_METRICS["popularity"].of(ranked("a", "c"), here, 10) == 1.5
