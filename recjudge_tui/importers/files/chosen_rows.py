"""Reads only the rows of a table that the user chooses with `--where COLUMN=VALUE`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.files.notes import Notes, Row
from recjudge_tui.importers.files.tables import Table

# column -> the cells of it that are read
Wanted = Mapping[str, frozenset[str]]


def parse_where(conditions: Sequence[str]) -> dict[str, frozenset[str]]:
    """The conditions, each written `COLUMN=VALUE`. Several values of one column are alternatives; several columns
    must all match. Raises UsageError for a condition without a column or without “=”.
    """
    wanted: dict[str, set[str]] = {}
    for condition in conditions:
        column, sign, value = condition.partition("=")
        if not sign or not column.strip():
            raise UsageError(
                f"--where {one_line(condition, 80)} is not a condition",
                next_step="Write COLUMN=VALUE, such as --where product_locale=us.",
            )
        wanted.setdefault(column.strip(), set()).add(value.strip())
    return {column: frozenset(values) for column, values in wanted.items()}


def where_text(wanted: Wanted) -> str:
    """The conditions as written in a command, sorted."""
    return " ".join(f"{column}={value}" for column in sorted(wanted) for value in sorted(wanted[column]))


def chosen_rows(table: Table, wanted: Wanted, path: Path, notes: Notes) -> Table:
    """The table with the matching rows; after the last one a remark counts them. A column may be given by its name in
    the file or by the name under which it is read. Raises InputError for a file without the column.
    """
    if not wanted:
        return table
    names = dict(zip(table.columns, table.columns, strict=True)) | dict(
        zip(table.original, table.columns, strict=False)
    )
    if missing := [column for column in wanted if column not in names]:
        raise InputError(
            f"{path} has no column {one_line(missing[0], 80)} to choose rows by",
            f"Found: {one_line(', '.join(table.original), 300)}.",
            "Change --where, or import this file without it.",
        )
    cells = {names[column]: values for column, values in wanted.items()}
    return table._replace(rows=_fitting(table.rows, cells, where_text(wanted), notes))


def _fitting(rows: Iterator[Row], cells: Wanted, text: str, notes: Notes) -> Iterator[Row]:
    read = fitting = 0
    for line, row in rows:
        read += 1
        if all(row.get(column, "").strip() in values for column, values in cells.items()):
            fitting += 1
            yield line, row
    notes.remark(f"{fitting:,} of {read:,} rows have {one_line(text, 200)}; the others are not read")
