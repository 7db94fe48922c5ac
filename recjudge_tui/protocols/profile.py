"""The call in which the model writes a user's profile, before the calls in which it plays the user (RecSys Arena)."""

from __future__ import annotations

from recjudge_tui.domain.calls import Request, Sampling
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.protocols.base import object_schema
from recjudge_tui.protocols.rendering import profile_messages
from recjudge_tui.protocols.replies.profile import FIELD


def profile_request(prompt: Prompt, material: Material, sampling: Sampling) -> Request:
    """The request for a user's profile, without anything about the case. Raises PromptError."""
    return Request(
        messages=profile_messages(prompt, material),
        reply_schema=object_schema({FIELD: {"type": "string"}}),
        schema_name="user_profile",
        sampling=sampling,
    )
