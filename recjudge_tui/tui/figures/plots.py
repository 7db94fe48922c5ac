"""Plots drawn with characters: named points, a curve with its intervals, several lines. Contains no widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.figures.marks import Lines, Mark, axis
from recjudge_tui.tui.kit.charts import is_ascii, tick
from recjudge_tui.tui.kit.glyphs import Glyphs

_GUTTER = 8
_FEWEST_COLUMNS = 12
_FEWEST_ROWS = 4
_MARGIN = 0.08
# a dotted line draws every n-th dot
_DOTTED = 4
# braille: the bit of each dot of a cell (two by four)
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


class Axes(NamedTuple):
    """The titles of the axes. `level`: a dotted line at this y; `diagonal`: a dotted line from (0, 0) to (1, 1), which
    are then the ends of both axes."""

    x: str
    y: str
    level: float | None = None
    diagonal: bool = False


class _Sheet:
    """Cells of a drawing, addressed by column and row from the top left."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._cells = [[(" ", "")] * columns for _ in range(rows)]

    def put(self, column: int, row: int, text: str, style: str = "") -> None:
        for step, character in enumerate(text):
            if 0 <= column + step < self.columns and 0 <= row < self.rows:
                self._cells[row][column + step] = (character, style)

    def free(self, column: int, row: int, width: int) -> bool:
        inside = 0 <= row < self.rows and column >= 0 and column + width <= self.columns
        return inside and all(cell[0] == " " for cell in self._cells[row][column : column + width])

    def line(self, row: int) -> Content:
        return Content.assemble(*self._cells[row])


def scatter(
    points: Sequence[Mark], chosen: int, axes: Axes, width: int, height: int, look: Glyphs
) -> Content:
    """Named points in `width` x `height` cells; the chosen one has another glyph and its name in brackets.

    A name that would cover another one is left out. Needs at least one point, and every y must be defined.
    """
    place = _Scale(points, width, height, axes)
    sheet = _Sheet(place.columns, place.rows)
    if axes.level is not None:
        _line(sheet, place, [(x, axes.level) for x in place.x], look, _DOTTED, "dim")
    for point in points:
        _range(sheet, place, point, look)
    order = sorted(range(len(points)), key=lambda at: at == chosen)
    _put_points(sheet, place, points, order, look)
    for at in reversed(order):
        _name(sheet, place, points[at], at == chosen)
    return _framed(sheet, place, axes, look, _ends(place))


def curve(points: Sequence[Mark], chosen: int, axes: Axes, width: int, height: int, look: Glyphs) -> Content:
    """A line through the points, each with its interval drawn vertically.

    The ticks are the names of the points, or else their x; with a diagonal they are the ends of the axis.
    """
    place = _Scale(points, width, height, axes)
    sheet = _Sheet(place.columns, place.rows)
    if axes.diagonal:
        _line(sheet, place, ((0, 0), (1, 1)), look, _DOTTED, "dim")
    if axes.level is not None:
        _line(sheet, place, [(x, axes.level) for x in place.x], look, _DOTTED, "dim")
    _line(sheet, place, [(point.x, point.value or 0.0) for point in points], look)
    for point in points:
        _range(sheet, place, point, look)
    _put_points(sheet, place, points, sorted(range(len(points)), key=lambda at: at == chosen), look)
    ticks = [
        (place.column(point.x), one_line(point.name, 12) or f"{point.x:g}", at == chosen)
        for at, point in enumerate(points)
    ]
    return _framed(sheet, place, axes, look, _ends(place) if axes.diagonal else ticks)


def lines(
    points: Sequence[Mark],
    marks: Lines,
    chosen: int,
    axes: Axes,
    width: int,
    height: int,
    look: Glyphs,
) -> Content:
    """A line for each group of points over the periods, with its name at its end; only the chosen point shows its
    interval, and its group is the bright one. Changes have a line down to their name below the axis."""
    place = _Scale(points, width, height - bool(marks.changes), axes)
    sheet = _Sheet(place.columns, place.rows)
    for at in marks.changes:
        _line(sheet, place, [(at, place.y[0]), (at, place.y[1])], look, _DOTTED, "dim")
    if axes.level is not None:
        _line(sheet, place, [(x, axes.level) for x in place.x], look, _DOTTED, "dim")
    bright = points[chosen].group
    for name in sorted(dict.fromkeys(point.group for point in points), key=lambda name: name == bright):
        own = [point for point in points if point.group == name]
        _line(
            sheet,
            place,
            [(p.x, p.value or 0.0) for p in own],
            look,
            style="$accent" if name == bright else "dim",
        )
    _range(sheet, place, points[chosen], look)
    _put_points(sheet, place, points[chosen : chosen + 1], [0], look)
    for name in dict.fromkeys(point.group for point in points):
        last = [point for point in points if point.group == name][-1]
        _name(sheet, place, replace(last, name=name), name == bright)
    ticks = [
        (place.column(at), one_line(name, 12), at == points[chosen].x) for at, name in enumerate(marks.ticks)
    ]
    drawn = _framed(sheet, place, axes, look, ticks)
    if not marks.changes:
        return drawn
    arrow = "^" if is_ascii(look) else "↑"
    # the newest first, because a name that would cover another one is left out; the note below the plot has them all
    names = [
        (place.column(at), f"{arrow} {one_line(name, 30)}", at == points[chosen].x)
        for at, name in sorted(marks.changes.items(), reverse=True)
        if cell_len(name) == len(name)
    ]
    return Content("\n").join([drawn, Content.assemble(" " * _GUTTER, _ticks(place, names).rstrip())])


def _put_points(
    sheet: _Sheet, place: _Scale, points: Sequence[Mark], order: Sequence[int], look: Glyphs
) -> None:
    """Draws the points in this order; the last one is the chosen one."""
    for at in order:
        chosen = at == order[-1]
        column, row = place.column(points[at].x), place.row(points[at].value or 0.0)
        sheet.put(column, row, _glyph(chosen, look), _style(chosen))


class _Scale:
    """Maps values to cells, with a margin on all sides."""

    def __init__(self, points: Sequence[Mark], width: int, height: int, axes: Axes) -> None:
        self.columns = max(width - _GUTTER - 1, _FEWEST_COLUMNS)
        self.rows = max(height - 3, _FEWEST_ROWS)
        self.x = (0.0, 1.0) if axes.diagonal else _bounds([point.x for point in points])
        self.y = (0.0, 1.0) if axes.diagonal else _bounds(axis(points, axes.level))

    def column(self, x: float) -> int:
        return round((x - self.x[0]) / (self.x[1] - self.x[0]) * (self.columns - 1))

    def row(self, y: float) -> int:
        return self.rows - 1 - round((y - self.y[0]) / (self.y[1] - self.y[0]) * (self.rows - 1))

    def dot(self, x: float, y: float) -> tuple[int, int]:
        """The position among the braille dots, two by four in a cell."""
        column = (x - self.x[0]) / (self.x[1] - self.x[0]) * (self.columns - 1) * 2 + 0.5
        row = (self.y[1] - y) / (self.y[1] - self.y[0]) * (self.rows - 1) * 4 + 1.5
        return round(column), round(row)


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = (high - low) * _MARGIN or max(abs(high) * 0.1, 0.5)
    # an axis of values that are never negative does not go below zero
    return max(low - margin, 0.0) if low >= 0 else low - margin, high + margin


def _glyph(chosen: bool, look: Glyphs) -> str:
    if is_ascii(look):
        return "@" if chosen else "o"
    return "◉" if chosen else "●"


def _style(chosen: bool) -> str:
    return "bold $warning" if chosen else "$accent"


def _range(sheet: _Sheet, place: _Scale, point: Mark, look: Glyphs) -> None:
    if point.low is None or point.high is None:
        return
    top, line, bottom = ("-", "|", "-") if is_ascii(look) else ("┬", "│", "┴")
    column, first, last = place.column(point.x), place.row(point.high), place.row(point.low)
    up, down = ("^", "v") if is_ascii(look) else ("▴", "▾")
    # an end beyond the axis is an arrow
    ends = ((first, top, up, max(first, 0)), (last, bottom, down, min(last, place.rows - 1)))
    for row in range(ends[0][3], ends[1][3] + 1):
        sheet.put(column, row, line, "dim")
    for end, cap, arrow, at in ends if last > first else ():
        sheet.put(column, at, cap if at == end else arrow, "dim")


def _name(sheet: _Sheet, place: _Scale, point: Mark, chosen: bool) -> None:
    name = one_line(point.name, 20)
    text = f"[{name}]" if chosen else name
    column, row, wide = place.column(point.x), place.row(point.value or 0.0), cell_len(text)
    if wide != len(text):
        return  # a cell of the sheet holds one character, so wide names appear in the details only
    for at, on in ((column + 2, row), (column - 1 - wide, row), (column + 2, row - 1), (column + 2, row + 1)):
        if sheet.free(at, on, wide):
            sheet.put(at, on, text, "bold" if chosen else "")
            return


def _line(
    sheet: _Sheet,
    place: _Scale,
    corners: Sequence[tuple[float, float]],
    look: Glyphs,
    every: int = 1,
    style: str = "$accent",
) -> None:
    """Straight lines from corner to corner, in braille dots; one dot of `every` is drawn."""
    cells: dict[tuple[int, int], int] = {}
    for start, end in pairwise(corners):
        (x0, y0), (x1, y1) = place.dot(*start), place.dot(*end)
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        for step in range(0, steps + 1, every):
            x, y = round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps)
            cells[x // 2, y // 4] = cells.get((x // 2, y // 4), 0) | _DOTS[x % 2][y % 4]
    for (column, row), bits in cells.items():
        sheet.put(column, row, "." if is_ascii(look) else chr(0x2800 + bits), style)


def _ends(place: _Scale) -> list[tuple[int, str, bool]]:
    middle = sum(place.x) / 2
    return [(place.column(x), tick(x), False) for x in (place.x[0], middle, place.x[1])]


def _framed(
    sheet: _Sheet, place: _Scale, axes: Axes, look: Glyphs, ticks: Sequence[tuple[int, str, bool]]
) -> Content:
    """The drawing with its axes, their titles and their ticks."""
    side, corner, floor = ("|", "+", "-") if is_ascii(look) else ("┤", "└", "─")
    rows = place.rows
    marked = {0: place.y[1], rows // 2: place.y[1] - (place.y[1] - place.y[0]) * (rows // 2) / (rows - 1),
              rows - 1: place.y[0]}  # fmt: skip
    lines = [Content.styled(one_line(axes.y, 60), "dim")]
    for row in range(rows):
        label = tick(marked[row]) if row in marked else ""
        lines.append(Content.assemble((f"{label:>{_GUTTER - 1}} {side}", "dim"), sheet.line(row)).rstrip())
    lines.append(Content.styled(" " * _GUTTER + corner + floor * place.columns, "dim"))
    name = one_line(axes.x, 30)
    end = Content.assemble(" " * _GUTTER, _ticks(place, ticks).rstrip(), ("  ", ""))
    if end.cell_length + cell_len(name) <= _GUTTER + 1 + place.columns:
        end = Content.assemble(end, (name, "dim"))
        lines.append(end)
    else:
        lines[0] = Content.styled(f"{one_line(axes.y, 60)} by {name}", "dim")
        lines.append(end.rstrip())
    return Content("\n").join(lines)


def _ticks(place: _Scale, ticks: Sequence[tuple[int, str, bool]]) -> Content:
    """A line of names below their columns; ticks that would cover an earlier one are left out, the chosen one never."""
    below = _Sheet(place.columns + 1, 1)
    for column, text, chosen in sorted(ticks, key=lambda tick: not tick[2]):
        label = (f"[{text}]" if chosen else text)[: place.columns]
        at = min(max(column + 1 - len(label) // 2, 0), place.columns + 1 - len(label))
        first = max(at - 1, 0)
        if below.free(first, 0, min(len(label) + 2, place.columns + 1 - first)):
            below.put(at, 0, label, "bold" if chosen else "dim")
    return below.line(0)
