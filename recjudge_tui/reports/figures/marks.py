"""The marks of a figure with their values and names, independent of paper and terminal, and the words that figures share.

A figure is drawn as one kind of `Marks`, and every renderer draws from that description. A mark keeps its row of the report,
from which come the sentence about it and the cases behind it. Loads no report.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from recjudge_tui.domain.filters import Term, parse_filter, whole_term
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.topics import Topic, topic_filter
from recjudge_tui.stats.defaults import LEVEL

LEVEL_NAMES = {"dataset": "all cases", "user": "mean over users", "pair": "mean over user-item pairs"}
METHOD_NAMES = {
    "q": "Q", "winrate": "Win rate", "bt": "Bradley–Terry", "mean": "mean score", "share": "Shares of labels",
}  # fmt: skip
# how captions and titles of figures name an interval
INTERVAL, CI = f"{LEVEL:.0%} interval", f"{LEVEL:.0%} CI"
# the text for an undefined value
UNDEFINED = "–"


# ---- marks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mark:
    """A value with its interval or range; None: undefined, and `note` says why. name: its line, its bar, its tick, or
    what stands beside it. group: its colour and marker, or the part of its bar. x: its place across. details: lines
    below its tick if there is room. n: the verdicts behind it, for a bin between the two bounds of `bin`."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    group: str = ""
    x: float = 0.0
    n: int = 0
    note: str = ""
    row: Row | None = None
    details: tuple[str, ...] = ()
    bin: tuple[float, float] | None = None


@dataclass(frozen=True)
class Reference:
    """A line at one value; `about` explains it in a note."""

    value: float
    name: str = ""
    about: str = ""


@dataclass(frozen=True)
class Forest:
    """Values with their intervals, one below the other, by name and then by group. `even` is the value of a system that
    is as good as the others. `doublings`: a logarithmic scale, on which twice and half as good are equally far from
    `even`."""

    marks: tuple[Mark, ...]
    x: str
    even: float | None = None
    doublings: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars from top to bottom, one for each name, made of one part for each group."""

    marks: tuple[Mark, ...]
    x: str

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(mark.group for mark in self.marks))

    @property
    def bars(self) -> dict[str, dict[str, Mark]]:
        """The parts of each bar."""
        found: dict[str, dict[str, Mark]] = {}
        for mark in self.marks:
            found.setdefault(mark.name, {})[mark.group] = mark
        return found


@dataclass(frozen=True)
class Scatter:
    """Points with their names beside them. `interval` says what the intervals of the values are. `doublings`: a logarithmic
    scale of the values."""

    marks: tuple[Mark, ...]
    x: str
    y: str
    interval: str = ""
    level: Reference | None = None
    doublings: bool = False


@dataclass(frozen=True)
class Lines:
    """A line for each group of marks, or with `joined` one through all of them, with `ticks` at 0, 1, 2, ... `band`: the
    intervals are one band with this name, else each mark has its own. `level` is a horizontal line. Each of the
    `changes` is a vertical line with a name. `diagonal`: both axes run from 0 to 1, with a line of this name from corner
    to corner and the counts of the bins, called `counts`, below. `front`: the group to draw where there is room for only
    one."""

    marks: tuple[Mark, ...]
    x: str
    y: str
    interval: str = ""
    ticks: tuple[str, ...] = ()
    joined: bool = False
    band: str = ""
    level: Reference | None = None
    changes: Mapping[float, str] = field(default_factory=dict)
    diagonal: str = ""
    counts: str = ""
    front: str = ""


@dataclass(frozen=True)
class GridCell:
    """`shade`: 0 to 1, or -1 to 1 in a signed grid; None: undefined. `below` is printed under the text."""

    shade: float | None
    text: str
    below: str = ""
    bold: bool = False
    row: Row | None = None


@dataclass(frozen=True)
class Grid:
    """Cells by (name of the row, name of the column); a pair without a cell stays empty. `row_sums` and `column_sums`
    are empty if sums have no meaning. `below_title`: what is below the text of a cell."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], GridCell]
    row_title: str
    column_title: str
    signed: bool = False
    row_sums: tuple[int, ...] = ()
    column_sums: tuple[int, ...] = ()
    below_title: str = ""


Marks = Forest | Bars | Scatter | Lines | Grid


def groups_of(marks: Iterable[Mark]) -> dict[str, list[Mark]]:
    """The defined marks of each group, in order; a group without any stays, because its colour does."""
    found: dict[str, list[Mark]] = {}
    for mark in marks:
        found.setdefault(mark.group, []).extend([mark] if mark.value is not None else [])
    return found


def axis(marks: Iterable[Mark], *levels: float | None, doublings: bool = False) -> tuple[float, float]:
    """The ends of an axis that has all values and levels, and the intervals that do not shrink the others. An end of an
    interval is cut, and a renderer draws an arrow there, if it is farther from the values than they are from each other,
    and than three times the usual half of an interval."""

    def scaled(value: float) -> float:
        return value if not doublings else math.log2(value) if value > 0 else -math.inf

    known = [mark for mark in marks if mark.value is not None]
    values = [scaled(v) for v in (*(mark.value for mark in known), *levels) if v is not None]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    ends = ((m.low, m.value, m.high) for m in known)
    spans = [tuple(scaled(v) for v in span if v is not None) for span in ends if None not in span]
    arms = [max(middle - first, last - middle) for first, middle, last in spans]
    # the lower one of two in the middle
    reach = max(high - low, 3 * sorted(arms)[(len(arms) - 1) // 2]) if arms else 0.0
    inside = [end for span in spans for end in span if low - reach <= end <= high + reach]
    low, high = min([low, *inside]), max([high, *inside])
    return (2.0**low, 2.0**high) if doublings else (low, high)


# ---- a figure --------------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """The value chosen among `values`; empty if there are none."""

    value: str
    values: tuple[str, ...]


class Behind(NamedTuple):
    """The cases behind a mark: a filter of verdicts, the ids of the cases (None: all), and a name for them."""

    filter_text: str
    cases: tuple[int, ...] | None = None
    name: str = ""


@dataclass(frozen=True)
class Figure:
    """One figure of a project. Without marks, `notes` say why there is nothing to draw. `table` has every number of the
    figure; undefined ones are None with the reason in `note`. `caption` gives the number of cases and says what the
    intervals are. `value` is the column that is drawn, `says` those that the sentence of a mark names besides; `who` and
    `what` name a mark and its value, with the names of columns in braces. `topics`: the project's."""

    name: str
    topic: Topic
    title: str
    caption: str = ""
    table: Table = field(default_factory=lambda: Table("", (), ()))
    marks: Marks | None = None
    notes: tuple[str, ...] = ()
    choices: Mapping[str, Choice] = field(default_factory=dict)
    cases: CaseSelection = EVERY_CASE
    topics: tuple[Topic, ...] = ()
    value: str = ""
    who: str = ""
    what: str = ""
    says: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.table.rows

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why numbers of it are undefined, each once."""
        return tuple(dict.fromkeys(str(row["note"]) for row in self.rows if row.get("note")))

    def chosen(self, name: str) -> str:
        """The value of an option; empty if the figure does not have it."""
        return self.choices[name].value if name in self.choices else ""

    def sentence(self, row: Row) -> Sentence:
        """What is known of the mark of a row, for a reader: `als by anna: Q 1.25 [1.10, 1.42], n 32, Wins 12; few cases`.
        All rows of the mark give their values, the first one the other columns, as the table names them."""
        rows = [other for other in self.rows if named(self.who, other) == named(self.who, row)]
        first, by_name = rows[0], {column.name: column for column in self.table.columns}
        percent = self.value in by_name and by_name[self.value].kind == "share"
        parts: list[str | Bold] = [Bold(named(self.who, first)), ":"]
        for at, own in enumerate(rows):
            text = named(self.what, own)
            parts += [", " if at else " ", *([f"{text} "] if text else [])]
            parts.append(Bold(_interval_text(own, self.value, percent=percent)))
        said = ""
        for name in self.says:
            cell, column = first.get(name), by_name.get(name)
            # the score may be one of them
            if cell is None or column is None or column.label == self.what:
                continue
            if isinstance(cell, float):
                shown = f"{cell:.1%}" if column.kind == "share" else f"{cell:.{min(column.decimals, 4)}f}"
            else:
                shown = f"{cell:,}" if isinstance(cell, int) else name_text(cell, 200)
            said += f", {column.label} {shown}"
        why = ((own.get("note") or "", "undefined" if own[self.value] is None else "") for own in rows)
        note = next(filter(None, (one_line(note, 300) or other for note, other in why)), "")
        return (*parts, f"{said}; {note}" if note else said)

    def filter_of(self, row: Row) -> str:
        """The filter for the verdicts behind the mark of a row."""
        raters = [str(row[key]) for key in ("rater", "rater_a", "rater_b", "truth") if row.get(key)]
        if not raters:
            of_set = str(row["best"]).split(" + ") if row.get("best") else [self.chosen("rater")]
            raters = [*of_set, self.chosen("truth")]
        alone = row.get("system") and not row.get("opponent")
        more = [whole_term("system", str(row["system"]))] if alone else []
        more += [Term("flag", ":", str(row["issue"]))] if "issue" in row else []
        text = topic_filter(self.topics, self.topic, *raters, more=more)
        return parse_filter(text).at(self.cases.occasions).text()


# ---- words -----------------------------------------------------------------------------------------------------------


class Bold(NamedTuple):
    """A part of a sentence to stress."""

    text: str


Sentence = tuple[str | Bold, ...]


def named(words: str, row: Row) -> str:
    """`{system} against {opponent}` with the cells of a row, each safe and short."""
    cells = {k: cell if isinstance(cell, (int, float)) else name_text(cell, 40) for k, cell in row.items()}
    return words.format_map(cells)


def name_text(name: object, limit: int = 60) -> str:
    """A name from the data, made safe and short enough for a sentence."""
    return one_line(name, limit)


def n_text(rows: Iterable[Row], unit: str = "cases") -> str:
    """`n = 40 cases`, or `n = 38 to 40 cases` if the counts of the rows differ; empty without counts."""
    counts = sorted({count for row in rows if isinstance(count := row.get("n"), int)})
    if not counts:
        return ""
    return f"n = {counts[0]:,}{f' to {counts[-1]:,}' if len(counts) > 1 else ''} {unit}"


def _interval_text(row: Row, key: str, *, percent: bool = False) -> str:
    """`1.25 [1.10, 1.42]`, without the interval if there is none; no decimals from 100 on, as for ratings."""

    def text(value: float) -> str:
        return f"{value:.1%}" if percent else f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"

    value, low, high = row[key], row.get("ci_low"), row.get("ci_high")
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return UNDEFINED
    if isinstance(low, float) and isinstance(high, float):
        return f"{text(value)} [{text(low)}, {text(high)}]"
    return text(value)


def whole(value: object) -> int:
    """A count in a report's row; 0 if there is none."""
    return value if isinstance(value, int) else 0


def real(value: object) -> float | None:
    """A number in a report's row; None if it is undefined."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
