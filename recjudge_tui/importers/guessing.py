"""Finds out from a file's beginning what the file contains, or which question to ask if that is unclear."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.layout import Choice, Layout, Sample
from recjudge_tui.importers.plain.guess import guess
from recjudge_tui.importers.plain.tables import PLAIN
from recjudge_tui.importers.registry import special_layout


class FileContents(NamedTuple):
    """The kinds that a file holds, each with its layout; or `choices`, of which the user must name one."""

    layouts: dict[ImportKind, Layout]
    choices: tuple[Choice, ...] = ()


def holding_of(sample: Sample, known: list[Layout], system: str | None = None) -> FileContents:
    """What the file holds. A layout that fits goes before plain tables. `system`: of all lists of the command,
    which then decides for lists."""
    special = {kind: special_layout(known, sample, kind) for kind in IMPORT_KINDS}
    layouts = {kind: layout for kind, layout in special.items() if layout is not None}
    if layouts:
        choices = tuple(c for layout in dict.fromkeys(layouts.values()) for c in layout.choices(sample))
        # only lists have a system to name
        if system and "lists" in layouts and any(choice.kind == "lists" for choice in choices):
            return FileContents({"lists": layouts["lists"]})
        return FileContents(layouts, choices)
    if PLAIN not in known:
        return FileContents({})
    kind, choices = guess(sample, system)
    return FileContents({kind: PLAIN} if kind else {}, choices)


def commands(path: Path, project: str, choices: Sequence[Choice]) -> list[str]:
    """For each choice, the command that imports the file that way, and what it means."""
    start = f"recjudge import {shlex.quote(str(path))} -p {shlex.quote(project)}"
    command_lines = [f"{start} --as {choice.kind} {choice.options}".strip() for choice in choices]
    width = max(map(len, command_lines), default=0)
    return [
        f"{command:<{width}}   {choice.meaning}"
        for command, choice in zip(command_lines, choices, strict=True)
    ]


def uncertain(sample: Sample, project: str, choices: Sequence[Choice]) -> InputError:
    """The error for a file that may contain one of several kinds of data, or no known kind."""
    if not choices:
        return InputError(
            f"cannot tell what {sample.path} contains",
            "Its beginning has no known layout, and it lacks the columns of a plain table.",
            "Name the kind with --as, or describe the file with --mapping (docs/mapping.md).",
        )
    first = next((line for line in sample.text.split("\n") if line.strip()), "")
    steps = "\n  ".join(commands(sample.path, project, choices))
    return InputError(
        f"cannot tell what {sample.path} contains",
        f"Its first line is: {one_line(first, 200)}. Nothing was imported.",
        f"Say what it is:\n  {steps}",
    )
