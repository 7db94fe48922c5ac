"""A figure as SVG, PNG or PDF, drawn with Matplotlib by one renderer: the same bytes for the same numbers.

Colour-blind readers can tell the colours apart; markers, hatches or printed values repeat what the colours show.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.files import whole_file
from recjudge_tui.reports.common.table import by_ending, writing
from recjudge_tui.reports.figures.marks import (
    Bars,
    Figure,
    Forest,
    Grid,
    Lines,
    Mark,
    Marks,
    Scatter,
    axis,
    groups_of,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Paper

PICTURES = (".svg", ".png", ".pdf")
# inches: one and two columns of a page
WIDTHS = {1: 3.4, 2: 7.0}
_HEIGHT, _DPI = 2.4, 300
_DASHED = (0, (4, 3))
# Okabe and Ito's palette without its yellow, which is too faint on white
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "||||", "----", "++++")
# backgrounds of a heat map: none to all, and below, even, above; labels from the best to the worst
_COUNTS = ("#ffffff", "#cfe1f2", "#6aaed6", "#2070b4", "#08306b")
_BOTH_WAYS = ("#b35806", "#f1a340", "#f7f7f7", "#7fb2d8", "#1f5c99")
_RANKED = ("#1f6fb0", "#93c1e3", "#e4e4e4", "#f5b76e", "#b8590b")
# fallbacks, in this order, for characters that the first font lacks
_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic",
    "Noto Sans Arabic", "Noto Naskh Arabic", "Amiri", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans",
    "Arial Unicode MS", "Unifont",
)  # fmt: skip
_SMALL, _LEGEND, _CAPTION = 5.5, 6.0, 5.5
# inches: a character of a legend and of a name, a tick with details and without
_LETTER, _CELL, _DETAILED, _TICK = 0.047, 0.055, 0.62, 0.22
# the most marks on a line that still have their own markers
_MARKED = 60
_NO_GLYPH = "the fonts on this machine lack some characters of the names: they are drawn as boxes (SVG keeps the text)"
_METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": "recjudge"},
    "png": {"Software": "recjudge"},
    "pdf": {"CreationDate": None, "Creator": "recjudge", "Producer": "Matplotlib"},
}


# ---- files -----------------------------------------------------------------------------------------------------------


def picture_format(path: Path) -> str:
    """svg, png or pdf, from the file's ending. Raises UsageError for another."""
    use = f"Use {', '.join(PICTURES[:-1])} or {PICTURES[-1]}."
    return by_ending(path, "picture format", {ending: ending[1:] for ending in PICTURES}, use)


def draw_picture(
    figure: Figure, fmt: str, columns: int = 1, *, caption: bool = True
) -> tuple[bytes, tuple[str, ...]]:
    """The content of a file of the figure, `columns` (1 or 2) of a page wide, and notes for the user. Raises RecjudgeError
    without Matplotlib, and if every number is undefined."""
    if figure.marks is None or all(row[figure.value] is None for row in figure.rows):
        why = "; ".join(figure.reasons or figure.notes)
        raise RecjudgeError(f"nothing to draw: every number of “{figure.name}” is undefined", why)
    try:
        from matplotlib import style
    except ImportError as error:
        raise RecjudgeError(
            "figures are drawn with Matplotlib, which is not installed",
            next_step="Install the extra “figures”: pip install 'recjudge[figures]'.",
        ) from error
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with style.context(["default", _style()]):
            content = _bytes(figure.marks, figure.caption if caption else "", fmt, columns)
    return content, (_NO_GLYPH,) if any("missing from" in str(one.message) for one in caught) else ()


def save_figure(figure: Figure, path: Path, columns: int = 1, *, caption: bool = True) -> tuple[str, ...]:
    """Write the file, whole or not at all; returns notes for the user. Raises UsageError for an ending of another kind
    of file, StoreError when it cannot be written."""
    content, notes = draw_picture(figure, picture_format(path), columns, caption=caption)
    with writing(path), whole_file(path) as draft:
        draft.write_bytes(content)
    return notes


def _bytes(marks: Marks, caption: str, fmt: str, columns: int) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Paper
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    # the resolution at which the file measures its text
    paper = Paper(figsize=(WIDTHS[columns], _HEIGHT), dpi=_DPI if fmt == "png" else 72)
    {"svg": FigureCanvasSVG, "png": FigureCanvasAgg, "pdf": FigureCanvasPdf}[fmt](paper)
    draw: dict[type, Callable[[Paper, Any], None]] = {
        Forest: _forest, Bars: _bars, Scatter: _scatter, Lines: _lines, Grid: _grid,
    }  # fmt: skip
    draw[type(marks)](paper, marks)
    if caption:
        lines = wrapped(caption, int((paper.get_figwidth() - 0.1) * 72 / (_CAPTION * 0.53)))
        paper.set_figheight(paper.get_figheight() + len(lines) * _CAPTION * 1.25 / 72 + 0.06)
        small = {"fontsize": _CAPTION, "color": "0.25", "linespacing": 1.15}
        paper.supxlabel("\n".join(lines), x=0.012, ha="left", **small)
    # arranged here, because `savefig` would draw everything once more for it
    ConstrainedLayoutEngine().execute(paper)
    out = io.BytesIO()
    paper.savefig(out, format=fmt, metadata=_METADATA[fmt])
    return out.getvalue()


def _style() -> dict[str, object]:
    """Settings of Matplotlib: text stays text in an SVG, and a name with dollar signs is a name, not a formula."""
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    return {
        "font.family": ["DejaVu Sans", *(name for name in _FONTS if name in there)], "font.size": 7,
        "axes.labelsize": 7, "axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False,
        "legend.fontsize": _LEGEND, "legend.frameon": False, "lines.linewidth": 1.0, "lines.markersize": 4,
        "errorbar.capsize": 1.8, "hatch.linewidth": 0.4, "figure.dpi": _DPI, "savefig.dpi": _DPI, "pdf.fonttype": 42,
        "svg.fonttype": "none", "svg.hashsalt": "recjudge", "text.parse_math": False, "text.usetex": False,
        **{f"{side}tick.{name}": size for side in "xy" for name, size in (("labelsize", 6.5), ("major.width", 0.6))},
    }  # fmt: skip


# ---- marks -----------------------------------------------------------------------------------------------------------


def _forest(paper: Paper, marks: Forest) -> None:
    """Names one below the other, the first on top, each with a point and its interval for every group."""
    names, looks = list(dict.fromkeys(mark.name for mark in marks.marks)), _looks(marks.marks)
    groups = list(looks)
    if len(groups) > len(_MARKERS):
        reason = f"{len(groups)} are too many for one figure: at most {len(_MARKERS)} can be told apart"
        raise UsageError(reason, next_step="Name one of them.")
    above = _legend(paper, looks, line=False) if len(groups) > 1 else 0.0
    paper.set_figheight(max(0.15 * len(groups), 0.24) * len(names) + 0.6 + above)
    ax = paper.add_subplot()
    if marks.doublings:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ends = _with_margin(axis(marks.marks, marks.even, doublings=marks.doublings), marks.doublings)
    ax.set_xlim(ends)
    if marks.even is not None:
        ax.axvline(marks.even, color="0.6", linewidth=0.6, linestyle=_DASHED, zorder=0)
    for mark in marks.marks:
        at = names.index(mark.name) + (groups.index(mark.group) + 0.5) / len(groups) * 0.8 - 0.4
        if mark.value is None:
            ax.annotate(f"undefined: {_text(mark.note, 40)}", (0.02, at), xycoords=("axes fraction", "data"),
                        va="center", fontsize=_SMALL, color="0.4")  # fmt: skip
        _interval(ax, mark, at, *looks[mark.group], ends, down=False)
        ax.annotate(f"n={mark.n:,}", (1, at), (4, 0), xycoords=("axes fraction", "data"), va="center",
                    textcoords="offset points", fontsize=_SMALL, annotation_clip=False)  # fmt: skip
    for place in range(1, len(names)):
        ax.axhline(place - 0.5, color="0.9", linewidth=0.5, zorder=0)
    ax.set_yticks(range(len(names)), [_text(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(marks.x)


def _bars(paper: Paper, marks: Bars) -> None:
    """One bar per line, followed by n; colour, hatch and the printed share tell the parts apart."""
    from matplotlib.patches import Patch

    # Matplotlib counts from the bottom up
    bars, parts = list(marks.bars.items())[::-1], marks.parts
    looks = {
        part: (_between(_RANKED, at / max(len(parts) - 1, 1)), _HATCHES[at % len(_HATCHES)])
        for at, part in enumerate(parts)
    }
    edge: dict[str, Any] = {"edgecolor": "0.25", "linewidth": 0.4}
    handles = [Patch(facecolor=colour, hatch=hatch, **edge) for colour, hatch in looks.values()]
    above = _legend_above(paper, handles, parts, 5)
    paper.set_figheight(0.32 * len(bars) + 0.6 + above)
    ax = paper.add_subplot()
    for at, (_, of_parts) in enumerate(bars):
        left = 0.0
        for part, (colour, hatch) in looks.items():
            mark = of_parts.get(part)
            share = (mark.value or 0.0) if mark else 0.0
            if mark is None or share <= 0:
                continue
            ax.barh(at, share, 0.72, left, color=colour, hatch=hatch, **edge)
            room = share * (paper.get_figwidth() - 1.3)
            label = f"{share:.0%}" if room >= 0.24 else ""
            if label and mark.low is not None and mark.high is not None and room >= 0.42:
                label += f"\n{mark.low * 100:.0f}–{mark.high * 100:.0f}"
            if label:
                ax.text(left + share / 2, at, label, ha="center", va="center", fontsize=5, color=_ink(colour),
                        linespacing=0.95, bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.6})  # fmt: skip
            left += share
        n = next(iter(of_parts.values())).n
        ax.annotate(f"n={n:,}", (1, at), (3, 0), textcoords="offset points", va="center", fontsize=6,
                    annotation_clip=False)  # fmt: skip
    ax.set_yticks(range(len(bars)), [_text(name) for name, _ in bars])
    ax.set(xlim=(0, 1), ylim=(-0.5, len(bars) - 0.5), xlabel=marks.x)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _scatter(paper: Paper, marks: Scatter) -> None:
    """Points with their names beside them; a name moves to a free place."""
    from matplotlib.transforms import Bbox

    points = [mark for mark in marks.marks if mark.value is not None]
    ax = paper.add_subplot()
    logarithmic = marks.doublings and all((mark.value or 0.0) > 0 for mark in points)
    level = marks.level.value if marks.level else None
    ends = _with_margin(axis(points, level, doublings=logarithmic), logarithmic, part=0.12)
    if logarithmic:
        ax.set_yscale("log", base=2)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    across = _with_margin((min(mark.x for mark in points), max(mark.x for mark in points)), part=0.22)
    ax.set(xlim=across, ylim=ends, xlabel=marks.x, ylabel=marks.y)
    for at, mark in enumerate(points):
        _interval(ax, mark, mark.x, _COLOURS[at % len(_COLOURS)], _MARKERS[at % len(_MARKERS)], ends)
    if marks.level is not None:
        ax.axhline(marks.level.value, color="0.6", linewidth=0.6, zorder=0)

    wide, tall = across[1] - across[0], ends[1] - ends[0]
    places = [
        (
            (mark.x - across[0]) / wide,
            math.log((mark.value or 0.0) / ends[0], ends[1] / ends[0])
            if logarithmic
            else ((mark.value or 0.0) - ends[0]) / tall,
        )
        for mark in points
    ]
    taken = [Bbox.from_bounds(x - 0.012, y - 0.02, 0.024, 0.04) for x, y in places]
    for mark, (x, y) in zip(points, places, strict=True):
        name = _text(mark.name, 20)
        wide, tall = cell_len(name) * 0.05 / (paper.get_figwidth() - 0.6), 0.055
        boxes = [
            Bbox.from_bounds(left, y + (step - 0.5) * tall, wide, tall)
            for step in (0, 1, -1, 2, -2, 3, -3, 4, -4)
            for left in (x + 0.02, x - 0.02 - wide)
        ]
        # if no place is free, names overlap
        free = (box for box in boxes if box.x0 > 0 and box.x1 < 1 and not box.count_overlaps(taken))
        box = next(free, boxes[0])
        taken.append(box)
        ax.text(box.x0, (box.y0 + box.y1) / 2, name, transform=ax.transAxes, va="center", fontsize=6)


def _lines(paper: Paper, marks: Lines) -> None:
    """Lines over one axis with a band or an interval for each mark, and below them the counts of bins if there are any."""
    looks, groups = _looks(marks.marks), groups_of(marks.marks)
    counts: Axes | None = None
    if marks.counts:
        ax, counts = paper.subplots(2, 1, sharex=True, height_ratios=(3.4, 1))
        counts.set(xlabel=marks.x, ylabel=marks.counts)
    else:
        ax = paper.add_subplot()
        ax.set_xlabel(marks.x)
    level = marks.level.value if marks.level else None
    ends = (-0.02, 1.02) if marks.diagonal else _with_margin(axis(marks.marks, level), part=0.12)
    ax.set(ylim=ends, ylabel=marks.y)
    if marks.diagonal:
        ax.plot((0, 1), (0, 1), color="0.55", linestyle=_DASHED, linewidth=0.7)
        ax.set_xlim(-0.02, 1.02)
    if marks.joined:
        known = [mark for mark in marks.marks if mark.value is not None]
        ax.plot([m.x for m in known], [m.value or 0.0 for m in known], color="0.75", linewidth=0.7, zorder=0)
    shown = len(marks.ticks) <= _MARKED
    for at, (group, points) in enumerate(groups.items()):
        colour, marker = looks[group]
        x = [mark.x for mark in points]
        if marks.band:
            spans = [mark for mark in points if mark.low is not None and mark.high is not None]
            ax.fill_between([m.x for m in spans], [m.low or 0.0 for m in spans], [m.high or 0.0 for m in spans],
                            color=colour, alpha=0.15, linewidth=0)  # fmt: skip
        line = "none" if marks.joined else "-"
        ax.plot(x, [mark.value or 0.0 for mark in points], color=colour, marker=marker if shown else "", linestyle=line,
                linewidth=0.9)  # fmt: skip
        for mark in points:
            if not marks.band:
                _interval(ax, mark, mark.x, colour, "", ends)
            if counts is not None and mark.bin is not None:
                low, high = mark.bin
                wide = (high - low) / len(groups)
                counts.bar(low + wide * (at + 0.5), mark.n, wide * 0.9, color=colour if at else "white",
                           edgecolor="white" if at else colour, hatch=("", "////")[at % 2], linewidth=0.6)  # fmt: skip
    for mark in marks.marks:
        if mark.value is None and not marks.band:
            ax.annotate("undefined", (mark.x, 0), (0, 3), xycoords=("data", "axes fraction"), rotation=90, ha="center",
                        textcoords="offset points", va="bottom", fontsize=_SMALL, color="0.4")  # fmt: skip
    if marks.level is not None:
        ax.axhline(marks.level.value, color="0.45", linestyle=_DASHED, linewidth=0.7, zorder=0)
        ax.annotate(_text(marks.level.name), (0, marks.level.value), (3, 2), xycoords=("axes fraction", "data"),
                    textcoords="offset points", ha="left", fontsize=6, color="0.4")  # fmt: skip
    if marks.ticks:
        ax.set_xlim(-0.5, len(marks.ticks) - 0.5)
        _ticks(ax, marks, paper.get_figwidth())
    names = {group: look for group, look in looks.items() if group}
    _legend(paper, names, more=[marks.diagonal] if marks.diagonal else [])


def _ticks(ax: Axes, marks: Lines, width: float) -> None:
    """The names of the ticks, with the details of their marks or the changes below; only some where there is no room. A
    change always has its tick; its neighbours may lose theirs."""
    room = (width - 0.6) / len(marks.ticks)
    changes = {round(at): (one_line(name, 24),) for at, name in marks.changes.items()}
    details = {round(mark.x): mark.details for mark in marks.marks} if room >= _DETAILED else {}
    longest = max(map(cell_len, map(_text, marks.ticks)))
    step = max(round(max(longest * _CELL, _TICK) / room), 1)
    near = {at for at in range(len(marks.ticks)) for other in changes if abs(at - other) < step}
    places = [at for at in range(len(marks.ticks)) if at in changes or (at % step == 0 and at not in near)]
    names = ["\n".join(map(_text, (marks.ticks[at], *(details | changes).get(at, ())))) for at in places]
    ax.set_xticks(places, names)
    for at in marks.changes:
        ax.axvline(at, color="0.5", linestyle=_DASHED, linewidth=0.7, zorder=0)


def _grid(paper: Paper, marks: Grid) -> None:
    """A heat map with the value printed in each cell; the shade only repeats it, and undefined cells are hatched."""
    from matplotlib.patches import Rectangle

    limit = round(paper.get_figwidth() * 5)
    down, across = ([_text(name, limit) for name in names] for names in (marks.rows, marks.columns))
    wide = max((paper.get_figwidth() - max([*map(cell_len, down), 4]) * _CELL - 0.35) / len(across), 0.12)
    longest_head = max(map(cell_len, across)) * _CELL
    upright = longest_head > wide
    tall = min(max(wide * 0.62, 0.24), 0.55)
    paper.set_figheight(tall * len(down) + 0.75 + (longest_head if upright else 0))
    ax = paper.add_subplot()
    longest = max([len(cell.below) for cell in marks.cells.values()] + [4])
    size = min(max(wide * 72 / (longest * 0.66), 3.0), 7.5)
    for at, row in enumerate(marks.rows):
        for place, column in enumerate(marks.columns):
            cell = marks.cells.get((row, column))
            colour, hatch, edge = "#ededed", "", "white"
            if cell is not None and cell.shade is None:
                colour, hatch, edge = "#ffffff", "////", "0.8"
            elif cell is not None and cell.shade is not None:
                ramp, share = (_BOTH_WAYS, (cell.shade + 1) / 2) if marks.signed else (_COUNTS, cell.shade)
                colour, edge = _between(ramp, min(max(share, 0.0), 1.0)), "0.8"
            box: dict[str, Any] = {"facecolor": colour, "hatch": hatch, "edgecolor": edge, "linewidth": 0.5}
            ax.add_patch(Rectangle((place, at), 1, 1, **box))
            if cell is None:
                continue
            look: dict[str, Any] = {"ha": "center", "va": "center", "color": _ink(colour)}
            ax.text(place + 0.5, at + (0.36 if cell.below else 0.5), cell.text, fontsize=min(size * 1.25, 8),
                    weight="bold" if cell.bold else "normal", **look)  # fmt: skip
            if cell.below:
                ax.text(place + 0.5, at + 0.72, cell.below, fontsize=min(size, 6), **look)
    ax.set(xlim=(0, len(across)), ylim=(len(down), 0))
    ax.set_xticks([at + 0.5 for at in range(len(across))], across, rotation=90 if upright else 0)
    ax.set_yticks([at + 0.5 for at in range(len(down))], down)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    ax.set(xlabel=_text(marks.column_title), ylabel=_text(marks.row_title))
    ax.spines[:].set_visible(False)


def _interval(
    ax: Axes, mark: Mark, at: float, colour: str, marker: str, ends: tuple[float, float], *, down: bool = True
) -> None:
    """A point with its interval at a place of the other axis; an end beyond the axis is an arrow at the axis' end."""
    if mark.value is None:
        return
    if mark.low is not None and mark.high is not None:
        low, high = max(mark.low, ends[0]), min(mark.high, ends[1])
        for end, cut, head in ((low, mark.low < ends[0], "v<"), (high, mark.high > ends[1], "^>")):
            look: dict[str, Any] = {"marker": head[0 if down else 1] if cut else "|_"[down], "color": colour}
            place = ([at], [end]) if down else ([end], [at])
            ax.plot(*place, **look, clip_on=False, linestyle="none", markersize=4)
        ax.plot(*([at, at], [low, high]) if down else ([low, high], [at, at]), color=colour, linewidth=0.9)
    if marker:
        point = ([at], [mark.value]) if down else ([mark.value], [at])
        ax.plot(*point, color=colour, marker=marker, linestyle="none")


def _with_margin(
    ends: tuple[float, float], doublings: bool = False, part: float = 0.06
) -> tuple[float, float]:
    low, high = ends
    if doublings:
        more = (high / low) ** part if high > low else 1.2
        return low / more, high * more
    more = (high - low) * part or max(abs(high) * 0.1, 0.05)
    return low - more, high + more


# ---- colours and text ------------------------------------------------------------------------------------------------


def _looks(marks: Iterable[Mark]) -> dict[str, tuple[str, str]]:
    """The colour and the marker of each group."""
    groups = dict.fromkeys(mark.group for mark in marks)
    return {g: (_COLOURS[at % len(_COLOURS)], _MARKERS[at % len(_MARKERS)]) for at, g in enumerate(groups)}


def _legend(
    paper: Paper, looks: dict[str, tuple[str, str]], *, line: bool = True, more: Sequence[str] = ()
) -> float:
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"linestyle": "-" if line else "none", "markersize": 4, "linewidth": 0.9}
    handles: list[Artist] = [Line2D([], [], color=c, marker=m, **look) for c, m in looks.values()]
    handles += [Line2D([], [], color="0.55", linestyle=_DASHED, linewidth=0.7) for _ in more]
    return _legend_above(paper, handles, [*looks, *more], 4)


def _legend_above(paper: Paper, handles: Sequence[Artist], names: Sequence[str], most: int) -> float:
    """A legend on top, in as many columns as fit, at most `most`; returns its height in inches."""
    if not names:
        return 0.0
    labels = [_text(name) for name in names]
    room = int(paper.get_figwidth() / (max(map(cell_len, labels)) * _LETTER + 0.35))
    columns = min(len(labels), most, max(room, 1))
    # Matplotlib leaves out labels that begin with an underscore, so the names are set afterwards
    legend = paper.legend(handles, map(str, range(len(labels))), loc="outside upper center", ncols=columns,
                          handlelength=1.6, handletextpad=0.4)  # fmt: skip
    for entry, label in zip(legend.get_texts(), labels, strict=True):
        entry.set_text(label)
    return -(-len(labels) // columns) * 0.13 + 0.05


def _ink(background: str) -> str:
    """Black or white, whichever can be read on a colour."""
    red, green, blue = (int(background[at : at + 2], 16) for at in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def _between(ramp: Sequence[str], share: float) -> str:
    """The colour of a ramp at a share from 0 to 1."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    return to_hex(LinearSegmentedColormap.from_list("", ramp)(share))


# XML cannot contain these two
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF))


def _text(name: object, limit: int = 28) -> str:
    """A name from the data, made safe for a figure: one line of at most `limit` characters."""
    return one_line(str(name).translate(_NO_XML), limit)


def wrapped(words: str, width: int) -> list[str]:
    """Safe lines of at most `width` cells, where a wide character takes two; longer words are cut."""
    text = Text(" ".join(safe_text(words.translate(_NO_XML)).split()))
    return [line.plain.rstrip() for line in text.wrap(Console(), width)]
