r"""A LaTeX table ready for a paper in two columns; needs the packages array and booktabs.

Values that all rows share go to the caption, both ends of an interval into one column, judges or metrics side by side;
text that is too wide is wrapped, and columns without room are left out, n and the ceiling last.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Column, Row, Screen, Table, TableText
from recjudge_tui.reports.common.writers.cells import UNDEFINED, is_number, shown

# the column and the page of a paper in two columns, in points, a little narrower than those of ACM and IEEE
COLUMN, PAGE = 236.0, 500.0
_GAP, _NARROWEST = 8.0, 48.0
# a table with more rows than fit on a page is split; longer cells do not fit a paper
_MOST_ROWS, _MOST_ROW_NOTES, _MOST_ACROSS, _LONGEST, _SLUG = 45, 12, 8, 600, 48
# the share of the cells of a table side by side that must be filled
_FILLED = 0.75
# columns whose values go side by side: the first in which rows differ and which fits
_ACROSS = ("metric", "stat", "label", "aspect", "rater", "judge", "protocol", "system")
# numbers that describe all rows together if they are equal
_AMOUNTS = ("n", "users", "k", "cases", "groups")
_ENDS = ("ci_low", "ci_high")
# what belongs to a figure wherever it stands
_WITH_IT = (*_ENDS, "n", "ceiling")
_UNITS = {"share": "%", "usd": "$", "seconds": "s"}
_IN_CELLS = re.compile(r"[,$]| [%s]$")

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\symbol{34}", "[": "{[}", "]": "{]}", "*": "{*}", "`": r"\textasciigrave{}",
    "–": "--", "—": "---", "…": r"\ldots{}", "·": r"\textperiodcentered{}", "×": r"\texttimes{}", "−": "$-$",
    "≤": r"$\le$", "≥": r"$\ge$", "±": r"$\pm$", "→": r"$\to$", "κ": r"$\kappa$", "α": r"$\alpha$", "ρ": r"$\rho$",
    "τ": r"$\tau$",
}  # fmt: skip
# pairs that TeX's fonts would join: --limit is not a dash, ,, and '' are not quotation marks
_LIGATURES = re.compile(r"(?<=[-–—',])(?=[-–—',])")
_PLAIN_TEX = re.compile("[^\\n -\u024f\u2010-\u2022]")
# a word wider than its cell, such as the path of a model, breaks after these characters, or anywhere if necessary
_LONG_WORD = re.compile(r"[^\s\0]{16,}")
_BREAKS = re.compile(r"(?<=[/_.:@=-])(?=.)")
_ANYWHERE = 12

# advance widths of Computer Modern at 10 points, accented letters like the plain one, unknown ones as wide as high
_WIDTHS = (
    ("!',.:;Iijl[]_`", 2.78), ("frst -()", 3.95), ("ceosz\"/0123456789?$^~*{}", 5.0), ("abdghknpquvxy", 5.56),
    ("ELFSJZ", 6.81), ("ABCDGHKNOPQRTUVXY", 7.78), ("wm#%&+=<>@", 8.34), ("MW|", 10.28),
)  # fmt: skip
_WIDTH_OF = {character: width for characters, width in _WIDTHS for character in characters}
_UNKNOWN = 10.0
# \small is 9 points in a paper of 10 points, and the font of 9 points is a little wider than the scaled one
_SMALL = 0.925


def _width(text: str) -> float:
    """The width of text in small print, in points, at most a few hundredths less than the true width."""
    bases = (c if c in _WIDTH_OF else unicodedata.normalize("NFD", c)[0] for c in text[: 2 * _LONGEST])
    return _SMALL * sum(_WIDTH_OF.get(base, _UNKNOWN) for base in bases)


@dataclass(frozen=True)
class _PaperColumn:
    """A column, its cells as text without units. `group`: the heading above several columns; `wrapped`: the width in points
    of a column whose cells have several lines."""

    label: str
    cells: tuple[str, ...]
    number: bool = False
    group: str = ""
    wrapped: float | None = None

    @cached_property
    def width(self) -> float:
        if self.wrapped is not None:
            return self.wrapped
        texts = (self.label, *self.cells)
        return max(_width(text.replace("-", "+") if self.number else text) for text in texts)


class _Paper(NamedTuple):
    """The first `keys` columns name a row; `left_out` are labels of columns without room; `says` is for the caption."""

    columns: tuple[_PaperColumn, ...]
    keys: int
    left_out: tuple[str, ...] = ()
    says: tuple[str, ...] = ()

    @property
    def width(self) -> float:
        """The width in points, with the gaps; a group's heading may be wider than its columns."""
        total = sum(column.width for column in self.columns) + _GAP * (len(self.columns) - 1)
        for group in dict.fromkeys(column.group for column in self.columns if column.group):
            under = [column.width for column in self.columns if column.group == group]
            total += max(0.0, _width(group) - sum(under) - _GAP * (len(under) - 1))
        return total


# ---- the layout --------------------------------------------------------------------------------------------------------


def _laid_out(table: Table) -> _Paper:
    """The table for a paper, no wider than PAGE."""
    rows = table.rows
    filled = [c for c in table.columns if c.name != "note" and any(_defined(row.get(c.name)) for row in rows)]
    kept = [c for c in filled if not _is_constant(c, rows)] or filled[:1]
    said = [(c.label, shown(rows[0].get(c.name), c, None)) for c in filled if c not in kept]
    title = table.title.lower()
    constants = tuple(f"{label}: {value}" for label, value in said if value.lower() not in title)
    fitting = (paper for paper in _side_by_side(kept, rows) if paper.width <= PAGE)
    paper = next(fitting, None) or _one_below_the_other(kept, rows)
    return paper._replace(says=constants + paper.says)


def _defined(value: object) -> bool:
    return value not in (None, "")


def _is_constant(column: Column, rows: Sequence[Row]) -> bool:
    """Whether all rows share the value. Equal numbers in few rows may be a coincidence."""
    enough = 2 if not is_number(column) or column.name in _AMOUNTS else 3
    alike = len({row.get(column.name) for row in rows}) == 1
    return alike and len(rows) >= enough and column.name not in _ENDS


def _main(columns: Sequence[Column]) -> Column | None:
    """The main figure of the rows: the column before its interval."""
    names = [column.name for column in columns]
    return columns[names.index("ci_low") - 1] if "ci_low" in names[1:] else None


def _side_by_side(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[_Paper]:
    """The table with the values of one column side by side, each with its interval and n."""
    main, keys = _main(columns), [c for c in columns if not is_number(c)]
    figures = [c for c in columns if is_number(c) and not c.minor]
    if main is None and len(figures) == 1:
        main = figures[0]
    if main is None or len(keys) < 2:
        return
    each = [c for c in columns if c == main or c.name in _WITH_IT]
    left_out = tuple(c.label for c in columns if is_number(c) and c not in each)
    for across in sorted((c for c in keys if c.name in _ACROSS), key=lambda c: _ACROSS.index(c.name)):
        beside = [c for c in keys if c != across]
        cells = {(tuple(_text(row, c) for c in beside), _text(row, across)): row for row in rows}
        names, values = (list(dict.fromkeys(part)) for part in zip(*cells, strict=True))
        full = len(cells) == len(rows) >= _FILLED * len(names) * len(values)
        if not full or not 2 <= len(values) <= _MOST_ACROSS or len(names) < 2:
            continue
        made = [_PaperColumn(c.label, tuple(str(name[at]) for name in names)) for at, c in enumerate(beside)]
        for value in map(str, values):
            group = _paper_columns(each, [cells.get((name, value), {}) for name in names])
            named = [replace(column, group=value) for column in group]
            made += named if len(group) > 1 else [replace(group[0], label=value)]
        says = (f"{main.label}, by {across.label[0].lower()}{across.label[1:]}",) if len(each) == 1 else ()
        yield _Paper(tuple(made), len(beside), left_out, says)


def _one_below_the_other(columns: Sequence[Column], rows: Sequence[Row]) -> _Paper:
    """One line per row: minor columns are dropped first, then long texts are wrapped, then the last columns dropped."""
    usual = [c for c in columns if not c.minor or c.name in _WITH_IT] or list(columns)
    left_out = [c.label for c in columns if c not in usual]
    while True:
        made = _paper_columns(usual, rows)
        keys = next((at for at, column in enumerate(made) if column.number), len(made))
        paper = _wrapped(_Paper(tuple(made), keys, tuple(left_out)))
        if paper.width <= PAGE or len(usual) < 2:
            return paper
        main = _main(usual)
        others = [c for c in usual[1:] if c != main and c.name not in _ENDS]
        last = ([c for c in others if c.name not in _WITH_IT] or others or usual)[-1]
        usual.remove(last)
        left_out.append(last.label)


def _wrapped(paper: _Paper) -> _Paper:
    """The columns whose texts are wider than their even share of the room are wrapped to it."""
    texts = sorted((c for c in paper.columns if not c.number), key=lambda column: column.width)
    room = PAGE - (paper.width - sum(column.width for column in texts))
    wrapped = {}
    for at, column in enumerate(texts):
        # whole points, because a sum of fractions may be slightly wider than the page
        share = max(_NARROWEST, math.floor(room / (len(texts) - at)))
        wrapped[id(column)] = column if column.width <= share else replace(column, wrapped=share)
        room -= wrapped[id(column)].width
    return paper._replace(columns=tuple(wrapped.get(id(column), column) for column in paper.columns))


def _paper_columns(columns: Iterable[Column], rows: Sequence[Row]) -> list[_PaperColumn]:
    """The columns as text, with both ends of an interval, `[0.320, 0.723]`, in one."""
    made = []
    for column in columns:
        if column.name == "ci_low":
            high = replace(column, name="ci_high")
            ends = ((row, _text(row, column), _text(row, high)) for row in rows)
            cells = (f"[{a}, {b}]" if row and a != UNDEFINED else a for row, a, b in ends)
            made.append(_PaperColumn(column.interval_label, tuple(cells), number=True))
        elif column.name != "ci_high":
            unit = _UNITS.get(column.kind, "")
            label = one_line(f"{column.label} ({unit})" if unit else column.label, _LONGEST)
            made.append(_PaperColumn(label, tuple(_text(row, column) for row in rows), is_number(column)))
    return made


def _text(row: Row, column: Column) -> str:
    """A cell without its unit and without commas between thousands; empty if there is no row."""
    if not row:
        return ""
    if not is_number(column):
        value = row.get(column.name)
        return shown(value, column, _LONGEST) if _defined(value) else UNDEFINED
    return _IN_CELLS.sub("", shown(row.get(column.name), column, _LONGEST))


# ---- what is written ---------------------------------------------------------------------------------------------------


def write(table: Table, _: Screen) -> TableText:
    body = "\n".join(_tables(table))
    engine = ["% has characters that need LuaLaTeX or XeLaTeX"] if _PLAIN_TEX.search(body) else []
    return TableText("\n".join([r"% needs \usepackage{array,booktabs}", *engine, body]) + "\n")


def _tables(table: Table) -> Iterator[str]:
    paper = _laid_out(table)
    if paper.left_out:
        yield f"% left out: {', '.join(one_line(label, _LONGEST) for label in paper.left_out)}"
    notes = list(dict.fromkeys(str(row["note"]) for row in table.rows if _defined(row.get("note"))))
    lines = len(paper.columns[0].cells) if paper.columns else 0
    numbers = {note: _mark(at) for at, note in enumerate(notes, 1)}
    marks = [""] * lines
    if lines == len(table.rows):
        marks = [numbers.get(str(row.get("note")), "") for row in table.rows]
    below = [f"{_mark(at) if any(marks) else ''}{_broken(note)}" for at, note in enumerate(notes, 1)]
    if len(notes) > _MOST_ROW_NOTES:
        marks, below = [""] * lines, []
    starts = range(0, max(1, lines), _MOST_ROWS)
    slug = "-".join(re.findall(r"[a-z0-9]+", one_line(table.title, _LONGEST).lower()))[:_SLUG].strip("-")
    kind = "table*" if paper.width > COLUMN else "table"
    constants = f". {'; '.join(paper.says)}" if paper.says else ""
    for part, start in enumerate(starts, 1):
        place = f" (part {part} of {len(starts)})" if len(starts) > 1 else ""
        yield from (
            rf"\begin{{{kind}}}",
            rf"\caption{{{_broken(table.title + place + constants)}}}",
            rf"\label{{tab:{slug or 'table'}{f'-{part}' if part > 1 else ''}}}",
            r"\centering\small",
            rf"\setlength{{\tabcolsep}}{{{_GAP / 2:g}pt}}",
            rf"\begin{{tabular}}{{@{{}}{''.join(map(_specification, paper.columns))}@{{}}}}",
            r"\toprule",
            *_heads(paper.columns),
            r"\midrule",
            *(_row(paper, line, line > start, marks[line]) for line in range(start, min(lines, start + _MOST_ROWS))),
            r"\bottomrule",
            r"\end{tabular}",
        )  # fmt: skip
        if part == len(starts):
            if len(notes) > _MOST_ROW_NOTES:
                yield f"% left out: {len(notes)} notes of rows"
            if texts := dict.fromkeys([*below, *map(_broken, table.notes)]):
                yield r"\par\smallskip\footnotesize\raggedright " + ". ".join(texts)
        yield rf"\end{{{kind}}}"


def _specification(column: _PaperColumn) -> str:
    if column.wrapped is not None:
        return rf">{{\raggedright\arraybackslash}}p{{{column.wrapped:.0f}pt}}"
    return "r" if column.number else "l"


def _heads(columns: Sequence[_PaperColumn]) -> Iterator[str]:
    if any(column.group for column in columns):
        cells, rules, at = [], [], 1
        for group, under in groupby(column.group for column in columns):
            span = len(list(under))
            cells += [rf"\multicolumn{{{span}}}{{c}}{{{escaped(group)}}}"] if group else [""] * span
            rules += [rf"\cmidrule(lr){{{at}-{at + span - 1}}}"] if group else []
            at += span
        yield " & ".join(cells) + r" \\"
        yield "".join(rules)
    yield " & ".join(escaped(c.label) if c.wrapped is None else _broken(c.label) for c in columns) + r" \\"


def _row(paper: _Paper, line: int, repeats: bool, mark: str) -> str:
    """One row; a key equal to the one in the row above is not repeated."""
    texts = [_cell(column, column.cells[line]) for column in paper.columns]
    first = paper.columns[0].cells
    if paper.keys > 1 and repeats and first[line] == first[line - 1]:
        texts[0] = ""
    texts[max(0, paper.keys - 1)] += mark
    return " & ".join(texts) + r" \\"


def _cell(column: _PaperColumn, text: str) -> str:
    if column.number:
        return escaped(text.replace("-", "−"))
    return _broken(text) if column.wrapped is not None else escaped(text)


def _mark(number: int) -> str:
    return rf"\textsuperscript{{{number}}}"


def escaped(text: str) -> str:
    """Text escaped for LaTeX, on one line."""
    return _escaped(one_line(text))


def _broken(text: str) -> str:
    """Escaped text in which long words may break."""

    def breaks(word: re.Match[str]) -> str:
        parts = _BREAKS.split(word[0])
        return "\1".join(p[at : at + _ANYWHERE] for p in parts for at in range(0, len(p), _ANYWHERE))

    return _escaped(_LONG_WORD.sub(breaks, one_line(text, 2 * _LONGEST))).replace("\1", r"\allowbreak{}")


def _escaped(line: str) -> str:
    apart = _LIGATURES.sub("\0", line)
    return "".join(_SPECIAL.get(character, character) for character in apart).replace("\0", "{}")
