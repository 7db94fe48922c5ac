"""Writes any number of rows to a file or a stream: CSV, JSON lines or JSON row by row, or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO

from recjudge_tui.domain.text import finite
from recjudge_tui.errors import UsageError
from recjudge_tui.files import whole_file
from recjudge_tui.reports.common.table import Screen, Table, render, save_text, writing
from recjudge_tui.reports.common.writers.data import guard_note, harmless, write_csv, write_parquet

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
    ending = path.suffix.lower().lstrip(".")
    known = next((fmt for fmt in (*EXPORT_FORMATS, PARQUET) if fmt == ending), None)
    if known is None:
        raise UsageError(
            f"no export format for “{path.name}”",
            "The format follows the ending of the file name.",
            "Use .csv, .jsonl, .json or .parquet, or name the format.",
        )
    return known


def write_rows(columns: Sequence[str], rows: Rows, fmt: ExportFormat, target: Path | TextIO) -> ExportCounts:
    """Write rows under these column names. A file is written whole or not at all: first beside its place, then moved.
    In CSV, text cells that a spreadsheet would run get a leading apostrophe; numbers are unchanged. A dict or a list
    becomes JSON text in CSV and Parquet. Raises RecjudgeError when the file cannot be written, and for Parquet
    without pyarrow."""
    if fmt != PARQUET:
        with text_file(target) as file:
            if fmt == "csv":
                return ExportCounts(*write_csv(columns, map(flat, rows), file))
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
