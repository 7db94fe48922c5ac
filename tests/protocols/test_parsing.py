"""What is read in a reply: labels, profiles, and whether it loops."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.calls import Reply
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.rendering import system_text
from recjudge_tui.protocols.replies import profile_text, read_fields, repeats_itself
from tests.support.cases import reply, shipped
from tests.support.degenerate_replies import SHAPES, degenerate
from tests.support.reply_fuzz import PROMPTS, fuzzed, honest_failures

LIST = shipped("pointwise-shopping")
GOOD = '{"reasoning": "r", "category": "Good Match", "flagged_items": []}'
POOR = '{"reasoning": "s", "category": "Poor Match", "flagged_items": []}'


# families whose tags nobody listed, or that a page shows
BLOCKS = [
    ("<unused94>thought\n", "<unused95>"), ("<|inner_prefix|>", "<|inner_suffix|>"), ("<analysis>", "</analysis>"),
    ("<scratchpad id='1'>", "</scratchpad>"), ("<antThinking>", "</antThinking>"), ("<think_fast>", "</think_fast>"),
    ("<reflection>", "</reflection>"), ("&lt;think&gt;", "&lt;/think&gt;"), ("<inner_monologue>", "</inner_monologue>"),
    ("<details><summary>Thinking</summary>", "</details>"),
]  # fmt: skip


def category(text: str, *, structured: bool = False) -> tuple[str, str]:
    fields, parsed_by = read_fields(LIST, reply(text, structured=structured), LIST.aspects)
    return fields["category"], parsed_by


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{GOOD}\n```",
        f"Here is my verdict:\n\n{GOOD}",
        f"{GOOD}\nI hope that helps {{or not}}.",
        '{"reasoning": "r", "category": "Good Match", "flagged_items": [],}',
        '{"reasoning": "r, }", "category": "Good Match", "flagged_items": [{"item": 1,},],}',
        f"[{GOOD}]",
        f'The 12" pan {{sic}} fits. {GOOD[:-1]},}}',
        '{"Category": "Good Match"} ',
        f"{GOOD} {GOOD}",
        f'The form is {{"category": "..."}}. {GOOD} {{"note": 1}}',
        f'Each entry is {{"item": number, "issue": word}}. {GOOD}',
        f"It could be Poor Match or Good Match.\n{GOOD}\nAll ten suit the customer.",
        f"My verdict is Good Match.\n{GOOD}\nMy final answer is: **Good match**.",
        f"<think>perhaps {POOR}</think>{GOOD}",
        *(f"{begin}perhaps {POOR}{end}\n{GOOD}" for begin, end in BLOCKS),
        "{'reasoning': 'it\\'s \"fine\"', 'category': 'Good Match', 'flagged_items': None}",
        GOOD.replace('"r"', r'"the user\'s taste, 80\% of it, and \_more\_"'),
        json.dumps(GOOD),
    ],
)
def test_json_is_found_in_text(text: str) -> None:
    assert category(text) == ("Good Match", "json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{POOR} No, on reflection: {GOOD}", "with different values: “Poor Match” and “Good Match”"),
        (f'{POOR} {{"category": "Good Match",}}', "with different values"),
        (f'{{"category": "Poor Match",}} {GOOD}', "with different values"),
        (f"[{GOOD}, {POOR}]", "with different values"),
        (f"{GOOD}\nCategory: Poor Match", "with different values"),
        ("Category: Poor Match\nwait\nCategory: Good  Match", "with different values"),
        (GOOD.replace("[]", '[{"item": 1}]') + GOOD, "two JSON objects that differ"),
        (f'{GOOD} {{"category": "Excellent"}} {{"note": 1}}', "“Good Match” and “Excellent”"),
        (f'{GOOD} {{"category": "Poor Match", "flagged_items": [{{"item": 1}}', "cut off or not valid"),
        (
            '{"reasoning": "I first thought {"category": "Poor Match"} but no", "category": "Good Match"}',
            "cut off or not valid",
        ),
        ('{"reasoning": "It said {"category": "Poor Match"} before', "cut off or not valid"),
        (
            'Well: {"reasoning": "It is\n good, and it ends somewhere in the',
            "the one that begins “{\"reasoning\": \"It is good, and it ends” is",
        ),
        ('{"category": "Good Match", "category": "Poor Match"}', "“category” is given twice in one"),
        ('{"category": "Good Match", "category": "Good Match"}', "“category” is given twice in one"),
        ('So: {"category": "Poor Match", "flagged_items": [{"item": 1, "item": 2}]}', "“item” is given twice"),
        (f"{GOOD}\nWait, that is wrong. My final answer: Poor Match", "takes it back: “Wait”"),
        (f"{GOOD}\nMy final answer: **Poor Match**", "says otherwise: “answer: "),
        (f"{GOOD}\nOr rather a Poor Match.", "names another one: “Poor Match”"),
        (f"My verdict is Poor Match.\n{GOOD}", "says otherwise"),
        (f"I first thought {POOR}", "take it back: “first thought”"),
        ("CATEGORY: Good Match\nNo, that is wrong.", "takes it back"),
        (f"{GOOD}\nHmm, the last three do not fit, though.", "takes it back"),
        (f"{GOOD}\nKorrektur: eigentlich passt sie nicht.", "takes it back"),
        (f'{GOOD[:-1]}, "final": {{"category": "Poor Match"}}}}', "given twice, with different values"),
        *((f"{begin}{GOOD}{end}", "no answer after it") for begin, end in BLOCKS),
        *((f"{begin}\nCategory: Good Match", "no answer after it") for begin, _ in BLOCKS),
        ("The category is Poor Match.\nCATEGORY: Good Match", "says otherwise"),
    ],
)  # fmt: skip
def test_a_reply_that_contradicts_itself_is_a_fault(text: str, said: str) -> None:
    with pytest.raises(ReplyFault, match=said):
        category(text)


@pytest.mark.parametrize(
    "text",
    ["CATEGORY: Good Match", "Reasoning: it fits.\n\n**Category:** **Good Match**", "- category = “good match”.",
     "> Overall: GOOD MATCH", "Good Match", "**Good match.**"],
)  # fmt: skip
def test_the_published_text_form(text: str) -> None:
    assert category(text) == ("Good Match", "text")


CLEAR = (
    "good match", "GOOD MATCH", "  Good   Match ", "Good\tMatch", "Good\nMatch", "good_match", "Good-Match", "GoodMatch",
    "Good Match!", "Good Match.", "**Good Match**", "'Good Match'", "“Good Match”", "Good\u00a0Match", "Good Match ✅",
    "(Good Match)", ["Good Match"], ["good_match."], "Good\u2011Match", "Good\u200b Match", "Ｇｏｏｄ Match", "<Good Match>",
)  # fmt: skip


@pytest.mark.parametrize("label", CLEAR, ids=str)
def test_a_clear_label_is_read_whatever_stands_around_it(label: object) -> None:
    assert category(json.dumps({"category": label})) == ("Good Match", "json")


@pytest.mark.parametrize(
    "label",
    [
        "Good", "A Good Match", "2", "Gut", "Good Match?", "not Good Match", "≠ Good Match", "Good Match / Poor Match",
        "Good Match -> Poor Match", "❌ Good Match", "1. Good Match", "Good or Partial Match", "Poor #Match",
    ],
)  # fmt: skip
def test_a_label_that_is_not_clear_is_asked_for_again(label: str) -> None:
    with pytest.raises(ReplyFault, match="must be one of"):
        category(json.dumps({"category": label}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"), ("  \n ", "empty"), ("I like this list.", "no JSON object"), ("null", "no JSON object"),
        ('{"reasoning": "r"}', "“category” is missing"), ('{"category": null}', "“category” is missing"),
        ('{"category": ["Good Match", "Poor Match"]}', "one label"), ('{"category": true}', "one label"),
        ('{"category": 2}', "must be one of"), ('{"category": NaN}', "must be one of"),
        ('{"verdict": {"category": "Good Match"}}', "“category” is missing"), ("Category:", "no JSON object"),
        ('{"reasoning": "cut short", "category": "Good Ma', "no JSON object"),
        ("Category: Good Match, because it fits", "must be one of"),
        ('{"category": ' + "1" * 5000 + "}", "no JSON object"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_a_fault_that_names_itself(text: str, said: str) -> None:
    with pytest.raises(ReplyFault, match=said):
        read_fields(LIST, Reply(text=text), LIST.aspects)


def test_a_prompt_repeated_in_the_completion_is_not_the_answer() -> None:
    echo = system_text(LIST, 10)
    assert category(f"{echo}\n\n{POOR}") == ("Poor Match", "json")
    with pytest.raises(ReplyFault, match="repeats an example"):
        category(echo)
    with pytest.raises(ReplyFault, match="repeats an example"):
        category(json.dumps(LIST.examples[1].reply), structured=True)


THINKING = (
    ("<think>", "</think>"), ("<thinking>", "</thinking>"), ("< THOUGHT >", "</ THOUGHT >"), ("<thoughts>", "</thoughts>"),
    ("[THINK]", "[/THINK]"), ("◁think▷", "◁/think▷"), ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"), ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"), ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>",
     "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>"),
    ("analysis\n", "assistantfinal"), ("<think>a</think><think>", "</think>"), ("", "</think>"),
)  # fmt: skip


@pytest.mark.parametrize(("begin", "end"), THINKING)
@pytest.mark.parametrize("thought", [POOR, "Category: Poor Match", '{"category": "Poor', "```json\n{"])
def test_no_label_is_read_in_the_thinking(begin: str, end: str, thought: str) -> None:
    assert category(f"{begin}{thought}{end}\n{GOOD}")[0] == "Good Match"
    assert category(f"{begin}{thought}{end}\nCategory: Good Match<|return|>")[0] == "Good Match"
    unanswered = [f"{begin}{thought}{end}", f"{GOOD}<think>{thought}"]
    if begin and begin != "analysis\n":
        unanswered.append(f"{begin}{thought}")
    for text in unanswered:
        with pytest.raises(ReplyFault):
            category(text)


SAER_FORM = """CATEGORY: Partial Match
REASONING: Most fit.
FLAGGED ITEMS:
- Item 3 (Thing 3): durable-goods redundancy - a second one
2. Item 4: off-category (wrong shelf)
* Thing 5: other – broken"""


@given(st.text() | st.text('{}[]":,\\ \nCategory Good Match'))
def test_any_text_is_read_or_is_a_fault(text: str) -> None:
    try:
        said = category(text)[0]
    except ReplyFault:
        return
    assert said == "Good Match"
    assert "good" in text.casefold()


@pytest.mark.parametrize(
    "text",
    ["", " \n", "...", "null", '{"profile": "You like', 'Sure: {"profile": "You like', '{"profile": 5}', '{"profile": " "}',
     '{"text": "You like x."}', '["You like x."]'],
)  # fmt: skip
def test_what_is_no_profile_is_a_fault(text: str) -> None:
    with pytest.raises(ReplyFault):
        profile_text(text)


LINE = "The customer bought a kettle and the list has a kettle. "


@pytest.mark.parametrize(
    "text",
    [
        f'{{"reasoning": "It fits. {LINE * 40}',
        "".join(f"{n}. The item number {n} fits the history of the customer.\n" for n in range(1, 60)),
        "x" * 4000,
        '{"flagged_items": [' + '{"item": 3, "issue": "other", "reason": "it is odd"}, ' * 30,
        "I think. "
        + "Wait, item one fits. No, item two fits too.\nBut perhaps neither does, who knows. " * 9
        + "Wai",
    ],
)
def test_a_loop_is_seen(text: str) -> None:
    assert repeats_itself(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        LINE * 2,
        '{"reasoning": "The user likes crime and drama. Items 1 and 5 fit; items 3 and 4 do not. But the third is',
        " ".join(f"Item {n} is about {w} and suits a reader of {w}." for n, w in enumerate(
            "crime film nature sport music travel cooking history physics poetry gardening chess".split()
        )),
    ],
)  # fmt: skip
def test_an_ordinary_reply_that_was_cut_is_no_loop(text: str) -> None:
    assert not repeats_itself(text)


# ---- hostile replies -----------------------------------------------------------------------------------------


# the benchmark holds it to 5 ms; a busy machine takes longer
LONGEST_S = 0.05


@pytest.mark.parametrize("prompt_name", PROMPTS)
def test_no_label_is_read_that_a_careful_reader_disputes(prompt_name: str) -> None:
    result = fuzzed(prompt_name, 8_000 // len(PROMPTS), seed=18)
    assert result.disputed == []
    assert result.read > result.tried // 10


@pytest.mark.parametrize("prompt_name", PROMPTS)
def test_honest_replies_are_read(prompt_name: str) -> None:
    assert honest_failures(prompt_name) == []


@pytest.mark.parametrize("prompt_name", ["pointwise-shopping", "arena-media"])
def test_no_shape_of_a_reply_takes_long(prompt_name: str) -> None:
    prompt = shipped(prompt_name)
    slow = {}
    for shape in SHAPES:
        reply = Reply(text=degenerate(shape, 64_000))
        # a busy machine is no fault: what was slow once is looked at again
        if all((seconds := _seconds(prompt, reply)) > LONGEST_S for _ in range(3)):
            slow[shape] = seconds
    assert slow == {}


def _seconds(prompt: Prompt, reply: Reply) -> float:
    started = time.process_time()
    with suppress(ReplyFault):
        read_fields(prompt, reply, prompt.aspects)
    return time.process_time() - started


def test_a_reply_of_many_megabytes_is_refused_at_once() -> None:
    prompt = shipped("pointwise-shopping")
    with pytest.raises(ReplyFault, match="more than 1,000,000 characters"):
        read_fields(prompt, Reply(text="x{" * 8_000_000), prompt.aspects)
