"""Draws any description of marks with characters. A grid becomes a table (`grid.py`), everything else a plot."""

from __future__ import annotations

from textual.content import Content

from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.figures.marks import (
    Band,
    Bold,
    Curves,
    Forest,
    Lines,
    Marks,
    Point,
    Reference,
    Scatter,
    Sentence,
    StackedBars,
    Trend,
)
from recjudge_tui.reports.figures.words import UNDEFINED
from recjudge_tui.tui.figures.bar_plots import bars, forest
from recjudge_tui.tui.figures.plots import Axes, curve, lines, scatter
from recjudge_tui.tui.kit.glyphs import Glyphs


def draw(marks: Marks, chosen: int, width: int, height: int, look: Glyphs) -> Content:
    """A plot of `width` x `height` cells, with the cursor on mark number `chosen` of `plot_rows`."""
    match marks:
        case StackedBars():
            return bars(marks, chosen, width, height, look)
        case Forest():
            return forest(marks, chosen, width, height, look)
        case Scatter():
            return scatter(_points(marks), chosen, _axes(marks), width, height, look)
        case Lines():
            return lines(_points(marks), marks, chosen, _axes(marks), width, height, look)
        case _:
            return curve(_points(marks), chosen, _axes(marks), width, height, look)


def plot_rows(marks: Marks) -> tuple[Row, ...]:
    """The row of the report behind each mark that the cursor can reach, in order; none for a grid."""
    match marks:
        case StackedBars():
            rows = [bar.row for bar in marks.bars]
        case Forest():
            rows = [estimate.row for estimate in marks.estimates]
        case _:
            rows = [point.row for point in _points(marks)]
    return tuple(row for row in rows if row is not None)


def plot_notes(marks: Marks) -> tuple[str, ...]:
    """What a plot with characters leaves out, and the meaning of its dotted line."""
    undefined = marks.notes if isinstance(marks, Trend) else ()
    line = _level(marks)
    return undefined if line is None else (*undefined, f"dotted: {line.about}")


def content_of(sentence: Sentence, look: Glyphs) -> Content:
    """A sentence with its bold parts."""
    return Content.assemble(
        *(
            (part.text.replace(UNDEFINED, look.none), "bold")
            if isinstance(part, Bold)
            else part.replace(UNDEFINED, look.none)
            for part in sentence
        )
    )


def _points(marks: Marks) -> tuple[Point, ...]:
    """The defined points of a scatter or curve; of several curves, those of the front one."""
    match marks:
        case Scatter() | Trend() | Band():
            points = marks.points
        case Lines():
            points = tuple(point for series in marks.series for point in series.points)
        case Curves():
            points = next((series.points for series in marks.series if series.name == marks.front), ())
        case _:
            points = ()
    return tuple(point for point in points if point.y is not None)


def _level(marks: Marks) -> Reference | None:
    """The level line across a plot."""
    match marks:
        case Scatter() | Lines():
            return marks.even
        case Trend():
            return marks.ceiling
        case _:
            return None


def _axes(marks: Marks) -> Axes:
    match marks:
        case Scatter() | Trend() | Lines():
            line = _level(marks)
            return Axes(marks.x, f"{marks.y}, {marks.interval}", None if line is None else line.value)
        case Curves():
            x = next((series.x for series in marks.series if series.name == marks.front), marks.x)
            return Axes(x, f"{marks.y}, {marks.interval}; dotted: {marks.diagonal}", diagonal=True)
        case Band():
            return Axes(marks.x, marks.y)
        case _:
            return Axes("", "")
