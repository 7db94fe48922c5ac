"""Draws any description of marks with Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recjudge_tui.reports.figures.marks import (
    Band,
    Curves,
    Forest,
    Grid,
    Lines,
    Marks,
    Scatter,
    StackedBars,
    Trend,
)
from recjudge_tui.reports.figures.paper.bars import draw_bars
from recjudge_tui.reports.figures.paper.curves import draw_band, draw_curves, draw_lines
from recjudge_tui.reports.figures.paper.forest import draw_forest
from recjudge_tui.reports.figures.paper.grid import draw_grid
from recjudge_tui.reports.figures.paper.points import draw_scatter, draw_trend

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(figure: Figure, marks: Marks) -> None:
    """Draw into an empty figure. Some marks set its height."""
    match marks:
        case Grid():
            draw_grid(figure, marks)
        case Scatter():
            draw_scatter(figure, marks)
        case Trend():
            draw_trend(figure, marks)
        case Band():
            draw_band(figure, marks)
        case Curves():
            draw_curves(figure, marks)
        case Lines():
            draw_lines(figure, marks)
        case StackedBars():
            draw_bars(figure, marks)
        case Forest():
            draw_forest(figure, marks)
