"""Draws any description of marks with characters. A grid becomes a table (`grid.py`), everything else a plot."""

from __future__ import annotations

from textual.content import Content

from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.figures.marks import (
    UNDEFINED,
    Bars,
    Bold,
    Forest,
    Grid,
    Lines,
    Mark,
    Marks,
    Reference,
    Scatter,
    Sentence,
)
from recjudge_tui.tui.figures.bar_plots import bars, forest
from recjudge_tui.tui.figures.plots import Axes, curve, lines, scatter
from recjudge_tui.tui.kit.glyphs import Glyphs


def draw(marks: Marks, chosen: int, width: int, height: int, look: Glyphs) -> Content:
    """A plot of `width` x `height` cells, with the cursor on mark number `chosen` of `plot_rows`."""
    match marks:
        case Bars():
            return bars(marks, chosen, width, height, look)
        case Forest():
            return forest(marks, chosen, width, height, look)
        case Scatter():
            return scatter(_points(marks), chosen, _axes(marks), width, height, look)
        case Lines() if (
            not marks.joined and not marks.front and len({mark.group for mark in marks.marks}) > 1
        ):
            return lines(_points(marks), marks, chosen, _axes(marks), width, height, look)
        case Grid():
            return Content("")
        case _:
            return curve(_points(marks), chosen, _axes(marks), width, height, look)


def plot_rows(marks: Marks) -> tuple[Row, ...]:
    """The row of the report behind each mark that the cursor can reach, in order; none for a grid."""
    match marks:
        case Bars():
            reached = [next(iter(parts.values())) for parts in marks.bars.values()]
        case Forest():
            reached = list(marks.marks)
        case _:
            reached = _points(marks)
    return tuple(mark.row for mark in reached if mark.row is not None)


def plot_notes(marks: Marks) -> tuple[str, ...]:
    """The meaning of the dotted line of a plot."""
    line = _level(marks)
    return () if line is None else (f"dotted: {line.about}",)


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


def _points(marks: Marks) -> list[Mark]:
    """The defined marks of a scatter or of lines; of several of which one is in front, those of that one."""
    if isinstance(marks, Grid):
        return []
    front = marks.front if isinstance(marks, Lines) else ""
    return [mark for mark in marks.marks if mark.value is not None and front in ("", mark.group)]


def _level(marks: Marks) -> Reference | None:
    """The level line across a plot."""
    return marks.level if isinstance(marks, Scatter | Lines) else None


def _axes(marks: Scatter | Lines) -> Axes:
    line = _level(marks)
    y = f"{marks.y}, {marks.interval}" if marks.interval else marks.y
    if isinstance(marks, Lines) and marks.diagonal:
        return Axes(f"{marks.x}, {marks.front}", f"{y}; dotted: {marks.diagonal}", diagonal=True)
    return Axes(marks.x, y, None if line is None else line.value)
