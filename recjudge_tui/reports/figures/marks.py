"""The marks of a figure with their values and names, independent of paper and terminal.

Each figure describes itself by one of the types of `Marks`, and both renderers draw from that description. A mark
keeps its row of the report, from which the figure finds the sentence about the mark and the cases behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from recjudge_tui.reports.common.table import Row


@dataclass(frozen=True)
class Reference:
    """A line at one value; `about` explains it in a note."""

    value: float
    name: str = ""
    about: str = ""


@dataclass(frozen=True)
class Point:
    """`y` None: undefined. `low` and `high`: its interval or range, None without one. `group` sets colour and marker.

    `details` are lines to print with the name if there is room. `count` is the number of verdicts in `bin`, given by
    its lower and upper bound.
    """

    name: str
    x: float
    y: float | None
    low: float | None = None
    high: float | None = None
    row: Row | None = None
    group: str = ""
    details: tuple[str, ...] = ()
    count: int = 0
    bin: tuple[float, float] | None = None


@dataclass(frozen=True)
class Scatter:
    """Points with their names beside them. `interval` says what the intervals of y are."""

    points: tuple[Point, ...]
    x: str
    y: str
    interval: str = ""
    even: Reference | None = None


@dataclass(frozen=True)
class Trend:
    """Points in order, joined by a line; each point's name is its tick. `notes` name the undefined ones."""

    points: tuple[Point, ...]
    x: str
    y: str
    interval: str = ""
    ceiling: Reference | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Band:
    """A curve, called `line`, within its range, called `band`."""

    points: tuple[Point, ...]
    x: str
    y: str
    line: str
    band: str


@dataclass(frozen=True)
class Series:
    """One of several curves. `x` is the title of the axis if the series is drawn alone."""

    name: str
    points: tuple[Point, ...]
    x: str


@dataclass(frozen=True)
class Lines:
    """Series over the same periods; the `x` of a point is the place of its period.

    `even` is a horizontal line. Each of the `changes` is a vertical line with the name of the model or prompt that
    judges from there on.
    """

    series: tuple[Series, ...]
    periods: tuple[str, ...]
    x: str
    y: str
    interval: str
    even: Reference | None = None
    changes: Mapping[float, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Curves:
    """Curves from 0 to 1 in both directions, against the diagonal, with the counts of their bins.

    `front` names the series to draw if there is room for only one.
    """

    series: tuple[Series, ...]
    front: str
    x: str
    y: str
    interval: str
    diagonal: str
    counts: str


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
    """Cells by (name of the row, name of the column); a pair without a cell stays empty.

    `row_sums` and `column_sums` are empty if sums have no meaning. `below_title`: what is below the text of a cell.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], GridCell]
    row_title: str
    column_title: str
    signed: bool = False
    row_sums: tuple[int, ...] = ()
    column_sums: tuple[int, ...] = ()
    below_title: str = ""


@dataclass(frozen=True)
class Part:
    """A share of a bar with its interval."""

    share: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Bar:
    name: str
    n: int
    parts: tuple[Part, ...]
    row: Row | None = None


@dataclass(frozen=True)
class StackedBars:
    """Bars from top to bottom; `parts` are the names of the parts of each."""

    bars: tuple[Bar, ...]
    parts: tuple[str, ...]
    x: str


@dataclass(frozen=True)
class Estimate:
    """The value of a system by one rater; None: undefined, and `note` says why."""

    system: str
    rater: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    note: str = ""
    row: Row | None = None


@dataclass(frozen=True)
class Forest:
    """Estimates with their intervals, one below the other, by system and then by rater.

    `even` is the value of a system that is as good as the others. `doublings`: a logarithmic scale, on which twice and
    half as good are equally far from `even`.
    """

    estimates: tuple[Estimate, ...]
    x: str
    even: float | None = None
    doublings: bool = False


Marks = Scatter | Trend | Band | Lines | Curves | Grid | StackedBars | Forest


class Bold(NamedTuple):
    """A part of a sentence to stress."""

    text: str


Sentence = tuple[str | Bold, ...]


class CaseSelection(NamedTuple):
    """The cases behind a mark: a filter of verdicts, the ids of the cases (None: all), and a name for them."""

    filter_text: str
    cases: tuple[int, ...] | None = None
    name: str = ""
