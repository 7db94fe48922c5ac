"""Matches ids such as `12.0` with the known ids `12`: pandas writes whole numbers this way if a value of the column
is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Literal

from recjudge_tui.domain.records import Event, Explanation, Item, Label, Slate, User
from recjudge_tui.importers.files.layout import LocatedRecord, Record
from recjudge_tui.importers.files.notes import Notes
from recjudge_tui.importers.files.values import shown
from recjudge_tui.store.imports import Target, mentioned_ids

What = Literal["items", "users"]
_KINDS: tuple[What, ...] = ("items", "users")
# a table of these defines the ids
_CATALOGUES = {"items": Item, "users": User}
_FLOAT = re.compile(r"-?\d+\.0", re.ASCII)


def joined_ids(
    reads: Iterator[LocatedRecord], again: Callable[[], Iterator[LocatedRecord]], target: Target, notes: Notes
) -> Iterator[LocatedRecord]:
    """The records; ids like `12.0` lose their ending if the project knows all of them without it.

    Only if the first record has such an id is the file read twice (`again`) and are the known ids looked up. A remark
    says which ids were matched; a warning says if not all of them are known.
    """
    first = next(reads, None)
    if first is None:
        return
    reads = chain([first], reads)
    suspects = [what for what in _KINDS if any(map(_FLOAT.fullmatch, _ids(first.record, what)))]
    if not suspects:
        yield from reads
        return
    ids: dict[What, set[str]] = {what: set() for what in suspects}
    for read in again():
        for what in suspects:
            ids[what].update(filter(_FLOAT.fullmatch, _ids(read.record, what)))
    joined = [what for what in suspects if _all_known(what, ids[what], target, notes)]
    for what in suspects:
        if what not in joined and not isinstance(first.record, _CATALOGUES[what]):
            _note_unknown(what, min(ids[what]), target, notes)
    for read in reads:
        yield read._replace(record=_without_ending(read.record, joined)) if joined else read


def _all_known(what: What, ids: set[str], target: Target, notes: Notes) -> bool:
    known = mentioned_ids(target.db, target.project_id, what)
    count = sum(name[:-2] in known for name in ids)
    some = min(ids)
    noun = what[:-1]
    if count == len(ids) and known.isdisjoint(ids):
        notes.remark(
            f"{noun} ids such as {shown(some)} are read as the known ids such as {shown(some[:-2])} ({count:,} in all)"
        )
        return True
    if count:
        text = (
            f"{count:,} of {len(ids):,} {noun} ids such as {shown(some)} are known without “.0”; all are kept"
        )
        notes.warn(1, "ids with .0", text)
    return False


def _note_unknown(what: What, some: str, target: Target, notes: Notes) -> None:
    """Say that the ids could not be compared with any, if the project has none yet."""
    if not mentioned_ids(target.db, target.project_id, what):
        notes.remark(
            f"{what[:-1]} ids such as {shown(some)} end in “.0”, as pandas writes whole numbers; if they are"
            f" {shown(some[:-2])} elsewhere, import the {what} first, and then this file"
        )


def _ids(record: Record, what: What) -> Iterable[str]:
    if what == "users":
        return () if isinstance(record, Item) else (record.user_id,)
    if isinstance(record, Slate):
        return [place.item_id for place in record.items]
    return () if isinstance(record, User) else (record.item_id,)


def _without_ending(record: Record, joined: list[What]) -> Record:
    if isinstance(record, Slate):
        user = _short(record.user_id) if "users" in joined else record.user_id
        if "items" not in joined:
            return record._replace(user_id=user)
        return record._replace(
            user_id=user, items=tuple(place._replace(item_id=_short(place.item_id)) for place in record.items)
        )
    if isinstance(record, Event):
        user = _short(record.user_id) if "users" in joined else record.user_id
        item = _short(record.item_id) if "items" in joined else record.item_id
        return record._replace(user_id=user, item_id=item)
    changes: dict[str, object] = {}
    if "users" in joined and not isinstance(record, Item):
        changes["user_id"] = _short(record.user_id)
    if "items" in joined and isinstance(record, Item | Explanation | Label):
        changes["item_id"] = _short(record.item_id)
    return record.model_copy(update=changes)


def _short(name: str) -> str:
    return name[:-2] if _FLOAT.fullmatch(name) else name
