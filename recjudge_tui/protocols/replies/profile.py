"""The reply in which the model wrote a user's profile."""

from __future__ import annotations

from recjudge_tui.domain.calls import ParsedReply, Reply
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.replies.objects import Fields, json_objects, whole_object
from recjudge_tui.protocols.replies.parsing import field_key

FIELD = "profile"
LONGEST = 4000


def parse_profile(reply: Reply) -> ParsedReply:
    """Checks that the reply holds a profile; there are no answers. Raises ReplyFault."""
    profile_text(reply.text)
    return ParsedReply(answers=(), parsed_by="schema" if reply.structured else "text")


def profile_text(text: str) -> str:
    """The profile in a reply: the field of the last JSON object that has it, else the whole text.

    Raises ReplyFault for anything else, such as an incomplete object.
    """
    whole = whole_object(text)
    objects = [whole] if whole is not None else [each.fields for each in json_objects(text, [FIELD])]
    profiles = [value for value in map(_profile_of, objects) if value is not None]
    profile = (profiles[-1] if profiles else text).strip()
    if not profiles and (FIELD + '"' in text or profile.startswith(("{", "["))):
        raise ReplyFault(f"it has no JSON object with the profile as text in the field “{FIELD}”")
    if not any(map(str.isalpha, profile)) or profile == "null":
        raise ReplyFault("the profile was empty")
    return profile[:LONGEST]


def _profile_of(fields: Fields) -> str | None:
    value = next((value for name, value in fields.items() if field_key(name) == FIELD), None)
    return value if isinstance(value, str) else None
