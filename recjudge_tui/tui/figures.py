"""Figures in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Row, note_kind
from recjudge_tui.reports.figures.declared import FIGURES, behind, figure
from recjudge_tui.reports.figures.files import PICTURES, save_figure
from recjudge_tui.reports.figures.marks import (
    LEVEL_NAMES,
    METHOD_NAMES,
    UNDEFINED,
    Bars,
    Behind,
    Bold,
    Figure,
    Forest,
    Grid,
    Lines,
    Mark,
    Marks,
    Reference,
    Scatter,
    Sentence,
    axis,
)
from recjudge_tui.reports.topics import Topic
from recjudge_tui.stats.registry import STATISTICS
from recjudge_tui.store.database import Database
from recjudge_tui.tui.screens import COMMON, ChoiceField, TabbedScreen, WrittenFile, choice_form, export_table
from recjudge_tui.tui.widgets import (
    ABOVE,
    BELOW,
    COUNTS,
    GLYPHS,
    ClickText,
    DetailsPane,
    KeyLine,
    TopBar,
    fit,
    interval,
    middle,
    number,
    shade,
    stacked,
    tick,
)

# ---- plots -------------------------------------------------------------------------------------------------------


_GUTTER = 8
_FEWEST_COLUMNS = 12
_FEWEST_ROWS = 4
_MARGIN = 0.08
# a dotted line draws every n-th dot
_DOTTED = 4
# braille: the bit of each dot of a cell (two by four)
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


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


def plot(marks: Scatter | Lines, chosen: int, width: int, height: int) -> Content:
    """Points in `width` x `height` cells, joined by lines if the marks are. The chosen one has another glyph, and its name
    in brackets. Needs at least one point.

    Points that are not joined have their names beside them, a name that would cover another one left out. A single line has
    the names of its points below. Of several lines each has its name at its end, and only the chosen point shows its
    interval; changes have a line down to their name below the axis.
    """
    points = _points(marks)
    changes = marks.changes if isinstance(marks, Lines) else {}
    groups: list[str] = []
    if isinstance(marks, Lines):
        several = not marks.joined and not marks.front and len({point.group for point in points}) > 1
        groups = list(dict.fromkeys(point.group for point in points)) if several else [""]
    level, diagonal = _level(marks), isinstance(marks, Lines) and bool(marks.diagonal)
    place = _Scale(points, width, height - bool(changes), None if level is None else level.value, diagonal)
    sheet = _Sheet(place.columns, place.rows)
    dotted = [[(0.0, 0.0), (1.0, 1.0)]] if diagonal else []
    dotted += [[(x, level.value) for x in place.x]] if level is not None else []
    dotted += [[(at, place.y[0]), (at, place.y[1])] for at in changes]
    for corners in dotted:
        _line(sheet, place, corners, _DOTTED, "dim")
    bright = points[chosen].group if len(groups) > 1 else ""
    for name in sorted(groups, key=lambda name: name == bright):
        own = [(p.x, p.value or 0.0) for p in points if len(groups) == 1 or p.group == name]
        _line(sheet, place, own, style="$accent" if name == bright else "dim")
    shown = [chosen] if len(groups) > 1 else sorted(range(len(points)), key=lambda at: at == chosen)
    for at in shown:
        _range(sheet, place, points[at])
    for at in shown:
        column, row = place.column(points[at].x), place.row(points[at].value or 0.0)
        sheet.put(column, row, "◉" if at == chosen else "●", "bold $warning" if at == chosen else "$accent")
    for at in reversed(shown) if not groups else ():
        _name(sheet, place, points[at], at == chosen)
    for name in groups if len(groups) > 1 else ():
        last = [point for point in points if point.group == name][-1]
        _name(sheet, place, replace(last, name=name), name == bright)
    if len(groups) > 1 and isinstance(marks, Lines):
        here = points[chosen].x
        ticks = [(place.column(at), one_line(name, 12), at == here) for at, name in enumerate(marks.ticks)]
    elif diagonal or not groups:
        ticks = [(place.column(x), tick(x), False) for x in (place.x[0], sum(place.x) / 2, place.x[1])]
    else:
        ticks = [
            (place.column(point.x), one_line(point.name, 12) or f"{point.x:g}", at == chosen)
            for at, point in enumerate(points)
        ]
    drawn = _framed(sheet, place, _titles(marks), ticks)
    if not changes:
        return drawn
    # the newest first, because a name that would cover another one is left out; the note below the plot has them all
    names = [
        (place.column(at), f"↑ {one_line(name, 30)}", at == points[chosen].x)
        for at, name in sorted(changes.items(), reverse=True)
        if cell_len(name) == len(name)
    ]
    return Content("\n").join([drawn, Content.assemble(" " * _GUTTER, _ticks(place, names).rstrip())])


def _titles(marks: Scatter | Lines) -> tuple[str, str]:
    y = f"{marks.y}, {marks.interval}" if marks.interval else marks.y
    if isinstance(marks, Lines) and marks.diagonal:
        return f"{marks.x}, {marks.front}", f"{y}; dotted: {marks.diagonal}"
    return marks.x, y


class _Scale:
    """Maps values to cells, with a margin on all sides."""

    def __init__(
        self, points: Sequence[Mark], width: int, height: int, level: float | None, diagonal: bool
    ) -> None:
        self.columns = max(width - _GUTTER - 1, _FEWEST_COLUMNS)
        self.rows = max(height - 3, _FEWEST_ROWS)
        self.x = (0.0, 1.0) if diagonal else _bounds([point.x for point in points])
        self.y = (0.0, 1.0) if diagonal else _bounds(axis(points, level))

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


def _range(sheet: _Sheet, place: _Scale, point: Mark) -> None:
    if point.low is None or point.high is None:
        return
    column, first, last = place.column(point.x), place.row(point.high), place.row(point.low)
    # an end beyond the axis is an arrow
    ends = ((first, "┬", "▴", max(first, 0)), (last, "┴", "▾", min(last, place.rows - 1)))
    for row in range(ends[0][3], ends[1][3] + 1):
        sheet.put(column, row, "│", "dim")
    for end, cap, arrow, at in ends if last > first else ():
        sheet.put(column, at, cap if at == end else arrow, "dim")


def _name(sheet: _Sheet, place: _Scale, point: Mark, chosen: bool) -> None:
    name = one_line(point.name, 20)
    text = f"[{name}]" if chosen else name
    column, row, wide = place.column(point.x), place.row(point.value or 0.0), cell_len(text)
    if wide != len(text):
        return  # a cell of the sheet holds one character, so wide names appear in the details only
    for at, line in (
        (column + 2, row),
        (column - 1 - wide, row),
        (column + 2, row - 1),
        (column + 2, row + 1),
    ):
        if sheet.free(at, line, wide):
            sheet.put(at, line, text, "bold" if chosen else "")
            return


def _line(
    sheet: _Sheet,
    place: _Scale,
    corners: Sequence[tuple[float, float]],
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
        sheet.put(column, row, chr(0x2800 + bits), style)


def _framed(
    sheet: _Sheet,
    place: _Scale,
    titles: tuple[str, str],
    ticks: Sequence[tuple[int, str, bool]],
) -> Content:
    """The drawing with its axes, their titles and their ticks."""
    rows = place.rows
    marked = {0: place.y[1], rows // 2: place.y[1] - (place.y[1] - place.y[0]) * (rows // 2) / (rows - 1),
              rows - 1: place.y[0]}  # fmt: skip
    x, y = (one_line(title, most) for title, most in zip(titles, (30, 60), strict=True))
    lines = [Content.styled(y, "dim")]
    for row in range(rows):
        label = tick(marked[row]) if row in marked else ""
        lines.append(Content.assemble((f"{label:>{_GUTTER - 1}} ┤", "dim"), sheet.line(row)).rstrip())
    lines.append(Content.styled(" " * _GUTTER + "└" + "─" * place.columns, "dim"))
    end = Content.assemble(" " * _GUTTER, _ticks(place, ticks).rstrip(), ("  ", ""))
    if end.cell_length + cell_len(x) <= _GUTTER + 1 + place.columns:
        lines.append(Content.assemble(end, (x, "dim")))
    else:
        lines[0] = Content.styled(f"{y} by {x}", "dim")
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


# ---- bar plots ---------------------------------------------------------------------------------------------------


_SHADES = ("█", "▓", "▒", "░", "▚", "▞", "▤", "▥")
_STYLES = ("$accent", "$success", "$warning", "$error")
_NAME = 26
_FEWEST = 10


def bars(marks: Bars, chosen: int, width: int, height: int) -> Content:
    """A legend and the bars; the chosen one has its name in brackets.

    If there are more bars than lines, only those around the chosen one are shown.
    """
    looks = [(_SHADES[at % len(_SHADES)], _STYLES[at % len(_STYLES)]) for at in range(len(marks.parts))]
    names = _names(list(marks.bars), chosen, width)
    counts = [f"n={number(next(iter(parts.values())).n)}" for parts in marks.bars.values()]
    room = max(width - cell_len(names[0]) - max(map(cell_len, counts)) - 2, _FEWEST)
    lines = []
    for at, of_parts in enumerate(marks.bars.values()):
        shares = [mark.value or 0.0 if (mark := of_parts.get(part)) else 0.0 for part in marks.parts]
        parts = [(share, *style) for share, style in zip(shares, looks, strict=True)]
        lines.append(_bar_line(names[at], stacked(parts, room), counts[at], at == chosen))
    return _bars_framed(_legend(marks.parts, looks, width), lines, chosen, height)


def _legend(names: Sequence[str], looks: Sequence[tuple[str, str]], width: int) -> list[Content]:
    """The shade of each part, in as many lines as needed."""
    lines = [Content("")]
    for (shading, style), name in zip(looks, names, strict=True):
        entry = Content.assemble((shading * 2, style), (f" {one_line(name, min(20, width - 4))}", "dim"))
        if lines[-1].cell_length == 0:
            lines[-1] = entry
        elif lines[-1].cell_length + 3 + entry.cell_length <= width:
            lines[-1] = Content.assemble(lines[-1], "   ", entry)
        else:
            lines.append(entry)
    return lines


def forest(marks: Forest, chosen: int, width: int, height: int) -> Content:
    """A point with its interval for each estimate, over one axis; the chosen one has its name in brackets.

    If there are more estimates than lines, only those around the chosen one are shown.
    """
    estimates = marks.marks
    bounds = axis(estimates)
    several = len({e.group for e in estimates}) > 1
    full_names = [f"{e.name}  {e.group}" if several else e.name for e in estimates]
    names = _names(full_names, chosen, width)
    values = [f"{_value(e)}  n={number(e.n)}" for e in estimates]
    room = width - cell_len(names[0]) - max(map(cell_len, values)) - 2
    if room < _FEWEST:
        values = [f"{_value(e, with_interval=False)}  n={number(e.n)}" for e in estimates]
        room = max(width - cell_len(names[0]) - max(map(cell_len, values)) - 2, _FEWEST)
    lines = []
    for at, e in enumerate(estimates):
        bar = interval(e.low, e.value, e.high, bounds, room)
        lines.append(_bar_line(names[at], Content.styled(bar, "$accent"), values[at], at == chosen))
    low, high = tick(bounds[0]), tick(bounds[1])
    between = one_line(marks.x, max(room - len(low) - len(high) - 2, 1)).center(room - len(low) - len(high))
    head = " " * (cell_len(names[0]) + 1) + low + between + high
    return _bars_framed([Content.styled(head, "dim")], lines, chosen, height)


def _value(estimate: Mark, *, with_interval: bool = True) -> str:
    """The value with its interval; a dash if it is undefined."""
    if estimate.value is None:
        return GLYPHS.none
    if not with_interval or estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def _names(names: Sequence[str], chosen: int, width: int) -> list[str]:
    """The names, padded to one width, the chosen one in brackets."""
    most = max(min(_NAME, width // 3), 4)
    safe = [one_line(name, 200) for name in names]
    wide = min(max(map(cell_len, safe)), most)
    return [
        f"[{fit(name, wide)}]" if at == chosen else f" {fit(name, wide)} " for at, name in enumerate(safe)
    ]


def _bar_line(name: str, bar: Content, value: str, chosen: bool) -> Content:
    return Content.assemble(
        (name, "bold $warning" if chosen else ""), " ", bar, " ", (value, "" if chosen else "dim")
    )


def _bars_framed(head: Sequence[Content], lines: Sequence[Content], chosen: int, height: int) -> Content:
    """The heading and as many lines as fit, with blank lines between them if there is room."""
    room = max(height - len(head) - 1, 1)
    if len(lines) * 2 - 1 <= room:
        spaced = [part for line in lines for part in (line, Content(""))][:-1]
        return Content("\n").join([*head, Content(""), *spaced])
    first = min(max(chosen - room // 2, 0), max(len(lines) - room, 0))
    gap = [Content("")] if height > len(head) + 1 else []
    return Content("\n").join([*head, *gap, *lines[first : first + room]])


# ---- grid --------------------------------------------------------------------------------------------------------


# the smallest and the largest width of a column
_CELLS = (8, 32)
_CURSOR = "bold #000000 on #e6c34a"
# `shaded` picks the strongest shade for any share just below 1
_STRONGEST = 0.999


def reached(marks: Grid) -> list[tuple[str, str]]:
    """The cells that the cursor can reach, line by line."""
    every = ((row, column) for row in marks.rows for column in marks.columns)
    return [place for place in every if (cell := marks.cells.get(place)) is not None and cell.row is not None]


def grid(marks: Grid, chosen: int, width: int, height: int) -> Content:
    """A table of shaded cells with their sums. The chosen cell has brackets and a ground of its own; where there is room
    each has its second figure below. Lines and columns that do not fit are those far from it."""
    here = reached(marks)[chosen]
    rows = [*marks.rows, *(["all"] if marks.column_sums else [])]
    columns = [*marks.columns, *(["all"] if marks.row_sums else [])]
    left = min(max(cell_len(one_line(name, 30)) for name in rows), 30, width // 3) + 1
    wide = min(max((width - left) // len(columns) - 1, _CELLS[0]), _CELLS[1])
    fitting = max((width - left) // (wide + 1), 1)
    first = min(max(columns.index(here[1]) - fitting + 1, 0), max(len(columns) - fitting, 0))
    columns = columns[first : first + fitting]
    tall = 2 if marks.below_title and len(rows) * 2 < height else 1
    top = min(max(rows.index(here[0]) - (height - 1) // tall + 1, 0), len(rows))
    lines = [
        Content.assemble(
            " " * left, *((f" {middle(one_line(name), wide):>{wide}}", "dim") for name in columns)
        )
    ]
    for row in rows[top : top + max((height - 1) // tall, 1)]:
        cells = [_cell(marks, row, column, (row, column) == here) for column in columns]
        for at in range(tall):
            name = fit(one_line(row, 60), left) if at == 0 else " " * left
            texts = [(middle(text[at], wide), style) for text, style in cells]
            shown = [Content.styled(f"{' ' * (wide - cell_len(text))}{text}", style) for text, style in texts]
            lines.append(Content.assemble(name, " ", Content(" ").join(shown)))
    return Content("\n").join(lines)


def _cell(marks: Grid, row: str, column: str, chosen: bool) -> tuple[tuple[str, str], str]:
    """The text of a cell, its second figure, and its style."""
    cell = marks.cells.get((row, column))
    if row == "all" or column == "all":
        sums = marks.column_sums if row == "all" else marks.row_sums
        at = (*marks.columns, "all").index(column) if row == "all" else marks.rows.index(row)
        return (number(sums[at] if at < len(sums) else sum(sums)), ""), "dim"
    if cell is None:
        return (GLYPHS.dot if row == column else "", ""), "dim"
    text = cell.text.replace(UNDEFINED, GLYPHS.none)
    if chosen:
        return (f"[{text}]", cell.below), _CURSOR
    if cell.shade is None:
        return (text, cell.below), "dim"
    ramp = COUNTS if not marks.signed else ABOVE if cell.shade > 0 else BELOW
    return (text, cell.below), shade(ramp, min(abs(cell.shade), _STRONGEST), cell.bold)


# ---- render ------------------------------------------------------------------------------------------------------


def draw(marks: Marks, chosen: int, width: int, height: int) -> Content:
    """A plot of `width` x `height` cells, with the cursor on mark number `chosen` of `plot_rows`."""
    match marks:
        case Bars():
            return bars(marks, chosen, width, height)
        case Forest():
            return forest(marks, chosen, width, height)
        case Grid():
            return grid(marks, chosen, width, height)
        case _:
            return plot(marks, chosen, width, height)


def plot_rows(marks: Marks) -> tuple[Row, ...]:
    """The row of the report behind each mark that the cursor can reach, in order."""
    if isinstance(marks, Grid):
        return tuple(row for place in reached(marks) if (row := marks.cells[place].row) is not None)
    match marks:
        case Bars():
            shown = [next(iter(parts.values())) for parts in marks.bars.values()]
        case Forest():
            shown = list(marks.marks)
        case _:
            shown = _points(marks)
    return tuple(mark.row for mark in shown if mark.row is not None)


def plot_notes(marks: Marks) -> tuple[str, ...]:
    """The meaning of the dotted line of a plot."""
    line = _level(marks)
    return () if line is None else (f"dotted: {line.about}",)


def content_of(sentence: Sentence) -> Content:
    """A sentence with its bold parts."""
    return Content.assemble(
        *(
            (part.text.replace(UNDEFINED, GLYPHS.none), "bold")
            if isinstance(part, Bold)
            else part.replace(UNDEFINED, GLYPHS.none)
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


# ---- jobs --------------------------------------------------------------------------------------------------------


_VALUE_NAMES = {
    "stat": {name: statistic.label for name, statistic in STATISTICS.items()},
    "level": LEVEL_NAMES,
    "method": METHOD_NAMES,
}


class FigureView(NamedTuple):
    """A figure on the screen, and its options."""

    data: Figure
    fields: tuple[ChoiceField, ...]

    @property
    def name(self) -> str:
        return self.data.name

    @property
    def notes(self) -> tuple[str, ...]:
        told = (note for note in self.data.notes if note_kind(note) != "definition")
        return (*(() if self.data.marks is None else plot_notes(self.data.marks)), *told)


def load_figure(
    db: Database,
    project_id: int,
    topic: Topic,
    name: str,
    chosen: Mapping[str, str],
    occasions: OccasionFilter = EVERY_OCCASION,
    *,
    switch: bool = False,
) -> FigureView:
    """A figure about a topic on these occasions with the chosen values; a value that no longer exists is replaced by the
    first one.

    `chosen["topic"]` is the number of another topic. `switch`: if the figure cannot be drawn for this topic, use the
    first topic for which it can.
    """
    project, values = Project.numbered(db, project_id), {k: v for k, v in chosen.items() if k != "topic"}

    def of(topic: Topic) -> Figure:
        about = {**values, "protocol": topic.protocol, "aspect": topic.aspect}
        return figure(project, name, about, occasions=occasions, strict=False)

    data, place = of(topic), chosen.get("topic", "")
    if place.isdigit() and int(place) < len(data.topics) and data.topics[int(place)] != topic:
        data = of(data.topics[int(place)])
    if switch and not data.rows:
        data = next((drawn for drawn in map(of, data.topics) if drawn.rows), data)
    return FigureView(data, (_topic_field(data), *_fields(data)))


def cases_behind(db: Database, project_id: int, data: Figure, row: Row) -> Behind:
    """The cases behind the mark of a row."""
    return behind(Project.numbered(db, project_id), data, row)


def _topic_field(data: Figure) -> ChoiceField:
    place = data.topics.index(data.topic) if data.topic in data.topics else 0
    names = [(str(at), topic.text()) for at, topic in enumerate(data.topics)]
    return ChoiceField("topic", "question", names, str(place))


def _fields(data: Figure) -> list[ChoiceField]:
    labels = {option.name: option.label for option in FIGURES[data.name].options}
    return [
        ChoiceField(
            name,
            labels[name],
            [(value, _VALUE_NAMES.get(name, {}).get(value, value)) for value in choice.values],
            choice.value,
        )
        for name, choice in data.choices.items()
    ]


def export_figure(data: Figure, path: Path) -> tuple[str, ...]:
    """Write the figure, or the table of its numbers, as the file's ending says; returns notes for the user.

    Raises UsageError for another ending, RecjudgeError when Matplotlib is missing, StoreError when
    the file cannot be written.
    """
    if path.suffix.lower() not in PICTURES:
        try:
            return export_table(data.table, path)
        except UsageError as error:
            raise UsageError(
                error.title, error.cause, f"{', '.join(PICTURES)} draw it; for its numbers: {error.next_step}"
            ) from error
    return save_figure(data, path)


# ---- plot widget -------------------------------------------------------------------------------------------------


class Plot(Widget, can_focus=True):
    DEFAULT_CSS = "Plot { height: 1fr; padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "cases", key_display="enter", id="plot.cases"),
        Binding("right,l", "step(1,0)", "next mark", show=False, id="plot.next"),
        Binding("left,h", "step(-1,0)", "previous mark", show=False, id="plot.previous"),
        Binding("down,j", "step(0,1)", "next line", show=False, id="plot.down"),
        Binding("up,k", "step(0,-1)", "previous line", show=False, id="plot.up"),
    ]

    class Moved(Message):
        """The cursor is on another mark."""

    class Opened(Message):
        """`enter` was pressed on a mark."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._marks: Marks | None = None
        self.rows: tuple[Row, ...] = ()
        self.chosen = 0

    @property
    def row(self) -> Row | None:
        """The row of the report that the cursor is on."""
        return self.rows[self.chosen] if self.chosen < len(self.rows) else None

    def show(self, marks: Marks | None) -> None:
        """Draw other marks; the cursor keeps its place if it still exists."""
        self._marks, self.rows = marks, () if marks is None else plot_rows(marks)
        self.chosen = min(self.chosen, max(len(self.rows) - 1, 0))
        self.refresh()

    def render(self) -> Content:
        if self._marks is None or not self.rows:
            return Content("")
        width, height = self.content_size
        return draw(self._marks, self.chosen, width, height)

    def action_step(self, right: int, down: int) -> None:
        """To the next mark; in a grid to the next cell in this direction, if there is one."""
        if not self.rows:
            return
        if isinstance(self._marks, Grid):
            places = [
                (self._marks.rows.index(r), self._marks.columns.index(c)) for r, c in reached(self._marks)
            ]
            y, x = places[self.chosen]
            beyond = [
                (abs(row - y) + abs(column - x), at)
                for at, (row, column) in enumerate(places)
                if (row == y and (column - x) * right > 0) or (column == x and (row - y) * down > 0)
            ]
            self.chosen = min(beyond)[1] if beyond else self.chosen
        else:
            self.chosen = (self.chosen + right + down) % len(self.rows)
        self.refresh()
        self.post_message(self.Moved())

    def action_open(self) -> None:
        if self.rows:
            self.post_message(self.Opened())


# ---- screen ------------------------------------------------------------------------------------------------------


# figure -> its key
FIGURE_KEYS = dict(zip(FIGURES, "1234567890", strict=True))
_LONGEST_NOTES = 8
_EXPORT_HINT = "The file's ending says what is written: .svg .png .pdf for the figure, .csv .json .md .tex for its numbers"


class FiguresScreen(TabbedScreen):
    CSS = """
    FiguresScreen #body.-plot Plot, FiguresScreen #body.-none #none { display: block; }
    FiguresScreen #none { padding: 1 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *[
            Binding(
                FIGURE_KEYS[name],
                f"tab({name!r})",
                kind.title,
                show=False,
                id=f"views.{name.replace('-', '_')}",
            )
            for name, kind in FIGURES.items()
        ],
        Binding("tab", "turn(1)", "figure", key_display="0-9", priority=True, id="tabs.next"),
        Binding("m", "choose", "choose", id="tabs.choose"),
        Binding("e", "export", "export", id="tabs.export"),
        *COMMON,
    ]

    tabs: ClassVar[Mapping[str, str]] = {
        name: f"{FIGURE_KEYS[name]} {kind.title}" for name, kind in FIGURES.items()
    }

    def __init__(
        self, project_id: int, topic: Topic, name: str, chosen: Mapping[str, str], occasion_text: str = ""
    ) -> None:
        """`name` is one of FIGURES; `chosen` are values of its options; `occasion_text` is a filter of occasions."""
        super().__init__(occasion_text)
        self.project_id = project_id
        self.topic = topic
        self.tab = name
        self.chosen = dict(chosen)
        self.figure: FigureView | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Figures")
        yield self.occasion_bar()
        yield ClickText(id="tabs")
        with Vertical(id="body", classes="pane -none"):
            yield Plot(id="plot")
            yield Static(Content.styled("computing", "dim"), id="none")
        yield DetailsPane(id="details", classes="pane")
        yield KeyLine()

    def on_mount(self) -> None:
        self._load(switch=True)

    # ---- the figure

    def _load(self, *, switch: bool = False) -> None:
        self.show_tabs()
        self.query_one("#body").border_subtitle = Content("computing")
        job = partial(
            load_figure,
            project_id=self.project_id,
            topic=self.topic,
            name=self.tab,
            chosen=self.chosen,
            occasions=self.occasions,
            switch=switch,
        )
        self.background.start("picture", job, self._show_figure)

    def occasions_changed(self) -> None:
        self._load()

    def on_resize(self) -> None:
        self.show_tabs()

    def _show_figure(self, figure: FigureView) -> None:
        self.figure = figure
        self.occasions_shown()
        if figure.data.topic != self.topic:
            self.chosen.pop("topic", None)
        self.topic, marks = figure.data.topic, figure.data.marks
        self.query_one(TopBar).show(right=self.topic.text())
        box, plot = self.query_one("#body"), self.query_one(Plot)
        box.border_title = Content(one_line(figure.data.title, max(self.size.width - 6, 20)))
        plot.show(marks)
        below = marks.below_title if isinstance(marks, Grid) and plot.rows else ""
        box.border_subtitle = Content(f"below: {below}" if below else "")
        box.set_classes("pane " + ("-plot" if plot.rows else "-none"))
        if plot.rows:
            plot.focus()
        else:
            lines = [f"{GLYPHS.dot} {one_line(note, 400)}" for note in figure.notes] or ["Nothing to draw."]
            text = "\n".join([*lines, "", "m chooses another question."])
            self.query_one("#none", Static).update(Content(text))
            self.set_focus(None)
        self._show_details()
        self.refresh_bindings()

    @on(Plot.Moved)
    def _show_details(self) -> None:
        figure, row = self.figure, self.query_one(Plot).row
        if figure is None:
            return
        lines = [] if row is None else [content_of(figure.data.sentence(row))]
        notes = figure.notes[:_LONGEST_NOTES] if self.query_one(Plot).rows else ()
        lines += [Content.styled(f"{GLYPHS.dot} {one_line(note, 400)}", "dim") for note in notes]
        self.query_one(DetailsPane).show(Content("\n").join(lines))

    # ---- keys

    def action_tab(self, name: str) -> None:
        if name != self.tab:
            self.tab = name
            self.query_one(Plot).chosen = 0
            self._load(switch=True)

    def action_choose(self) -> None:
        if self.figure is not None:
            self.app.push_screen(choice_form(*self.figure.fields), self._choose)

    def _choose(self, chosen: dict[str, str] | None) -> None:
        if chosen is not None:
            self.chosen |= chosen
            self._load()

    def action_export(self) -> None:
        if self.figure is not None:
            self.ask_file(f"{self.tab}.svg", _EXPORT_HINT, partial(_write, data=self.figure.data))

    @on(Plot.Opened)
    def _open_cases(self) -> None:
        figure, row = self.figure, self.query_one(Plot).row
        if figure is not None and row is not None:
            job = partial(cases_behind, project_id=self.project_id, data=figure.data, row=row)
            self.background.start("behind", job, self._show_cases)

    def _show_cases(self, selection: Behind) -> None:
        from recjudge_tui.tui.triage import CasesScreen

        filter_text, cases, name = selection
        self.app.push_screen(CasesScreen(self.project_id, filter_text, cases, name))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("turn", "tab", "choose", "scroll_details"):
            return self.figure is not None and self.takes_keys
        if action == "export":
            return self.figure is not None and bool(self.figure.data.rows) and self.takes_keys
        return super().check_action(action, parameters)


def _write(_: Database, path: Path, data: Figure) -> WrittenFile:
    return WrittenFile(path, data.name, export_figure(data, path))
