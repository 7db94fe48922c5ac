"""The reply that holds a user's profile."""

from __future__ import annotations

import pytest

from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.replies import LONGEST_PROFILE as LONGEST
from recjudge_tui.protocols.replies import profile_text


@pytest.mark.parametrize(
    "text",
    [
        '{"profile": "You like x."}',
        '```json\n{"Profile": "You like x."}\n```',
        'Here it is: {"profile": "You like x.",} Good?',
        '{"profile": "a draft"} No: {"profile": " You like x. "}',
        "You like x.\n",
    ],
)
def test_the_profile_is_found(text: str) -> None:
    assert profile_text(text) == "You like x."


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "...",
        "null",
        '{"profile": "You like',
        'Sure: {"profile": "You like',
        '{"profile": 5}',
        '{"profile": " "}',
        '{"text": "You like x."}',
        '["You like x."]',
    ],
)
def test_what_is_no_profile_is_a_fault(text: str) -> None:
    with pytest.raises(ReplyFault):
        profile_text(text)


def test_a_profile_is_cut_at_a_maximum_length_between_characters() -> None:
    assert len(profile_text("You like x. " * 2000)) == LONGEST
    assert profile_text('{"profile": "You \\ud83d"}') == "You \ufffd"
