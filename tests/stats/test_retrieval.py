"""Offline metrics: trec_eval, scikit-learn and figures by hand, and what held-out events make true."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import roc_auc_score

from recjudge_tui.stats.arrays import none_if_nan
from recjudge_tui.stats.retrieval import (
    LIST_METRICS,
    EvaluationData,
    GroundTruth,
    HeldOut,
    RankedList,
    TruthKey,
    categories_of,
    coverage,
    ground_truth,
    list_values,
    truth_key,
    truths_of,
)
from tests.support.trec_eval import trec_eval

LIST = ["a", "b", "c", "d", "e"]
HELD = {"b", "d", "x"}
OF_HITS = ("precision", "recall", "rprec", "map", "map_min", "mrr", "hit_rate", "ndcg")
light = settings(deadline=None, max_examples=30)


def of(name: str, ranked: RankedList, here: EvaluationData, k: int) -> float | None:
    return none_if_nan(float(list_values([ranked], here, k, [name])[name][0]))


def measure(
    name: str, items: list[str], truth: Collection[str] | Mapping[str, float], k: int
) -> float | None:
    """A metric of one list against relevant items, or items with values."""
    gains = truth if isinstance(truth, Mapping) else dict.fromkeys(truth, 1.0)
    here = EvaluationData({("u", "", ""): GroundTruth(frozenset(gains), gains, valued=True)}, {}, {})
    return of(name, ranked(*items), here, k)


def by_category(name: str, items: list[str], categories: Mapping[str, set[str]], k: int) -> float | None:
    return of(
        name, ranked(*items), EvaluationData({}, {i: frozenset(c) for i, c in categories.items()}, {}), k
    )


def held(*named: tuple[str, str, str]) -> list[HeldOut]:
    """Events as (item, context, time)."""
    return [HeldOut(item, None, None, context, time) for item, context, time in named]


def relevant(events: list[HeldOut], context: str, time: str) -> str:
    truths = truths_of({"u": events})
    key = truth_key(truths, "u", context, time)
    return "" if key is None else "".join(sorted(truths[key].relevant))


@pytest.mark.parametrize(
    ("context", "time", "items"),
    [
        ("", "", "abc"),
        ("c1", "", "a"),
        ("c2", "", "b"),
        ("c3", "", "c"),
        ("c1", "t1", "a"),
        ("", "t1", "abc"),
    ],
)
def test_the_context_where_events_name_it_else_those_that_name_none(
    context: str, time: str, items: str
) -> None:
    assert relevant(held(("a", "c1", ""), ("b", "c2", ""), ("c", "", "")), context, time) == items


@pytest.mark.parametrize(("time", "items"), [("", "abc"), ("t1", "ac"), ("t2", "bc"), ("t3", "c")])
def test_an_event_with_a_time_counts_for_lists_of_that_time(time: str, items: str) -> None:
    assert relevant(held(("a", "", "t1"), ("b", "", "t2"), ("c", "", "")), "", time) == items
    assert relevant(held(("a", "x", "t1"), ("b", "x", "t2"), ("c", "x", "")), "x", time) == items


def data(*events: HeldOut) -> EvaluationData:
    categories = {
        item: categories_of(text) for item, text in (("a", "x|y"), ("b", "x"), ("c", "y"), ("d", ""))
    }
    return EvaluationData(truths_of({"u": events}), categories, {"a": 3, "b": 1})


def ranked(*items: str, scores: tuple[float | None, ...] | None = None, user: str = "u") -> RankedList:
    return RankedList(user, list(items), list(scores) if scores else [None] * len(items))


def test_relevant_without_a_value_or_from_the_mean_on() -> None:
    truth = ground_truth([HeldOut("a", 4, 3.5), HeldOut("b", 3, 3.5), HeldOut("c", None, 3.5)])
    assert truth.relevant == {"a", "c"}
    assert truth.gains == {"a": 4, "b": 3, "c": 1}
    assert truth.valued
    assert not ground_truth([HeldOut("c", None, None)]).valued


def test_of_several_values_the_last_is_the_gain() -> None:
    truth = ground_truth([HeldOut("a", 5, 3.0), HeldOut("a", 2, 3.0), HeldOut("a", None, 3.0)])
    assert truth.gains == {"a": 2}
    assert truth.relevant == {"a"}


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
    assert of("auc", scored, data(HeldOut("a", None, None)), 10) is None


def test_explicit_needs_values_and_a_judgement_below_zero_counts_zero() -> None:
    bought, rated, disliked = HeldOut("a", None, None), HeldOut("b", 4, 4.0), HeldOut("c", -2, 1.0)
    assert of("ndcg_explicit", ranked("a"), data(bought), 10) is None
    assert of("ndcg_explicit", ranked("a"), data(disliked), 10) is None
    for events in ((bought, rated), (bought, rated, disliked)):
        assert of("ndcg_explicit", ranked("a", "b", "c"), data(*events), 10) == pytest.approx(
            (1 + 4 / math.log2(3)) / (4 + 1 / math.log2(3))
        )


@pytest.mark.parametrize("name", ["ndcg_exp", "ndcg_explicit", "err", *OF_HITS])
def test_nothing_held_out(name: str) -> None:
    assert of(name, ranked("a", user="nobody"), data(HeldOut("a", 5, 3.0)), 10) is None
    assert LIST_METRICS[name].reason


def test_diversity_novelty_and_popularity_where_nothing_is_known() -> None:
    here = data()
    assert of("urd", ranked("d", "unknown"), here, 10) is None
    assert of("ild", ranked("a", "d"), here, 10) is None
    assert of("novelty", ranked("c"), here, 10) is None
    assert of("popularity", ranked(), here, 10) is None
    assert of("novelty", ranked("b"), here, 10) == 2
    assert of("popularity", ranked("a", "c"), here, 10) == 1.5
    assert of("popularity", ranked("a"), EvaluationData({}, {}, {}), 10) is None


def test_relevant_from_a_value_on() -> None:
    events = [HeldOut("a", 4, 3.5), HeldOut("b", 3, 3.5), HeldOut("c", None, 3.5), HeldOut("d", 0, 3.5)]
    assert ground_truth(events, 3).relevant == {"a", "b", "c"}
    assert ground_truth(events, -1).relevant == {"a", "b", "c"}


def test_by_hand() -> None:
    assert measure("map_min", LIST, HELD, 2) == pytest.approx((1 / 2) / 2)
    assert measure("ndcg_explicit", LIST, {"b": 5000.0}, 5) == pytest.approx(1 / math.log2(3))


@light
@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(1, 10))
def test_expected_reciprocal_rank_by_the_algorithm_of_its_authors(grades: list[int], k: int) -> None:
    """Chapelle et al. 2009, algorithm 2, with the highest grade of all that is held out."""
    gains = {f"i{at}": float(grade) for at, grade in enumerate([*grades, 4])}
    p, expected = 1.0, 0.0
    for rank, grade in enumerate(grades[:k], start=1):
        stop = (2**grade - 1) / 2**4
        expected += p * stop / rank
        p *= 1 - stop
    assert measure("err", [f"i{at}" for at in range(len(grades))], gains, k) == pytest.approx(expected)


def test_empty_and_repeating_lists_and_nothing_held_out() -> None:
    for name in OF_HITS:
        assert measure(name, [], HELD, 5) == 0
        assert measure(name, LIST, [], 5) is None
    assert measure("ndcg_explicit", LIST, {"a": 0.0}, 5) is None
    assert measure("recall", ["b", "b", "b"], HELD, 3) == pytest.approx(1 / 3)
    assert measure("precision", ["b", "b"], HELD, 2) == 1 / 2
    assert measure("ndcg", ["b", "b"], {"b"}, 2) == 1
    assert measure("precision", LIST, HELD, 10**9) == pytest.approx(2e-9)
    with pytest.raises(ValueError, match="k is"):
        measure("precision", LIST, HELD, 0)
    with pytest.raises(KeyError):
        measure("nothing", LIST, HELD, 1)


@light
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=30))
def test_auc_equals_scikit_learn_with_ties(rows: list[tuple[int, bool]]) -> None:
    items = [f"i{at}" for at in range(len(rows))]
    wanted = [item for item, (_, good) in zip(items, rows, strict=True) if good]
    here = EvaluationData(
        {("u", "", ""): GroundTruth(frozenset(wanted), dict.fromkeys(wanted, 1.0), False)}, {}, {}
    )
    found = of("auc", RankedList("u", items, [float(score) for score, _ in rows]), here, 1)
    if len(wanted) in (0, len(rows)):
        assert found is None
    else:
        assert found == pytest.approx(roc_auc_score([good for _, good in rows], [score for score, _ in rows]))


def test_urd_is_entropy_in_bits_and_ild_mean_jaccard_distance() -> None:
    one = by_category("urd", LIST, {item: {"x"} for item in LIST}, 5)
    assert one == 0
    assert math.copysign(1, one) == 1
    assert by_category("urd", LIST, {"a": {"w"}, "b": {"x"}, "c": {"y"}, "d": {"z"}}, 5) == pytest.approx(2)
    shared = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
    assert by_category("urd", ["a", "b"], {"a": {"x", "y"}, "b": {"x"}}, 2) == pytest.approx(shared)
    assert by_category("urd", ["a", "b"], {"a": {"x"}, "b": {"y"}}, 1) == 0
    categories = {"a": {"x"}, "b": {"x", "y"}, "c": {"z"}}
    assert by_category("ild", LIST, categories, 5) == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert by_category("ild", ["a", "a"], categories, 2) == 0
    assert by_category("ild", ["a", "e"], categories, 2) is None
    assert by_category("category_coverage", ["b", "a"], categories, 1) == 2 / 3
    assert by_category("category_coverage", ["unknown"], categories, 10) is None
    assert coverage([["a", "z"], ["b"]], {"a", "b", "c", "d"}, 2) == 2 / 4
    assert coverage([["a"]], set(), 2) is None


TITLES = {
    "s1": "Curl Rescue Shampoo, 250 ml", "s2": "Curl Rescue Shampoo, 400 ml", "s3": "Curl Rescue Shampoo, Coconut, 250 ml",
    "dryer": "Curl Diffuser Hair Dryer 1800 W", "toy1": "Toy Story (1995)", "toy2": "Toy Story 2 (1999)",
    "heat95": "Heat (1995)", "heat86": "Heat (1986)", "none": "",
}  # fmt: skip


def by_title(name: str, items: list[str], k: int = 10, **categories: str) -> float | None:
    here = EvaluationData({}, {item: categories_of(text) for item, text in categories.items()}, {}, TITLES)
    return of(name, ranked(*items), here, k)


def test_sizes_of_one_thing_are_near_duplicates_and_sequels_are_not() -> None:
    assert by_title("near_duplicates", ["s1", "s2", "s3", "dryer"]) == 2 / 4
    assert by_title("near_duplicates", ["toy1", "toy2", "heat95", "heat86"]) == 0
    # the later one of two is the duplicate, and only the first k count
    assert by_title("near_duplicates", ["dryer", "s1", "s2"], 2) == 0
    assert by_title("near_duplicates", ["s1", "dryer", "s1"]) == pytest.approx(1 / 3)
    assert by_title("near_duplicates", ["none", "unknown", "none"]) == pytest.approx(1 / 3)
    assert by_title("near_duplicates", []) is None
    for second, repeats in (("Shampoo", 1 / 2), ("Lotion", 0.0), ("", 1 / 2), ("Shampoo|Lotion", 1 / 2)):
        assert by_title("near_duplicates", ["s1", "s2"], s1="Shampoo", s2=second) == repeats
    # s1: curl rescue shampoo 250 ml; s2: 4 of 6 words; dryer: 1 of 10 words with either
    assert by_title("title_ild", ["s1", "s2"]) == pytest.approx(1 - 4 / 6)
    assert by_title("title_ild", ["s1", "s2", "dryer", "none"]) == pytest.approx(
        ((1 - 4 / 6) + (1 - 1 / 10) * 2) / 3
    )


SAME_NAME = ("ndcg", "precision", "recall", "rprec", "map", "mrr", "hit_rate")


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
    found = list_values(lists, data, k, [*SAME_NAME, "ndcg_explicit", "ndcg_exp"])
    relevant = {user: dict.fromkeys(truth.relevant, 1.0) for (user, _, _), truth in data.truths.items()}
    rated = {user: truth.gains for (user, _, _), truth in data.truths.items()}
    theirs = {name: (relevant, name) for name in SAME_NAME}
    theirs |= {"ndcg_explicit": (rated, "ndcg"), "ndcg_exp": (rated, "ndcg_exp")}
    run = {ranked.user_id: dict(zip(ranked.items, ranked.scores, strict=True)) for ranked in lists}
    for name, (truth, metric) in theirs.items():
        by_user = trec_eval(truth, run, metric, k)
        expected = [by_user[ranked.user_id] for ranked in lists]
        np.testing.assert_allclose(found[name], expected, atol=1e-12, err_msg=name)


def test_zero_is_never_relevant_even_where_it_is_the_mean() -> None:
    assert ground_truth([HeldOut("a", 0, 0.0), HeldOut("b", 0, 0.0)]).relevant == frozenset()
    assert ground_truth([HeldOut("a", -1, -3.0)]).relevant == frozenset()
