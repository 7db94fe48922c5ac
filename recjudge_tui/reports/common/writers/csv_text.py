"""CSV: a header of names, unchanged numbers, and text that no spreadsheet runs as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TextIO

from recjudge_tui.domain.text import marked, safe_text
from recjudge_tui.reports.common.table import Screen, Table, TableText


class Count(NamedTuple):
    """The number of rows below the header, and of cells in which a formula was made harmless."""

    rows: int
    guarded: int


def write(table: Table, _: Screen) -> TableText:
    """The rows; the table's notes are returned separately, because CSV has no place for them."""
    out = io.StringIO()
    names = [column.name for column in table.columns]
    count = write_csv(names, ([row.get(name) for name in names] for row in table.rows), out)
    # first, because some readers show only the beginning
    changed = [guard_note(count.guarded)] if count.guarded else []
    return TableText(out.getvalue(), (*changed, *map(safe_text, table.notes)))


def write_csv(names: Sequence[str], rows: Iterable[Sequence[object]], file: TextIO) -> Count:
    """The only function that writes CSV: header and rows, each cell made safe by `guard`."""
    writer = csv.writer(file, lineterminator="\n")
    heads = [guard(name) for name in names]
    writer.writerow([cell for cell, _ in heads])
    written, guarded = 0, sum(changed for _, changed in heads)
    for row in rows:
        cells = [guard(cell) for cell in row]
        guarded += sum(changed for _, changed in cells)
        writer.writerow([cell for cell, _ in cells])
        written += 1
    return Count(written, guarded)


def guard(value: object) -> tuple[object, bool]:
    """A cell for CSV, and whether an apostrophe was put before it (see `domain.text.marked`)."""
    if value is None:
        return "", False
    if isinstance(value, bool):
        return ("true" if value else "false"), False
    if isinstance(value, int | float):
        return value, False
    safe = safe_text(value)
    cell = marked(safe)
    return cell, cell != safe


def guard_note(cells: int) -> str:
    """The note for people who open the file."""
    if cells == 1:
        return "1 text cell that a spreadsheet would run as a formula begins with an apostrophe now"
    return f"{cells} text cells that a spreadsheet would run as a formula begin with an apostrophe now"
