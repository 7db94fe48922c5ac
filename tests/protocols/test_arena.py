from __future__ import annotations

import json
import re
from typing import Any

import pytest

from recjudge_tui.domain.calls import Answer, Order, ParsedReply, Sampling
from recjudge_tui.domain.material import UserView
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.registry import protocol
from tests.support.cases import SHOPPER, item, paired, reply, shipped

PROTOCOL = protocol("arena")
FILMS = shipped("arena-media")
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
    for aspect in FILMS.aspects:
        fields[f"{aspect.field}_analysis"] = f"On {aspect.name} list A has Thing 1."
        fields[aspect.field] = other.get(aspect.field, winner)
    return fields


def parsed(order: Order = "ab", text: str = "", **fields: Any) -> ParsedReply:
    return PROTOCOL.parse(FILMS, paired(), reply(text, **fields), order, "")


def by_aspect(found: ParsedReply) -> dict[str, Answer]:
    return {answer.aspect: answer for answer in found.answers}


def test_every_aspect_is_analysed_before_its_winner_and_the_verdict_comes_last() -> None:
    request = PROTOCOL.request(FILMS, paired(), "ab", "", Sampling())
    fields = list(request.reply_schema["properties"])
    assert fields[::2] == [f"{field}_analysis" for field in fields[1::2]]
    assert fields[-1] == "overall_winner" == request.label_field
    assert request.reply_schema["properties"]["accuracy"]["enum"] == ["A wins", "Tie", "B wins"]
    assert tuple(aspect.name for aspect in FILMS.aspects) == ASPECTS


def test_without_a_profile_the_history_speaks_and_abstracts_are_shown() -> None:
    story = item(7, "Ferry strike ends", category="news").model_copy(
        update={"attributes": {"abstract": "Boats run again\nfrom Monday."}}
    )
    event = SHOPPER.history[0].model_copy(update={"item": story})
    user = UserView(user_id="u9", history=(event,))
    text = PROTOCOL.request(FILMS, paired(user), "ab", "", Sampling()).messages[1].content
    assert "Nothing is known about you except your history." in text
    assert "Ferry strike ends | category: news | abstract: Boats run again from Monday." in text


def test_in_the_other_order_lists_and_winners_are_turned() -> None:
    text = PROTOCOL.request(FILMS, paired(), "ba", "", Sampling()).messages[1].content
    assert text.index("1. Thing 101") < text.index("<list_b>") < text.index("1. Thing 1\n")
    found = by_aspect(parsed("ba", **answers("A wins", impact="Tie", accuracy="B wins")))
    assert {name: answer.value for name, answer in found.items()} == {
        **dict.fromkeys(ASPECTS, -1.0), "impact": 0.0, "accuracy": 1.0,
    }  # fmt: skip
    assert found["overall"].label == "B"
    assert found["accuracy"].reasoning == "On accuracy list A has Thing 1."


def test_the_published_names_are_understood() -> None:
    names = {
        "inspiration": "Inspiring Content", "transparency": "Explainability/Transparency",
        "impact": "Positive Impact", "content_quality": "Content Quality", "overall_winner": "Overall Winner",
    }  # fmt: skip
    spelled = {names.get(name, name): value for name, value in answers("B wins").items()}
    assert {a.value for a in parsed(**spelled).answers} == {-1.0}


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
        system, user = PROTOCOL.request(shipped(name), paired(), "ab", aspect, Sampling()).messages
        text = system.content + user.content
        assert "aspects" not in text
        assert ("overall" in text) == (aspect == "overall")
        assert shipped(name).aspects_of(aspect)[0].question in text
