"""Tables and rows for programs, values unchanged. JSON: undefined as null. CSV: text that no spreadsheet runs as a formula.
Parquet: a column of one type for each name; needs the extra `parquet`, whose pyarrow is loaded when a file is written."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Literal, NamedTuple, TextIO

from recjudge_tui.domain.text import finite, marked, safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.files import whole_file
from recjudge_tui.reports.common.table import Screen, Table, TableText, by_ending, render, save_text, writing

_BATCH = 20_000
# legal in JSON, but harmful on a terminal or impossible in UTF-8
_HARMFUL = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)


ExportFormat = Literal["csv", "jsonl", "json", "parquet"]
# those that are text
EXPORT_FORMATS: tuple[ExportFormat, ...] = ("csv", "jsonl", "json")
PARQUET: ExportFormat = "parquet"
Rows = Iterable[Sequence[Any]]


class ExportCounts(NamedTuple):
    """The number of rows written, of cells in which an apostrophe was put before a formula, and further notes."""

    rows: int
    defused: int = 0
    notes: tuple[str, ...] = ()

    def message(self) -> str:
        """The part of a message about cells that were changed, and the notes; empty if there are none."""
        return " ".join(((guard_note(self.defused),) if self.defused else ()) + self.notes)


def format_of(path: Path) -> ExportFormat:
    """The format for the file's ending; raises UsageError for another ending."""
    known = {f".{fmt}": fmt for fmt in (*EXPORT_FORMATS, PARQUET)}
    use = "Use .csv, .jsonl, .json or .parquet, or name the format."
    return by_ending(path, "export format", known, use)


def json_text(table: Table, _: Screen) -> TableText:
    return TableText(dumped(content(table)))


def content(table: Table) -> dict[str, object]:
    """The shape scripts rely on: title, columns, rows (each with every column), answer, notes, settings, facts if any."""
    names = [column.name for column in table.columns]
    whole: dict[str, object] = {
        "title": table.title,
        # a cell of kind statistic contains a name here, not a label
        "columns": [
            {"name": c.name, "label": c.label, "kind": "text" if c.kind in ("statistic", "prose") else c.kind}
            for c in table.columns
        ],
        "rows": [{name: row.get(name) for name in names} for row in table.rows],
        "answer": table.answer,
        "notes": list(table.notes),
        "settings": dict(table.settings),
    }
    return whole | {"facts": dict(table.facts)} if table.facts else whole


def dumped(value: dict[str, object]) -> str:
    """JSON text that is safe on a terminal."""
    return harmless(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)) + "\n"


def harmless(text: str) -> str:
    """JSON in which characters that move the cursor, hide text or cannot be encoded are written as `\\uXXXX`."""
    return _HARMFUL.sub(lambda match: json.dumps(match[0])[1:-1], text)


def csv_text(table: Table, _: Screen) -> TableText:
    """The rows; the table's notes are returned separately, because CSV has no place for them."""
    out = io.StringIO()
    names = [column.name for column in table.columns]
    count = write_csv(names, ([row.get(name) for name in names] for row in table.rows), out)
    # first, because some readers show only the beginning
    changed = [guard_note(count.defused)] if count.defused else []
    return TableText(out.getvalue(), (*changed, *map(safe_text, table.notes)))


def write_csv(names: Sequence[str], rows: Iterable[Sequence[object]], file: TextIO) -> ExportCounts:
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
    return ExportCounts(written, guarded)


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


def write_parquet(columns: Sequence[str], rows: Iterable[Sequence[Any]], target: Path | BinaryIO) -> int:
    """Write rows of texts, numbers and None under these column names; returns their number. A column without a value has
    the type text. The whole table is held in memory in Arrow's compact form. Raises RecjudgeError without pyarrow."""
    pa, parquet = _pyarrow()
    stream = iter(rows)
    parts = []
    while batch := list(islice(stream, _BATCH)):
        arrays = [_array(pa, values) for values in zip(*batch, strict=True)]
        parts.append(pa.Table.from_arrays(arrays, names=list(columns)))
    table = pa.concat_tables(parts, promote_options="permissive") if parts else None
    types = [pa.null()] * len(columns) if table is None else table.schema.types
    schema = pa.schema([
        (name, pa.string() if pa.types.is_null(kind) else kind)
        for name, kind in zip(columns, types, strict=True)
    ])  # fmt: skip
    table = schema.empty_table() if table is None else table.cast(schema)
    parquet.write_table(table, target)
    return int(table.num_rows)


def arrow_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    """A pyarrow.Table of these rows, a column of one type for each name. Raises RecjudgeError without pyarrow."""
    pa, _ = _pyarrow()
    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    return pa.table({name: _array(pa, column) for name, column in zip(columns, values, strict=True)})


def _array(pa: ModuleType, values: Sequence[Any]) -> Any:
    """An Arrow array; of texts if the values have several types."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise RecjudgeError(
            "Parquet and Arrow need pyarrow, which is not installed",
            next_step="Install the extra “parquet”: pip install 'recjudge[parquet]', or choose .csv or .jsonl.",
        ) from error
    return pyarrow, pyarrow.parquet


# ---- any number of rows, row by row ------------------------------------------------------------------------------------


def write_rows(columns: Sequence[str], rows: Rows, fmt: ExportFormat, target: Path | TextIO) -> ExportCounts:
    """Write rows under these column names. A file is written whole or not at all: first beside its place, then moved.
    In CSV, text cells that a spreadsheet would run get a leading apostrophe; numbers are unchanged. A dict or a list
    becomes JSON text in CSV and Parquet. Raises RecjudgeError when the file cannot be written, and for Parquet
    without pyarrow."""
    if fmt != PARQUET:
        with text_file(target) as file:
            if fmt == "csv":
                return write_csv(columns, map(flat, rows), file)
            return _json(columns, rows, file, lines=fmt == "jsonl")
    if not isinstance(target, Path):
        return ExportCounts(write_parquet(columns, map(flat, rows), target.buffer))
    with writing(target), whole_file(target) as draft:
        return ExportCounts(write_parquet(columns, map(flat, rows), draft))


def save_table(table: Table, fmt: str, out: Path) -> tuple[str, ...]:
    """Write a table to a file, whole or not at all; returns notes for the user. Raises as `write_rows`, and StoreError."""
    if fmt == PARQUET:
        columns = [column.name for column in table.columns]
        write_rows(columns, ([row.get(name) for name in columns] for row in table.rows), PARQUET, out)
        return table.notes
    written = render(table, fmt, Screen(width=100))
    save_text(written.text, out)
    return written.notes


def flat(row: Sequence[Any]) -> Sequence[Any]:
    """The same row for formats without objects, which become JSON text."""
    return tuple(json.dumps(c, ensure_ascii=False) if isinstance(c, dict | list) else c for c in row)


@contextmanager
def text_file(target: Path | TextIO) -> Iterator[TextIO]:
    """The target itself, or a draft of the file, which replaces it when the block ends. Raises RecjudgeError."""
    if not isinstance(target, Path):
        yield target
        return
    with (
        writing(target),
        whole_file(target) as draft,
        draft.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


def _json(columns: Sequence[str], rows: Rows, file: TextIO, *, lines: bool) -> ExportCounts:
    written = 0
    file.write("" if lines else "[")
    for written, row in enumerate(rows, 1):
        text = harmless(json.dumps(dict(zip(columns, map(finite, row), strict=True)), ensure_ascii=False))
        file.write(f"{text}\n" if lines else f"{',' if written > 1 else ''}\n {text}")
    file.write("" if lines else "\n]\n")
    return ExportCounts(written)
