"""A grid of marks as the cells of a table."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text
from textual.coordinate import Coordinate

from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.figures.marks import UNDEFINED, Grid, GridCell
from recjudge_tui.tui.kit.charts import ABOVE, BELOW, COUNTS, shaded
from recjudge_tui.tui.kit.glyphs import Glyphs

_SUM_NAME = "all"
_CURSOR = "bold #000000 on #e6c34a"
# `shaded` picks the strongest shade for any share just below 1
_STRONGEST = 0.999


class TableCell(NamedTuple):
    """A cell and its row of the report; None if there is none. `below`: a second figure, shown where there is room."""

    text: Text
    row: Row | None
    below: str = ""

    def in_column(self, width: int, height: int, *, chosen: bool) -> Text:
        """The cell across its column. The chosen one has brackets, because the shade of a cell would hide the cursor."""
        lines = [f"[{self.text.plain}]" if chosen else self.text.plain]
        if height > 1 and self.below and len(self.below) <= width:
            lines.append(self.below)
        style = _CURSOR if chosen else self.text.style
        return Text("\n".join(line.rjust(width) for line in lines), style, justify="right")


class CellTable(NamedTuple):
    """The headings of the columns, and the name and cells of each line; what the second figures are."""

    heads: tuple[str, ...]
    lines: tuple[tuple[str, tuple[TableCell, ...]], ...]
    below: str = ""

    def at(self, place: Coordinate) -> TableCell | None:
        """The cell at a position; None outside of the table."""
        inside = place.row < len(self.lines) and place.column < len(self.heads)
        return self.lines[place.row][1][place.column] if inside else None


def cell_table(marks: Grid, look: Glyphs) -> CellTable:
    """The cells of a grid, with the sums in the last line and column."""
    lines = []
    for at, name in enumerate(marks.rows):
        cells = [_cell(marks, name, column, look) for column in marks.columns]
        if marks.row_sums:
            cells.append(_sum(marks.row_sums[at]))
        lines.append((name, tuple(cells)))
    if marks.column_sums:
        sums = [*marks.column_sums, *([sum(marks.row_sums)] if marks.row_sums else ())]
        lines.append((_SUM_NAME, tuple(map(_sum, sums))))
    heads = (*marks.columns, _SUM_NAME) if marks.row_sums else marks.columns
    return CellTable(heads, tuple(lines), marks.below_title)


def _cell(marks: Grid, name: str, column: str, look: Glyphs) -> TableCell:
    cell = marks.cells.get((name, column))
    if cell is None:
        return TableCell(Text(look.dot if name == column else "", "dim", justify="right"), None)
    return TableCell(_text(cell, signed=marks.signed, look=look), cell.row, cell.below)


def _text(cell: GridCell, *, signed: bool, look: Glyphs) -> Text:
    if cell.shade is None:
        return Text(cell.text.replace(UNDEFINED, look.none), "dim", justify="right")
    ramp = COUNTS if not signed else ABOVE if cell.shade > 0 else BELOW
    return shaded(cell.text, ramp, min(abs(cell.shade), _STRONGEST), cell.bold)


def _sum(count: int) -> TableCell:
    return TableCell(Text(f"{count:,}", "dim", justify="right"), None)
