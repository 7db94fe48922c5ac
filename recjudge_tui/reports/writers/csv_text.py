"""CSV: one header of names, numbers untouched, text that a spreadsheet would run made harmless."""

from __future__ import annotations

import csv
import io

from recjudge_tui.model.text import safe_text
from recjudge_tui.reports.table import Screen, Table, Written

_RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r")


def write(table: Table, _: Screen) -> Written:
    """The rows; the table's notes, for which CSV has no place, are returned beside them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.name for column in table.columns)
    guarded = 0
    for row in table.rows:
        cells = []
        for column in table.columns:
            cell, changed = guard(row.get(column.name))
            guarded += changed
            cells.append(cell)
        writer.writerow(cells)
    notes = [safe_text(note) for note in table.notes]
    if guarded:
        notes.append(guard_note(guarded))
    return Written(out.getvalue(), tuple(notes))


def guard(value: object) -> tuple[object, bool]:
    """A cell as CSV holds it, and whether an apostrophe was put before it."""
    if value is None:
        return "", False
    if isinstance(value, bool):
        return ("true" if value else "false"), False
    if isinstance(value, int | float):
        return value, False
    text = str(value)
    safe = safe_text(text)
    if text.startswith(_RUN_BY_SPREADSHEETS) or safe.startswith(_RUN_BY_SPREADSHEETS):
        return f"'{safe}", True
    return safe, False


def guard_note(cells: int) -> str:
    return f"{cells} text cells that a spreadsheet would run as a formula begin with an apostrophe now"
