from __future__ import annotations

from typing import Any

import pytest

from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.protocols.lint import lint
from recjudge_tui.protocols.rendering import system_text
from tests.support.cases import SHIPPED, shipped

LIST = shipped("pointwise-shopping")
PARTS = LIST.parts or {}
PAIR = shipped("pairwise-shopping")


def with_reply(prompt: Prompt, **changes: Any) -> Prompt:
    first = prompt.examples[0]
    reply = {**first.reply, **changes}
    return prompt.model_copy(update={"examples": (first.model_copy(update={"reply": reply}),)})


@pytest.mark.parametrize("name", SHIPPED)
def test_nothing_is_wrong_with_the_shipped_prompts(name: str) -> None:
    assert lint(shipped(name)) == []


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shared_part_is_short_enough_for_local_models(name: str) -> None:
    assert len(system_text(shipped(name), 10)) < 7_000


@pytest.mark.parametrize("name", ["pointwise-shopping", "pointwise-media"])
def test_the_examples_keep_the_rules_they_teach(name: str) -> None:
    """Lists of 5: 4 faultless ones are Good; one flag caps at Partial; more than a third flagged is Poor."""
    for example in shipped(name).examples:
        flagged = len(example.reply["flagged_items"])
        assert len(example.input["list"]) == 5
        expected = "Good Match" if not flagged else "Partial Match" if flagged * 3 <= 5 else "Poor Match"
        assert example.reply["category"] == expected


@pytest.mark.parametrize("name", ["pairwise-shopping", "pairwise-media"])
def test_the_pairwise_examples_favour_neither_place(name: str) -> None:
    for about in dict.fromkeys(example.domain or "" for example in shipped(name).examples):
        examples = shipped(name).with_variables({"domain": about}).shown_examples()
        assert sorted(example.reply["winner"] for example in examples) == ["Set 1", "Set 2", "Tie"]
    assert all(len(e.input["set_1"]) == len(e.input["set_2"]) for e in shipped(name).examples)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"user": "{{ nothing }}"}, "'nothing' is undefined"),
        ({"system": "{% for %}"}, "system text, line 1"),
        ({"user": LIST.user.replace("slates[0].items", "slates[0].items[:3]")}, "does not show 7 of the 10 items"),
        ({"user": LIST.user.replace("{% if user.as_of %}", "{% if user.history[0] %}")}, "no element 0"),
        (
            {"parts": {**PARTS, "guidelines": PARTS["guidelines"].replace("issue.name", "issue.meaning")}},
            "the issue type “already owned”",
        ),
        ({"parts": {}}, "there is no part “guidelines”; the parts are: none"),
        (
            {
                "parts": {**PARTS, "output": PARTS["output"].replace("flagged_items", "faults")},
                "examples": (),
            },
            "the field “flagged_items”",
        ),
        ({"protocol": "chess"}, "no protocol “chess”"),
    ],
)  # fmt: skip
def test_faults_are_reported(changes: dict[str, Any], said: str) -> None:
    found = lint(LIST.model_copy(update=changes))
    assert any(said in problem for problem in found), found


def test_a_label_the_judge_is_not_told_of() -> None:
    silent = PAIR.model_copy(update={"system": "{{ aspects[0].field }} and reasoning: Set 1 or Set 2"})
    assert lint(silent) == ["The text does not mention the label “Tie”."]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"category": "Good"}, "must be one of"),
        ({"verdict": "Good"}, "fields: verdict"),
        ({"flagged_items": [{"item": 6, "issue": "other", "reason": ""}]}, "1 to 5"),
        ({"flagged_items": [{"item": 1, "issue": "dull", "reason": ""}]}, "is none of"),
    ],
)
def test_an_example_whose_reply_would_not_be_accepted(changes: dict[str, Any], said: str) -> None:
    (problem,) = lint(with_reply(LIST, **changes))
    assert "a good match" in problem
    assert said in problem


def test_a_pairwise_scale_must_be_symmetric() -> None:
    lopsided = PAIR.model_copy(
        update={"labels": (PAIR.labels[0].model_copy(update={"value": 2}), *PAIR.labels[1:])}
    )
    assert any("counterpart of the opposite value" in problem for problem in lint(lopsided))


@pytest.mark.parametrize(
    ("aspect", "changes", "said"),
    [
        (0, {"aliases": ("Impact",)}, "“impact” could mean “impact” or “accuracy”"),
        (1, {"field": "accuracy_analysis"}, "“accuracy_analysis” could mean “satisfaction” or the analysis of"),
        (2, {"aliases": ("Reasoning",)}, "“reasoning” could mean “inspiration” or the reasoning"),
    ],
)  # fmt: skip
def test_names_by_which_a_reply_could_mean_two_things(
    aspect: int, changes: dict[str, Any], said: str
) -> None:
    prompt = shipped("arena-media")
    aspects = list(prompt.aspects)
    aspects[aspect] = aspects[aspect].model_copy(update=changes)
    found = lint(prompt.model_copy(update={"aspects": tuple(aspects)}))
    assert any(said in problem for problem in found), found
