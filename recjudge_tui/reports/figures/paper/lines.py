"""Several series over the same periods, each with its band."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.figures.marks import Lines
from recjudge_tui.reports.figures.paper.style import COLOURS, DASHED, MARKERS, legend_above, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# inches that the name of a period needs
_TICK = 0.75
# more points than this are drawn without markers
_MARKED = 60
# the most characters of the name of a model or prompt below its period
_LONGEST = 24


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
