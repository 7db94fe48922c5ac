"""The plain tables: one header row (or JSON, or Parquet), the columns of each kind, extra columns as attributes; and
any table with a mapping."""

from __future__ import annotations

from collections.abc import Iterator

from recjudge_tui.domain.event_types import RATING
from recjudge_tui.domain.records import IMPORT_KINDS
from recjudge_tui.domain.text import unmarked
from recjudge_tui.errors import InputError
from recjudge_tui.importers.columns import (
    CASE,
    COLUMNS,
    NUMBERS,
    TASK,
    list_columns,
    numbered,
    uses,
    wanted_columns,
)
from recjudge_tui.importers.guess import headerless_columns, on_something
from recjudge_tui.importers.labels import holds_counts, two_game_columns
from recjudge_tui.importers.layout import (
    Declaration,
    Layout,
    Part,
    Request,
    beginning,
    declared_rows,
    missing_columns,
    with_points,
)
from recjudge_tui.importers.reader import Dialect, Table, chosen_rows, read_table, sample_of
from recjudge_tui.importers.values import Notes, Row
from recjudge_tui.store.exports import LABEL_COLUMNS


def plain_rows(request: Request) -> Iterator[Row]:
    """The rows of a plain table, or of any table with the request's mapping."""
    if request.mapping is not None and request.mapping.kinds:
        rows = _mapped(request, request.mapping)
    else:
        table = plain_table(request)
        request.notes.columns = uses(request.kind, table.original, table.columns)
        rows = _completed(request, table)
        if request.kind == "labels" and is_our_export(table):
            # without the apostrophes that protect formulas
            rows = ((line, {name: unmarked(cell) for name, cell in row.items()}) for line, row in rows)
    if request.mapping is not None and request.mapping.decimal == ",":
        rows = with_points(rows, NUMBERS)
    return rows


def plain_table(request: Request) -> Table:
    """The table with plain column names."""
    dialect = request.mapping.dialect if request.mapping else Dialect()
    if not dialect.header:
        usual = headerless_columns(sample_of(request.path, dialect.encoding), request.kind)
        if usual:
            dialect = dialect._replace(header=usual)
            request.notes.remark("no header: the columns are taken in the usual order")
    table = read_table(request.path, wanted_columns(request.kind), dialect, request.notes, request.contents)
    table = chosen_rows(table, request.where, request.path, request.notes)
    if request.kind != "lists":
        return table
    columns = list_columns(table.columns)
    new = {old: name for old, name in zip(table.columns, columns, strict=True) if old != name}
    if not new:
        return table
    rows = ((line, {new.get(name, name): cell for name, cell in row.items()}) for line, row in table.rows)
    return table._replace(columns=columns, rows=rows)


def is_our_export(table: Table) -> bool:
    """Whether the table is our own export of labels, whose numbers are ours."""
    return table.original == LABEL_COLUMNS and not table.json


def _completed(request: Request, table: Table) -> Iterator[Row]:
    """The rows; ratings get their event type. Raises InputError for a table that lacks a column."""
    given = set(table.columns)
    rated = request.kind == "events" and "type" not in given and not request.event_type and "value" in given
    if rated:
        request.notes.remark("no column for the type: the events are ratings")
    if missing := missing_of(request, given | ({"type"} if rated else set())):
        raise missing_columns(request, table, missing)
    if not rated:
        return table.rows
    return ((line, {**row, "type": RATING}) for line, row in table.rows)


def _mapped(request: Request, mapping: Declaration) -> Iterator[Row]:
    part = mapped_part(request, mapping)
    given = set(part.fields).union(*({*about, "value"} for about, _ in part.answers()[:1]))
    if part.case_pattern:
        given |= {CASE, "value"}
    if missing := missing_of(request, given):
        rows = "".join(f"\n  {line}" for line in mapped_beginning(request))
        raise InputError(
            f"the mapping {mapping.name} has no field “{missing[0]}” for {request.kind}",
            f"Needed: {', '.join(COLUMNS[request.kind].required)}.{rows}",
            "See “recjudge docs mapping”.",
        )
    return declared_rows(request, part, mapping.name, must=not mapping.shipped)


def mapped_part(request: Request, mapping: Declaration) -> Part:
    """The table of the mapping that reads the file. Raises InputError if there is none."""
    part = mapping.part_of(sample_of(request.path, mapping.encoding), request.kind)
    if part is None:
        raise InputError(
            f"the mapping {mapping.name} has no table"
            f" [{request.kind}]{' that fits the file' * bool(mapping.kinds.get(request.kind))}",
            f"It describes: {', '.join(mapping.kinds) or 'nothing'}.",
            "See “recjudge docs mapping”.",
        )
    return part


def mapped_beginning(request: Request) -> list[str]:
    """The first three rows as the mapping reads them, each on a line."""
    assert request.mapping is not None
    quiet = request._replace(notes=Notes(request.notes.file))
    rows = declared_rows(quiet, mapped_part(quiet, request.mapping), request.mapping.name, must=True)
    return beginning(rows, "as the mapping reads them")


def missing_of(request: Request, given: set[str]) -> list[str]:
    """The columns that the kind still needs."""
    kind = request.kind
    instead = {"system": request.system, "type": request.event_type}
    if kind == "labels" and holds_counts(given):
        return [name for name in ("system_a", "system_b") if not {name, name.removesuffix("_a")} & given]
    if kind == "labels" and two_game_columns(given):
        given = {*given, "value"}
    if kind == "labels" and CASE in given:
        given = {*given, "user_id"}
    if kind == "labels" and TASK in given and "user_id" not in given:
        return [name for name in ("protocol", "value") if name not in given]
    missing = [name for name in COLUMNS[kind].required if name not in given and not instead.get(name)]
    if kind == "lists" and (given & {"items", *numbered(given)}) and "item_id" in missing:
        missing.remove("item_id")
    if not on_something(kind, given):
        missing.append("item_id")
    return missing


PLAIN = Layout(
    name="plain",
    kinds=IMPORT_KINDS,
    about="CSV, TSV or JSON Lines with the columns of “recjudge docs mapping”; any table with --mapping",
    fits=lambda _sample, _kind: True,
    rows=plain_rows,
    takes_where=True,
)
