"""Lays a table out for a two-column paper: constants go to the caption, intervals into one column, judges or metrics
side by side; text that is too wide is wrapped or left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.common.writers.cells import UNDEFINED, is_number, shown
from recjudge_tui.reports.common.writers.latex_width import SMALL, text_width

# the column and the page of a paper in two columns, in points, a little narrower than those of ACM and IEEE
COLUMN, PAGE = 236.0, 500.0
GAP = 8.0
NARROWEST = 48.0
_MOST_ACROSS = 8
_FILLED = 0.75
# longer cells do not fit a paper
LONGEST = 600
# columns whose values go side by side: the first in which rows differ and which fits
_ACROSS = ("metric", "stat", "label", "aspect", "rater", "judge", "protocol", "system")
# numbers that describe all rows together if they are equal
_AMOUNTS = ("n", "users", "k", "cases", "groups")
_UNITS = {"share": "%", "usd": "$", "seconds": "s"}
_IN_CELLS = re.compile(r"[,$]| [%s]$")
_NUMBER = re.compile(r"-?(\d+)(?:\.(\d+))?")
_ENDS = ("ci_low", "ci_high")


@dataclass(frozen=True)
class PaperColumn:
    """A column of a paper's table, its cells as text without units.

    `group` is the heading above several columns; `wrapped` is the column's width in points if cells have several
    lines.
    """

    name: str
    label: str
    cells: tuple[str, ...]
    number: bool = False
    group: str = ""
    wrapped: float | None = None

    @cached_property
    def digits(self) -> tuple[int, int] | None:
        """The number of characters before the point, including a minus, and after it; None if a cell is not a plain
        number.
        """
        numbers = [_NUMBER.fullmatch(cell) for cell in self.cells if cell not in ("", UNDEFINED)]
        plain = [number for number in numbers if number is not None]
        if not self.number or not plain or len(plain) < len(numbers):
            return None
        return max(len(n[1]) + n[0].startswith("-") for n in plain), max(len(n[2] or "") for n in plain)

    @cached_property
    def width(self) -> float:
        """The width in points, in small print."""
        if self.wrapped is not None:
            return self.wrapped
        widths = [text_width(self.label), *(text_width(cell.replace("-", "+")) for cell in self.cells)]
        if self.digits:
            before, after = self.digits
            minus = any(cell.startswith("-") for cell in self.cells)
            widths.append(
                text_width("0" * (before - minus) + "+" * minus + ("." + "0" * after if after else ""))
            )
        return max(widths) * SMALL


@dataclass(frozen=True)
class PaperTable:
    """`constants` are values that all rows share; the first `keys` columns name a row.

    `left_out` are labels of columns without room. `marks` are the numbers (from 1) of the notes of each row, which
    are `row_notes`.
    """

    columns: tuple[PaperColumn, ...]
    keys: int
    constants: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    marks: tuple[tuple[int, ...], ...] = ()
    row_notes: tuple[str, ...] = ()

    @cached_property
    def width(self) -> float:
        """The width in points, with the gaps; a group's heading may be wider than its columns."""
        total = sum(column.width for column in self.columns) + GAP * (len(self.columns) - 1)
        for group in dict.fromkeys(column.group for column in self.columns if column.group):
            under = [column.width for column in self.columns if column.group == group]
            total += max(0.0, text_width(group) * SMALL - sum(under) - GAP * (len(under) - 1))
        return total


def laid_out(table: Table) -> PaperTable:
    """The table for a paper, no wider than PAGE."""
    rows = table.rows
    varying = [
        c for c in table.columns if c.name != "note" and any(_defined(row.get(c.name)) for row in rows)
    ]
    constant = [c for c in varying if _folds(c, rows)]
    kept = [c for c in varying if c not in constant] or varying[:1]
    kept = _without_copies(kept, rows)
    paper = next((p for p in _side_by_side(kept, rows) if p.width <= PAGE), None) or _one_below_the_other(
        kept, rows
    )
    constants = tuple(f"{c.label}: {shown(rows[0].get(c.name), c, None)}" for c in constant if c not in kept)
    return _with_notes(replace(paper, constants=constants + paper.constants), rows)


def _defined(value: object) -> bool:
    return value not in (None, "")


def _folds(column: Column, rows: Sequence[Row]) -> bool:
    """Whether all rows share the value. Equal numbers in few rows may be a coincidence."""
    enough = 2 if not is_number(column) or column.name in _AMOUNTS else 3
    return (
        len(rows) >= enough and len({row.get(column.name) for row in rows}) == 1 and column.name not in _ENDS
    )


def _main(columns: Sequence[Column]) -> Column | None:
    """The main figure of the rows: the column before its interval."""
    names = [column.name for column in columns]
    return columns[names.index("ci_low") - 1] if names.count("ci_low") and names.index("ci_low") else None


def _without_copies(columns: list[Column], rows: Sequence[Row]) -> list[Column]:
    """The main figure under the name of a column that has the same values, without that column."""
    main = _main(columns)
    copies = [
        c for c in columns
        if main and c != main and is_number(c) and all(row.get(c.name) == row.get(main.name) for row in rows)
    ]  # fmt: skip
    named = replace(main, label=copies[0].label) if main and copies else main
    return [named if named and c == main else c for c in columns if c not in copies]


def _side_by_side(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[PaperTable]:
    """The table with the values of one column side by side: with intervals if they fit, in one column of the paper if
    possible.
    """
    main, keys = _main(columns), [c for c in columns if not is_number(c)]
    figures = [c for c in columns if is_number(c) and not c.minor and c.name not in _ENDS]
    if main is None and len(figures) == 1:
        main = figures[0]
    if main is None or len(keys) < 2:
        return
    for across in sorted((c for c in keys if c.name in _ACROSS), key=lambda c: _ACROSS.index(c.name)):
        beside = [c for c in keys if c != across]
        values = list(dict.fromkeys(_text(row, across) for row in rows))
        names = list(dict.fromkeys(_named(row, beside) for row in rows))
        cells = {(_named(row, beside), _text(row, across)): row for row in rows}
        full = len(cells) == len(rows) >= _FILLED * len(names) * len(values)
        if not full or not 2 <= len(values) <= _MOST_ACROSS or len(names) < 2:
            continue
        left_out = tuple(c.label for c in columns if is_number(c) and c != main and c.name not in _ENDS)
        lines = [[cells.get((name, value), {}) for name in names] for value in values]
        left = [PaperColumn(c.name, c.label, tuple(n[at] for n in names)) for at, c in enumerate(beside)]
        intervals = any(c.name == "ci_low" for c in columns)
        for with_intervals in (True, False) if intervals else (False,):
            right: list[PaperColumn] = []
            for value, line in zip(values, lines, strict=True):
                figure = _column(main, line)
                if with_intervals:
                    interval = _of_interval(columns)
                    right += [replace(figure, group=value), replace(_interval(interval, line), group=value)]
                else:
                    right.append(replace(figure, label=value))
            constants = (
                () if with_intervals else (f"{figure.label}, by {across.label[0].lower()}{across.label[1:]}",)
            )
            dropped = (
                left_out
                if with_intervals or not intervals
                else (*left_out, _of_interval(columns).interval_label)
            )
            yield PaperTable((*left, *right), len(left), constants, dropped)


def _named(row: Row, columns: Sequence[Column]) -> tuple[str, ...]:
    return tuple(_text(row, column) for column in columns)


def _one_below_the_other(columns: Sequence[Column], rows: Sequence[Row]) -> PaperTable:
    """The table with one line per row: minor columns are dropped first, then long texts are wrapped, then the last
    columns are dropped.
    """
    usual = [c for c in columns if not c.minor] or list(columns)
    left_out = [c.label for c in columns if c not in usual]
    while True:
        paper = [
            _interval(c, rows) if c.name == "ci_low" else _column(c, rows)
            for c in usual
            if c.name != "ci_high"
        ]
        made = _wrapped(PaperTable(tuple(paper), _leading(paper), left_out=tuple(left_out)))
        if made.width <= PAGE or len(usual) < 2:
            return made
        main = _main(usual)
        last = next((c for c in reversed(usual[1:]) if c != main and c.name not in _ENDS), usual[-1])
        usual.remove(last)
        left_out.append(last.label)


def _leading(columns: Sequence[PaperColumn]) -> int:
    return next((at for at, column in enumerate(columns) if column.number), len(columns))


def _wrapped(paper: PaperTable) -> PaperTable:
    """The columns with the widest texts wrapped, widest first, until everything fits the page."""
    columns = list(paper.columns)
    texts = [at for at, column in enumerate(columns) if not column.number and column.width > NARROWEST]
    over = paper.width - PAGE
    while over > 0 and texts:
        widest = max(texts, key=lambda at: columns[at].width)
        second = max((columns[at].width for at in texts if at != widest), default=0.0)
        # whole points, because a sum of fractions may be slightly wider than the page
        room = math.floor(columns[widest].width - over)
        target = max(NARROWEST, room, min(second, columns[widest].width - 1) - 1)
        over -= columns[widest].width - target
        columns[widest] = replace(columns[widest], wrapped=target)
        texts = [at for at in texts if columns[at].width > NARROWEST]
    return replace(paper, columns=tuple(columns))


def _column(column: Column, rows: Sequence[Row]) -> PaperColumn:
    unit = _UNITS.get(column.kind, "")
    number = is_number(column)
    label = f"{column.label} ({unit})" if unit else column.label
    return PaperColumn(
        column.name, one_line(label, LONGEST), tuple(_text(row, column) for row in rows), number
    )


def _of_interval(columns: Sequence[Column]) -> Column:
    return next(column for column in columns if column.name == "ci_low")


def _interval(low: Column, rows: Sequence[Row]) -> PaperColumn:
    """`[0.320, 0.723]` of both ends."""
    high = replace(low, name="ci_high")
    cells = (
        f"[{_text(row, low)}, {_text(row, high)}]"
        if _defined(row.get("ci_low"))
        else UNDEFINED
        if row
        else ""
        for row in rows
    )
    return PaperColumn("interval", low.interval_label, tuple(cells), number=True)


def _text(row: Row, column: Column) -> str:
    """A cell without its unit and without commas between thousands; empty if there is no row."""
    if not row:
        return ""
    if not is_number(column) and not _defined(row.get(column.name)):
        return UNDEFINED
    text = shown(row.get(column.name), column, LONGEST)
    return _IN_CELLS.sub("", text) if is_number(column) else text


def _with_notes(paper: PaperTable, rows: Sequence[Row]) -> PaperTable:
    """The notes of rows, each once, and the numbers of the notes of each line."""
    notes = list(dict.fromkeys(str(row["note"]) for row in rows if _defined(row.get("note"))))
    if not notes or len(paper.columns[0].cells) != len(rows):
        return replace(paper, row_notes=tuple(notes))
    marks = tuple((notes.index(str(row["note"])) + 1,) if _defined(row.get("note")) else () for row in rows)
    return replace(paper, marks=marks, row_notes=tuple(notes))
