"""Recognises a table without a header: user, item, a number, and perhaps a time."""

from __future__ import annotations

import re

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.files.column_names import WantedColumns
from recjudge_tui.importers.files.layout import Sample
from recjudge_tui.importers.files.notes import RowFault
from recjudge_tui.importers.files.tables import fields_of
from recjudge_tui.importers.files.values import number, timestamp

_ROWS = 50
# looks like a weight in a matrix, never like an id
_FRACTION = re.compile(r"-?\d*\.\d*[1-9]\d*(e-?\d+)?", re.ASCII | re.IGNORECASE)
# kind -> the columns by their number
_ORDERS: dict[ImportKind, dict[int, tuple[str, ...]]] = {
    "lists": {3: ("user_id", "item_id", "score")},
    "events": {3: ("user_id", "item_id", "value"), 4: ("user_id", "item_id", "value", "timestamp")},
}


def headerless_columns(sample: Sample, kind: ImportKind) -> tuple[str, ...]:
    """The columns of a file of this kind that has no header; empty if its first row may be one.

    Every row of the file's beginning has two ids, a number in the third field, and a number of nine digits or more or a
    date in the fourth.
    """
    rows = headerless_rows(sample)
    return _ORDERS.get(kind, {}).get(len(rows[0]), ()) if rows else ()


def headerless_rows(sample: Sample) -> list[list[str]]:
    """The first rows of a file without a header, all of three or four fields; empty for any other file."""
    lines = [line.rstrip("\r") for line in sample.text.split("\n", _ROWS)[:_ROWS] if line.strip()]
    rows = [fields_of(line, WantedColumns()) for line in lines]
    if not rows or len({len(row) for row in rows}) != 1 or len(rows[0]) not in (3, 4):
        return []
    return rows if all(map(_is_data, rows)) else []


def _is_data(row: list[str]) -> bool:
    if any(not name.strip() or _FRACTION.fullmatch(name.strip()) for name in row[:2]):
        return False
    try:
        number(row[2], "")
        return len(row) == 3 or (len(row[3].strip()) > 8 and bool(timestamp(row[3])))
    except RowFault:
        return False


def only_a_header(sample: Sample) -> bool:
    """Whether the file is one line of column names."""
    lines = [line for line in sample.text.splitlines() if line.strip()]
    return len(lines) == 1 and lines[0].lstrip()[:1] not in ("{", "[") and not headerless_rows(sample)
