"""A grid of marks as the cells of a table."""

from __future__ import annotations

from rich.text import Text

from recjudge_tui.reports.figures.marks import Grid, GridCell
from recjudge_tui.tui.figures.grid import TableCell, cell_table
from recjudge_tui.tui.kit.glyphs import UNICODE


def test_a_second_figure_is_shown_where_there_is_room() -> None:
    cell = TableCell(Text("23"), None, "74%")
    assert cell.in_column(8, 1, chosen=False).plain == "      23"
    assert cell.in_column(8, 2, chosen=True).plain == "    [23]\n     74%"
    assert cell.in_column(2, 2, chosen=False).plain == "23"


def test_a_grid_names_its_second_figures() -> None:
    marks = Grid(
        ("A",), ("A",), {("A", "A"): GridCell(0.5, "1", "50%")}, "a", "b", below_title="share of the row"
    )
    table = cell_table(marks, UNICODE)
    assert table.below == "share of the row"
    assert table.lines[0][1][0].below == "50%"
