"""Plain text for people: fits the width, counts wide characters as two cells, interprets no markup."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Literal, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.rows import notes_without
from recjudge_tui.reports.common.table import Column, Row, Screen, Table, TableText
from recjudge_tui.reports.common.writers.cells import UNDEFINED, is_number, shown

_GAP = 2
_NARROWEST_TEXT, _WIDEST = 12, 160
_LONGEST_TITLE, _LONGEST_LABEL, _LONGEST_NOTE = 400, 80, 10_000


class TextColumn(NamedTuple):
    """A column of cells as text."""

    label: str
    cells: list[str]
    number: bool
    minor: bool = False
    interval: bool = False


def write(table: Table, screen: Screen) -> TableText:
    """A table if it fits, else one line per value. The two ends of an interval share a column, empty columns are left
    out, and notes of rows are printed below. If the table is too wide, it is reduced step by step: columns with the
    same text in all rows move above it, and minor columns are hidden (and named below)."""
    out = io.StringIO()
    console = plain_console(out, screen)
    columns, footnotes = text_columns(table)
    fitting, common, dropped = _layout(columns, screen.width)
    if table.answer:
        console.print(Text(one_line(table.answer, _LONGEST_NOTE), style="bold"))
    if table.rows or not table.answer:
        console.print(Text(one_line(table.title, _LONGEST_TITLE), style="dim" if table.answer else "bold"))
    if not table.rows and not table.answer:
        console.print(Text("no rows"))
    if common:
        console.print(Text(" · ".join(common), style="dim"))
    if fitting and table.rows:
        _print_rows(console, fitting, screen)
    for number, note in enumerate(footnotes, start=1):
        console.print(Text(f"[{number}] {note}"))
    if dropped:
        console.print(Text(f"- columns hidden ({screen.width} wide): {', '.join(dropped)}"))
    seen = {column.label for column in columns}
    empty = {c.label for c in table.columns if table.rows and one_line(c.label, _LONGEST_LABEL) not in seen}
    for note in notes_without(table, {*empty, *dropped}):
        console.print(Text(f"- {one_line(note, _LONGEST_NOTE)}"))
    return TableText(_finished(out.getvalue(), screen))


def heading(title: str, lines: Sequence[str], screen: Screen) -> str:
    """A page's title and the sentences below it, wrapped at the width."""
    out = io.StringIO()
    console = plain_console(out, screen)
    console.print(Text(one_line(title, _LONGEST_TITLE), style="bold"))
    for line in lines:
        console.print(Text(one_line(line, _LONGEST_NOTE)))
    return _finished(out.getvalue(), screen)


def plain_console(out: io.StringIO, screen: Screen) -> Console:
    """Writes text as it is: no markup, and no style unless the screen has any."""
    return Console(
        file=out, width=screen.width, force_terminal=screen.styled, color_system=None if not screen.styled else "standard",
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip


def _finished(written: str, screen: Screen) -> str:
    text = "\n".join(line.rstrip() for line in written.replace("\u00a0", " ").split("\n"))
    return text if screen.unicode else text.translate(_ASCII)


def _layout(columns: list[TextColumn], width: int) -> tuple[list[TextColumn], list[str], list[str]]:
    """The columns that fit, the values shown above the table, and the hidden columns."""
    common: list[str] = []
    dropped: list[str] = []
    if not columns or _width(columns) <= width:
        return columns, common, dropped
    every = columns
    constant = [c for c in columns if not c.number and len(set(c.cells)) == 1]
    if len(columns[0].cells) > 1 and len(constant) < len(columns):
        columns = [column for column in columns if column not in constant]
        common = [f"{column.label}: {column.cells[0]}" for column in constant]
    if _least(columns) > width:
        columns = [_compact(column) for column in columns]
    while _least(columns, whole_words=True) > width and any(column.minor for column in columns):
        last = next(column for column in reversed(columns) if column.minor)
        dropped.append(last.label)
        columns = [column for column in columns if column is not last]
    return (every, [], []) if _least(columns) > width else (columns, common, dropped)


def _compact(column: TextColumn) -> TextColumn:
    """An interval with a dash, unless a value is negative and it could be misread."""
    if not column.interval or any("-" in cell for cell in column.cells):
        return column
    return column._replace(cells=[cell.replace(" to ", UNDEFINED) for cell in column.cells])


_ASCII = str.maketrans({"–": "-", "·": "*", "…": "~", "─": "-", "“": '"', "”": '"'})


def text_columns(table: Table) -> tuple[list[TextColumn], list[str]]:
    """The columns with content, and the distinct notes of rows."""
    names = {column.name for column in table.columns}
    footnotes = list(dict.fromkeys(one_line(row["note"]) for row in table.rows if row.get("note")))
    columns: list[TextColumn] = []
    for column in table.columns:
        if column.name == "note" or (column.name == "ci_high" and "ci_low" in names):
            continue
        if column.name == "ci_low" and "ci_high" in names:
            cells = [_interval(row, column) for row in table.rows]
            label = column.interval_label.replace(" ", "\u00a0")
            columns.append(TextColumn(label, cells, True, interval=True))
        else:
            cells = [shown(row.get(column.name), column) for row in table.rows]
            label = one_line(column.label, _LONGEST_LABEL)
            columns.append(TextColumn(label, cells, is_number(column), column.minor))
    columns = [column for column in columns if any(cell not in ("", UNDEFINED) for cell in column.cells)]
    if footnotes:
        marks = [f"[{footnotes.index(one_line(r['note'])) + 1}]" if r.get("note") else "" for r in table.rows]
        columns.append(TextColumn("", marks, True))
    return columns, footnotes


def _interval(row: Row, column: Column) -> str:
    low, high = row.get("ci_low"), row.get("ci_high")
    if low is None or high is None:
        return UNDEFINED
    return f"{shown(low, column).removesuffix(' %')} to {shown(high, column)}"


def _narrowest(column: TextColumn, *, whole_words: bool = False) -> int:
    """The minimum width of a column; a long word in a text may be broken unless words must stay whole."""
    natural = max(map(cell_len, column.cells), default=0)
    longest = natural if whole_words else _NARROWEST_TEXT
    header = max(map(cell_len, column.label.split(" ")), default=0)
    if not column.number and header <= natural:
        # a time, or words: broken at spaces only
        words = max((cell_len(word) for cell in column.cells for word in cell.split()), default=0)
        return max(header, min(words, longest))
    return max(header, natural if column.number else min(natural, longest))


def _natural(column: TextColumn) -> int:
    """The width at which nothing but prose is wrapped."""
    return min(max(cell_len(column.label), *map(cell_len, column.cells), 0), _WIDEST)


def _width(columns: list[TextColumn]) -> int:
    return sum(map(_natural, columns)) + _GAP * (len(columns) - 1)


def _least(columns: list[TextColumn], *, whole_words: bool = False) -> int:
    """The width at which no number is cut and every text column has its minimum width."""
    widths = (_narrowest(column, whole_words=whole_words) for column in columns)
    return sum(widths) + _GAP * (len(columns) - 1)


def _widths(columns: list[TextColumn], width: int) -> list[int]:
    """The widths of columns that fit: their minimum widths, without broken words if there is room. The remaining
    width goes to the columns that lack least, so that few are wrapped."""
    whole_words = _least(columns, whole_words=True) <= width
    widths = [_narrowest(column, whole_words=whole_words) for column in columns]
    lacking = [_natural(column) - least for column, least in zip(columns, widths, strict=True)]
    left = width - sum(widths) - _GAP * (len(columns) - 1)
    for at in sorted(range(len(columns)), key=lacking.__getitem__):
        more = max(0, min(lacking[at], left))
        widths[at] += more
        left -= more
    return widths


def _print_rows(console: Console, columns: list[TextColumn], screen: Screen) -> None:
    """Rows side by side, or one below the other where not even the least width is there."""
    if _least(columns) > screen.width:
        _print_records(console, columns)
        return
    look = box.SIMPLE_HEAD if screen.unicode else box.ASCII2
    grid = Grid(box=look, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    tight = _width(columns) > screen.width
    for column, width in zip(columns, _widths(columns, screen.width), strict=True):
        # a column of numbers is never wrapped, so its header is broken here
        label = column.label.replace(" ", "\n") if tight and column.number else column.label
        side: Literal["right", "left"] = "right" if column.number else "left"
        grid.add_column(Text(label), justify=side, no_wrap=column.number, overflow="fold", width=width)
    for cells in zip(*(column.cells for column in columns), strict=True):
        grid.add_row(*(Text(cell) for cell in cells))
    console.print(grid)


def _print_records(console: Console, columns: list[TextColumn]) -> None:
    """Each row as lines of label and value, for tables too wide for columns."""
    for cells in zip(*(column.cells for column in columns), strict=True):
        grid = Grid.grid(padding=(0, 2, 0, 0))
        grid.add_column(overflow="fold", max_width=28)
        grid.add_column(overflow="fold")
        for column, cell in zip(columns, cells, strict=True):
            if cell not in ("", UNDEFINED):
                grid.add_row(Text(column.label, style="dim"), Text(cell))
        console.print(grid)
        console.print()
