"""Systems one below the other, each with a point and its interval for every rater."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.reports.figures.style import COLOURS, MARKERS, legend_above, legend_height, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TALL = 0.15
_LEAST = 0.24


class Line(NamedTuple):
    """`value` None: undefined, and `note` says why."""

    system: str
    rater: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    note: str


def intervals(figure: Figure, lines: Sequence[Line], even: float | None) -> Axes:
    """The lines by system, in the order in which they come, the first on top; `even` is marked. Sets the height."""
    from matplotlib.lines import Line2D

    systems = list(dict.fromkeys(line.system for line in lines))
    raters = list(dict.fromkeys(line.rater for line in lines))
    above = legend_height(figure, raters, 4) if len(raters) > 1 else 0.0
    figure.set_figheight(max(_TALL * len(raters), _LEAST) * len(systems) + 0.6 + above)
    ax = figure.add_subplot()
    if even is not None:
        ax.axvline(even, color="0.6", linewidth=0.6, linestyle=(0, (4, 3)), zorder=0)
    for line in lines:
        at = raters.index(line.rater)
        y = systems.index(line.system) + (at + 0.5) / len(raters) * 0.8 - 0.4
        _line(ax, line, y, COLOURS[at], MARKERS[at])
    for at in range(1, len(systems)):
        ax.axhline(at - 0.5, color="0.9", linewidth=0.5, zorder=0)
    ax.set_yticks(range(len(systems)), [text(system) for system in systems])
    ax.set_ylim(len(systems) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    if len(raters) > 1:
        handles = [
            Line2D([], [], color=COLOURS[at], marker=MARKERS[at], linestyle="none")
            for at in range(len(raters))
        ]
        legend_above(figure, handles, raters, 4)
    return ax


def _line(ax: Axes, line: Line, y: float, colour: str, marker: str) -> None:
    beside = f"n={line.n:,}"
    if line.value is None:
        ax.annotate(f"undefined: {text(line.note, 40)}", (0.02, y), xycoords=("axes fraction", "data"), va="center",
                    fontsize=5.5, color="0.4")  # fmt: skip
    else:
        if line.low is not None and line.high is not None:
            arms = [[max(line.value - line.low, 0)], [max(line.high - line.value, 0)]]
            ax.errorbar([line.value], [y], xerr=arms, color=colour, fmt="none", linewidth=0.9)
        ax.plot([line.value], [y], color=colour, marker=marker, linestyle="none")
    ax.annotate(beside, (1, y), (4, 0), xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
                fontsize=5.5, annotation_clip=False)  # fmt: skip
