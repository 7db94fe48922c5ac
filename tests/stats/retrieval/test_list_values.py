"""Metrics of many lists at once: the same as one by one, whatever the lists and the data hold."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from recjudge_tui.stats.retrieval import offline_rows
from recjudge_tui.stats.retrieval.held_out import HeldOut
from recjudge_tui.stats.retrieval.list_metrics import (
    LIST_METRICS,
    EvaluationData,
    RankedList,
    evaluation_data,
)
from recjudge_tui.stats.retrieval.list_values import evaluation_arrays, list_values

USERS = ["u1", "u2", "u3", "nobody"]
ITEMS = [f"i{n}" for n in range(9)]
KNOWN = ITEMS[:7]
VALUES = st.one_of(st.none(), st.sampled_from([-1.0, 0.0, 1.0, 2.5, 5.0, 1001.0]))
CONTEXT, TIME = st.sampled_from(["", "c1", "c2"]), st.sampled_from(["", "t1", "t2"])
EVENT = st.builds(HeldOut, st.sampled_from(ITEMS), VALUES, st.sampled_from([0.0, 2.5]), CONTEXT, TIME)
SCORE = st.one_of(st.none(), st.sampled_from([0.0, 1.0, 2.0]))


def _list(
    user: str, rows: list[tuple[str, float | None]], whole: bool, context: str, time: str
) -> RankedList:
    """`whole`: a score is given for every item."""
    scores = [score for _, score in rows]
    if whole:
        scores = [score or 0.0 for score in scores]
    return RankedList(user, [item for item, _ in rows], scores, context, time)


# made once: Hypothesis would look through strategies again that are made for each example
ROWS = st.lists(st.tuples(st.sampled_from(ITEMS), SCORE), max_size=12)
LISTS = st.lists(st.builds(_list, st.sampled_from(USERS), ROWS, st.booleans(), CONTEXT, TIME), max_size=6)
WORLDS = st.builds(
    evaluation_data,
    st.dictionaries(st.sampled_from(USERS[:3]), st.lists(EVENT, max_size=8)),
    st.dictionaries(st.sampled_from(KNOWN), st.sampled_from(["", "x", "x|y", "y|z|w"])),
    st.dictionaries(st.sampled_from(KNOWN), st.integers(1, 9)),
    st.dictionaries(st.sampled_from(KNOWN), st.sampled_from(["", "Red Tea", "Red Tea 2", "Ink"])),
)


@settings(deadline=None, max_examples=300)
@given(WORLDS, LISTS, st.integers(1, 14))
def test_the_same_as_one_by_one(data: EvaluationData, lists: list[RankedList], k: int) -> None:
    found = list_values(lists, evaluation_arrays(data), k, LIST_METRICS)
    for name, measure in LIST_METRICS.items():
        alone = [measure.of(ranked, data, k) for ranked in lists]
        expected = np.array([np.nan if value is None else value for value in alone], dtype=np.float64)
        np.testing.assert_allclose(found[name], expected, rtol=1e-12, atol=1e-12, err_msg=name)


def test_a_k_far_beyond_any_list_costs_nothing() -> None:
    data = evaluation_data({"u1": [HeldOut("i1", None, None)]}, {}, {})
    found = list_values(
        [RankedList("u1", ["i1"], [None])], evaluation_arrays(data), 10**9, ["precision", "ndcg"]
    )
    assert found["precision"].tolist() == [1e-9]
    assert found["ndcg"].tolist() == [1.0]


def test_many_pairs_of_items_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline_rows, "_CHUNK", 20_000)
    items = [f"i{n}" for n in range(250)]
    data = evaluation_data({}, {item: "x" if n % 2 else "y" for n, item in enumerate(items)}, {})
    lists = [RankedList("u1", items, [None] * 250), RankedList("u2", items[:2], [None] * 2)]
    found = list_values(lists, evaluation_arrays(data), 250, ["ild"])["ild"]
    assert found[0] == pytest.approx(125**2 / (250 * 249 / 2))
    assert found[1] == 1


def test_wrong_input() -> None:
    arrays = evaluation_arrays(evaluation_data({}, {}, {}))
    with pytest.raises(ValueError, match="k is"):
        list_values([], arrays, 0, ["ndcg"])
    with pytest.raises(KeyError):
        list_values([], arrays, 1, ["nothing"])
