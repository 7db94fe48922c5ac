"""Imports files into a project in one transaction, all or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from recjudge_tui.domain.event_types import HELD_OUT
from recjudge_tui.domain.records import Event, ImportKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.files.chosen_rows import Wanted, where_text
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request
from recjudge_tui.importers.files.mapping import FileMapping, load_mapping
from recjudge_tui.importers.files.notes import SHOWN, Notes
from recjudge_tui.importers.files.reading import UTF8, Contents, contents_of, is_test_split, sample_of, stem
from recjudge_tui.importers.files.tables import long_fields
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.files.versions import refuse_changed, versions
from recjudge_tui.importers.float_ids import joined_ids
from recjudge_tui.importers.import_job import Counts, ProjectCache
from recjudge_tui.importers.item_images import ItemImages
from recjudge_tui.importers.label_storing import ANOTHER_VERDICT, REPEATED, TELL_APART
from recjudge_tui.importers.plain.columns import KNOWN, SYSTEM_KINDS
from recjudge_tui.importers.plain.tables import PLAIN, mapped_beginning, names_no_system, shown_below
from recjudge_tui.importers.preview import rendered
from recjudge_tui.importers.registry import choose_layout, mapped_layout
from recjudge_tui.importers.storing import store_records
from recjudge_tui.importers.summary import FileSummary, ImportSummary
from recjudge_tui.store.cases import label_columns
from recjudge_tui.store.data import brought_images
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import held_out_copies, mark_copies
from recjudge_tui.store.imports import (
    Target,
    begin_import,
    brought_visible_events,
    finish_import,
    import_of_path,
    is_displaced,
    same_import,
)
from recjudge_tui.store.projects import create_project, find_project
from recjudge_tui.store.ratings import stored_scales

# receives the number of rows processed so far and the share of the command's lines read, 0 to 1
Progress = Callable[[int, float], None]
_TICK = 1_000
# why an answer may be lost, and what to do if most of a file's answers are
_SCALE = (
    "Give the scale of the aspect in a mapping, such as scale = { quality = [0, 10] }, or"
    " { quality = { categories = [...] } } for words without an order; or say what each value means (docs/mapping.md)."
)
_CASES = f"The rows do not tell the cases apart: {TELL_APART}, or give each case its own user_id."
_REPLACE = "To replace the earlier answers, undo their import first (recjudge imports undo ID). If these are other votes,"
_LOST = {
    REPEATED: _CASES,
    ANOTHER_VERDICT: f"{_REPLACE} {TELL_APART}.",
    "outside the scale": _SCALE,
    "unknown value": _SCALE,
    "not a finite number": _SCALE,
}
# characters of the line that says how each column was read
_COLUMNS_SHOWN = 600


def import_files(
    db: Database,
    project: str,
    paths: Sequence[Path],
    kind: ImportKind,
    *,
    layout: str | None = None,
    mapping: Path | None = None,
    system: str | None = None,
    event_type: str | None = None,
    where: Wanted = MappingProxyType({}),
    beside: Sequence[Path] = (),
    names: Mapping[Path, str] | None = None,
    progress: Progress | None = None,
) -> ImportSummary:
    """Import files of one kind into a project; creates the project if it is new.

    One transaction: an error in any file, or an interruption, leaves the database unchanged. `system` names the system
    of lists or explanations and overrides a column of that name, `event_type` the type of events; several files that name
    no system are named after themselves. `where`: only the rows with one of these values in each of these
    columns. If files of one command disagree, the first one counts; a newer command replaces an earlier one. `beside`
    are other files that a layout may need, `names` replaces a file's path in messages. Raises UsageError, InputError,
    StoreError.
    """
    _refuse_unfit(kind, layout, mapping, system, event_type)
    system = _storable(system.strip()) if system else None
    described = load_mapping(mapping, KNOWN) if mapping is not None else None
    files: list[tuple[FileSummary, Notes]] = []
    encoding = (described.encoding if described else "") or UTF8
    before = versions((*paths, *beside))
    for path in paths:
        # a file that is not a table is refused by its beginning, before all of it is read
        sample_of(path, encoding)
    contents = {path: contents_of(path) for path in paths}
    pace = _Pace(progress, sum(c.lines for c in contents.values()))
    with long_fields(), db.bulk_writing(), db.transaction():
        project_id = find_project(db, project)
        identity = create_project(db, project) if project_id is None else project_id
        command = _Command(
            db, identity, kind, layout, described, system, event_type or "", where, (*paths, *beside),
            len(paths) > 1, names or {}, pace, ProjectCache(),
        )  # fmt: skip
        for path in paths:
            since = next((s.import_id for s, _ in files if s.import_id is not None), None)
            files.append(_import_file(command, path, contents[path], since))
        notes = _mark_copies(command, files)
        refuse_changed(before)
    return _summary(project, kind, files, notes, new_project=project_id is None)


def _summary(
    project: str,
    kind: ImportKind,
    files: Sequence[tuple[FileSummary, Notes]],
    notes: tuple[str, ...],
    *,
    new_project: bool,
) -> ImportSummary:
    kinds: Counter[str] = Counter()
    for _, file_notes in files:
        kinds.update(file_notes.kinds)
    return ImportSummary(
        project=project.strip(),
        kind=kind,
        new_project=new_project,
        files=tuple(summary for summary, _ in files),
        warnings=tuple(islice((text for _, file_notes in files for text in file_notes.first), SHOWN)),
        warning_kinds=dict(kinds.most_common()),
        notes=notes,
    )


def _mark_copies(command: _Command, files: list[tuple[FileSummary, Notes]]) -> tuple[str, ...]:
    """Mark the visible events that are copies of held-out ones; returns the sentences about them."""
    if command.kind != "events":
        return ()
    stored = [summary.import_id for summary, _ in files if summary.import_id is not None]
    mark_copies(command.db, command.project_id, stored)
    return tuple(held_out_copies(command.db, command.project_id).sentences)


def _refuse_unfit(
    kind: ImportKind, layout: str | None, mapping: Path | None, system: str | None, event_type: str | None
) -> None:
    """Raise UsageError for options that do not apply to the kind, or exclude each other."""
    if system is not None and kind not in SYSTEM_KINDS:
        raise UsageError(
            f"--system does not apply to {kind}", f"It names the system of {' or '.join(SYSTEM_KINDS)}."
        )
    if event_type is not None and kind != "events":
        raise UsageError(f"--type does not apply to {kind}", "It names the type of events.")
    if mapping is not None and layout not in (None, PLAIN.name):
        raise UsageError(
            "--mapping and --layout exclude each other", "A mapping describes the layout itself."
        )


class _Pace:
    """Reports the progress of a command by the lines read, every 1,000 rows."""

    def __init__(self, progress: Progress | None, lines: int) -> None:
        self.progress = progress
        self.lines = lines
        self.before = 0
        self.rows = 0

    def through(self, reads: Iterator[LocatedRecord], lines: int) -> Iterator[LocatedRecord]:
        """Pass on the records of a file with this many lines, and report progress."""
        if self.progress is None:
            yield from reads
            return
        reported, furthest = self.rows, 0
        for read in reads:
            yield read
            self.rows += len(read.lines) or 1
            # lists are yielded in another order than their rows
            furthest = max(furthest, read.line)
            if self.rows - reported >= _TICK:
                reported = self.rows
                self.progress(self.rows, min(1.0, (self.before + min(furthest, lines)) / (self.lines or 1)))
        self.before += lines
        self.progress(self.rows, self.before / (self.lines or 1))


class _Command(NamedTuple):
    """The state that the files of one command share."""

    db: Database
    project_id: int
    kind: ImportKind
    layout: str | None
    mapping: FileMapping | None
    system: str | None
    event_type: str
    where: Wanted
    files: tuple[Path, ...]
    several: bool
    names: Mapping[Path, str]
    pace: _Pace
    known: ProjectCache

    def case_of(self, case_id: str) -> dict[str, str] | None:
        """The columns of a label that describe a case; None if the project has no case of this id."""
        if not (case_id.isascii() and case_id.isdigit() and len(case_id) < 16):
            return None
        return label_columns(self.db, self.project_id, int(case_id))

    def how(self, layout: str, system: str | None) -> str:
        """How a file is read, as text: reading the same bytes in another way is another import."""
        how = f"mapping {self.mapping.name} {self.mapping.digest[:8]}" if self.mapping else layout
        how = f"{how}, system {system}" if system else how
        how = f"{how}, type {self.event_type}" if self.event_type else how
        return f"{how}, where {where_text(self.where)}" if self.where else how


def _import_file(
    command: _Command, path: Path, contents: Contents, since: int | None
) -> tuple[FileSummary, Notes]:
    """Read and store one file, unless the same bytes were already imported in the same way and nothing has replaced
    their content.
    """
    db, project_id, kind, mapping = command.db, command.project_id, command.kind, command.mapping
    name = _storable(command.names.get(path, str(path)))
    notes = Notes(name)
    sample = sample_of(path, (mapping.encoding if mapping else "") or UTF8)
    if mapping is not None:
        layout = mapped_layout(mapping, kind)
    else:
        layout = choose_layout(sample, kind, command.layout, command.system)
    if command.where and not layout.takes_where:
        raise UsageError(
            f"--where does not apply to {name}",
            f"The layout {layout.name} is read whole.",
            "Import a file that holds only the rows you want.",
        )
    system = command.system
    if system is None and command.several and layout is PLAIN and names_no_system(sample, kind, mapping):
        system = stem(path)
        notes.remark(f"no column for the system: it gets the file's name, {shown(system)}")
    how = command.how(layout.name, system)
    held_out = (
        kind == "events" and layout.split_by_name and not command.event_type and is_test_split(Path(name))
    )
    earlier = same_import(db, project_id, kind, how, contents.sha256, partial(_is_read_alike, db, held_out))
    # the same table may name images that have changed
    if earlier is not None and not is_displaced(db, earlier, kind) and not brought_images(db, earlier):
        command.pace.before += contents.lines
        return FileSummary(path=name, layout=how, earlier=earlier), notes
    import_id = begin_import(db, project_id, kind, how, name, contents.sha256)
    if kind == "events":
        _note_older_version(command, import_id, name, notes)
    beside = tuple(other for other in command.files if other != path)
    request = Request(path, kind, notes, system, mapping, beside, command.event_type, command.case_of)
    request = request._replace(where=command.where)
    if kind == "labels":
        request = request._replace(scales=stored_scales(db, project_id))
    target = Target(db, project_id, import_id, import_id if since is None else since)
    again = partial(layout.read, request._replace(notes=Notes(name)))
    reads = joined_ids(layout.read(request), again, target, notes)
    reads = _held_out(reads, notes) if held_out else reads
    reads = command.pace.through(reads, contents.lines)
    images = ItemImages(db, notes, None if path in command.names else path.parent)
    counts = store_records(target, kind, reads, notes, command.known, images)
    if not counts.stored and not counts.unchanged and not counts.answered:
        raise _nothing(request, layout, counts.records)
    if kind == "labels":
        _refuse_lost_votes(notes, counts)
    return _finished(db, FileSummary(path=name, layout=how, import_id=import_id), counts, notes), notes


def _finished(db: Database, summary: FileSummary, counts: Counts, notes: Notes) -> FileSummary:
    """Record an import's counts and put them into its summary."""
    assert summary.import_id is not None
    read = counts.stored + counts.unchanged + notes.skipped
    finish_import(
        db,
        summary.import_id,
        read=read,
        stored=counts.stored,
        skipped=notes.skipped,
        warnings=notes.stored_form(),
    )
    return summary.model_copy(
        update={
            "columns": one_line(notes.columns, _COLUMNS_SHOWN),
            "remarks": tuple(notes.remarks),
            "examples": tuple(map(rendered, counts.examples)),
            "read": read,
            "stored": counts.stored,
            "unchanged": counts.unchanged,
            "skipped": notes.skipped,
        }
    )


def _is_read_alike(db: Database, held_out: bool, import_id: int, path: str) -> bool:
    """Whether an earlier import of the same bytes treated them as the held-out part of a split if and only if this
    one does.
    """
    if held_out:
        return not brought_visible_events(db, import_id)
    return not is_test_split(Path(path)) or brought_visible_events(db, import_id)


def _held_out(reads: Iterator[LocatedRecord], notes: Notes) -> Iterator[LocatedRecord]:
    for read in reads:
        event = read.record
        if isinstance(event, Event) and not event.type.startswith(HELD_OUT):
            notes.remark(
                "the name says that this is the test part of a split: its events are held out and no judge "
                "sees them (with --type TYPE they are history)"
            )
            read = read._replace(record=event._replace(type=HELD_OUT + event.type))
        yield read


def _note_older_version(command: _Command, import_id: int, name: str, notes: Notes) -> None:
    older = import_of_path(command.db, command.project_id, command.kind, name, import_id)
    if older is not None:
        text = f"import {older} read another version of this file, and its events are still there; consider undoing it"
        notes.warn(1, "another version imported before", text)


def _nothing(request: Request, layout: Layout, records: int) -> InputError:
    notes = request.notes
    if not notes.skipped and not records:
        empty = "no answers" if request.kind == "labels" else "no records"
        return InputError(
            f"{notes.file} has {'a header and no rows' if layout.has_header else empty}",
            next_step="Check how it was created; nothing was imported.",
        )
    rows = mapped_beginning(request) if request.mapping and request.mapping.kinds else []
    advice = _advice(_lost(notes)) if request.kind == "labels" else ""
    count = max(notes.skipped, records)
    return InputError(
        f"nothing in {notes.file} could be imported as {request.kind}",
        f"0 of {count:,} rows fit. {'; '.join(notes.first[:3])}.{shown_below(rows)}",
        f"Nothing was stored. {advice or 'Check these rows and the kind given with --as.'}",
    )


def _refuse_lost_votes(notes: Notes, counts: Counts) -> None:
    """Raise InputError if most of the answers in a file cannot be used. Empty cells are no answers."""
    lost = _lost(notes)
    count = sum(lost.values())
    answers = count + counts.stored + counts.unchanged
    if 2 * count <= answers:
        return
    raise InputError(
        f"most answers in {notes.file} would be lost",
        f"{count:,} of {answers:,} cannot be used ({', '.join(f'{n:,} × {kind}' for kind, n in lost.items())}):"
        f" {'; '.join(notes.first[:3])}.",
        f"Nothing was stored. {_advice(lost)}",
    )


def _lost(notes: Notes) -> dict[str, int]:
    return {kind: notes.kinds[kind] for kind in _LOST if notes.kinds[kind]}


def _advice(lost: Mapping[str, int]) -> str:
    """What to do about the most frequent reason; empty if there is none."""
    return _LOST[max(lost, key=lambda kind: lost[kind])] if lost else ""


def _storable(text: str) -> str:
    """The text without the surrogates that represent undecodable bytes in file names."""
    return text.encode("utf-8", "replace").decode()
