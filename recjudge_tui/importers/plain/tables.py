"""The plain tables: one header row (or JSON Lines), the columns of each kind, extra columns as attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from recjudge_tui.domain.event_types import RATING
from recjudge_tui.domain.records import IMPORT_KINDS, Event, Explanation, ImportKind, Item, User
from recjudge_tui.domain.text import one_line, unmarked
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.chosen_rows import chosen_rows
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Record, Request, Sample
from recjudge_tui.importers.files.mapping import (
    FileMapping,
    KindMapping,
    mapped_rows,
    with_case_columns,
    with_points,
)
from recjudge_tui.importers.files.notes import Notes, Row, RowFault, left_out
from recjudge_tui.importers.files.reading import UTF8, sample_of
from recjudge_tui.importers.files.tables import Dialect, Table, header_of, read_table
from recjudge_tui.importers.files.values import number, occasion_of, shown, timestamp
from recjudge_tui.importers.plain.columns import (
    CASE,
    COLUMNS,
    KNOWN,
    NUMBERS,
    SYSTEM_KINDS,
    TASK,
    Columns,
    gap,
    list_columns,
    numbered,
    uses,
    wanted_columns,
)
from recjudge_tui.importers.plain.counts import holds_counts, with_battle_names
from recjudge_tui.importers.plain.games import two_game_columns
from recjudge_tui.importers.plain.headerless import headerless_columns
from recjudge_tui.importers.plain.label_rows import labels_of, with_cases
from recjudge_tui.importers.plain.list_rows import list_rows
from recjudge_tui.importers.plain.lists import slates_of
from recjudge_tui.importers.plain.task_answers import answers_task
from recjudge_tui.store.exports import EARLIER_LABEL_COLUMNS, LABEL_COLUMNS

_SHOWN_ROWS = 3

_OWN_LABELS = (LABEL_COLUMNS, *EARLIER_LABEL_COLUMNS)


def read_plain(request: Request) -> Iterator[LocatedRecord]:
    """The records of a plain table, or of any table with the request's mapping."""
    if request.mapping is not None and request.mapping.kinds:
        yield from _read_mapped(request)
        return
    dialect = _dialect(request)
    usual = (
        () if dialect.header else headerless_columns(sample_of(request.path, dialect.encoding), request.kind)
    )
    if usual:
        dialect = dialect._replace(header=usual)
        request.notes.remark("no header: the columns are taken in the usual order")
    table = read_table(request.path, wanted_columns(request.kind), dialect, request.notes)
    table = chosen_rows(table, request.where, request.path, request.notes)
    if request.kind == "lists":
        table = _of_lists(table)
    request.notes.columns = uses(request.kind, table.original, table.columns)
    rows = _completed(request, table)
    ours = request.kind == "labels" and table.original in _OWN_LABELS and not table.json
    yield from records_of(request, _as_exported(rows) if ours else rows)


def _dialect(request: Request) -> Dialect:
    written = request.mapping
    if written is None:
        return Dialect()
    return Dialect(written.encoding or UTF8, written.delimiter, written.quote, written.header)


def _of_lists(table: Table) -> Table:
    """The table with the names that its columns have in a table of lists."""
    columns = list_columns(table.columns)
    if not (new := {old: name for old, name in zip(table.columns, columns, strict=True) if old != name}):
        return table
    rows = ((line, {new.get(name, name): cell for name, cell in row.items()}) for line, row in table.rows)
    return table._replace(columns=columns, rows=rows)


def _completed(request: Request, table: Table) -> Iterator[Row]:
    """The rows; ratings get their event type. Raises InputError for a table that lacks a column."""
    given, rows = set(table.columns), table.rows
    added: dict[str, str] = {}
    if request.kind == "events" and "type" not in given and not request.event_type and "value" in given:
        added["type"] = RATING
        request.notes.remark("no column for the type: the events are ratings")
    if missing := _missing(request, given.union(added)):
        raise _missing_columns(request, table, missing)
    return _with(rows, added) if added else rows


def records_of(
    request: Request, rows: Iterator[Row], mapping: KindMapping | None = None
) -> Iterator[LocatedRecord]:
    """Turn rows with plain column names into records. Every layout that reads a table ends with this step."""
    if request.system:
        rows = _with(rows, {"system": request.system})
    if request.event_type:
        rows = _with(rows, {"type": request.event_type})
    if request.mapping is not None and request.mapping.decimal == ",":
        rows = with_points(rows, NUMBERS)
    if request.kind == "labels":
        rows = with_cases(
            with_battle_names(rows, request.path, request.notes), request.case_of, request.notes
        )
    rows = _tidy(rows, COLUMNS[request.kind], request.notes)
    if request.kind == "lists":
        yield from slates_of(list_rows(rows, request.notes), request.notes)
        return
    if request.kind == "labels":
        yield from labels_of(rows, request, mapping)
        return
    convert = _CONVERTERS[request.kind]
    for line, row in rows:
        try:
            yield LocatedRecord(line, convert(row))
        except RowFault as fault:
            request.notes.skip(line, fault.kind, left_out(fault))


def _as_exported(rows: Iterator[Row]) -> Iterator[Row]:
    """Rows of our own CSV export of labels, without the apostrophes that protect formulas."""
    for line, row in rows:
        yield line, {name: unmarked(cell) for name, cell in row.items()}


def _read_mapped(request: Request) -> Iterator[LocatedRecord]:
    mapping, table = _mapped_table(request)
    given = set(mapping.fields).union(*({*about, "value"} for about, _ in mapping.answers()[:1]))
    if missing := _missing(request, given):
        assert request.mapping is not None
        raise InputError(
            f"the mapping {request.mapping.name} has no field “{missing[0]}” for {request.kind}",
            f"Needed: {', '.join(COLUMNS[request.kind].required)}.{shown_below(mapped_beginning(request))}",
            "See docs/mapping.md.",
        )
    request.notes.columns = mapping.uses()
    yield from records_of(request, mapped_rows(mapping, table.rows, request.notes), mapping)


def _mapped_table(request: Request) -> tuple[KindMapping, Table]:
    """The mapping of the kind, and the table. Raises InputError if one of them lacks what the other needs."""
    assert request.mapping is not None
    mapping = request.mapping.kinds.get(request.kind)
    if mapping is None:
        raise InputError(
            f"the mapping {request.mapping.name} has no table [{request.kind}]",
            f"It describes: {', '.join(request.mapping.kinds) or 'nothing'}.",
            "See docs/mapping.md.",
        )
    table = read_table(request.path, mapping.columns(), _dialect(request), request.notes)
    if missing := [column for column in mapping.columns() if column not in table.columns]:
        raise _missing_columns(request, table, missing)
    table = chosen_rows(table, request.where, request.path, request.notes)
    return with_case_columns(mapping, table.columns, request.mapping.name), table


def mapped_beginning(request: Request) -> list[str]:
    """The first three rows as the mapping reads them, each on a line."""
    mapping, table = _mapped_table(request._replace(notes=Notes(request.notes.file)))
    return _beginning(mapped_rows(mapping, table.rows, request.notes), "as the mapping reads them")


def _beginning(rows: Iterator[Row], how: str) -> list[str]:
    lines = []
    for line, row in islice(rows, _SHOWN_ROWS):
        cells = ", ".join(f"{name} = {shown(value)}" for name, value in row.items())
        lines.append(one_line(f"line {line}: {cells or 'no column'}", 300))
    return [f"The first rows {how}:", *lines] if lines else []


def shown_below(lines: Sequence[str]) -> str:
    """The lines as the continuation of a message."""
    return "".join(f"\n  {line}" for line in lines)


def _missing(request: Request, given: set[str]) -> list[str]:
    """The columns that the kind still needs."""
    instead = {"system": request.system, "type": request.event_type}
    if request.kind == "labels" and holds_counts(given):
        return [name for name in ("system_a", "system_b") if not {name, name.removesuffix("_a")} & given]
    if request.kind == "labels" and two_game_columns(given):
        given = {*given, "value"}
    if request.kind == "labels" and CASE in given:
        given = {*given, "user_id"}
    if request.kind == "labels" and TASK in given and "user_id" not in given:
        return [name for name in ("protocol", "value") if name not in given]
    missing = [name for name in COLUMNS[request.kind].required if name not in given and not instead.get(name)]
    if request.kind == "lists" and (given & {"items", *numbered(given)}) and "item_id" in missing:
        missing.remove("item_id")
    if not _on_something(request.kind, given):
        missing.append("item_id")
    return missing


def _missing_columns(request: Request, table: Table, missing: list[str]) -> InputError:
    present = one_line(", ".join(table.original), 300)
    if missing == ["system"]:
        step = "Name the system of this file with --system NAME."
    elif missing == ["type"]:
        step = "Name the type of these events with --type NAME (click, purchase, view, ...)."
    else:
        step = "Rename the columns, or describe the file in a mapping (docs/mapping.md) given with --mapping."
    wanted = f"Found: {present}. {request.kind} need: {', '.join(COLUMNS[request.kind].required)}."
    if request.kind == "lists" and "item_id" in missing and (reason := gap(table.columns)):
        wanted = f"{wanted} {reason}"
        step = "Add the missing columns (their cells may be empty), or rename the columns so that they count up from 1."
    if request.mapping is not None and request.mapping.kinds:
        rows = _beginning(table.rows, "as they were split into columns")
        wanted = f"Found: {present}. The mapping names: {', '.join(missing)}.{shown_below(rows)}"
        step = "Correct the names in the mapping (docs/mapping.md)."
    plural = "s" if len(missing) > 1 else ""
    return InputError(f"{request.path} has no column{plural} {', '.join(missing)}", wanted, step)


def _with(rows: Iterator[Row], cells: dict[str, str]) -> Iterator[Row]:
    for line, row in rows:
        row.update(cells)
        yield line, row


def _tidy(rows: Iterator[Row], columns: Columns, notes: Notes) -> Iterator[Row]:
    """Strip the ids; leave out rows with empty required cells."""
    for line, row in rows:
        for name in columns.ids:
            value = row.get(name, "")
            bare = value.strip()
            if bare != value:
                row[name] = bare
                notes.warn(line, "spaces around an id", f"spaces around {name} {shown(bare)} were removed")
        for name in () if TASK in columns.ids and answers_task(row) else columns.filled:
            value = row.get(name, "")
            if not value or value.isspace():
                notes.skip(line, f"no {name}", f"{name} is empty; row left out")
                break
        else:
            yield line, row


def _attributes(row: dict[str, str], kind: ImportKind) -> dict[str, str]:
    known = KNOWN[kind]
    return {name: value for name, value in row.items() if value and name and name not in known}


def _item(row: dict[str, str]) -> Item:
    return Item(
        item_id=row["item_id"],
        title=row["title"].strip(),
        brand=row.get("brand", "").strip(),
        category=row.get("category", "").strip(),
        attributes=_attributes(row, "items"),
        image=row.get("image", "").strip(),
    )


def _user(row: dict[str, str]) -> User:
    return User(user_id=row["user_id"], attributes=_attributes(row, "users"))


def _event(row: dict[str, str]) -> Event:
    item_id, text, value = row.get("item_id", ""), row.get("text", ""), row.get("value", "")
    if not item_id and not text.strip():
        raise RowFault("no item_id", "neither item_id nor text; row left out")
    return Event(
        user_id=row["user_id"],
        type=row["type"],
        item_id=item_id,
        text=text,
        timestamp=timestamp(row.get("timestamp", "")),
        value=number(value, "value") if value.strip() else None,
        **occasion_of(row)._asdict(),
    )


def _explanation(row: dict[str, str]) -> Explanation:
    return Explanation(
        user_id=row["user_id"],
        item_id=row["item_id"],
        system=row["system"],
        text=row["text"],
        reference=row.get("reference", ""),
        attributes=_attributes(row, "explanations"),
        **occasion_of(row)._asdict(),
    )


_CONVERTERS: dict[ImportKind, Callable[[dict[str, str]], Record]] = {
    "items": _item, "users": _user, "events": _event, "explanations": _explanation,
}  # fmt: skip


def names_no_system(sample: Sample, kind: ImportKind, mapping: FileMapping | None = None) -> bool:
    """Whether a table of lists or explanations, read with this mapping, lacks a column for the system."""
    if kind not in SYSTEM_KINDS:
        return False
    if mapping is not None and mapping.kinds:
        return kind in mapping.kinds and "system" not in mapping.kinds[kind].fields
    wanted = wanted_columns(kind)
    header = mapping.header if mapping else ()
    return "system" not in wanted.renamed(header or header_of(sample.text, wanted))


def plain_kinds(sample: Sample, system: str | None = None) -> tuple[ImportKind, ...]:
    """The kinds whose required columns are in the header under their plain names; the kind with most of these columns
    comes first. `system` replaces a column of that name.
    """
    header = header_of(sample.text, {name for names in KNOWN.values() for name in names})
    given = {name.lower() for name in header} | ({"system"} if system else set())
    fit = [kind for kind, c in COLUMNS.items() if given.issuperset(c.required) and _on_something(kind, given)]
    return tuple(sorted(fit, key=lambda kind: -len(COLUMNS[kind].required)))


def _on_something(kind: ImportKind, given: set[str]) -> bool:
    return kind != "events" or not given.isdisjoint(("item_id", "text"))


def _fits(_sample: Sample, _kind: ImportKind) -> bool:
    return True


PLAIN = Layout(
    name="plain",
    kinds=IMPORT_KINDS,
    about="CSV, TSV or JSON Lines with the columns of docs/mapping.md; any table with --mapping",
    fits=_fits,
    read=read_plain,
    takes_where=True,
)
