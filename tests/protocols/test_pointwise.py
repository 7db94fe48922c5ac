from __future__ import annotations

import json
from typing import Any

import pytest

from recjudge_tui.domain.calls import Answer, Flag, ParsedReply, Sampling
from recjudge_tui.domain.material import Material, SlateView
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.registry import protocol, reask
from tests.protocols.replies.test_parsing import SAER_FORM
from tests.support.cases import SHOPPER, item, listed, reply, shipped

PROTOCOL = protocol("pointwise")
PROMPT = shipped("pointwise-shopping")
ISSUES = (
    "minimum-variation redundancy",
    "durable-goods redundancy",
    "consumable pacing",
    "off-category",
    "already owned",
    "other",
)


def parse(material: Material | None = None, **fields: Any) -> ParsedReply:
    return PROTOCOL.parse(PROMPT, material or listed(), reply(**fields), "", "overall")


def flagged(*entries: Any, material: Material | None = None) -> tuple[Flag, ...]:
    return parse(material, reasoning="", category="Poor Match", flagged_items=list(entries)).flags


def entry(named: Any, issue: str = "off-category", reason: str = "why") -> dict[str, Any]:
    return {"item": named, "issue": issue, "reason": reason}


@pytest.mark.parametrize("name", ["pointwise-shopping", "pointwise-media"])
def test_the_schema_is_in_the_subset_every_server_knows(name: str) -> None:
    schema = PROTOCOL.request(shipped(name), listed(top_k=12), "", "overall", Sampling()).reply_schema
    shown = len(listed(top_k=12).slates[0].items)
    assert list(schema["properties"]) == schema["required"] == ["reasoning", "category", "flagged_items"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["category"]["enum"] == ["Good Match", "Partial Match", "Poor Match"]
    flag = schema["properties"]["flagged_items"]["items"]
    assert flag["required"] == ["item", "issue", "reason"]
    assert flag["additionalProperties"] is False
    assert flag["properties"]["item"] == {"type": "integer", "enum": list(range(1, shown + 1))}
    assert flag["properties"]["issue"]["enum"] == list(ISSUES)
    assert schema["properties"]["flagged_items"]["maxItems"] == 2 * shown
    assert schema["properties"]["reasoning"] == {"type": "string", "maxLength": 1500}


@pytest.mark.parametrize(
    ("said", "label", "value"),
    [("Good Match", "Good", 2), ("Partial Match", "Partial", 1), ("Poor Match", "Poor", 0)],
)
def test_the_category_becomes_label_and_value(said: str, label: str, value: float) -> None:
    parsed = parse(reasoning="because", category=said, flagged_items=[])
    assert parsed.answers == (Answer(aspect="overall", value=value, label=label, reasoning="because"),)
    assert parsed.flags == ()


def test_a_flagged_item_is_named_by_place_or_by_title() -> None:
    assert flagged(entry(1), entry("2"), entry("thing 3 ")) == (
        Flag(item_id="i1", issue="off-category", reason="why"),
        Flag(item_id="i2", issue="off-category", reason="why"),
        Flag(item_id="i3", issue="off-category", reason="why"),
    )


@pytest.mark.parametrize("named", [0, 11, -1, 1.5, None, True, "", "Thing", "Thing 11", "9" * 5000, [1]])
def test_an_item_that_is_not_in_the_list_is_a_fault(named: Any) -> None:
    with pytest.raises(ReplyFault, match=r"is not a place in the list \(1 to 10\)"):
        flagged(entry(named))


@pytest.mark.parametrize("issue", ["redundancy", "minimum variation", "", "off", "boring"])
def test_an_unknown_issue_is_a_fault_that_names_the_known_ones(issue: str) -> None:
    with pytest.raises(ReplyFault, match=r"is none of minimum-variation redundancy, .*, other"):
        flagged(entry(1, issue))


@pytest.mark.parametrize("raw", ["", "None", "none.", "n/a", "[]", "{}", None, {}, []])
def test_no_flags_in_any_form(raw: Any) -> None:
    assert parse(category="Good Match", flagged_items=raw).flags == ()


@pytest.mark.parametrize(
    "raw", ["item 1 is odd", {"item": 1}, 3, "1: off-category and other", "- Thing 99: other"]
)
def test_flags_that_cannot_be_read_are_a_fault_and_the_label_is_kept(raw: Any) -> None:
    with pytest.raises(ReplyFault) as caught:
        parse(category="Poor Match", flagged_items=raw)
    assert isinstance(caught.value.usable, ParsedReply)
    assert caught.value.usable.answers[0].label == "Poor"


def test_the_text_form_with_flags() -> None:
    parsed = PROTOCOL.parse(PROMPT, listed(), reply(SAER_FORM), "", "overall")
    assert parsed.answers[0].label == "Partial"
    assert [(flag.item_id, flag.issue, flag.reason) for flag in parsed.flags] == [
        ("i3", "durable-goods redundancy", "a second one"),
        ("i4", "off-category", "wrong shelf"),
        ("i5", "other", "broken"),
    ]
    with pytest.raises(ReplyFault):
        PROTOCOL.parse(PROMPT, listed(), reply(f"{SAER_FORM}\nWait, it is a Poor Match."), "", "overall")


def test_a_flag_that_the_data_refute_is_marked() -> None:
    shown = (
        item(901, "Sonic Toothbrush S3"),
        item(2, "Sonic Toothbrush S3, blue"),
        item(3, "Alien", category="Movie, Horror"),
        item(4, "Harrow", category="TV series"),
        item(5, "Oat soap"),
    )
    material = Material(kind="list", user=SHOPPER, slates=(SlateView(items=shown),))
    entries = [entry(n, "already owned", "has it") for n in (1, 2, 5)]
    entries += [entry(n, "consumable pacing", "only in season 1 of it") for n in (3, 4)]
    marks = [flag.refuted for flag in flagged(*entries, material=material)]
    assert [bool(mark) for mark in marks] == [False, False, True, True, False]
    assert marks[2] == "no event shown says that the user has it"
    assert marks[3] == "its category is Movie, Horror, which has no seasons"


def test_the_verdict_is_the_answer_and_a_failed_call_a_failed_verdict() -> None:
    answer = Answer(aspect="overall", value=1, label="Partial", confidence=0.5)
    verdict = PROTOCOL.verdict(PROMPT, "overall", {"": answer})
    assert (verdict.state, verdict.value, verdict.label, verdict.confidence) == ("ok", 1, "Partial", 0.5)
    assert verdict.order_consistent is None
    failed = PROTOCOL.verdict(PROMPT, "overall", {"": None})
    assert (failed.state, failed.value, failed.label) == ("failed", None, "")


def test_a_second_chance_keeps_the_prefix_and_names_the_fault() -> None:
    request = PROTOCOL.request(PROMPT, listed(), "", "overall", Sampling())
    again = reask(request, reply("Great!"), "the field “category” is missing")
    assert again.messages[:2] == request.messages
    assert again.messages[2].content == "Great!"
    assert "the field “category” is missing" in again.messages[3].content
    assert json.dumps(again.reply_schema) == json.dumps(request.reply_schema)
