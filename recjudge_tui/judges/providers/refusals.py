"""Finds the parameter that a server refuses from the words of its error."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from recjudge_tui.judges.http.failures import ServerError

# A refusal without a field for the parameter contains one of these words beside its name.
_REFUSING = re.compile(
    r"not (?:support|permit|allow|available|recogni)|unsupported|unrecogni|unknown|unexpected|unavailable|"
    r"extra (?:input|field)|invalid|does(?: not|n't) (?:support|accept)|only the default|failed to parse|"
    r"deprecated|(?:may|can|must)(?:not| not| only) be|no longer",
    re.IGNORECASE,
)


def refused_parameter(
    status: int, error: ServerError, sent: Mapping[str, Any], droppable: Sequence[str]
) -> str | None:
    """The parameter among `sent` and `droppable` that the server refuses; None for any other error."""
    if status not in (400, 422, 501):
        return None
    named = error.param.partition(".")[0]
    if named in sent and named in droppable:
        return named
    if not is_refusal(error):
        return None
    for name in droppable:
        if name in sent and re.search(rf"(?<![\w]){name}(?![\w])", error.message):
            return name
    return None


def is_refusal(error: ServerError) -> bool:
    """Whether the error is about something that the server does not accept."""
    return _REFUSING.search(error.message) is not None
