"""Figures in the terminal: the marks as rows of a table, and, where both axes mean something, as a plot by plotext."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual.content import Content
from textual.widget import Widget

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.figures.marks import (
    UNDEFINED,
    Bars,
    Bold,
    Figure,
    Forest,
    Grid,
    GridCell,
    Lines,
    Mark,
    Marks,
    Scatter,
    Sentence,
    axis,
)
from recjudge_tui.tui.widgets import GLYPHS, interval, middle, number, stacked, tick

_SHADES = ("█", "▓", "▒", "░", "▚", "▞", "▤", "▥")
_COLOURS = ("cyan", "green", "yellow", "red")
_NAME = 40
# the fewest cells of a drawing in a table, and of a plot across and down
_FEWEST, _PLOT = 10, (20, 8)
_MARGIN = 0.08
# from so many half doublings on, only whole ones have a tick
_STEPS = 9
# backgrounds, faint to strong; each cell shows its value, and the colour only repeats it
_COUNTS = ("#16212e", "#1b3350", "#204672", "#255a94", "#2a6eb6")
_ABOVE = ("#14302a", "#17453a", "#1a5b4a", "#1d725a")
_BELOW = ("#3a2320", "#552a24", "#713127", "#8d382a")


def content_of(sentence: Sentence) -> Content:
    """A sentence with its bold parts."""
    parts = ((part.text, "bold") if isinstance(part, Bold) else (part, "") for part in sentence)
    return Content.assemble(*((text.replace(UNDEFINED, GLYPHS.none), style) for text, style in parts))


# ---- table -------------------------------------------------------------------------------------------------------


class MarksTable(NamedTuple):
    """`rows` are those of the report: of each cell of a grid, else one for each line."""

    heads: list[Text]
    lines: list[list[Text]]
    rows: list[list[Row | None]]

    def row(self, line: int, column: int) -> Row | None:
        if line >= len(self.rows):
            return None
        cells = self.rows[line]
        return cells[min(column, len(cells) - 1)]

    def first_cell(self) -> int:
        """The first column of the first line with a row behind it."""
        return next((at for at, row in enumerate(self.rows[0] if self.rows else ()) if row is not None), 0)


def is_drawn(figure: Figure) -> bool:
    """Whether the figure has a mark to show; its numbers may all be undefined."""
    marks = figure.marks
    return marks is not None and bool(marks.cells if isinstance(marks, Grid) else points_of(marks))


def marks_table(marks: Marks, width: int) -> MarksTable:
    """A line for each mark, with its interval or its parts drawn where they share one axis; a grid as it is."""
    if isinstance(marks, Grid):
        return _grid(marks)
    shown = points_of(marks)
    names = [one_line(_place_name(marks, mark), _NAME) for mark in shown]
    groups = [one_line(mark.group, _NAME) for mark in shown]
    counts = [f"n={number(mark.n)}" for mark in shown]
    values = [_value(mark) for mark in shown]
    bars = isinstance(marks, Bars)
    left = [names] if bars or len(set(groups)) < 2 else [names, groups]
    right = [counts] if bars else [values, counts]

    def room_left() -> int:
        return width - sum(max(map(cell_len, texts), default=0) + 2 for texts in (*left, *right)) - 2

    if not bars and room_left() < _FEWEST:
        right[0] = [text.split(" ")[0] for text in values]
    columns = [(Text(""), [Text(text) for text in texts]) for texts in left]
    if isinstance(marks, Bars):
        drawn = [_parts(marks, mark.name, max(room_left(), _FEWEST)) for mark in shown]
        columns.append((_legend(marks), drawn))
    elif isinstance(marks, Forest):
        columns.append(_intervals(marks, max(room_left(), _FEWEST)))
    columns += [(Text(""), [Text(text, justify="right") for text in texts]) for texts in right]
    heads, cells = zip(*columns, strict=True)
    lines = [list(line) for line in zip(*cells, strict=True)]
    return MarksTable(list(heads), lines, [[mark.row] for mark in shown])


def points_of(marks: Forest | Bars | Scatter | Lines) -> list[Mark]:
    """The marks with a line in the table: the first part of each bar; of two axes the defined marks, and of the group in
    front where there is one."""
    if isinstance(marks, Bars):
        return [next(iter(parts.values())) for parts in marks.bars.values()]
    if isinstance(marks, Forest):
        return list(marks.marks)
    points = [mark for mark in marks.marks if mark.value is not None]
    front = marks.front if isinstance(marks, Lines) else ""
    return [mark for mark in points if front in ("", mark.group)] or points


def _place_name(marks: Marks, mark: Mark) -> str:
    ticks = marks.ticks if isinstance(marks, Lines) else ()
    return ticks[int(mark.x)] if ticks else mark.name or f"{mark.x:.2f}"


def _value(mark: Mark) -> str:
    """The value with its interval; a dash if it is undefined."""
    if mark.value is None:
        return GLYPHS.none
    if mark.low is None or mark.high is None:
        return f"{mark.value:.2f}"
    return f"{mark.value:.2f} [{mark.low:.2f}, {mark.high:.2f}]"


def _intervals(marks: Forest, room: int) -> tuple[Text, list[Text]]:
    """The intervals on one axis, logarithmic where twice and half as good are equally far from even."""

    def placed(value: float | None) -> float | None:
        return value if value is None or not marks.doublings else math.log2(max(value, 1e-9))

    ends = axis(marks.marks, marks.even, doublings=marks.doublings)
    bounds = (placed(ends[0]) or 0.0, placed(ends[1]) or 0.0)
    low, high = map(tick, ends)
    title = one_line(marks.x, max(room - len(low) - len(high) - 2, 1)).center(room - len(low) - len(high))
    drawn = [
        interval(placed(m.low), placed(m.value), placed(m.high), bounds, room, placed(marks.even))
        for m in marks.marks
    ]
    return Text(low + title + high), [Text(line, "cyan") for line in drawn]


def _looks(marks: Bars) -> dict[str, tuple[str, str]]:
    return {
        part: (_SHADES[at % len(_SHADES)], _COLOURS[at % len(_COLOURS)])
        for at, part in enumerate(marks.parts)
    }


def _legend(marks: Bars) -> Text:
    entries = (
        Text.assemble((shade * 2, colour), f" {one_line(part, 20)}")
        for part, (shade, colour) in _looks(marks).items()
    )
    return Text("   ").join(entries)


def _parts(marks: Bars, name: str, room: int) -> Text:
    of_parts = marks.bars[name]
    shares = [
        ((mark.value or 0.0) if (mark := of_parts.get(part)) else 0.0, *look)
        for part, look in _looks(marks).items()
    ]
    return Text.assemble(*stacked(shares, room))


def _grid(marks: Grid) -> MarksTable:
    """Shaded cells, the second figure of each below the first, and sums where they mean something."""
    tall = bool(marks.below_title)
    heads = ["", *marks.columns, *(["all"] if marks.row_sums else [])]
    lines, rows = [], []
    for at, name in enumerate(marks.rows):
        cells = [marks.cells.get((name, column)) for column in marks.columns]
        empty = [GLYPHS.dot if name == column else "" for column in marks.columns]
        shown = [
            Text(none) if cell is None else _cell(marks, cell, tall)
            for cell, none in zip(cells, empty, strict=True)
        ]
        sums = [_sum(marks.row_sums[at])] if marks.row_sums else []
        lines.append([Text(one_line(name, _NAME)), *shown, *sums])
        rows.append([None, *(None if cell is None else cell.row for cell in cells), *(None for _ in sums)])
    if marks.column_sums:
        total = [_sum(sum(marks.column_sums))] if marks.row_sums else []
        lines.append([Text("all", "dim"), *map(_sum, marks.column_sums), *total])
        rows.append([None])
    return MarksTable([Text(middle(one_line(head), 30), justify="right") for head in heads], lines, rows)


def _sum(count: int) -> Text:
    return Text(number(count), "dim", justify="right")


def _cell(marks: Grid, cell: GridCell, tall: bool) -> Text:
    ramp = _COUNTS if not marks.signed else _ABOVE if (cell.shade or 0.0) > 0 else _BELOW
    share = min(abs(cell.shade or 0.0), 1.0)
    style = "bold " if cell.bold else ""
    style += f"#ffffff on {ramp[min(int(share * len(ramp)), len(ramp) - 1)]}" if share else "dim"
    text = cell.text.replace(UNDEFINED, GLYPHS.none)
    return Text(f"{text}\n{cell.below}" if tall else text, style, justify="right")


# ---- plot --------------------------------------------------------------------------------------------------------


class Plot(Widget):
    """The marks of a figure on two axes, with the mark of one row standing out."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._marks: Scatter | Lines | None = None
        self._row: Row | None = None

    def show(self, marks: Scatter | Lines, row: Row | None) -> None:
        self._marks, self._row = marks, row
        self.refresh()

    def render(self) -> Content:
        return Content("") if self._marks is None else plot(self._marks, self._row, *self.content_size)


def plot(marks: Scatter | Lines, chosen: Row | None, width: int, height: int) -> Content:
    """Points on two axes in `width` x `height` cells, joined by lines if the marks are; the mark of the `chosen` row has
    another glyph, and of several lines it alone has its interval. Needs at least one point.

    Plotext has one figure, so only the thread of the app may draw.
    """
    import plotext

    points, level = points_of(marks), None if marks.level is None else marks.level.value
    doublings = isinstance(marks, Scatter) and marks.doublings and all((p.value or 0.0) > 0 for p in points)
    if doublings:
        floor = min((p.value for p in points if p.value), default=1.0) / 64

        def scaled(value: float | None) -> float | None:
            return None if value is None else math.log2(max(value, floor))

        points = [replace(p, value=scaled(p.value), low=scaled(p.low), high=scaled(p.high)) for p in points]
        level = scaled(level)
    square = isinstance(marks, Lines) and bool(marks.diagonal)
    x_ends = (0.0, 1.0) if square else _with_margin([point.x for point in points])
    y_ends = (0.0, 1.0) if square else _with_margin(axis(points, level), below_zero=doublings)
    plotext.terminal.limit(False, False)
    sheet = plotext.figure
    sheet.clear()
    sheet.theme("colorless")
    sheet.plot_size(max(width, _PLOT[0]), max(height, _PLOT[1]))
    groups: dict[str, list[Mark]] = {}
    if isinstance(marks, Lines):
        for point in points:
            groups.setdefault("" if marks.joined or marks.front else point.group, []).append(point)
    if square:
        sheet.draw(sheet.signal([0.0, 1.0], [0.0, 1.0], marker="·").lines(True))
    if level is not None:
        sheet.line(level)
    if doublings:
        steps = range(math.ceil(y_ends[0] * 2), math.floor(y_ends[1] * 2) + 1)
        shown = [step / 2 for step in steps if len(steps) < _STEPS or step % 2 == 0]
        sheet.ruler("y").ticks(shown, [f"{2**step:.2g}" for step in shown])
    for place, own in enumerate(groups.values()):
        marker = plotext.marker("braille", plotext.pixel(_COLOURS[place % len(_COLOURS)]))
        sheet.draw(sheet.signal([p.x for p in own], [p.value for p in own], marker=marker).lines(True))
    if isinstance(marks, Lines) and not square:
        names = {point.x: one_line(_place_name(marks, point), 12) for point in points}
        sheet.ruler("x").ticks(list(names), list(names.values()))
    for at, name in marks.changes.items() if isinstance(marks, Lines) else ():
        sheet.line(at, orientation=1)
        sheet.draw(sheet.text(at, y_ends[0], f"↑ {one_line(name, 30)}"))
    here = next((point for point in points if point.row is chosen), None)
    for point in [here] if len(groups) > 1 and here is not None else points:
        if point.low is not None and point.high is not None:
            ends = max(point.low, y_ends[0]), min(point.high, y_ends[1])
            sheet.draw(sheet.segment((point.x, point.x), ends, marker="│"))
            # an end beyond the axis is an arrow
            sheet.draw(sheet.signal([point.x], [ends[0]], marker="┴" if ends[0] == point.low else "▾"))
            sheet.draw(sheet.signal([point.x], [ends[1]], marker="┬" if ends[1] == point.high else "▴"))
        sheet.draw(sheet.signal([point.x], [point.value], marker="◉" if point is here else "●"))
    if len(groups) > 1:
        x_ends = (x_ends[0], x_ends[1] + (x_ends[1] - x_ends[0]) / 6)
    beside = 2 * (x_ends[1] - x_ends[0]) / max(width - 8, 1)
    line = (y_ends[1] - y_ends[0]) / max(height - 5, 1)
    below = -math.inf
    ends_of = [own[-1] for own in groups.values()] if len(groups) > 1 else [] if groups else points
    for point in sorted(ends_of, key=lambda point: point.value or 0.0):
        # a point and the end of a line have their name beside them, each above the one before
        below = max(point.value or 0.0, below + line)
        name = one_line(point.group if groups else point.name, 20)
        sheet.draw(sheet.text(point.x + beside, below, name))
    sheet.ruler("x").lim(*x_ends)
    sheet.ruler("y").lim(*y_ends)
    sheet.label(one_line(marks.x, 40), "x")
    sheet.label(one_line(f"{marks.y}, {marks.interval}" if marks.interval else marks.y, 60), "y")
    return Content.from_rich_text(Text.from_ansi(sheet.build().string()))


def _with_margin(values: Sequence[float], *, below_zero: bool = False) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    margin = (high - low) * _MARGIN or max(abs(high) * 0.1, 0.5)
    # an axis of values that are never negative does not go below zero
    return max(low - margin, 0.0) if low >= 0 and not below_zero else low - margin, high + margin
