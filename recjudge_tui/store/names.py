"""Names that users give to projects, raters and runs."""

from __future__ import annotations

from recjudge_tui.errors import UsageError

LONGEST_NAME = 300


def sane_name(name: str, what: str) -> str:
    """The name without surrounding spaces.

    Raises UsageError if it has more than LONGEST_NAME characters; `what` names its bearer, such as “the
    project”.
    """
    name = name.strip()
    if len(name) > LONGEST_NAME:
        raise UsageError(
            f"the name of {what} has {len(name):,} characters",
            f"It may have {LONGEST_NAME}.",
            "Choose a shorter one.",
        )
    return name
