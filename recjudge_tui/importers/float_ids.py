"""Matches ids such as `12.0` with the known ids `12`: pandas writes whole numbers this way if a value of the column
is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.columns import numbered
from recjudge_tui.importers.values import Notes, Row, shown
from recjudge_tui.store.imports import Target, mentioned_ids

What = Literal["items", "users"]
# a table of these defines the ids
_COLUMNS: dict[What, str] = {"items": "item_id", "users": "user_id"}
_FLOAT = re.compile(r"\s*(-?\d+\.0)\s*", re.ASCII)
_IN_LIST = re.compile(r"(?<![\w.])(-?\d+)\.0(?![\w.])", re.ASCII)


def joined_ids(
    rows: Callable[[Notes], Iterator[Row]], kind: ImportKind, target: Target, notes: Notes
) -> list[What]:
    """The ids of which the ending is to be removed, because the project knows all of them without it.

    Only if the first row has such an id is the file read twice and are the known ids looked up. A remark says which ids are
    matched; a warning says if not all of them are known.
    """
    quiet = Notes(notes.file)
    first = next(iter(rows(quiet)), None)
    suspects = [what for what in _COLUMNS if first is not None and _ids(first[1], what)]
    if not suspects:
        return []
    ids: dict[What, set[str]] = {what: set() for what in suspects}
    for _, row in rows(quiet):
        for what in suspects:
            ids[what].update(_ids(row, what))
    joined = [what for what in suspects if _all_known(what, ids[what], target, notes)]
    for what in suspects:
        if what not in joined and what != kind and not mentioned_ids(target.db, target.project_id, what):
            some = min(ids[what])
            notes.remark(
                f"{what[:-1]} ids such as {shown(some)} end in “.0”, as pandas writes whole numbers; if they are"
                f" {shown(some[:-2])} elsewhere, import the {what} first, and then this file"
            )
    return joined


def without_ending(rows: Iterator[Row], joined: list[What]) -> Iterator[Row]:
    """The rows with `12` for the ids `12.0`."""
    for line, row in rows:
        for what in joined:
            if match := _FLOAT.fullmatch(row.get(_COLUMNS[what], "")):
                row[_COLUMNS[what]] = match[1][:-2]
            for column in _whole_lists(row) if what == "items" else ():
                row[column] = _IN_LIST.sub(r"\1", row[column])
        yield line, row


def _all_known(what: What, ids: set[str], target: Target, notes: Notes) -> bool:
    known = mentioned_ids(target.db, target.project_id, what)
    count = sum(name[:-2] in known for name in ids)
    some, noun = min(ids), what[:-1]
    if count == len(ids) and known.isdisjoint(ids):
        text = f"{noun} ids such as {shown(some)} are read as the known ids such as {shown(some[:-2])} ({count:,} in all)"
        notes.remark(text)
        return True
    if count:
        text = (
            f"{count:,} of {len(ids):,} {noun} ids such as {shown(some)} are known without “.0”; all are kept"
        )
        notes.warn(1, "ids with .0", text)
    return False


def _whole_lists(row: dict[str, str]) -> list[str]:
    """The columns whose cells hold items of a list."""
    return ["items"] if "items" in row else [] if "item_id" in row else numbered(row)


def _ids(row: dict[str, str], what: What) -> list[str]:
    """The ids of this form in a row."""
    found = [match[1]] if (match := _FLOAT.fullmatch(row.get(_COLUMNS[what], ""))) else []
    if what == "items":
        found += [f"{whole}.0" for column in _whole_lists(row) for whole in _IN_LIST.findall(row[column])]
    return found
