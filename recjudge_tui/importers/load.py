"""Imports files into a project in one transaction, all or nothing: rows of a layout become records, are checked against the
project and stored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, compress, islice
from operator import not_
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

from recjudge_tui.domain.event_types import HELD_OUT, kind_of
from recjudge_tui.domain.imports import EXAMPLES, FileSummary, ImportSummary
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.records import Event, Explanation, ImportKind, Item, Label, Slate, User
from recjudge_tui.domain.roles import IMPORTED, kind_by_name
from recjudge_tui.domain.scales import Scale
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.codes import STRAY_ROWS, Codebook, is_few, shown_counts
from recjudge_tui.importers.columns import (
    ALIASES,
    COLUMNS,
    KNOWN,
    NUMBERS,
    SYSTEM_KINDS,
    WORDS,
    missing_of,
    wanted_columns,
)
from recjudge_tui.importers.images import ItemImages
from recjudge_tui.importers.labels import LabelRows, in_both_orders
from recjudge_tui.importers.layout import Declaration, Part, Request, beginning, load_declaration
from recjudge_tui.importers.lists import LocatedSlate, list_owner, slates_of
from recjudge_tui.importers.reader import (
    UTF8,
    Contents,
    Wanted,
    contents_of,
    header_of,
    is_test_split,
    long_reading,
    sample_of,
    squashed,
    stem,
    watched,
    where_text,
)
from recjudge_tui.importers.registry import PLAIN, choose_layout, mapped_layout
from recjudge_tui.importers.values import (
    COMMA,
    LOSSES,
    MISSING,
    SHOWN,
    Ids,
    Notes,
    Row,
    RowFault,
    Times,
    advice,
    filled,
    first_few,
    misuse,
    number,
    plain_number,
    refusal,
    refuse,
    shown,
    stop_if,
)
from recjudge_tui.store import imports
from recjudge_tui.store.cases import label_columns
from recjudge_tui.store.data import brought_images
from recjudge_tui.store.database import Database
from recjudge_tui.store.exports import LABEL_COLUMNS
from recjudge_tui.store.histories import held_out_copies, mark_copies
from recjudge_tui.store.people import close_answered, task_by_token
from recjudge_tui.store.projects import create_project, find_project
from recjudge_tui.store.raters import ensure_rater, rater_kind
from recjudge_tui.store.ratings import add_scale, scale_source, stored_scales, turned_scales
from recjudge_tui.store.verdicts import COUNTED

# receives the number of rows processed so far and the share of the command's lines read, 0 to 1
Progress = Callable[[int, float], None]
Record = Item | User | Event | Slate | Explanation | Label
_T = TypeVar("_T")
_What = Literal["items", "users"]
_TICK, _BATCH, _MOST_VALUES = 1_000, 2_000, 10_000
# of a record on one line: the items of a list, and characters
_ITEMS, _WIDTH = 10, 160
# rows are appended, and the indexes are made at the end, so that a large cache of pages gains nothing
CACHE_KIB = 16_384
# the bytes of files whose check takes so long that its progress is shown
_LARGE = 20_000_000
# characters of the line that says how each column was read
_COLUMNS_SHOWN = 600
_FRACTION = re.compile(r"^(\s*[+-]?\d+),(\d+(?:[eE][+-]?\d+)?\s*)$", re.ASCII)

# option -> the kinds that it applies to, its name in a command, what it is for
APPLIES: dict[str, tuple[Sequence[ImportKind], str, str]] = {
    "system": (SYSTEM_KINDS, "--system", "It names the system of lists or explanations."),
    "event_type": (("events",), "--type", "It names the type of events."),
    "values": (("labels",), "--values", "It says what the answers of labels mean."),
    "scale": (("labels",), "--scale", "It says what the answers of labels mean."),
    "keep_fitting": (("labels",), "--keep-fitting", "It says what the answers of labels mean."),
}


class Options(NamedTuple):
    """What a command says about its files. `system` names the system of lists or explanations and overrides a column
    of that name, `event_type` the type of events. `where`: only the rows with one of these values in each of these
    columns. `values`, `scale` (from its first end to its last) and `keep_fitting` say what the answers of labels
    mean.
    """

    layout: str | None = None
    mapping: Path | Declaration | None = None
    system: str | None = None
    event_type: str | None = None
    where: Wanted = MappingProxyType({})
    values: Mapping[str, str] = MappingProxyType({})
    scale: tuple[float, float] | None = None
    keep_fitting: bool = False

    def refuse_unfit(self, kinds: Sequence[ImportKind]) -> None:
        """Raise UsageError for options that apply to none of the kinds, or exclude each other."""
        for name, (fitting, option, about) in APPLIES.items():
            if getattr(self, name) and not set(fitting) & set(kinds):
                raise misuse("does-not-apply", option=option, kinds=kinds, about=about)
        if self.mapping is not None and self.layout not in (None, PLAIN.name):
            raise misuse("mapping-and-layout")

    def how(self, layout: str) -> str:
        """How a file is read, as text: reading the same bytes in another way is another import."""
        values = ",".join(f"{old}={new}" for old, new in self.values.items())
        parts = (
            layout,
            self.system and f"system {self.system}",
            self.event_type and f"type {self.event_type}",
            values and f"values {values}",
            self.scale and f"scale {self.scale[0]:g}..{self.scale[1]:g}",
            self.keep_fitting and "keep fitting",
            self.where and f"where {where_text(self.where)}",
        )
        return ", ".join(str(part) for part in parts if part)


def import_files(
    db: Database,
    project: str,
    paths: Sequence[Path],
    kind: ImportKind,
    *,
    beside: Sequence[Path] = (),
    names: Mapping[Path, str] | None = None,
    progress: Progress | None = None,
    **given: Any,
) -> ImportSummary:
    """Import files of one kind into a project; creates the project if it is new.

    One transaction: an error in any file, or an interruption, leaves the database unchanged. `given` are those of
    `Options`. Several files that name no system are named after themselves. If files of one command disagree, the
    first one counts; a newer command replaces an earlier one. `beside` are other files that a layout may need,
    `names` replaces a file's path in messages. Raises UsageError, InputError, StoreError.
    """
    options = Options(**given)
    options.refuse_unfit((kind,))
    options = options._replace(system=_storable(options.system.strip()) if options.system else None)
    mapping = load_declaration(options.mapping) if isinstance(options.mapping, Path) else options.mapping
    encoding = mapping.encoding if mapping else UTF8
    refuse_changed = watched((*paths, *beside))
    for path in paths:
        # a file that is not a table is refused by its beginning, before all of it is read
        sample_of(path, encoding)
    total, seen = sum(path.stat().st_size for path in paths), 0

    def checked(more: int) -> None:
        nonlocal seen
        seen += more
        if progress is not None and total > _LARGE:
            progress(0, min(1.0, seen / total))

    contents = {path: contents_of(path, encoding, checked) for path in paths}
    lines = sum(c.lines for c in contents.values())
    pace = _Pace(progress, (2 if kind == "labels" else 1) * lines)
    files: list[FileSummary] = []
    found: list[Notes] = []
    facts: tuple[str, ...] = ()
    with long_reading(), db.bulk_writing(CACHE_KIB, temporary="FILE"), db.transaction():
        project_id = find_project(db, project)
        known = _Known(db, create_project(db, project) if project_id is None else project_id)
        late = {"events": ("events",), "labels": ("verdicts", "cases")}.get(kind, ())
        with db.late_indexes(late, lines):
            for path in paths:
                name = _storable((names or {}).get(path, str(path)))
                folder = None if names and path in names else path.parent
                others = tuple(other for other in (*paths, *beside) if other != path)
                request = Request(
                    path, kind, Notes(name), options.system, mapping, others, options.event_type or "",
                    options.where, contents[path],
                )  # fmt: skip
                job = _File(known, request, options, pace, name, folder)
                since = next((done.import_id for done in files if done.import_id is not None), None)
                files.append(job.imported(contents[path], since, several=len(paths) > 1))
                found.append(request.notes)
        if kind == "events":
            new = [s.import_id for s in files if s.import_id is not None]
            mark_copies(db, known.project_id, new)
            facts = tuple(
                f"{count:,} of the events of import {one} are already in import {source}: they count twice, unless one"
                f" is undone (recjudge imports undo {one})"
                for one in new
                for source, count in imports.events_before(db, known.project_id, one).items()
            )
            facts += tuple(held_out_copies(db, known.project_id).sentences)
        refuse_changed()
    return ImportSummary(
        project=project.strip(),
        kind=kind,
        new_project=project_id is None,
        files=tuple(files),
        warnings=tuple(islice(chain.from_iterable(notes.first for notes in found), SHOWN)),
        warning_kinds=dict(sum((notes.kinds for notes in found), Counter[str]()).most_common()),
        notes=facts,
    )


class _Pace:
    """Reports the progress of a command by the lines read, every 1,000 rows."""

    def __init__(self, progress: Progress | None, lines: int) -> None:
        self.progress, self.lines, self.before, self.rows = progress, lines, 0, 0

    def through(self, rows: Iterator[Row], lines: int) -> Iterator[Row]:
        """Pass on the rows of a file with this many lines, and report progress."""
        if self.progress is None:
            yield from rows
            return
        for line, row in rows:
            yield line, row
            self.rows += 1
            if self.rows % _TICK == 0:
                self.progress(self.rows, min(1.0, (self.before + min(line, lines)) / (self.lines or 1)))
        self.before += lines
        self.progress(self.rows, min(1.0, self.before / (self.lines or 1)))


class _Known:
    """What is known of the project for the files of one command.

    `ids` (by what) are those that the project describes, `mentioned` (by column) those that any of its data name; `content`
    (by what): id -> (fingerprint, import). `raters` and `cases`: those named by labels so far. `scales`: (protocol, aspect)
    -> the scale of its own that it has; `turned_scales`: those whose values are turned round; `scaled`: those given
    so far, by import. `turned`: of each verdict from `first` on, whether its row has the systems in the other order than the
    case.
    """

    def __init__(self, db: Database, project_id: int) -> None:
        self.db, self.project_id = db, project_id
        self.ids = cache(partial(imports.known_ids, db, project_id))
        self.content = cache(partial(imports.known_content, db, project_id))
        self._mentioned = cache(partial(imports.mentioned_ids, db, project_id))
        self.raters: dict[tuple[str, str | None], int] = {}
        self.cases: dict[tuple[str, ...], imports.LabelledCase] = {}
        self.scales = dict(stored_scales(db, project_id))
        self.turned_scales = turned_scales(db, project_id)
        self.scaled = set[tuple[int, str, str]]()
        self.first, self.turned = 0, bytearray()
        self.no_items_noted = False

    def mentioned(self, column: str) -> set[str]:
        return self._mentioned("items" if column == "item_id" else "users")

    def case_of(self, case_id: str) -> dict[str, str] | None:
        """The columns of a label that describe a case; None if the project has no case of this id."""
        possible = case_id.isascii() and case_id.isdigit() and len(case_id) < 16
        return label_columns(self.db, self.project_id, int(case_id)) if possible else None


class _File:
    """One file that is being imported: how it is read, and the counts.

    `folder` is that of its images. `records` counts records of the file; `stored` and `unchanged` count rows, `repeats`
    votes on a case that the same rater answered above, `tasks` answers to exported tasks, `answered` others to tasks that
    have one already, by its import (None: given in the app). `types`: of events that a judge may see; `judges`: new raters
    taken for models by their names.
    """

    target: imports.Target

    def __init__(
        self, known: _Known, request: Request, options: Options, pace: _Pace, name: str, folder: Path | None
    ) -> None:
        self.known, self.request, self.options, self.pace = known, request, options, pace
        self.db, self.notes, self.kind = known.db, request.notes, request.kind
        self.name, self.times = name, Times()
        self.images = ItemImages(known.db, request.notes, folder)
        self.records = self.stored = self.unchanged = self.repeats = self.tasks = 0
        self.answered: Counter[int | None] = Counter()
        self.examples: list[Record] = []
        self.types: set[str] = set()
        self.judges: list[str] = []

    def imported(self, contents: Contents, since: int | None, *, several: bool) -> FileSummary:
        """Read and store the file, unless the same bytes were already imported in the same way and nothing has replaced
        their content.
        """
        db, project_id, kind, name = self.db, self.known.project_id, self.kind, self.name
        path, mapping, options = self.request.path, self.request.mapping, self.options
        self.sample = sample = sample_of(path, mapping.encoding if mapping else UTF8)
        layout = mapped_layout(mapping, kind) if mapping else None
        self.layout = layout = layout or choose_layout(sample, kind, options.layout, options.system)
        self.part = layout.part(sample, kind)
        if options.where and not layout.takes_where:
            raise misuse("no-where", name=name, layout=layout.name)
        wanted = wanted_columns(kind)
        header = mapping.header if mapping and mapping.header else header_of(sample.text, wanted)
        named = self.part.fields if self.part else wanted.renamed(header) if layout is PLAIN else ("system",)
        if options.system is None and several and kind in SYSTEM_KINDS and "system" not in named:
            system = stem(path)
            self.request = self.request._replace(system=system)
            self.notes.remark("no-system", system=system)
        how = f"mapping {mapping.name} {mapping.digest[:8]}" if mapping else layout.name
        how = options._replace(system=self.request.system).how(how)
        by_name = kind == "events" and layout.split_by_name and not options.event_type
        held_out = by_name and is_test_split(Path(name))

        def is_read_alike(import_id: int, earlier_path: str) -> bool:
            """Whether an earlier import of the same bytes held its events out if and only if this one does."""
            brought = imports.brought_visible_events(db, import_id)
            return not brought if held_out else brought or not is_test_split(Path(earlier_path))

        earlier = imports.same_import(db, project_id, kind, how, contents.sha256, is_read_alike)
        # the same table may name images that have changed
        if earlier and not (imports.is_displaced(db, earlier, kind) or brought_images(db, earlier)):
            self.pace.before += contents.lines
            at = imports.imported_at(db, earlier)
            return FileSummary(path=name, layout=how, earlier=earlier, earlier_at=at)
        import_id = imports.begin_import(db, project_id, kind, how, name, contents.sha256)
        older = imports.import_of_path(db, project_id, kind, name, import_id) if kind == "events" else None
        if older is not None:
            self.notes.warn(1, "another version imported before", older=older)
        self.target = imports.Target(db, project_id, import_id, import_id if since is None else since)
        self._store(held_out=held_out)
        if units := self.times.described():
            self.notes.remark("times", units=units)
        self._refuse_losses()
        return self._finished(how)

    def _store(self, *, held_out: bool) -> None:
        if self.kind == "lists":
            by_file = self.part is not None and self.part.ties == "file"
            plain = self.layout is PLAIN
            slates = slates_of(self._rows(), self._ids(), self.times, file_order=by_file, plain=plain)
            self._batches(slates, self._lists)
            self._refuse_times_of_items()
        elif self.kind == "labels":
            self._batches(self._label_rows().labels(), self._labels)
            self._remark_repeats()
        elif self.kind == "events":
            self._batches(self._events_of(self._rows(), held_out=held_out), self._events)
            if unknown := [shown(name) for name in sorted(self.types) if kind_of(name) is None]:
                self.notes.remark("types", names=first_few(unknown, 10))
        else:
            store = self._explanations if self.kind == "explanations" else self._described
            self._batches(self._described_rows(), store)
            self.images.remark()

    def _rows(self, to: Notes | None = None) -> Iterator[Row]:
        """The rows, with what the command says of all of them. Raises InputError if the first lacks a column that the kind
        needs."""
        request = self.request if to is None else self.request._replace(notes=to)
        rows = self.layout.rows(request)
        if request.mapping is not None and request.mapping.decimal == ",":
            # 3.5 for 3,5
            rows = (
                (line, {k: _FRACTION.sub(r"\1.\2", v) if k in NUMBERS else v for k, v in row.items()})
                for line, row in rows
            )
        if given := {name: v for name, v in (("system", request.system), ("type", request.event_type)) if v}:
            rows = ((line, {**row, **given}) for line, row in rows)
        rows = self.pace.through(rows, request.contents.lines if request.contents else 0)
        first = next(rows, None)
        if first is None:
            return iter(())
        missing = missing_of(self.kind, first[1], request.system, request.event_type)
        needed = COLUMNS[self.kind].required
        stop_if(missing, "lacks", request=request, missing=missing, needed=needed, names=first[1])
        return chain([first], rows)

    def _ids(self, to: Notes | None = None) -> Ids:
        return Ids(to or self.notes, COLUMNS[self.kind].ids, self.known.mentioned)

    def _batches(self, records: Iterator[_T], store: Callable[[list[_T]], None]) -> None:
        while batch := list(islice(records, _BATCH)):
            self.records += len(batch)
            store(batch)

    def _keep(self, records: Sequence[Record]) -> None:
        """Keep the records as examples until there are enough."""
        self.examples.extend(records[: max(0, EXAMPLES - len(self.examples))])

    # ---- items, users, explanations ----

    def _described_rows(self) -> Iterator[tuple[int, Any]]:
        """The records of the rows; those with an empty required cell are left out."""
        columns, known, ids, kind = COLUMNS[self.kind], KNOWN[self.kind], self._ids(), self.kind
        for line, row in self._rows():
            get = row.get
            try:
                ids.tidy(line, row)
                served = self.times.read(get("served_at", ""), "served_at") if kind == "explanations" else ""
                for name in columns.filled:
                    bare = get(name, "").strip()
                    said = f"{name} is {shown(bare) if bare else 'empty'}"
                    refuse(not bare or (name in ("text", "title") and bare in MISSING), f"no {name}", said)
            except RowFault as fault:
                self.notes.skip_row(line, fault)
                continue
            attributes = {name: value for name, value in row.items() if value and name and name not in known}
            if kind == "users":
                yield line, User(row["user_id"], attributes)
            elif kind == "items":
                brand, category, image = (get(name, "").strip() for name in ("brand", "category", "image"))
                item = Item(row["item_id"], row["title"].strip(), brand, category, attributes, image)
                yield line, self.images.store(line, item)
            else:
                owner = (row["user_id"], row["item_id"], row["system"])
                reference, context = get("reference", ""), get("context", "")
                yield line, Explanation(*owner, row["text"], reference, attributes, context, served)

    def _described(self, batch: list[tuple[int, Any]]) -> None:
        kind: _What = "items" if self.kind == "items" else "users"
        content = self.known.content(kind)
        fresh = []
        for line, record in batch:
            name, mark, import_id = record[0], imports.fingerprint(record), self.target.import_id
            before, source = content.get(name, (None, None))
            outcome: imports.Outcome = "unchanged" if before == mark else "replaces"
            if source is None:
                outcome = "new"
            elif outcome == "replaces" and source >= self.target.since:
                outcome = "disagrees"
            self._count(line, outcome, source, record)
            if outcome != "disagrees":
                content[name] = (mark, import_id)
                if source != import_id:
                    fresh.append(record)
        (imports.add_items if kind == "items" else imports.add_users)(self.target, fresh)

    def _explanations(self, batch: list[tuple[int, Explanation]]) -> None:
        for line, explanation in batch:
            self._note_unknown(line, "items", explanation.item_id, "explanation")
            self._note_unknown(line, "users", explanation.user_id, "explanation")
            outcome, source = imports.add_explanation(self.target, explanation)
            self._count(line, outcome, source, explanation)

    def _note_unknown(self, line: int, kind: _What, name: str, what: str) -> None:
        """Note an id that the project does not describe, if it describes any."""
        known = self.known.ids(kind)
        if known and name and name not in known:
            self.notes.warn(line, f"unknown {kind[:-1]}", name=name, what=f"the {what} is kept")

    # ---- events ----

    def _events_of(self, rows: Iterator[Row], *, held_out: bool) -> Iterator[Event]:
        ids, notes, time = self._ids(), self.notes, self.times.read
        items, users = self.known.ids("items"), self.known.ids("users")
        known_users, known_items = ids.read_before["user_id"], ids.read_before["item_id"]
        types: dict[str, str] = {}
        values: dict[str, float | None] = {"": None}
        for line, row in rows:
            get = row.get
            try:
                user = known_users.get(raw := get("user_id", "")) or ids.filled(line, "user_id", raw)
                if (kind := types.get(raw := get("type", ""))) is None:
                    kind = ids.filled(line, "type", raw)
                    if held_out and not kind.startswith(HELD_OUT):
                        notes.remark("test-split")
                        kind = HELD_OUT + kind
                    elif not kind.startswith(HELD_OUT):
                        self.types.add(kind)
                    types[raw] = kind
                item = known_items.get(raw := get("item_id", "")) or ids.read(line, "item_id", raw)
                refuse(not item and not get("text", "").strip(), "no item_id")
                when = time(raw) if (raw := get("timestamp", "")) else ""
                served = time(raw, "served_at") if (raw := get("served_at", "")) else ""
                context = ids.read(line, "context", raw) if (raw := get("context", "")) else ""
                if (raw := get("value", "")) not in values:
                    if len(values) > _MOST_VALUES:
                        values = {"": None}
                    values[raw] = None if raw.strip() in MISSING else number(raw, "value")
                event = Event(user, kind, item, get("text", ""), when, values[raw], context, served)
            except RowFault as fault:
                notes.skip_row(line, fault)
                continue
            if items and item not in items:
                self._note_unknown(line, "items", item, "event")
            if users and user not in users:
                self._note_unknown(line, "users", user, "event")
            yield event

    def _events(self, batch: list[Event]) -> None:
        self._keep(batch)
        imports.add_events(self.target, batch)
        self.stored += len(batch)

    # ---- lists ----

    def _lists(self, batch: list[LocatedSlate]) -> None:
        kept: list[tuple[int, Slate]] = []
        for line, slate, lines in batch:
            lines, slate = self._known_items_only(line, slate, lines)
            if not slate.items:
                self.notes.warn(line, "empty list", owner=_owner(slate), why="contains no known item")
                continue
            self._note_unknown(line, "users", slate.user_id, "list")
            kept.append((lines[0], slate))
        outcomes = imports.add_slates(self.target, [slate for _, slate in kept])
        for (line, slate), (outcome, source) in zip(kept, outcomes, strict=True):
            self._count(line, outcome, source, slate)

    def _known_items_only(
        self, line: int, slate: Slate, lines: tuple[int, ...]
    ) -> tuple[tuple[int, ...], Slate]:
        """The list without unknown items, which cannot be shown to a judge; unchanged while the project has no items."""
        items = self.known.ids("items")
        if not items and not self.known.no_items_noted:
            self.known.no_items_noted = True
            self.notes.warn(line, "no items yet")
        if not items or all(item.item_id in items for item in slate.items):
            return lines, slate
        known = [item.item_id in items for item in slate.items]
        for place, item in compress(zip(lines, slate.items, strict=True), map(not_, known)):
            removed = "removed from the list, later items move up"
            self.notes.skip(place, "unknown item", name=item.item_id, what=removed)
        return tuple(compress(lines, known)), slate._replace(items=tuple(compress(slate.items, known)))

    def _count(self, line: int, outcome: imports.Outcome, source: int | None, record: Record) -> None:
        """Count the rows of a record by what became of it; note one that differs from an earlier one."""
        rows = len(record.items) if isinstance(record, Slate) else 1
        if outcome == "unchanged":
            self.unchanged += rows
        elif outcome != "disagrees":
            self.stored += rows
            self._keep([record])
        if outcome in ("new", "unchanged"):
            return
        what = f"{type(record).__name__.lower()} {shown(record[0])}"
        if isinstance(record, Slate):
            what = f"the list of {_owner(record)}"
        elif isinstance(record, Explanation):
            what = f"the explanation of item {shown(record.item_id)} to {_owner(record)}"
        if outcome == "disagrees":
            where = "above" if source == self.target.import_id else f"in import {source}"
            self.notes.skip(line, "disagrees with earlier content", rows=rows, what=what, where=where)
        else:
            self.notes.warn(line, "replaces an earlier import", what=what, source=source)

    def _refuse_times_of_items(self) -> None:
        """Raise InputError if a column of times, which is not called one of occasions, cuts lists into their items."""
        header = header_of(self.sample.text, wanted := wanted_columns("lists"))
        called = dict(zip(wanted.renamed(header), header, strict=True)).get("served_at", "")
        if self.layout is PLAIN and squashed(called) in WORDS["time"]:
            lists, items, owners = imports.lengths(self.target)
            stop_if(
                lists > owners and 2 * items < 3 * lists,
                "times-of-items",
                file=self.notes.file,
                column=called,
            )

    # ---- labels ----

    def _label_rows(self) -> LabelRows:
        options, part, wanted = self.options, self.part or Part(), wanted_columns("labels")
        original = tuple(header_of(self.sample.text, wanted))
        columns = {name: spec.column[0] for name, spec in part.fields.items() if spec.column}
        ours = self.part is None and original == LABEL_COLUMNS
        answers = [name for name in original if squashed(name) in ALIASES["labels"]["value"]]
        several = self.layout is PLAIN and not ours and len(answers) > 1 and "value" not in original
        stop_if(several, "two-answers", file=self.notes.file, names=answers)
        columns = columns or dict(zip(wanted.renamed(original), original, strict=True))
        given = Codebook(options.values, options.scale, options.keep_fitting, ours)
        stored, turned = dict(self.known.scales), frozenset(self.known.turned_scales)
        return LabelRows(
            rows=self._rows, ids=self._ids, notes=self.notes, times=self.times, part=part, stored=stored,
            turned=turned, given=given, case_of=self.known.case_of, columns=columns,
        )  # fmt: skip

    def _labels(self, batch: list[tuple[int, Label]]) -> None:
        """Store labels; answers to tasks for the person to whom they are assigned."""
        plain = [(line, label) for line, label in batch if not label.task]
        for line, label in plain:
            if label.scale is not None:
                self._store_scale(line, label, label.scale)
        known = self.known.raters
        raters = [known.get((one.rater, one.rater_kind)) or self._rater(line, one) for line, one in plain]
        cases = imports.cases_of_labels(self.target, self.known.cases, [label for _, label in plain])
        given = []
        for (line, label), rater, (case, occasions) in zip(plain, raters, cases, strict=True):
            if occasions > 1:
                self.notes.warn(line, "unclear occasion", label=label, occasions=occasions)
            given.append((rater, case, label))
        outcomes = imports.add_verdicts(self.target, given)
        for (line, label), (rater, case, _), outcome in zip(plain, given, outcomes, strict=True):
            if isinstance(outcome, int):
                self._stored(outcome, label)
                continue
            above = outcome.import_id == self.target.import_id
            above = above and self.known.turned[outcome.verdict - self.known.first] != label.turned
            opposite = above and {outcome.label, label.label} == {"A", "B"} and not label.games
            if opposite and imports.set_games(self.target, rater, case, in_both_orders(label)):
                self.notes.skip(line, "both orders", label=label)
            else:
                self._count_clash(line, label, outcome)
        for line, label in batch:
            if label.task:
                self._task_answer(line, label)

    def _stored(self, verdict: int, label: Label) -> None:
        """Count a label that became a verdict; those of one command have consecutive ids."""
        self.stored += 1
        if len(self.examples) < EXAMPLES:
            self._keep([label])
        self.known.first = self.known.first or verdict
        self.known.turned.append(label.turned)

    def _count_clash(self, line: int, label: Label, clash: imports.Clash) -> None:
        if label.rule == COUNTED:
            origin = f" (import {clash.import_id})" if clash.import_id else ""
            raise refusal("counted-before", place=f"{self.notes.file}:{line}", origin=origin)
        repeated = clash.import_id is not None and clash.import_id >= self.target.since
        self.repeats += repeated
        if clash.same and repeated:
            self.notes.skip(line, "repeated vote", label=label)
        elif clash.same:
            self.unchanged += 1
        else:
            of_task = bool(label.task) and not repeated
            if of_task:
                self.answered[clash.import_id] += 1
            origin = f"in run {clash.run_id}" if clash.run_id is not None else "already"
            if clash.import_id is not None:
                above = clash.import_id == self.target.import_id
                origin = "above in this file" if above else f"in import {clash.import_id}"
            systems = {"A": label.system_a, "B": label.system_b}
            said = systems.get(clash.label, "") or clash.label
            answer = f"answered {shown(said)}" if clash.label else "failed"
            again = "another verdict by the same rater"
            kind = "another answer to a task that is answered" if of_task else again
            self.notes.skip(line, kind, label=label, answer=answer, origin=origin)

    def _task_answer(self, line: int, label: Label) -> None:
        """Store the answer to an exported task for the person assigned to it, and close the task."""
        task = task_by_token(self.db, self.known.project_id, label.task)
        if task is None or task.protocol != label.protocol:
            self.notes.skip(line, "unknown task", label=label)
            return
        if label.rater not in ("", task.rater):
            self.notes.warn(line, "answered by another name", label=label, rater=task.rater)
        self.tasks += 1
        named = of_case = label._replace(rater=task.rater)
        if task.first == "b" and label.value is not None:
            value = 0.0 - label.value
            name = protocol_facts(label.protocol).labels.get(value, label.label)
            of_case = named._replace(value=value, label=name)
        (outcome,) = imports.add_verdicts(self.target, [(task.rater_id, task.case_id, of_case)])
        if isinstance(outcome, int):
            self._stored(outcome, named)
        else:
            self._count_clash(line, named, outcome)
        close_answered(self.db, task.id)

    def _rater(self, line: int, label: Label) -> int:
        known, name, kind = self.known, label.rater, label.rater_kind
        if kind is None:
            # the stored kind if it was imported before, else the one that its name suggests
            kind, stored = kind_by_name(name), rater_kind(self.db, known.project_id, name)
            if stored in IMPORTED and kind != "ground_truth":
                kind = stored
            elif kind == "judge":
                self.judges.append(name)
        try:
            known.raters[name, label.rater_kind] = ensure_rater(self.db, known.project_id, name, kind)
        except UsageError as error:
            title = f"{self.notes.file}:{line}: {error.title}"
            raise InputError(title, error.cause, error.next_step) from error
        return known.raters[name, label.rater_kind]

    def _store_scale(self, line: int, label: Label, given: Scale) -> None:
        """Store the scale of the label's aspect, once for each file. Raises InputError if the aspect has another one."""
        target, key = self.target, (label.protocol, label.aspect)
        scale = self.known.scales.get(key, given)
        if scale != given:
            source = scale_source(target.db, target.project_id, *key)
            origin = "above in this file" if source == target.import_id else f"since import {source}"
            place = f"{self.notes.file}:{line}"
            raise refusal("other-scale", place=place, label=label, known=scale, origin=origin)
        if (target.import_id, *key) not in self.known.scaled:
            self.known.scaled.add((target.import_id, *key))
            self.known.scales[key] = given
            # values that were turned round before are where no scale is given again
            turned = (
                key in self.known.turned_scales
                if self.options.scale is None
                else self.options.scale[0] > given.low
            )
            add_scale(target.db, target.project_id, target.import_id, *key, given, turned=turned)
            self.notes.remark("scale", label=label)

    def _remark_repeats(self) -> None:
        remark, of, kept = self.notes.remark, self.records, self.unchanged
        if self.repeats:
            remark("repeats", count=self.repeats, of=of)
        if self.answered:
            earlier = [source for source in self.answered if source is not None]
            ways = [f"undo import {i} first (recjudge imports undo {i})" for i in earlier]
            ways += ["change them in the app (recjudge annotate open)"] * (None in self.answered)
            remark("answered", count=self.answered.total(), of=of, ways=ways)
        if kept:
            remark("stored-before" if self.tasks else "counted-once", count=kept, of=of)
        if self.judges:
            remark("judges", names=first_few(map(shown, self.judges), 5))

    # ---- the end ----

    def _refuse_losses(self) -> None:
        """Raise InputError if nothing was read, if most answers or ranks are lost, if many numbers have a comma, or
        if numbers among the times fit no unit beside others that do: then they are perhaps something else."""
        notes, units, unfit = self.notes, self.times.units, self.times.unfit
        first, lost = "; ".join(notes.first[:3]), {k: notes.kinds[k] for k in LOSSES if notes.kinds[k]}
        if not self.stored and not self.unchanged and not self.answered:
            if not (count := max(notes.skipped, self.records)):
                raise refusal("no-rows", path=notes.file)
            quiet = self.request._replace(notes=Notes(notes.file))
            rows = beginning(self.layout.rows(quiet), "as the mapping reads them") if quiet.mapping else ""
            step = advice(lost) or "Check these rows and the kind given with --as."
            facts = {"kind": self.kind, "count": count, "first": first, "rows": rows, "step": step}
            raise refusal("nothing-fits", notes=notes, **facts)
        if self.options.keep_fitting:
            lost.pop("answer that does not fit", None)
        count = sum(lost.values())
        if 2 * count > (answers := count + self.stored + self.unchanged):
            reasons = ", ".join(f"{n:,} × {kind}" for kind, n in lost.items())
            facts = {"lost": count, "of": answers, "kinds": reasons, "first": first, "step": advice(lost)}
            raise refusal("most-lost", notes=notes, **facts)
        commas, odd = notes.kinds[COMMA], unfit.total()
        if commas and not is_few(commas, self.stored + self.unchanged + notes.skipped):
            raise refusal("commas", notes=notes, count=commas, first=first)
        if units.total() and odd >= STRAY_ROWS:
            described, some = self.times.described(), shown_counts(unfit, 3)
            raise refusal("times", notes=notes, count=units.total(), units=described, unfit=some)

    def _finished(self, how: str) -> FileSummary:
        """Record the counts, and put them into the summary."""
        notes, import_id = self.notes, self.target.import_id
        read = self.stored + self.unchanged + notes.skipped
        counts: dict[str, Any] = {"read": read, "stored": self.stored, "skipped": notes.skipped}
        # the first warnings, and of more the number of each kind
        more = notes.kinds.most_common() if notes.kinds.total() > len(notes.first) else []
        warnings = [*notes.first, *(f"{count} in all: {kind}" for kind, count in more)]
        imports.finish_import(self.db, import_id, **counts, warnings=warnings)
        columns, examples = one_line(notes.columns, _COLUMNS_SHOWN), tuple(map(_rendered, self.examples))
        return FileSummary(
            path=self.name, layout=how, import_id=import_id, columns=columns, remarks=tuple(notes.remarks),
            examples=examples, unchanged=self.unchanged, **counts,
        )  # fmt: skip


def _rendered(record: Record) -> str:
    """The record on one line of at most 160 characters."""
    facts: dict[str, Any] = record._asdict()
    pairs = facts.get("attributes", {}).items()
    facts["attributes"] = ", ".join(f"{name} = {value}" for name, value in pairs)
    if isinstance(record, Event):
        facts["value"] = "" if record.value is None else f" {plain_number(record.value)}"
    elif isinstance(record, Slate):
        names = [place.item_id for place in record.items]
        some = ", ".join(names[:_ITEMS]) + ", …" * (len(names) > _ITEMS)
        facts["items"] = f"{quantity(len(names), 'item')}: {some}"
    elif isinstance(record, Label):
        facts["answer"] = "has no readable answer" if record.value is None else f"says {record.label}"
        games = record.games
        first = [record.system_a if game.first == "a" else record.system_b for game in games]
        differ = len({game.value for game in games}) > 1
        both = "the two orders differ" if differ else "the same in both orders"
        facts["order"] = both if len(games) > 1 else f"{first[0]} shown first" if games else ""
    return one_line(" · ".join(filled(type(record).__name__, facts)), _WIDTH)


def _owner(record: Slate | Explanation) -> str:
    return list_owner(record.user_id, record.system, record.context, record.served_at)


def _storable(text: str) -> str:
    """The text without the surrogates that represent undecodable bytes in file names."""
    return text.encode("utf-8", "replace").decode()
