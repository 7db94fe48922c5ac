"""Points with upright intervals: named ones, and a series of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.reports.figures.style import COLOURS, MARKERS, cells, legend_above, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# left, low, right, high in parts of the axes
Box = tuple[float, float, float, float]


class Point(NamedTuple):
    """`y` None: undefined, shown as such at its x."""

    name: str
    x: float
    y: float | None
    low: float | None
    high: float | None


def named_points(figure: Figure, points: Sequence[Point]) -> Axes:
    """Points with their names beside them; a name gives way to those that stand there already."""
    ax = figure.add_subplot()
    for at, point in enumerate(points):
        _point(ax, point, COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)])
    ax.margins(x=0.22, y=0.12)
    ax.autoscale_view()
    taken = [_bar_box(ax, point) for point in points]
    for point in points:
        taken.append(_name(ax, point, taken))
    return ax


def series(figure: Figure, points: Sequence[Point], groups: Sequence[str]) -> Axes:
    """Points in order, joined by a faint line; `groups` (one a point) have a colour and a marker each."""
    from matplotlib.lines import Line2D

    ax = figure.add_subplot()
    known = [point for point in points if point.y is not None]
    ax.plot(
        [p.x for p in known], [p.y for p in known if p.y is not None], color="0.75", linewidth=0.7, zorder=0
    )
    names = list(dict.fromkeys(groups))
    looks = {name: (COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)]) for at, name in enumerate(names)}
    for point, group in zip(points, groups, strict=True):
        if point.y is None:
            ax.annotate("undefined", (point.x, 0), (0, 3), xycoords=("data", "axes fraction"), rotation=90,
                        textcoords="offset points", ha="center", va="bottom", fontsize=5.5, color="0.4")  # fmt: skip
        _point(ax, point, *looks[group])
    ax.margins(y=0.12)
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=4)
        for colour, marker in looks.values()
    ]
    legend_above(figure, handles, names, 4)
    return ax


def _point(ax: Axes, point: Point, colour: str, marker: str) -> None:
    if point.y is None:
        return
    if point.low is not None and point.high is not None:
        arms = [[max(point.y - point.low, 0)], [max(point.high - point.y, 0)]]
        ax.errorbar([point.x], [point.y], arms, color=colour, fmt="none", linewidth=0.9)
    ax.plot([point.x], [point.y], color=colour, marker=marker, linestyle="none")


def _name(ax: Axes, point: Point, taken: Sequence[Box]) -> Box:
    """Beside the point where there is room, else above or below it; gives the place taken."""
    x, y = _place(ax, point.x, point.y or 0.0)
    name = text(point.name, 20)
    wide, tall = cells(name) * 0.05 / (ax.figure.get_figwidth() - 0.6), 0.055  # type: ignore[union-attr]
    sides = (1, -1) if x < 0.75 else (-1, 1)
    found = None
    for step in (0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5):
        for side in sides:
            first = x + 0.02 if side > 0 else x - 0.02 - wide
            box = (first, y - tall / 2 + step * tall, first + wide, y + tall / 2 + step * tall)
            if (
                found is None
                and box[0] > -0.02
                and box[2] < 1.02
                and not any(_meet(box, other) for other in taken)
            ):
                found = side, box
    # where all is full, the names stand on each other
    side, box = found or (sides[0], (x + 0.02, y - tall / 2, x + 0.02 + wide, y + tall / 2))
    ax.text(box[0] if side > 0 else box[2], (box[1] + box[3]) / 2, name, transform=ax.transAxes, va="center",
            ha="left" if side > 0 else "right", fontsize=6)  # fmt: skip
    return box


def _bar_box(ax: Axes, point: Point) -> Box:
    """What a point and its interval take."""
    x, y = _place(ax, point.x, point.y or 0.0)
    low = _place(ax, point.x, point.low)[1] if point.low is not None else y
    high = _place(ax, point.x, point.high)[1] if point.high is not None else y
    return (x - 0.012, min(low, y - 0.02), x + 0.012, max(high, y + 0.02))


def _place(ax: Axes, x: float, y: float) -> tuple[float, float]:
    """In parts of the axes."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    return (x - left) / (right - left), (y - low) / (high - low)


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
