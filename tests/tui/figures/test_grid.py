"""A grid of marks as the cells of a table."""

from __future__ import annotations

from rich.text import Text

from recjudge_tui.reports.figures.confusion import sentence
from recjudge_tui.reports.figures.data import FigureData
from recjudge_tui.reports.figures.marks import Grid, GridCell
from recjudge_tui.reports.figures.options import Topic
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


def test_cases_counted_from_both_sides_are_said_to_be() -> None:
    drawn = FigureData("confusion", Topic("pairwise", "overall"), "good against poor")
    row = {
        "rater_a": "a",
        "rater_b": "b",
        "label_a": "A",
        "label_b": "A",
        "count": 25,
        "n": 48,
        "share": 25 / 96,
    }
    said = "".join(str(getattr(part, "text", part)) for part in sentence(drawn, row))
    assert said == "a A, b A: 25 of 96 counts, two for each of 48 cases (26.0%)"
    said = "".join(str(getattr(part, "text", part)) for part in sentence(drawn, {**row, "share": 25 / 48}))
    assert said == "a A, b A: 25 of 48 cases (52.1%)"
