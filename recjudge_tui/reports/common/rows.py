"""Rows and their cells, and the part of a table that people read first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import cast

from recjudge_tui.errors import check_known
from recjudge_tui.reports.common.table import Column, NoteKind, Row, Table, note_kind

# unless more is asked for: notes about the data, and rows
MOST_NOTES, MOST_ROWS = 3, 40


def real(row: Row, name: str) -> float:
    """A cell that is known to be a number."""
    return float(cast(float, row[name]))


def reals(rows: Iterable[Row], name: str) -> list[float]:
    """The cells of a column that are numbers."""
    return [cell for row in rows if isinstance(cell := row.get(name), float)]


def whole(row: Row, name: str) -> int:
    """A cell that is known to be a whole number."""
    return int(cast(int, row[name]))


def readable(
    table: Table, *, whole: bool = False, explain: bool = False, notes: str = "some", most: int = MOST_ROWS
) -> tuple[Table, bool]:
    """The table as people read it, and whether something was left out. Its brief form and the first `most` rows unless
    `whole`; definitions only with `explain`; `notes`: all, some (the warnings, and MOST_NOTES in all) or none."""
    seen = table
    if table.brief is not None and table.rows and not whole:
        seen = replace(table.brief, answer=table.answer, notes=table.notes)
    by_kind: dict[NoteKind, list[str]] = {"warning": [], "data": [], "definition": []}
    for note in table.notes:
        by_kind[note_kind(note)].append(note)
    said = [*by_kind["warning"], *by_kind["data"]]
    kept = {"all": said, "none": []}.get(notes, said[: max(MOST_NOTES, len(by_kind["warning"]))])
    kept = [*kept, *(by_kind["definition"] if explain else [])]
    rows = seen.rows if whole else seen.rows[:most]
    # a narrow screen hides minor columns
    seen = replace(seen, columns=tuple(replace(c, minor=False) for c in seen.columns)) if whole else seen
    if len(rows) < len(seen.rows):
        kept.append(f"{len(rows)} of {len(seen.rows):,} rows")
    left_out = (seen is not table and not whole) or len(kept) < len(table.notes) or len(rows) < len(seen.rows)
    return replace(seen, rows=rows, notes=tuple(kept), brief=None), left_out


def cells_of(columns: Sequence[Column], rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows with only those of their cells that have a column."""
    return tuple({c.name: row[c.name] for c in columns if c.name in row} for row in rows)


def seen_first(table: Table, names: str | Sequence[str], rows: Sequence[Row] | None = None) -> Table:
    """The table with a brief form: those of these columns (`"rater aspect"`) that it has, and these rows (by default all).
    An empty table has none."""
    if not table.rows:
        return table
    brief = table if rows is None else replace(table, rows=tuple(rows))
    return replace(table, brief=_with_columns(brief, names.split() if isinstance(names, str) else names))


def titled(table: Table, title: str) -> Table:
    """The table under another title, in its brief form too."""
    brief = None if table.brief is None else replace(table.brief, title=title)
    return replace(table, title=title, brief=brief)


def with_columns(tables: Sequence[Table], names: Sequence[str]) -> tuple[Table, ...]:
    """The tables with only these columns, in this order; a table that has none of them is unchanged. A column may be
    given by its name or its label. Raises UsageError for a column that no table has, naming the existing ones."""
    known = list(dict.fromkeys(column.name for table in tables for column in table.columns))
    labels = {column.label.lower(): column.name for table in tables for column in table.columns}
    wanted = list(dict.fromkeys(name if name in known else labels.get(name.lower(), name) for name in names))
    check_known("column", wanted, known)
    return tuple(_with_columns(table, wanted) for table in tables)


def _with_columns(table: Table, names: Sequence[str]) -> Table:
    by_name = {column.name: column for column in table.columns}
    chosen = tuple(replace(by_name[name], minor=False) for name in names if name in by_name)
    if not chosen:
        return table
    left_out = {column.label for column in table.columns} - {column.label for column in chosen}
    rows, notes = cells_of(chosen, table.rows), notes_without(table, left_out)
    return replace(table, columns=chosen, rows=rows, notes=notes, brief=None)


def notes_without(table: Table, left_out: Collection[str]) -> tuple[str, ...]:
    """The notes of the table without those that explain a column left out, that is, begin with its label and a colon."""
    return tuple(note for note in table.notes if note.partition(":")[0] not in left_out)
