"""Stores records, checked against the data of the project."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Literal, NamedTuple, TypeVar

from recjudge_tui.domain.event_types import HELD_OUT, kind_of
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.records import Event, Explanation, ImportKind, Item, Label, Slate, User
from recjudge_tui.domain.roles import IMPORTED, RaterKind, kind_by_name
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.files.layout import LocatedRecord, Record
from recjudge_tui.importers.files.notes import Notes
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.item_images import ItemImages
from recjudge_tui.importers.plain.lists import list_owner
from recjudge_tui.importers.preview import SHOWN
from recjudge_tui.store.annotation.tasks import close_answered
from recjudge_tui.store.annotation.tokens import task_by_token
from recjudge_tui.store.imports.loading import (
    Clash,
    LabelledCase,
    Outcome,
    Target,
    add_events,
    add_explanation,
    add_items,
    add_slate,
    add_users,
    add_verdict,
    case_of_label,
    fingerprint,
    known_content,
    known_ids,
)
from recjudge_tui.store.raters.raters import ensure_rater, rater_kind

# votes that were left out, as they are counted
REPEATED = "repeated vote"
ANOTHER_VERDICT = "another verdict by the same rater"
TELL_APART = "name the session, query or battle of each row in a column context (docs/occasions.md)"
_BATCH = 2_000
_SHOWN_TYPES = 10
_SHOWN_NAMES = 5
_Record = TypeVar("_Record", Item, User, Event, Slate, Explanation, Label)


@dataclass
class ProjectCache:
    """A cache of project data for the files of one command, filled on first use.

    `content`: id -> (fingerprint, import) of items or users. `items`, `users`: the known ids. `raters` and `cases`:
    those named by labels so far.
    """

    content: dict[str, tuple[int, int]] | None = None
    items: set[str] | None = None
    users: set[str] | None = None
    raters: dict[tuple[str, str | None], int] = field(default_factory=dict)
    cases: dict[tuple[str, ...], LabelledCase] = field(default_factory=dict)
    told_no_items: bool = False


@dataclass
class Counts:
    """`records` counts records of the file; `stored` and `unchanged` count rows, `repeats` votes on a case that the same
    rater answered earlier in the command; `examples` are the first stored, `event_types` all types of events without the
    mark of those held out, `guessed_judges` new raters taken for models by their names."""

    records: int = 0
    stored: int = 0
    unchanged: int = 0
    repeats: int = 0
    examples: list[Record] = field(default_factory=list)
    event_types: set[str] = field(default_factory=set)
    guessed_judges: list[str] = field(default_factory=list)

    def keep(self, *records: Record) -> None:
        """Keep the records as examples if there are too few."""
        if len(self.examples) < SHOWN:
            self.examples.extend(records[: SHOWN - len(self.examples)])


class _Job(NamedTuple):
    target: Target
    notes: Notes
    known: ProjectCache
    counts: Counts
    images: ItemImages

    def ids(self, kind: Literal["items", "users"]) -> set[str]:
        known = self.known.items if kind == "items" else self.known.users
        if known is None:
            known = known_ids(self.target.db, self.target.project_id, kind)
            if kind == "items":
                self.known.items = known
            else:
                self.known.users = known
        return known


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
    job = _Job(target, notes, known, Counts(), images)
    steps: dict[ImportKind, Callable[[_Job, list[LocatedRecord]], None]] = {
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
        _remark_repeats(job)
        _remark_guessed_judges(job)
    images.remark()
    return job.counts


def _remark_unknown_types(job: _Job) -> None:
    unknown = sorted(name for name in job.counts.event_types if kind_of(name) is None)
    if not unknown:
        return
    more = f" and {len(unknown) - _SHOWN_TYPES} more" if len(unknown) > _SHOWN_TYPES else ""
    job.notes.remark(
        f"unknown type of event: {', '.join(map(shown, unknown[:_SHOWN_TYPES]))}{more}; a judge sees these events under"
        " their own name, and they do not mean that the user has the item"
    )


def _typed(batch: list[LocatedRecord], wanted: type[_Record]) -> Iterator[tuple[LocatedRecord, _Record]]:
    for read in batch:
        if not isinstance(read.record, wanted):
            type_name = type(read.record).__name__
            raise InputError(
                f"the layout returned a {type_name} instead of a {wanted.__name__}", f"Line {read.line}."
            )
        yield read, read.record


def _items(job: _Job, batch: list[LocatedRecord]) -> None:
    items = [(read.line, job.images.store(read.line, item)) for read, item in _typed(batch, Item)]
    fresh = [item for line, item in items if _is_fresh(job, line, "item", item.item_id, item)]
    job.counts.keep(*fresh)
    add_items(job.target, fresh)


def _users(job: _Job, batch: list[LocatedRecord]) -> None:
    fresh = [
        user for read, user in _typed(batch, User) if _is_fresh(job, read.line, "user", user.user_id, user)
    ]
    job.counts.keep(*fresh)
    add_users(job.target, fresh)


def _is_fresh(job: _Job, line: int, what: Literal["item", "user"], name: str, record: Item | User) -> bool:
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


def _events(job: _Job, batch: list[LocatedRecord]) -> None:
    items, users = job.ids("items"), job.ids("users")
    events = []
    for read, event in _typed(batch, Event):
        if items and event.item_id and event.item_id not in items:
            text = f"item {shown(event.item_id)} is unknown; the event is kept"
            job.notes.warn(read.line, "unknown item", text)
        if users and event.user_id not in users:
            text = f"user {shown(event.user_id)} is unknown; the event is kept"
            job.notes.warn(read.line, "unknown user", text)
        job.counts.event_types.add(event.type.removeprefix(HELD_OUT))
        events.append(event)
    job.counts.keep(*events)
    add_events(job.target, events)
    job.counts.stored += len(events)


def _lists(job: _Job, batch: list[LocatedRecord]) -> None:
    for read, slate in _typed(batch, Slate):
        lines, slate = _known_items_only(job, read, slate)
        if not slate.items:
            text = f"the list of {_owner(slate)} holds no known item; left out"
            job.notes.warn(read.line, "empty list", text)
            continue
        users = job.ids("users")
        if users and slate.user_id not in users:
            text = f"user {shown(slate.user_id)} is unknown; the list is kept"
            job.notes.warn(read.line, "unknown user", text)
        outcome, source = add_slate(job.target, slate)
        what = f"the list of {_owner(slate)}"
        _count_content(job, lines[0], what, outcome, source, slate)


def _known_items_only(job: _Job, read: LocatedRecord, slate: Slate) -> tuple[tuple[int, ...], Slate]:
    """The list without unknown items, which cannot be shown to a judge; unchanged while the project has no items."""
    items, lines = job.ids("items"), read.lines or (read.line,) * len(slate.items)
    if not items:
        if not job.known.told_no_items:
            job.known.told_no_items = True
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


def _explanations(job: _Job, batch: list[LocatedRecord]) -> None:
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
    job: _Job, line: int, what: str, outcome: Outcome, source: int | None, record: Slate | Explanation
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


def _note_disagreement(job: _Job, line: int, what: str, source: int | None, rows: int = 1) -> None:
    where = "above" if source == job.target.import_id else f"in import {source}"
    text = f"{what} occurs {where} with other content; the first is kept"
    job.notes.skip(line, "disagrees with earlier content", text, rows)


def _note_replacement(job: _Job, line: int, what: str, source: int | None) -> None:
    job.notes.warn(
        line, "replaces an earlier import", f"{what} differs from import {source}; the new one replaces it"
    )


def _labels(job: _Job, batch: list[LocatedRecord]) -> None:
    for read, label in _typed(batch, Label):
        if label.task:
            _task_answer(job, read.line, label)
            continue
        rater = _rater(job, read.line, label)
        case, turned, occasions = case_of_label(job.target, job.known.cases, label)
        if occasions > 1:
            text = (
                f"user {shown(label.user_id)} was shown {occasions} such lists or texts, and context and served_at do "
                "not say which was judged; the label is kept without one"
            )
            job.notes.warn(read.line, "which occasion is not clear", text)
        _add_label(job, read.line, rater, case, label, turned=turned)


def _add_label(job: _Job, line: int, rater: int, case: int, label: Label, *, turned: bool) -> None:
    """Store a label in the orientation of its case, which is the other one if it is `turned`."""
    standing = label
    if turned and label.value is not None:
        value = 0.0 - label.value
        names = protocol_facts(label.protocol).labels
        standing = label.model_copy(update={"value": value, "label": names.get(value, label.label)})
    clash = add_verdict(job.target, rater, case, standing)
    if clash is None:
        job.counts.stored += 1
        job.counts.keep(label)
        return
    repeated = clash.import_id is not None and clash.import_id >= job.target.since
    job.counts.repeats += repeated
    if not clash.same:
        _note_clash(job, line, label, clash)
    elif repeated:
        text = (
            f"{shown(label.rater)} answered {label.aspect} of this case above, with the same answer; left out"
        )
        job.notes.skip(line, REPEATED, text)
    else:
        job.counts.unchanged += 1


def _remark_repeats(job: _Job) -> None:
    counts = job.counts
    if counts.repeats:
        job.notes.remark(
            f"{counts.repeats:,} of {counts.records:,} votes are on a case that the same rater answered above: these rows do"
            f" not tell the cases apart; {TELL_APART}"
        )
    if counts.unchanged:
        job.notes.remark(
            f"{counts.unchanged:,} of {counts.records:,} votes stand in an earlier import with the same answer and are not"
            f" counted twice. If they are another session, {TELL_APART}"
        )


def _task_answer(job: _Job, line: int, label: Label) -> None:
    """Store the answer to an exported task as one of the person whose task it is, and close the task."""
    task = task_by_token(job.target.db, job.target.project_id, label.task)
    if task is None or task.protocol != label.protocol:
        text = f"task {shown(label.task)} is no {label.protocol} task of this project; left out"
        job.notes.skip(line, "unknown task", text)
        return
    if label.rater not in ("", task.rater):
        text = f"answered by {shown(label.rater)}; stored as {shown(task.rater)}, whose task it is"
        job.notes.warn(line, "answered by another name", text)
    named = label.model_copy(update={"rater": task.rater})
    _add_label(job, line, task.rater_id, task.case_id, named, turned=task.first == "b")
    close_answered(job.target.db, task.id)


def _rater(job: _Job, line: int, label: Label) -> int:
    key = (label.rater, label.rater_kind)
    if key not in job.known.raters:
        kind = label.rater_kind or _kind_by_name(job, label.rater)
        try:
            job.known.raters[key] = ensure_rater(job.target.db, job.target.project_id, label.rater, kind)
        except UsageError as error:
            raise InputError(
                f"{job.notes.file}:{line}: {error.title}", error.cause, error.next_step
            ) from error
    return job.known.raters[key]


def _kind_by_name(job: _Job, name: str) -> RaterKind:
    """The kind of a rater whose row does not say it: the one that it has, if it was imported, else the one of its name."""
    kind = kind_by_name(name)
    stored = rater_kind(job.target.db, job.target.project_id, name)
    if stored in IMPORTED and kind != "ground_truth":
        kind = stored
    elif kind == "judge":
        job.counts.guessed_judges.append(name)
    return kind


def _remark_guessed_judges(job: _Job) -> None:
    names = job.counts.guessed_judges
    if names:
        more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
        job.notes.remark(
            f"taken for language models by name, so not counted as people: {', '.join(map(shown, names[:_SHOWN_NAMES]))}"
            f"{more}; a column rater_kind (judge, annotator) decides, or “recjudge rater kind NAME annotator”"
        )


def _note_clash(job: _Job, line: int, label: Label, clash: Clash) -> None:
    if clash.import_id == job.target.import_id:
        origin = "above in this file"
    elif clash.import_id is not None:
        origin = f"in import {clash.import_id}"
    else:
        origin = f"in run {clash.run_id}" if clash.run_id is not None else "already"
    answer = f"answered {shown(clash.label)}" if clash.label else "failed"
    text = f"{shown(label.rater)} {answer} on {label.aspect} of this case {origin}; that is kept"
    job.notes.skip(line, ANOTHER_VERDICT, text)
