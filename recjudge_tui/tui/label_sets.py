"""The figure of conformal label sets: how many labels each verdict's set holds, so that the unsure ones are read first."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from recjudge_tui.reports.table import Row
from recjudge_tui.tui.figure_text import Cell

COVERAGE_NOTE = (
    "a set holds the reference label as often as asked for, whoever the user; a verdict whose set holds more than one"
    " label is one to read first; “recjudge calibration” prints the whole of it"
)

Lines = tuple[tuple[str, tuple[Cell, ...]], ...]


def set_grid(rows: Sequence[Row]) -> tuple[tuple[str, ...], Lines]:
    """Heads and lines: one line a size of set, one column a label of the verdict."""
    sizes = list(dict.fromkeys(row["labels"] for row in rows))
    heads = tuple(dict.fromkeys(str(row["label"]) for row in rows))
    lines = []
    for size in sizes:
        cells = tuple(_cell(row) for row in rows if row["labels"] == size)
        lines.append((f"{size} label{'' if size == 1 else 's'}", cells))
    return heads, tuple(lines)


def _cell(row: Row) -> Cell:
    weight = "dim" if not row["count"] else "" if row["labels"] == 1 else "bold"
    return Cell(Text(str(row["count"]), weight, justify="right"), row)
