"""Votes: what several answers to one question come to."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.calls import Answer, Order
from recjudge_tui.protocols.registry import adjudicate
from recjudge_tui.runs.record import verdicts_of, voted
from recjudge_tui.store.calls import CaseCall
from tests.support.cases import shipped

PAIR = shipped("pairwise-shopping")
LIST = shipped("pointwise-shopping")


def pair(*said: str, confidence: float | None = None) -> list[Answer | None]:
    """Answers about the pair: a, b, t for a tie, x for a failed call."""
    specs = {spec.value: spec for spec in PAIR.labels_of("overall")}
    given: list[Answer | None] = []
    for n, letter in enumerate(said):
        if letter == "x":
            given.append(None)
            continue
        spec = specs[{"a": 1.0, "b": -1.0, "t": 0.0}[letter]]
        given.append(
            Answer(
                aspect="overall", value=spec.value, label=spec.name, reasoning=f"{n}", confidence=confidence
            )
        )
    return given


def grade(*values: float) -> list[Answer | None]:
    specs = {spec.value: spec for spec in LIST.labels_of(LIST.aspects[0].name)}
    return [Answer(aspect=LIST.aspects[0].name, value=v, label=specs[v].name) for v in values]


@pytest.mark.parametrize(
    ("said", "value", "confidence", "reasoning"),
    [
        ("aab", 1, 2 / 3, "0"),
        ("baa", 1, 2 / 3, "1"),
        ("bbb", -1, 1, "0"),
        ("tta", 0, 2 / 3, "0"),
        ("abt", 0, 1 / 3, "2"),
        ("ab", 0, 0, ""),  # nobody said tie
        ("aabb", 0, 0, ""),
        ("aabbt", 0, 1 / 5, "4"),
        ("at", 0, 1 / 2, "1"),
        ("aaatt", 1, 3 / 5, "0"),
    ],
)
def test_the_vote_of_a_pair(said: str, value: float, confidence: float, reasoning: str) -> None:
    vote = voted(PAIR, "overall", pair(*said))
    assert vote is not None
    assert (vote.value, vote.reasoning) == (value, reasoning)
    assert vote.confidence == pytest.approx(confidence)
    assert vote.label == next(s.name for s in PAIR.labels_of("overall") if s.value == value)


def test_a_split_vote_on_a_scale_without_a_middle_is_the_harsher() -> None:
    worst, middle, best = sorted(spec.value for spec in LIST.labels_of(LIST.aspects[0].name))
    for values, chosen in (
        ((worst, best), worst),
        ((best, middle, best, middle), middle),
        ((best, best, worst), best),
        ((worst, middle, best), worst),
    ):
        vote = voted(LIST, LIST.aspects[0].name, grade(*values))
        assert vote is not None
        assert vote.value == chosen


@pytest.mark.parametrize("said", ["x", "ax", "aax", "xxx", ""])
def test_one_failed_repeat_leaves_no_vote(said: str) -> None:
    assert voted(PAIR, "overall", pair(*said)) is None


def test_the_server_s_own_probabilities_count_with_the_dissent() -> None:
    unanimous = voted(PAIR, "overall", pair("a", "a", "a", confidence=0.9))
    divided = voted(PAIR, "overall", [*pair("a", "a", confidence=0.9), *pair("b", confidence=0.99)])
    half_told = voted(PAIR, "overall", [*pair("a", confidence=0.9), *pair("a", "b")])
    assert unanimous
    assert divided
    assert half_told
    assert unanimous.confidence == pytest.approx(0.9)
    assert divided.confidence == pytest.approx(0.6)
    assert half_told.confidence == pytest.approx(2 / 3), "not told for every answer with the label: the share"


def case(**orders: str) -> list[CaseCall]:
    calls = []
    for order, said in orders.items():
        for sample, answer in enumerate(pair(*said)):
            place: Order = "ab" if order == "ab" else "ba"
            state, answers = ("done", {"overall": answer}) if answer else ("failed", {})
            calls.append(CaseCall(place, "", sample, state, answers))
    return calls


@pytest.mark.parametrize(
    ("orders", "state", "value", "rule", "consistent"),
    [
        ({"ab": "aab", "ba": "aaa"}, "ok", 1, "both orders, vote of 3", True),
        ({"ab": "aab", "ba": "bba"}, "ok", 0, "both orders, vote of 3", False),
        ({"ab": "aab", "ba": "bxb"}, "failed", None, "both orders, vote of 3", None),
        ({"ab": "aabbb"}, "ok", -1, "one order, vote of 5", None),
        ({"ab": "a", "ba": "a"}, "ok", 1, "both orders", True),
    ],
)
def test_each_order_votes_and_the_protocol_s_rule_decides(
    orders: dict[str, str], state: str, value: float | None, rule: str, consistent: bool | None
) -> None:
    (verdict,) = verdicts_of(adjudicate, PAIR, case(**orders))
    assert (verdict.state, verdict.value, verdict.rule) == (state, value, rule)
    assert verdict.order_consistent == consistent
