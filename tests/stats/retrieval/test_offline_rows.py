"""Metrics of many lists at once against trec_eval and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from recjudge_tui.stats.retrieval import offline_rows
from recjudge_tui.stats.retrieval.held_out import GroundTruth, TruthKey
from recjudge_tui.stats.retrieval.list_metrics import EvaluationData, RankedList
from recjudge_tui.stats.retrieval.list_values import evaluation_arrays, list_values
from tests.support.trec_eval import trec_eval

SAME_NAME = ("ndcg", "precision", "recall", "map", "mrr", "hit_rate")


def _random(seed: int, users: int = 120, items: int = 60) -> tuple[EvaluationData, list[RankedList]]:
    """Lists of 1 to 15 items, some users with more held out than any list is long; values 1 to 5."""
    rng = np.random.default_rng(seed)
    truths: dict[TruthKey, GroundTruth] = {}
    lists = []
    for user in range(users):
        held = [f"i{n}" for n in rng.choice(items, size=rng.integers(1, 25), replace=False)]
        gains = {item: float(rng.integers(1, 6)) for item in held}
        relevant = frozenset(held[: rng.integers(1, len(held) + 1)])
        truths[f"u{user}", "", ""] = GroundTruth(relevant, gains, valued=True)
        shown = [f"i{n}" for n in rng.choice(items, size=rng.integers(1, 16), replace=False)]
        lists.append(RankedList(f"u{user}", shown, [float(-rank) for rank in range(len(shown))]))
    return EvaluationData(truths, {}, {}), lists


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("k", [1, 5, 10, 20])
def test_equal_to_trec_eval_user_by_user(seed: int, k: int) -> None:
    data, lists = _random(seed)
    found = list_values(lists, evaluation_arrays(data), k, [*SAME_NAME, "ndcg_explicit", "ndcg_exp"])
    relevant = {user: dict.fromkeys(truth.relevant, 1.0) for (user, _, _), truth in data.truths.items()}
    rated = {user: truth.gains for (user, _, _), truth in data.truths.items()}
    theirs = {name: (relevant, name) for name in SAME_NAME}
    theirs |= {"ndcg_explicit": (rated, "ndcg"), "ndcg_exp": (rated, "ndcg_exp")}
    run = {ranked.user_id: dict(zip(ranked.items, ranked.scores, strict=True)) for ranked in lists}
    for name, (truth, metric) in theirs.items():
        by_user = trec_eval(truth, run, metric, k)
        expected = [by_user[ranked.user_id] for ranked in lists]
        np.testing.assert_allclose(found[name], expected, atol=1e-12, err_msg=name)


def test_auc_equals_scikit_learn_list_by_list() -> None:
    rng = np.random.default_rng(2)
    lists, scores, wanted = (
        rng.integers(0, 30, 400),
        rng.integers(0, 9, 400).astype(float),
        rng.random(400) < 0.3,
    )
    found = offline_rows.auc(scores, wanted, lists, 31)
    checked = 0
    for one in range(30):
        mine = lists == one
        if 0 < wanted[mine].sum() < mine.sum():
            assert found[one] == pytest.approx(roc_auc_score(wanted[mine], scores[mine]))
            checked += 1
        else:
            assert np.isnan(found[one])
    assert checked > 20
    assert np.isnan(found[30])


def test_auc_of_no_candidates() -> None:
    nothing = np.zeros(0)
    assert np.isnan(offline_rows.auc(nothing, nothing, np.zeros(0, dtype=np.int64), 2)).all()
