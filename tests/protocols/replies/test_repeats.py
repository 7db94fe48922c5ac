"""A model that loops is told from one that was merely cut off."""

from __future__ import annotations

import pytest

from recjudge_tui.protocols.replies import repeats_itself

LINE = "The customer bought a kettle and the list has a kettle. "


@pytest.mark.parametrize(
    "text",
    [
        f'{{"reasoning": "It fits. {LINE * 40}',
        "".join(f"{n}. The item number {n} fits the history of the customer.\n" for n in range(1, 60)),
        "x" * 4000,
        '{"flagged_items": [' + '{"item": 3, "issue": "other", "reason": "it is odd"}, ' * 30,
        "I think. " + "Wait, item one fits. No, item two fits too.\nBut perhaps neither does, who knows. " * 9 + "Wai",
    ],
)
def test_a_loop_is_seen(text: str) -> None:
    assert repeats_itself(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        LINE * 2,
        '{"reasoning": "The user likes crime and drama. Items 1, 2 and 5 fit; items 3 and 4 do not. '
        'The list covers two interests, but the third is missing, and',
        " ".join(f"Item {n} is about {word} and suits a reader of {word}s." for n, word in enumerate(
            "crime film nature sport music travel cooking history physics poetry gardening chess".split()
        )),
    ],
)  # fmt: skip
def test_an_ordinary_reply_that_was_cut_is_no_loop(text: str) -> None:
    assert not repeats_itself(text)
