"""One curve with its range, several against the diagonal with the counts of their bins below, or several over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.figures.marks import Band, Curves, Lines, Point
from recjudge_tui.reports.figures.paper.points import draw_interval
from recjudge_tui.reports.figures.paper.style import COLOURS, DASHED, MARKERS, legend_above, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# inches that the name of a period needs
_TICK = 0.75
# more points than this are drawn without markers
_MARKED = 60
# the most characters of the name of a model or prompt below its period
_LONGEST = 24


def draw_band(figure: Figure, marks: Band) -> None:
    """A line through the points over the band of their ranges; each point with its value and details."""
    x = [point.x for point in marks.points]
    y = [point.y or 0.0 for point in marks.points]
    low = [point.low or 0.0 for point in marks.points]
    high = [point.high or 0.0 for point in marks.points]
    ax = figure.add_subplot()
    ax.fill_between(x, low, high, color=COLOURS[0], alpha=0.18, linewidth=0, label=marks.band)
    for edge, marker in ((low, "v"), (high, "^")):
        ax.plot(x, edge, color=COLOURS[0], linewidth=0.5, marker=marker, markersize=2.5)
    ax.plot(x, y, color=COLOURS[0], marker="o", label=marks.line)
    for point, value in zip(marks.points, y, strict=True):
        ax.annotate(
            f"{value:.3f}", (point.x, value), (0, 5), textcoords="offset points", ha="center", fontsize=6
        )
        ax.annotate("\n".join(point.details), (point.x, 0), (0, 2), xycoords=("data", "axes fraction"),
                    textcoords="offset points", ha="center", fontsize=5.5, color="0.4")  # fmt: skip
    ax.set_xticks(x)
    ax.margins(x=0.1, y=0.12)
    ax.set_xlabel(marks.x)
    ax.set_ylabel(marks.y)
    figure.legend(loc="outside upper center", ncols=2)


def draw_curves(figure: Figure, marks: Curves) -> None:
    """All series over the diagonal, and below them a bar for the count of each bin."""
    curve, counts = figure.subplots(2, 1, sharex=True, height_ratios=(3.4, 1))
    curve.plot((0, 1), (0, 1), color="0.55", linestyle=DASHED, linewidth=0.7, label=marks.diagonal)
    for at, series in enumerate(marks.series):
        points = [point for point in series.points if point.y is not None]
        _curve(curve, points, series.name, COLOURS[at], MARKERS[at], filled=at == 1)
        _counts(counts, points, COLOURS[at], hatch=("", "////")[at % 2], at=at, of=len(marks.series))
    curve.set(ylim=(-0.02, 1.02), xlim=(-0.02, 1.02), ylabel=marks.y)
    figure.legend(loc="outside upper center", ncols=3, handlelength=2.4)
    counts.set(xlabel=marks.x, ylabel=marks.counts)


def _curve(ax: Axes, points: Sequence[Point], name: str, colour: str, marker: str, *, filled: bool) -> None:
    for point in points:
        draw_interval(ax, point, colour)
    ax.plot([point.x for point in points], [point.y or 0.0 for point in points], color=colour, marker=marker,
            markerfacecolor=colour if filled else "white", label=name, linewidth=0.8)  # fmt: skip


def _counts(ax: Axes, points: Sequence[Point], colour: str, *, hatch: str, at: int, of: int) -> None:
    for point in points:
        low, high = point.bin or (point.x, point.x)
        width = (high - low) / of * 0.9
        ax.bar(low + (high - low) * (at + 0.5) / of, point.count, width, color=colour if at else "white",
               edgecolor="white" if at else colour, hatch=hatch, linewidth=0.6)  # fmt: skip


def draw_lines(figure: Figure, marks: Lines) -> None:
    """A line for each series over the band of its intervals; names of periods where there is room."""
    from matplotlib.lines import Line2D

    ax = figure.add_subplot()
    handles = []
    for at, series in enumerate(marks.series):
        colour, marker = COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)]
        shown = marker if len(marks.periods) <= _MARKED else ""
        points = [point for point in series.points if point.y is not None]
        ends = [point for point in points if point.low is not None and point.high is not None]
        ax.fill_between([p.x for p in ends], [p.low or 0.0 for p in ends], [p.high or 0.0 for p in ends],
                        color=colour, alpha=0.15, linewidth=0)  # fmt: skip
        ax.plot(
            [p.x for p in points], [p.y or 0.0 for p in points], color=colour, marker=shown, linewidth=0.9
        )
        handles.append(Line2D([], [], color=colour, marker=shown or "none", markersize=4, linewidth=0.9))
    if marks.even is not None:
        ax.axhline(marks.even.value, color="0.5", linestyle=DASHED, linewidth=0.7, zorder=0)
    legend_above(figure, handles, [text(series.name) for series in marks.series], 4)
    step = max(round(len(marks.periods) * _TICK / figure.get_figwidth()), 1)
    # a period in which the judge changed always has its tick; its neighbours may lose theirs
    changed = {round(at): name for at, name in marks.changes.items()}
    places = [
        at
        for at in range(len(marks.periods))
        if at in changed or (at % step == 0 and not any(abs(at - other) < step for other in changed))
    ]
    names = [f"{text(marks.periods[at])}\n{text(one_line(changed.get(at, ''), _LONGEST))}" for at in places]
    ax.set_xticks(places, names if changed else [text(marks.periods[at]) for at in places])
    for at in changed:
        ax.axvline(at, color="0.5", linestyle=DASHED, linewidth=0.7, zorder=0)
    ax.margins(x=0.03, y=0.1)
    ax.set_xlabel(marks.x)
    ax.set_ylabel(marks.y)
