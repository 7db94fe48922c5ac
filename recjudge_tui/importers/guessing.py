"""Finds out from a file's beginning what the file contains, or which question to ask if that is unclear."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.column_names import WantedColumns
from recjudge_tui.importers.files.json_records import json_keys
from recjudge_tui.importers.files.layout import Choice, Layout, Sample
from recjudge_tui.importers.files.tables import fields_of
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


def _hint(first: str) -> str:
    """What to do about a first line that keeps the columns from being found; empty if nothing is known."""
    line = first.strip("\ufeff \t\r\n")
    if line.startswith("#"):
        return "Delete the comment above the header. "
    if set(json_keys(line)) >= {"columns", "data"}:
        return "Write an object for each row (pandas: orient='records'). "
    array = next((key for key, value in json_keys(line).items() if value == "["), "")
    if array:
        name = one_line(array, 60)
        return f"If the rows are the array “{name}”, save it alone (jq {shlex.quote(f'.{name}')} FILE). "
    if len(line.split()) > 2 and len(fields_of(line, WantedColumns())) == 1 and not json_keys(line):
        return 'If spaces separate the columns, write “delimiter = " "” in a mapping file. '
    return ""


def uncertain(sample: Sample, project: str, choices: Sequence[Choice]) -> InputError:
    """The error for a file that may contain one of several kinds of data, or no known kind."""
    first = next((line for line in sample.text.split("\n") if line.strip()), "")
    begins = f"Its first line is: {one_line(first, 200)}"
    if not choices:
        return InputError(
            f"cannot tell what {sample.path} contains",
            f"It has no known layout and lacks the columns of a plain table. {begins}",
            f"{_hint(first)}Name the kind with --as, or describe the file with --mapping (docs/mapping.md).",
        )
    steps = "\n  ".join(commands(sample.path, project, choices))
    return InputError(
        f"cannot tell what {sample.path} contains",
        f"{begins}\n  Nothing was imported.",
        f"Say what it is:\n  {steps}",
    )
