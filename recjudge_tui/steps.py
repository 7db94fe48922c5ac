"""What can be done next, as data: errors and notes carry a step, and each surface says it in its own words, the command
line as a command and the app as a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Action = Literal[
    "import", "import lists", "import items", "import events", "import labels", "judge", "label", "retry", "resume",
    "more labels", "robustness", "position", "planted", "include readers", "choose", "raise cap", "price", "whole",
    "demo", "restore", "other file", "check texts", "list runs", "list cases", "list imports", "list raters", "delete rater",
    "answer tasks", "copy prompt",
]  # fmt: skip


@dataclass(frozen=True)
class Step:
    """An action, what it is about by the names that options have (`rater`, `protocol`, `run`), and further options in order,
    with their values (empty: a switch); one may be given several times."""

    action: Action
    about: Mapping[str, str] = field(default_factory=dict)
    options: tuple[tuple[str, str], ...] = ()
