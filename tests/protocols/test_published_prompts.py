"""The published prompts, part by part: what each figure holds, in its order, which is never compared with our own text; and
the two prompts of the ablation, one that says too little, one that says too much."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from recjudge_tui.domain.calls import Order, Sampling
from recjudge_tui.domain.protocols import PROTOCOLS
from recjudge_tui.protocols.registry import protocol
from recjudge_tui.protocols.rendering import system_text, user_text
from tests.support.cases import SHOPPER, explained, listed, paired, shipped

PAST = ("Sonic Toothbrush S3", "Urea Body Lotion, 500 ml")
# paper, section 2.2 and Figure 6 of RecSys Arena; Figure 2 of Zhang et al.
FIGURE_6 = {
    "accuracy": "This list of recommendations aligns well with my interests.",
    "satisfaction": "I am satisfied with these recommendation results.",
    "inspiration": "Recommended movies provoke my thoughts, spark my curiosity, encourage further exploration, and enhance "
    "my interaction with the recommendation platform.",
    "content_quality": "The recommended items are of high quality.",
    "transparency": "The recommendation is associated with one of my personal information or an interaction history, and it "
    "is clear which feature it is.",
    "impact": "The impact of this recommendation on me is positive.",
}
STATEMENTS = (
    "This explanation is convincing to me",
    "Based on this explanation, I understand why this movie is recommended",
    "This explanation is consistent with my interests",
    "I am satisfied with this explanation",
)


def published(name: str, subject: str, *, order: Order, **variables: str) -> str:
    """The whole prompt as published, both turns."""
    prompt = shipped(name).with_variables({"published": "yes", **variables})
    material = {
        "list": listed,
        "pair": lambda: paired(length=5),
        "text": lambda: explained(SHOPPER, accuracy=4.0),
    }[subject]()
    messages = protocol(prompt.protocol).request(prompt, material, order, "", Sampling()).messages
    assert [message.role for message in messages] == ["system", "user"]
    return "\n".join(message.content for message in messages)


def in_order(text: str, *parts: str) -> None:
    place = 0
    for part in parts:
        assert part in text[place:], part
        place = text.index(part, place) + len(part)


SAER_CASE = ("Sonic Toothbrush S3", "“brush heads”", "Dental Floss", "Oral Care; Bath", "fragrance-free")


@pytest.mark.parametrize("domain", ["media", "shopping"])
def test_saer_lists(domain: str) -> None:
    text = published(f"pointwise-{domain}", "list", order="")
    in_order(
        text,
        "Examples",
        *SAER_CASE,
        "1. Thing 1",
        "Guidelines",
        "7 or more",
        "4 or more",
        "fewer than 4",
        "Output form",
    )
    # section 3.2's issues, and its rule on comparing; what describes the person is not shown
    for issue in ("minimum-variation", "durable-goods", "consumable pacing", "off-category"):
        assert issue in text[text.index("# Issue types") :]
    assert "Exception:" in text
    assert "age: 34" not in text
    # ours: what minor and severe mean, and that one minor issue is too many
    for rule in ("a third", "at best", "rules out"):
        assert rule not in text
    assert text.count("\nCustomer: ") == 5


@pytest.mark.parametrize("name", ["pairwise-media", "pairwise-shopping"])
def test_saer_pairs(name: str) -> None:
    text = published(name, "pair", order="ab")
    in_order(
        text,
        "Examples",
        *SAER_CASE,
        "<set_1>",
        "1. Thing 1",
        "<set_2>",
        "1. Thing 101",
        "Guidelines",
        "Output form",
    )
    assert "Exception:" in text
    assert "age: 34" not in text


@pytest.mark.parametrize("name", ["generic-media", "overspecified-shopping", "pairwise-media"])
def test_saers_ablation_and_adversarial_pairs_have_a_published_form(name: str) -> None:
    assert PROTOCOLS["adversarial"].published is not None
    assert "age: 34" not in published(name, "pair", order="ab")


def test_arena() -> None:
    text = published("arena-media", "pair", order="ab")
    in_order(
        text, "film platform", "age: 34; city: Leith", f"{PAST[0]} (Oral Care)", f"{PAST[1]} (Body Care)", "<list_a>",
        "1. Thing 1", "<list_b>", "1. Thing 101", *FIGURE_6.values(), "analyse", "which of the two recommender systems",
        '"A wins", "Tie", "B wins"',
    )  # fmt: skip
    for absent in ("2024-06-21", "rated 4.5", "brush heads", "Dental Floss", "swapped", "carry no meaning"):
        assert absent not in text


@pytest.mark.data
def test_the_statements_are_those_printed() -> None:
    file = Path(os.environ["RECJUDGE_DATA"]) / "published" / "arena2024.json"
    printed = json.loads(file.read_text(encoding="utf-8"))["aspects_printed"]
    assert list(printed["Figure 6"].values()) == list(FIGURE_6.values())
    questions = [aspect.question for aspect in shipped("arena-media").aspects[:6]]
    assert list(printed["section 2.2"].values()) == questions


def test_zhang() -> None:
    text = published("explanation-media", "text", order="", reasoning="none")
    in_order(
        text, "user of a film platform", "recommended a movie", *STATEMENTS, "5 = strongly agree", "1 = strongly disagree",
        "An earlier text.", "accuracy: 4", "Put yourself in this user's place", "Recommended movie: Thing 1",
        "You like clean teeth.", '"persuasiveness"', '"satisfaction"',
    )  # fmt: skip
    assert "reasoning" not in text
    assert not {"2 =", "3 =", "4 ="} & {line[:3] for line in text.splitlines()}


DOMAINS = ("shopping", "media")


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_generic_prompt_shows_the_history_and_asks_which_is_better_and_nothing_else(domain: str) -> None:
    prompt = shipped(f"generic-{domain}")
    text = user_text(prompt, paired(SHOPPER), "")
    assert "Sonic Toothbrush" in text
    assert "Which is better?" in text
    for more in ("brush heads", "Dental Floss", "Browsed", "prefers", "Profile", "age"):
        assert more not in text
    system = system_text(prompt, 10)
    assert not prompt.examples
    assert not prompt.issues
    assert len(system) < 500
    assert not re.search(r"criteri|guideline|relevan|coverage|redundan", system, re.I)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_over_specified_prompt_has_five_weighted_criteria_with_five_steps_each(domain: str) -> None:
    system = system_text(shipped(f"overspecified-{domain}"), 10)
    weights = [int(w) for w in re.findall(r"^\d\. .*\(weight (\d+) %\)$", system, re.M)]
    assert len(weights) == 5
    assert sum(weights) == 100
    assert len(re.findall(r"^   [1-5]: ", system, re.M)) == 25
