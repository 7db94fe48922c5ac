"""Stores records, checked against the data of the project."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from operator import attrgetter
from typing import Literal, TypeVar

from recjudge_tui.domain.event_types import HELD_OUT, kind_of
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.records import Event, Explanation, ImportKind, Item, Label, Slate, User
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.layout import LocatedRecord
from recjudge_tui.importers.files.notes import Notes
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.import_job import Counts, ImportJob, ProjectCache
from recjudge_tui.importers.item_images import ItemImages
from recjudge_tui.importers.label_storing import remark_guessed_judges, remark_repeats, store_labels
from recjudge_tui.importers.plain.lists import list_owner
from recjudge_tui.store.imports import (
    Outcome,
    Target,
    add_events,
    add_explanation,
    add_items,
    add_slate,
    add_users,
    fingerprint,
    known_content,
)

_BATCH = 2_000
_SHOWN_TYPES = 10
_Record = TypeVar("_Record", Item, User, Event, Slate, Explanation, Label)


def store_records(
    target: Target,
    kind: ImportKind,
    reads: Iterator[LocatedRecord],
    notes: Notes,
    known: ProjectCache,
    images: ItemImages,
) -> Counts:
    """Store the records of one file and note those that do not fit the project. Call inside a transaction.

    Raises InputError for a record whose image cannot be used.
    """
    job = ImportJob(target, notes, known, Counts(), images)
    steps: dict[ImportKind, Callable[[ImportJob, list[LocatedRecord]], None]] = {
        "items": _items,
        "users": _users,
        "events": _events,
        "lists": _lists,
        "explanations": _explanations,
        "labels": _labels,
    }
    while batch := list(islice(reads, _BATCH)):
        job.counts.records += len(batch)
        steps[kind](job, batch)
    _remark_unknown_types(job)
    if kind == "labels":
        remark_repeats(job)
        remark_guessed_judges(job)
    images.remark()
    return job.counts


def _remark_unknown_types(job: ImportJob) -> None:
    unknown = sorted(name for name in job.counts.event_types if kind_of(name) is None)
    if not unknown:
        return
    more = f" and {len(unknown) - _SHOWN_TYPES} more" if len(unknown) > _SHOWN_TYPES else ""
    job.notes.remark(
        f"unknown type of event: {', '.join(map(shown, unknown[:_SHOWN_TYPES]))}{more}; judges see these "
        f"events under their own names, and they do not count as owning the item"
    )


def _typed(batch: list[LocatedRecord], wanted: type[_Record]) -> Iterator[tuple[LocatedRecord, _Record]]:
    for read in batch:
        if not isinstance(read.record, wanted):
            type_name = type(read.record).__name__
            raise InputError(
                f"the layout returned a {type_name} instead of a {wanted.__name__}", f"Line {read.line}."
            )
        yield read, read.record


def _items(job: ImportJob, batch: list[LocatedRecord]) -> None:
    items = [(read.line, job.images.store(read.line, item)) for read, item in _typed(batch, Item)]
    fresh = [item for line, item in items if _is_fresh(job, line, "item", item.item_id, item)]
    job.counts.keep(*fresh)
    add_items(job.target, fresh)


def _users(job: ImportJob, batch: list[LocatedRecord]) -> None:
    fresh = [
        user for read, user in _typed(batch, User) if _is_fresh(job, read.line, "user", user.user_id, user)
    ]
    job.counts.keep(*fresh)
    add_users(job.target, fresh)


def _is_fresh(
    job: ImportJob, line: int, what: Literal["item", "user"], name: str, record: Item | User
) -> bool:
    """Whether the record must be stored; counts it, and notes disagreements between files."""
    content = job.known.content
    if content is None:
        kind: Literal["items", "users"] = "items" if what == "item" else "users"
        content = job.known.content = known_content(job.target.db, job.target.project_id, kind)
    mark, before = fingerprint(record), content.get(name)
    same = before is not None and before[0] == mark
    if before is not None and before[1] >= job.target.since:
        if not same:
            _note_disagreement(job, line, f"{what} {shown(name)}", before[1])
            return False
        job.counts.unchanged += 1
        content[name] = (mark, job.target.import_id)
        return before[1] != job.target.import_id
    if same:
        job.counts.unchanged += 1
    else:
        job.counts.stored += 1
        if before is not None:
            _note_replacement(job, line, f"{what} {shown(name)}", before[1])
    content[name] = (mark, job.target.import_id)
    return True


def _events(job: ImportJob, batch: list[LocatedRecord]) -> None:
    items, users = job.ids("items"), job.ids("users")
    events = []
    for read, event in _typed(batch, Event):
        if items and event.item_id and event.item_id not in items:
            text = f"item {shown(event.item_id)} is unknown; the event is kept"
            job.notes.warn(read.line, "unknown item", text)
        if users and event.user_id not in users:
            text = f"user {shown(event.user_id)} is unknown; the event is kept"
            job.notes.warn(read.line, "unknown user", text)
        if not event.type.startswith(HELD_OUT):
            job.counts.event_types.add(event.type)
        events.append(event)
    job.counts.keep(*events)
    add_events(job.target, events)
    job.counts.stored += len(events)


def _lists(job: ImportJob, batch: list[LocatedRecord]) -> None:
    for read, slate in _typed(batch, Slate):
        lines, slate = _known_items_only(job, read, slate)
        if not slate.items:
            text = f"the list of {_owner(slate)} contains no known item; left out"
            job.notes.warn(read.line, "empty list", text)
            continue
        users = job.ids("users")
        if users and slate.user_id not in users:
            text = f"user {shown(slate.user_id)} is unknown; the list is kept"
            job.notes.warn(read.line, "unknown user", text)
        outcome, source = add_slate(job.target, slate)
        what = f"the list of {_owner(slate)}"
        _count_content(job, lines[0], what, outcome, source, slate)


def _known_items_only(job: ImportJob, read: LocatedRecord, slate: Slate) -> tuple[tuple[int, ...], Slate]:
    """The list without unknown items, which cannot be shown to a judge; unchanged while the project has no items."""
    items, lines = job.ids("items"), read.lines or (read.line,) * len(slate.items)
    if not items:
        if not job.known.no_items_noted:
            job.known.no_items_noted = True
            text = "the project has no items yet, so lists are kept by item id; import items before judging"
            job.notes.warn(read.line, "no items yet", text)
        return lines, slate
    if items.issuperset(map(attrgetter("item_id"), slate.items)):
        return lines, slate
    kept = []
    for line, item in zip(lines, slate.items, strict=True):
        if item.item_id in items:
            kept.append((line, item))
        else:
            text = f"item {shown(item.item_id)} is unknown; removed from the list, later items move up"
            job.notes.skip(line, "unknown item", text)
    return tuple(line for line, _ in kept), slate._replace(items=tuple(item for _, item in kept))


def _explanations(job: ImportJob, batch: list[LocatedRecord]) -> None:
    items, users = job.ids("items"), job.ids("users")
    for read, explanation in _typed(batch, Explanation):
        for known, what, name in ((items, "item", explanation.item_id), (users, "user", explanation.user_id)):
            if known and name not in known:
                text = f"{what} {shown(name)} is unknown; the explanation is kept"
                job.notes.warn(read.line, f"unknown {what}", text)
        outcome, source = add_explanation(job.target, explanation)
        what = f"the explanation of item {shown(explanation.item_id)} to {_owner(explanation)}"
        _count_content(job, read.line, what, outcome, source, explanation)


def _owner(record: Slate | Explanation) -> str:
    return list_owner(record.user_id, record.system, Occasion(record.context, record.served_at))


def _count_content(
    job: ImportJob, line: int, what: str, outcome: Outcome, source: int | None, record: Slate | Explanation
) -> None:
    rows = len(record.items) if isinstance(record, Slate) else 1
    if outcome == "unchanged":
        job.counts.unchanged += rows
        return
    if outcome == "disagrees":
        _note_disagreement(job, line, what, source, rows)
        return
    job.counts.stored += rows
    job.counts.keep(record)
    if outcome == "replaces":
        _note_replacement(job, line, what, source)


def _note_disagreement(job: ImportJob, line: int, what: str, source: int | None, rows: int = 1) -> None:
    where = "above" if source == job.target.import_id else f"in import {source}"
    text = f"{what} occurs {where} with other content; the first is kept"
    job.notes.skip(line, "disagrees with earlier content", text, rows)


def _note_replacement(job: ImportJob, line: int, what: str, source: int | None) -> None:
    job.notes.warn(
        line, "replaces an earlier import", f"{what} differs from import {source}; the new one replaces it"
    )


def _labels(job: ImportJob, batch: list[LocatedRecord]) -> None:
    store_labels(job, _typed(batch, Label))
