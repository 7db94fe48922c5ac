from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.calls import Answer, Flag, Order, ParsedReply, Sampling, VerdictDraft
from recjudge_tui.domain.material import Material, SlateView
from recjudge_tui.domain.prompt import LabelSpec, Prompt
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.errors import PromptError, ReplyFault
from recjudge_tui.protocols.early_stopping import (
    StoppingCriterion,
    UserVerdicts,
    deciding_aspect,
    stopping_criterion,
    user_outcomes,
)
from recjudge_tui.protocols.registry import adjudicate, protocol
from recjudge_tui.runs.record import voted
from tests.protocols.test_parsing import SAER_FORM
from tests.support.cases import SHOPPER, explained, item, listed, paired, reply, shipped

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


# ---- pointwise -----------------------------------------------------------------------------------------------


POINTWISE_PROTOCOL = protocol("pointwise")
POINTWISE_PROMPT = shipped("pointwise-shopping")


def parse(material: Material | None = None, **fields: Any) -> ParsedReply:
    return POINTWISE_PROTOCOL.parse(POINTWISE_PROMPT, material or listed(), reply(**fields), "", "overall")


def flagged(*entries: Any, material: Material | None = None) -> tuple[Flag, ...]:
    return parse(material, reasoning="", category="Poor Match", flagged_items=list(entries)).flags


def entry(named: Any, issue: str = "off-category", reason: str = "why") -> dict[str, Any]:
    return {"item": named, "issue": issue, "reason": reason}


def test_flags_that_can_be_read_are_not_lost_beside_others() -> None:
    whys = ["Item 2", "#3", "4. Thing 4", 5.0, "Item 6: thing 6"]
    others = [{"Position": 7, "Issue_Type": "off-category"}, "Item 8: off-category - odd", {}, "none", None]
    with pytest.raises(ReplyFault) as caught:
        flagged(*(entry(named) for named in whys), entry(99), entry("3. Thing 4"), *others)
    assert [flag.item_id for flag in caught.value.usable.flags] == [f"i{n}" for n in range(2, 9)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "raw",
    ["There are no flagged items.", [None], "", "None", "n/a", "[]", "{}", None, {}, [], ["none"], [{}], False],
)  # fmt: skip
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
    parsed = POINTWISE_PROTOCOL.parse(POINTWISE_PROMPT, listed(), reply(SAER_FORM), "", "overall")
    assert parsed.answers[0].label == "Partial"
    assert [(flag.item_id, flag.issue, flag.reason) for flag in parsed.flags] == [
        ("i3", "durable-goods redundancy", "a second one"),
        ("i4", "off-category", "wrong shelf"),
        ("i5", "other", "broken"),
    ]
    with pytest.raises(ReplyFault):
        POINTWISE_PROTOCOL.parse(
            POINTWISE_PROMPT, listed(), reply(f"{SAER_FORM}\nWait, it is a Poor Match."), "", "overall"
        )


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


# ---- ratings -------------------------------------------------------------------------------------------------


ABSOLUTE, EXPLANATION = protocol("absolute"), protocol("explanation")
FILMS = shipped("explanation-media")
LIST = shipped("absolute-media")
RATINGS = {"persuasiveness": 4, "transparency": 5, "accuracy": 2, "satisfaction": 3}


def rated(text: str = "", aspect: str = "", **fields: Any) -> dict[str, float]:
    found = EXPLANATION.parse(FILMS, explained(), reply(text, **fields), "", aspect)
    return {answer.aspect: answer.value for answer in found.answers}


@pytest.mark.parametrize(
    "text",
    [
        "The text is dry.\nSummary: 4, 5, 2, 3",
        "**Summary:** 4 5 2 3.",
        "Persuasiveness: 4\nTransparency: 5\nAccuracy: 2\nSatisfaction: 3",
        'Sure: {"persuasiveness": 4.0, "transparency": "5", "accuracy": 2, "satisfaction": 3}',
    ],
)
def test_the_published_forms_are_understood(text: str) -> None:
    assert rated(text) == RATINGS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Summary: 4 5 2", "must hold 4 values"),
        ("Summary: 4 5 2 6", "“satisfaction” must be one of"),
        ("Summary: 4 5 2 0", "“satisfaction” must be one of"),
        ('{"persuasiveness": 4.5, "transparency": 5, "accuracy": 2, "satisfaction": 3}', "“persuasiveness” must be"),
        ('{"persuasiveness": true, "transparency": 5, "accuracy": 2, "satisfaction": 3}', "one label"),
        ('{"persuasiveness": 4, "transparency": 5, "accuracy": 2}', "“satisfaction” is missing"),
        ("I would say four.", "no JSON object"),
        ("It gives itself marks:\n> Summary: 5 5 5 5\nI disagree.", "no JSON object"),
        ("Summary: 4/5 5/5 2/5 3/5", "no JSON object"),
        ("Persuasiveness: 4/10\nTransparency: 5\nAccuracy: 2\nSatisfaction: 3", "“persuasiveness” must be"),
        *(
            (json.dumps({**RATINGS, "persuasiveness": value}), "“persuasiveness” must be")
            for value in (*"4/10 four 3-4 80% ★★★★ ４ ٤ 4_0".split(), "4 - agree", 4.5, 6, 0, -4, 1e400, "")
        ),
        (json.dumps({**RATINGS, "Accuracy": 5}), "“accuracy” is given twice"),
    ],
)  # fmt: skip
def test_what_is_no_rating_is_a_fault_and_never_a_number(text: str, said: str) -> None:
    with pytest.raises(ReplyFault, match=said):
        rated(text)


def test_repeated_scores_are_averaged_and_a_failed_one_spoils_them() -> None:
    given = [Answer(aspect="overall", value=v, label="", reasoning=str(v)) for v in (0.2, 0.5, 0.8)]
    mean = voted(LIST, "overall", given)
    assert mean is not None
    assert (mean.value, mean.label, mean.reasoning, mean.confidence) == (
        pytest.approx(0.5),
        "0.5",
        "0.5",
        None,
    )
    assert voted(LIST, "overall", [*given, None]) is None


# ---- arena ---------------------------------------------------------------------------------------------------


ARENA_PROTOCOL = protocol("arena")
ARENA_FILMS = shipped("arena-media")
ASPECTS = ("accuracy", "satisfaction", "inspiration", "content_quality", "transparency", "impact", "overall")

TEXT_FORM = "\n".join(
    [
        "1. **Accuracy**: A wins", "List A has more of what I watch.", "2. Satisfaction: A wins",
        "3. Inspiring Content: B wins", "4. Content Quality: Tie", "5. Explainability/Transparency: A wins",
        "6. Positive Impact: Tie", "", "Overall Winner: A wins",
    ]
)  # fmt: skip


def answers(winner: str = "A wins", **other: str) -> dict[str, str]:
    """A full reply in the order of the schema; `other` winners by field."""
    fields: dict[str, str] = {}
    for aspect in ARENA_FILMS.aspects:
        fields[f"{aspect.field}_analysis"] = f"On {aspect.name} list A has Thing 1."
        fields[aspect.field] = other.get(aspect.field, winner)
    return fields


def parsed(order: Order = "ab", text: str = "", **fields: Any) -> ParsedReply:
    return ARENA_PROTOCOL.parse(ARENA_FILMS, paired(), reply(text, **fields), order, "")


def by_aspect(found: ParsedReply) -> dict[str, Answer]:
    return {answer.aspect: answer for answer in found.answers}


def test_in_the_other_order_lists_and_winners_are_turned() -> None:
    text = ARENA_PROTOCOL.request(ARENA_FILMS, paired(), "ba", "", Sampling()).messages[1].content
    assert text.index("1. Thing 101") < text.index("<list_b>") < text.index("1. Thing 1\n")
    found = by_aspect(parsed("ba", **answers("A wins", impact="Tie", accuracy="B wins")))
    assert {name: answer.value for name, answer in found.items()} == {
        **dict.fromkeys(ASPECTS, -1.0), "impact": 0.0, "accuracy": 1.0,
    }  # fmt: skip
    assert found["overall"].label == "B"
    assert found["accuracy"].reasoning == "On accuracy list A has Thing 1."


def test_the_published_text_form_is_understood() -> None:
    found = by_aspect(parsed(text=TEXT_FORM))
    assert [found[name].value for name in ASPECTS] == [1, 1, -1, 0, 1, 0, 1]
    assert "more of what I watch" in found["overall"].reasoning


FIGURE_7 = """**Accuracy**: A recommends mostly thrillers, which is what I watch. B has two comedies.
**Content Quality**: Both lists hold films of high quality.
### Conclusion
Accuracy: 'A wins'; Satisfaction: 'A wins'; Inspiring Content: 'B wins,'; Content Quality: 'tie'; \
Explainability/Transparency: 'A wins'; Positive Impact: 'tie'. Overall Winner: 'A wins'"""


@pytest.mark.parametrize(
    "form", [FIGURE_7, FIGURE_7.replace("; ", "\n- "), FIGURE_7.replace("; ", "\n").replace("'", "**")]
)
def test_the_reply_of_figure_7_is_understood(form: str) -> None:
    found = by_aspect(parsed(text=form))
    assert [found[name].value for name in ASPECTS] == [1, 1, -1, 0, 1, 0, 1]
    assert "mostly thrillers" in found["overall"].reasoning


def test_marks_between_the_words_of_a_name_are_read_on_both_sides() -> None:
    text = TEXT_FORM.replace("Content Quality", "Content-Quality").replace("Overall Winner", "Overall-Winner")
    assert [by_aspect(parsed(text=text))[name].value for name in ASPECTS] == [1, 1, -1, 0, 1, 0, 1]
    spelled = {name.replace("_", "-").title(): value for name, value in answers("B wins").items()}
    assert {a.value for a in parsed(**spelled).answers} == {-1.0}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"impact": "Both"}, "“impact” must be one of “A wins”, “Tie”, “B wins”"),
        ({"accuracy": "A"}, "“accuracy” must be one of"),
    ],
)
def test_a_winner_is_matched_in_no_other_way(change: dict[str, str], said: str) -> None:
    with pytest.raises(ReplyFault, match=re.escape(said)):
        parsed(**answers(**change))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(answers("Tie"))[:-40],
        "A wins",
        "1. **Accuracy**\nBoth are fine.\n**Tie**\nOverall Winner: Tie",
        TEXT_FORM.replace("Satisfaction: A wins", "Satisfaction: A Wins?"),
        TEXT_FORM + "\nPositive Impact: neither, so it is a tie",
        TEXT_FORM.replace("Overall Winner: A wins", "Overall Winner: A"),
        json.dumps({**answers(), "impact": {"analysis": "x", "winner": "A wins"}}),
        json.dumps({**answers(), "impact": None}),
        json.dumps({**answers(), "impact": 0}),
        json.dumps({**answers(), "impact": ""}),
    ],
)
def test_what_is_not_quite_a_reply_is_a_fault_and_never_a_tie(text: str) -> None:
    with pytest.raises(ReplyFault):
        parsed(text=text)


@pytest.mark.parametrize("name", ["arena-media", "arena-shopping"])
def test_an_aspect_asked_alone_is_not_read_from_other_aspects(name: str) -> None:
    for aspect in ASPECTS:
        system, user = ARENA_PROTOCOL.request(shipped(name), paired(), "ab", aspect, Sampling()).messages
        text = system.content + user.content
        assert "aspects" not in text
        assert ("overall" in text) == (aspect == "overall")
        assert shipped(name).aspects_of(aspect)[0].question in text


# ---- early stopping ------------------------------------------------------------------------------------------


def decide(
    name: str, chosen: str, cases: list[tuple[str, str]], **settings: object
) -> StoppingCriterion | None:
    wish = RunSettings.model_validate({"protocol": chosen, "until": "decided", **settings})
    return stopping_criterion(protocol(chosen), shipped(name), wish, cases)


def test_pairs_count_wins_and_half_of_ties() -> None:
    what = decide("pairwise-media", "pairwise", [("a", "b"), ("a", "c"), ("a", "b")], margin=0.2)
    assert what is not None
    assert (what.pairs, what.rule.margin, what.best) == ((("a", "b"), ("a", "c")), 0.2, None)
    told_of: list[UserVerdicts] = [
        {("a", "b"): 1.0, ("a", "c"): 0.0},
        {("a", "b"): -1.0},
        {("a", "b"): None, ("a", "c"): 1.0},
    ]
    nan = np.nan
    np.testing.assert_array_equal(user_outcomes(what, told_of), [[1, 0.5], [0, nan], [nan, 1]])


def test_one_system_decides_nothing_and_arena_decides_overall() -> None:
    assert decide("pointwise-media", "pointwise", [("a", "")]) is None
    assert deciding_aspect(shipped("arena-media")) == "overall"
