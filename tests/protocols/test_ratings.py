"""Explanations (1 to 5 on four aspects) and absolute scores of lists (0 to 1)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recjudge_tui.domain.calls import Answer, Sampling
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.registry import protocol
from recjudge_tui.runs.record import voted
from tests.support.cases import explained, listed, reply, shipped

ABSOLUTE, EXPLANATION = protocol("absolute"), protocol("explanation")
FILMS = shipped("explanation-media")
LIST = shipped("absolute-media")
RATINGS = {"persuasiveness": 4, "transparency": 5, "accuracy": 2, "satisfaction": 3}


def rated(text: str = "", aspect: str = "", **fields: Any) -> dict[str, float]:
    found = EXPLANATION.parse(FILMS, explained(), reply(text, **fields), "", aspect)
    return {answer.aspect: answer.value for answer in found.answers}


def test_the_statements_are_quoted_as_published() -> None:
    system = EXPLANATION.request(FILMS, explained(), "", "", Sampling()).messages[0].content
    for statement in (
        'persuasiveness: "This explanation is convincing to me"',
        'transparency: "Based on this explanation, I understand why this movie is recommended"',
        'accuracy: "This explanation is consistent with my interests"',
        'satisfaction: "I am satisfied with this explanation"',
    ):
        assert f"- {statement}\n" in system
    assert "1 = strongly disagree\n" in system
    assert "5 = strongly agree\n" in system


@pytest.mark.parametrize(
    "text",
    [
        "The text is dry.\nSummary: 4 5 2 3",
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


@pytest.mark.parametrize("value", [4, "4", 4.0, "4.0", "4/5", "4 / 5", "4 out of 5", "**4**", [4], ["4/5"]])
def test_a_clear_rating_is_read(value: object) -> None:
    assert rated(json.dumps({**RATINGS, "persuasiveness": value})) == RATINGS


@pytest.mark.parametrize(
    "score", [-0.01, 1.01, "high", "NaN", True, None, [0.5, 0.6], "72 %", "0_1", "0,5", "٠.٥", 10**400]
)
def test_an_answer_outside_the_scale_is_a_fault(score: object) -> None:
    with pytest.raises(ReplyFault):
        ABSOLUTE.parse(LIST, listed(), reply(reasoning="x", score=score), "", "")


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
