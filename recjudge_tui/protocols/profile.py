"""The call that writes a user's profile before the calls that are to play this user (RecSys Arena)."""

from __future__ import annotations

import json
from typing import Any

from recjudge_tui.errors import ReplyFault
from recjudge_tui.model.calls import ParsedReply, Reply, Request, Sampling
from recjudge_tui.model.material import Material
from recjudge_tui.model.prompt import Prompt
from recjudge_tui.protocols.base import object_schema
from recjudge_tui.protocols.rendering import profile_messages

FIELD = "profile"
LONGEST = 4000


def profile_request(prompt: Prompt, material: Material, sampling: Sampling) -> Request:
    """The request for a user's profile: it holds the user, and nothing of the case. Raises PromptError."""
    return Request(
        messages=profile_messages(prompt, material),
        reply_schema=object_schema({FIELD: {"type": "string"}}),
        schema_name="user_profile",
        sampling=sampling,
    )


def parse_profile(reply: Reply) -> ParsedReply:
    """No answer, but the certainty that the reply holds a profile. Raises ReplyFault."""
    profile_text(reply.text)
    return ParsedReply(answers=(), parsed_by="schema" if reply.structured else "text")


def profile_text(text: str) -> str:
    """The profile in a reply: the field of a JSON object, or else the text as it is. Raises ReplyFault."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        found = found.get(FIELD)
        if not isinstance(found, str):
            raise ReplyFault(f"the field “{FIELD}” must hold the profile as a text")
        text = found
    if not text.strip():
        raise ReplyFault("the profile was empty")
    return text.strip()[:LONGEST]
