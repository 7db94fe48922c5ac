import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import ndcg_score, roc_auc_score

from recjudge_tui.stats.retrieval import offline as of

LIST = ["a", "b", "c", "d", "e"]
HELD = {"b", "d", "x"}
light = settings(deadline=None, max_examples=60)


def test_by_hand() -> None:
    assert of.precision(LIST, HELD, 4) == 2 / 4
    assert of.precision(LIST, HELD, 10) == 2 / 10
    assert of.recall(LIST, HELD, 4) == 2 / 3
    assert of.average_precision(LIST, HELD, 5) == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert of.average_precision_min(LIST, HELD, 5) == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert of.average_precision_min(LIST, HELD, 2) == pytest.approx((1 / 2) / 2)
    assert of.average_precision_min(LIST, set(), 2) is None
    assert of.reciprocal_rank(LIST, HELD, 5) == 1 / 2
    assert of.reciprocal_rank(LIST, HELD, 1) == 0
    assert of.hit_rate(LIST, HELD, 1) == 0
    assert of.hit_rate(LIST, HELD, 2) == 1


def test_ndcg_by_hand() -> None:
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert of.ndcg(LIST, dict.fromkeys(HELD, 1.0), 5) == pytest.approx(
        (1 / math.log2(3) + 1 / math.log2(5)) / ideal
    )
    cut = 1 + 1 / math.log2(3)
    assert of.ndcg(LIST, dict.fromkeys(HELD, 1.0), 2) == pytest.approx(1 / math.log2(3) / cut)
    gains = {"a": 3.0, "c": 5.0}
    assert of.ndcg_exp(LIST, gains, 3) == pytest.approx((7 + 31 / 2) / (31 + 7 / math.log2(3)))
    assert of.ndcg(LIST, gains, 3) == pytest.approx((3 + 5 / 2) / (5 + 3 / math.log2(3)))


def test_without_held_out_items_nothing_is_defined() -> None:
    for metric in (of.precision, of.recall, of.average_precision, of.reciprocal_rank, of.hit_rate):
        assert metric(LIST, set(), 5) is None
    assert of.ndcg(LIST, {}, 5) is None
    assert of.ndcg(LIST, {"a": 0.0}, 5) is None


def test_an_empty_list_scores_zero_where_something_was_held_out() -> None:
    for metric in (of.precision, of.recall, of.average_precision, of.reciprocal_rank, of.hit_rate):
        assert metric([], HELD, 5) == 0
    assert of.ndcg([], {"a": 1.0}, 5) == 0


def test_a_repeated_item_counts_once() -> None:
    assert of.recall(["b", "b", "b"], HELD, 3) == 1 / 3
    assert of.precision(["b", "b"], HELD, 2) == 1 / 2
    assert of.ndcg(["b", "b"], {"b": 1.0}, 2) == 1
    assert of.recall(["b"], ["b", "b"], 3) == 1


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match="k is"):
        of.precision(LIST, HELD, 0)
    with pytest.raises(ValueError, match="negative"):
        of.ndcg(LIST, {"a": -1.0}, 5)
    with pytest.raises(ValueError, match="one score and one class"):
        of.auc([1, np.nan], [True, False])


@light
@given(st.permutations(range(8)), st.lists(st.integers(0, 5), min_size=8, max_size=8), st.integers(1, 10))
def test_ndcg_equals_scikit_learn(order: list[int], gains: list[int], k: int) -> None:
    ours = of.ndcg([str(i) for i in order], {str(i): float(g) for i, g in enumerate(gains)}, k)
    scores = np.empty(8)
    scores[order] = np.arange(8, 0, -1)
    if ours is None:
        assert not any(gains)
    else:
        assert ours == pytest.approx(ndcg_score([gains], [scores], k=k))
        assert 0 <= ours <= 1 + 1e-12


@light
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=30))
def test_auc_equals_scikit_learn_with_ties(rows: list[tuple[int, bool]]) -> None:
    scores, wanted = np.array([r[0] for r in rows], dtype=float), np.array([r[1] for r in rows])
    ours = of.auc(scores, wanted)
    if wanted.all() or not wanted.any():
        assert ours is None
    else:
        assert ours == pytest.approx(roc_auc_score(wanted, scores))
        assert of.auc(scores, ~wanted) == pytest.approx(1 - (ours or 0))


def test_urd_is_entropy_in_bits() -> None:
    one = {item: {"x"} for item in LIST}
    assert of.urd(LIST, one, 5) == 0
    four = {"a": {"w"}, "b": {"x"}, "c": {"y"}, "d": {"z"}}
    assert of.urd(LIST, four, 5) == pytest.approx(2)
    shared = {"a": {"x", "y"}, "b": {"x"}}
    assert of.urd(["a", "b"], shared, 2) == pytest.approx(-(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)))
    assert of.urd(LIST, {"a": set()}, 5) is None
    assert of.urd(["a", "b"], {"a": {"x"}, "b": {"y"}}, 1) == 0


def test_ild_is_mean_jaccard_distance() -> None:
    categories = {"a": {"x"}, "b": {"x", "y"}, "c": {"z"}}
    assert of.ild(LIST, categories, 5) == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert of.ild(["a", "a"], categories, 2) == 0
    assert of.ild(["a", "e"], categories, 2) is None


def test_the_exponential_gain_is_undefined_if_it_overflows() -> None:
    assert of.ndcg_exp(LIST, {"b": 5000.0}, 5) is None
    assert of.ndcg(LIST, {"b": 5000.0}, 5) == pytest.approx(1 / math.log2(3))
    assert of.ndcg_exp(LIST, {"b": 1000.0}, 5) == pytest.approx(1 / math.log2(3))


def test_coverage_novelty_popularity() -> None:
    assert of.coverage([["a", "b"], ["a", "zz"]], {"a", "b", "c", "d"}, 2) == 2 / 4
    assert of.coverage([["a", "b"]], {"a", "b", "c", "d"}, 1) == 1 / 4
    assert of.coverage([], [], 5) is None
    seen = {"a": 8, "b": 4, "c": 4}
    assert of.novelty(["a", "b", "new"], seen, 3) == pytest.approx((1 + 2) / 2)
    assert of.novelty(["new"], seen, 3) is None
    assert of.novelty(["a"], seen, 3, total=32) == 2
    assert of.popularity(["a", "b", "new"], seen, 3) == 4
    assert of.popularity([], seen, 3) is None
