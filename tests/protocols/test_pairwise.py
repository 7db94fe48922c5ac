from __future__ import annotations

from collections import Counter
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.calls import Answer, Order, Sampling, VerdictDraft
from recjudge_tui.domain.prompt import LabelSpec, Prompt
from recjudge_tui.errors import PromptError
from recjudge_tui.protocols.registry import adjudicate, protocol
from tests.support.cases import paired, reply, shipped

PROTOCOL = protocol("pairwise")
PROMPT = shipped("pairwise-shopping")
SEVEN = PROMPT.model_copy(
    update={
        "labels": tuple(
            LabelSpec(name=name, reply=said, value=value)
            for name, said, value in (
                ("A much", "Set 1, much", 3), ("A", "Set 1", 2), ("A slightly", "Set 1, slightly", 1), ("Tie", "Tie", 0),
                ("B slightly", "Set 2, slightly", -1), ("B", "Set 2", -2), ("B much", "Set 2, much", -3),
            )
        )
    }
)  # fmt: skip
Said = Literal["Set 1", "Tie", "Set 2"]


def answer(said: str, order: Order, prompt: Prompt = PROMPT) -> Answer:
    parsed = PROTOCOL.parse(prompt, paired(), reply(reasoning="r", winner=said), order, "overall")
    return parsed.answers[0]


def judged(first: str | None, second: str | None, prompt: Prompt = PROMPT) -> VerdictDraft:
    """The verdict when `first` is said with a's list as Set 1, `second` with b's list as Set 1."""
    return adjudicate(
        prompt,
        "overall",
        {
            "ab": None if first is None else answer(first, "ab", prompt),
            "ba": None if second is None else answer(second, "ba", prompt),
        },
    )


def test_both_orders_share_the_prefix_and_exchange_the_lists() -> None:
    ab, ba = (PROTOCOL.request(PROMPT, paired(), order, "overall", Sampling()) for order in PROTOCOL.orders)
    assert ab.messages[0] == ba.messages[0]
    assert ab.messages[1] != ba.messages[1]
    assert ab.material is not None
    assert ba.material == ab.material.swapped()
    first, second = (text.messages[1].content.split("<set_2>") for text in (ab, ba))
    assert "1. Thing 1\n" in first[0]
    assert "1. Thing 101\n" in first[1]
    assert "1. Thing 101\n" in second[0]
    assert "1. Thing 1\n" in second[1]


@pytest.mark.parametrize(
    ("first", "second", "label", "value", "consistent"),
    [
        ("Set 1", "Set 2", "A", 1, True),
        ("Set 2", "Set 1", "B", -1, True),
        ("Tie", "Tie", "Tie", 0, True),
        ("Set 1", "Set 1", "Tie", 0, False),
        ("Set 2", "Set 2", "Tie", 0, False),
        ("Set 1", "Tie", "Tie", 0, False),
        ("Tie", "Set 1", "Tie", 0, False),
    ],
)
def test_adjudication(first: str, second: str, label: str, value: float, consistent: bool) -> None:
    verdict = judged(first, second)
    assert (verdict.state, verdict.label, verdict.value) == ("ok", label, value)
    assert (verdict.order_consistent, verdict.rule) == (consistent, "both orders")
    assert verdict.note == ("" if consistent else "position-dependent")


@pytest.mark.parametrize(("first", "second"), [(None, "Set 1"), ("Tie", None), (None, None)])
def test_a_failed_call_makes_the_verdict_failed_never_a_tie(first: str | None, second: str | None) -> None:
    verdict = judged(first, second)
    assert (verdict.state, verdict.value, verdict.label, verdict.order_consistent) == (
        "failed",
        None,
        "",
        None,
    )
    assert "failed" in verdict.note


@pytest.mark.parametrize("prompt", [PROMPT, SEVEN])
@given(data=st.data())
def test_naming_the_systems_the_other_way_round_turns_the_verdict_and_nothing_else(
    prompt: Prompt, data: st.DataObject
) -> None:
    """What is said in order ab of (a, b) is said in order ba of (b, a)."""
    words = st.sampled_from([None, *(label.reply for label in prompt.labels)])
    first, second = data.draw(words), data.draw(words)
    verdict, other = judged(first, second, prompt), judged(second, first, prompt)
    assert verdict.state == other.state
    assert verdict.order_consistent == other.order_consistent
    assert verdict.value == (None if other.value is None else -other.value)


def test_a_scale_without_a_counterpart_is_a_prompt_error() -> None:
    prompt = PROMPT.model_copy(update={"labels": PROMPT.labels[:2]})
    with pytest.raises(PromptError, match="both orders"):
        answer("Set 1", "ba", prompt)


# What was said in order ab and in order ba, and of how many of 200 pairs. Position ties: 20 pairs won by
# the same place in both orders, 4 where a win met a tie.
TABLE_2: dict[tuple[Said, Said], int] = {
    ("Set 1", "Set 2"): 103,
    ("Set 2", "Set 1"): 66,
    ("Tie", "Tie"): 7,
    ("Set 1", "Set 1"): 12,
    ("Set 2", "Set 2"): 8,
    ("Set 1", "Tie"): 1,
    ("Tie", "Set 2"): 1,
    ("Set 2", "Tie"): 1,
    ("Tie", "Set 1"): 1,
}


def test_the_papers_table_2_comes_out_of_constructed_answers() -> None:
    """SAER, Table 2: raw and adjudicated outcomes of 200 pairs judged in both orders."""
    raw: Counter[str] = Counter()
    verdicts: list[VerdictDraft] = []
    for (first, second), pairs in TABLE_2.items():
        for _ in range(pairs):
            answers: dict[Order, Answer | None] = {"ab": answer(first, "ab"), "ba": answer(second, "ba")}
            raw.update(given.label for given in answers.values() if given)
            verdicts.append(adjudicate(PROMPT, "overall", answers))
    adjudicated = Counter(verdict.label for verdict in verdicts)
    ties = [verdict for verdict in verdicts if verdict.label == "Tie"]
    assert (len(verdicts), raw.total()) == (200, 400)
    assert adjudicated == {"A": 103, "B": 66, "Tie": 31}
    assert raw == {"A": 228, "B": 154, "Tie": 18}
    assert Counter(verdict.order_consistent for verdict in ties) == {False: 24, True: 7}
    assert sum(verdict.order_consistent is True for verdict in verdicts) / len(verdicts) == 0.88
