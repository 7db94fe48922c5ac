"""Points with vertical intervals: a scatter of named points, and a trend of points in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recjudge_tui.reports.figures.marks import Point, Scatter, Trend
from recjudge_tui.reports.figures.paper.style import COLOURS, DASHED, MARKERS, cells, legend_above, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# left, low, right, high in parts of the axes
Box = tuple[float, float, float, float]
# inches: the margins beside a trend, and the width of a tick with and without its details
_MARGIN, _DETAILED_TICK, _TICK = 0.6, 0.62, 0.22


def draw_scatter(figure: Figure, marks: Scatter) -> None:
    """Points with their names beside them; a name moves to a free place."""
    points = [point for point in marks.points if point.y is not None]
    ax = figure.add_subplot()
    for at, point in enumerate(points):
        _point(ax, point, COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)])
    ax.margins(x=0.22, y=0.12)
    ax.autoscale_view()
    taken = [_bar_box(ax, point) for point in points]
    for point in points:
        taken.append(_name(ax, point, taken))
    ax.set_xlabel(marks.x)
    ax.set_ylabel(marks.y)
    if marks.even is not None:
        ax.axhline(marks.even.value, color="0.6", linewidth=0.6, zorder=0)


def draw_trend(figure: Figure, marks: Trend) -> None:
    """Points in order, joined by a faint line; each group has a colour and a marker."""
    from matplotlib.lines import Line2D

    points = marks.points
    ax = figure.add_subplot()
    known = [point for point in points if point.y is not None]
    ax.plot(
        [p.x for p in known], [p.y for p in known if p.y is not None], color="0.75", linewidth=0.7, zorder=0
    )
    names = list(dict.fromkeys(point.group for point in points))
    looks = {name: (COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)]) for at, name in enumerate(names)}
    for point in points:
        if point.y is None:
            ax.annotate("undefined", (point.x, 0), (0, 3), xycoords=("data", "axes fraction"), rotation=90,
                        textcoords="offset points", ha="center", va="bottom", fontsize=5.5, color="0.4")  # fmt: skip
        _point(ax, point, *looks[point.group])
    ax.margins(y=0.12)
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=4)
        for colour, marker in looks.values()
    ]
    legend_above(figure, handles, names, 4)
    _ticks(ax, marks, figure.get_figwidth())
    ax.set_xlim(-0.5, len(points) - 0.5)
    ax.set_ylabel(marks.y)
    if marks.ceiling is not None:
        top = marks.ceiling
        ax.axhline(top.value, color="0.4", linestyle=DASHED, linewidth=0.8, zorder=0)
        ax.annotate(top.name, (0, top.value), (3, 2), xycoords=("axes fraction", "data"), textcoords="offset points",
                    ha="left", fontsize=6, color="0.4")  # fmt: skip


def _ticks(ax: Axes, marks: Trend, width: float) -> None:
    """Names with their details if there is room, else names alone, or only some of them."""
    points = marks.points
    room = (width - _MARGIN) / len(points)
    if room >= _DETAILED_TICK:
        ticks = ["\n".join((f"{marks.x} {text(point.name)}", *point.details)) for point in points]
        ax.set_xticks(range(len(ticks)), ticks)
        return
    step = max(round(_TICK / room), 1)
    places = range(0, len(points), step)
    ax.set_xticks(places, [text(points[at].name) for at in places])
    ax.set_xlabel(marks.x)


def _point(ax: Axes, point: Point, colour: str, marker: str) -> None:
    if point.y is not None:
        draw_interval(ax, point, colour, linewidth=0.9)
        ax.plot([point.x], [point.y], color=colour, marker=marker, linestyle="none")


def draw_interval(ax: Axes, point: Point, colour: str, linewidth: float | None = None) -> None:
    """The vertical interval of a point, if it has one."""
    if point.y is not None and point.low is not None and point.high is not None:
        arms = [[max(point.y - point.low, 0)], [max(point.high - point.y, 0)]]
        ax.errorbar([point.x], [point.y], arms, color=colour, fmt="none", elinewidth=linewidth)


def _name(ax: Axes, point: Point, taken: Sequence[Box]) -> Box:
    """Writes the name beside the point if there is room, else above or below it; returns its box."""
    x, y = _place(ax, point.x, point.y or 0.0)
    name = text(point.name, 20)
    wide, tall = cells(name) * 0.05 / (ax.figure.get_figwidth() - 0.6), 0.055  # type: ignore[union-attr]
    sides = (1, -1) if x < 0.75 else (-1, 1)
    free = None
    for step in (0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5):
        for side in sides:
            first = x + 0.02 if side > 0 else x - 0.02 - wide
            box = (first, y - tall / 2 + step * tall, first + wide, y + tall / 2 + step * tall)
            if (
                free is None
                and box[0] > -0.02
                and box[2] < 1.02
                and not any(_meet(box, other) for other in taken)
            ):
                free = side, box
    # if no place is free, names overlap
    side, box = free or (sides[0], (x + 0.02, y - tall / 2, x + 0.02 + wide, y + tall / 2))
    ax.text(box[0] if side > 0 else box[2], (box[1] + box[3]) / 2, name, transform=ax.transAxes, va="center",
            ha="left" if side > 0 else "right", fontsize=6)  # fmt: skip
    return box


def _bar_box(ax: Axes, point: Point) -> Box:
    """The box of a point with its interval."""
    x, y = _place(ax, point.x, point.y or 0.0)
    low = _place(ax, point.x, point.low)[1] if point.low is not None else y
    high = _place(ax, point.x, point.high)[1] if point.high is not None else y
    return (x - 0.012, min(low, y - 0.02), x + 0.012, max(high, y + 0.02))


def _place(ax: Axes, x: float, y: float) -> tuple[float, float]:
    """The position as a fraction of the axes."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    return (x - left) / (right - left), (y - low) / (high - low)


def _meet(first: Box, second: Box) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]
