"""Two plots with a line for each mark, drawn with characters: stacked bars and a forest plot. Contains no widget."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.figures.marks import Bars, Forest, Mark, axis
from recjudge_tui.tui.kit.charts import interval, is_ascii, stacked, tick
from recjudge_tui.tui.kit.glyphs import Glyphs, fit, number

_SHADES = ("█", "▓", "▒", "░", "▚", "▞", "▤", "▥")
_ASCII_SHADES = ("#", "=", "+", "-", "o", "x", "*", "%")
_STYLES = ("$accent", "$success", "$warning", "$error")
_NAME = 26
_FEWEST = 10


def bars(marks: Bars, chosen: int, width: int, height: int, look: Glyphs) -> Content:
    """A legend and the bars; the chosen one has its name in brackets.

    If there are more bars than lines, only those around the chosen one are shown.
    """
    shades = _ASCII_SHADES if is_ascii(look) else _SHADES
    looks = [(shades[at % len(shades)], _STYLES[at % len(_STYLES)]) for at in range(len(marks.parts))]
    names = _names(list(marks.bars), chosen, look, width)
    counts = [f"n={number(next(iter(parts.values())).n)}" for parts in marks.bars.values()]
    room = max(width - cell_len(names[0]) - max(map(cell_len, counts)) - 2, _FEWEST)
    lines = []
    for at, of_parts in enumerate(marks.bars.values()):
        shares = [mark.value or 0.0 if (mark := of_parts.get(part)) else 0.0 for part in marks.parts]
        parts = [(share, *style) for share, style in zip(shares, looks, strict=True)]
        lines.append(_line(names[at], stacked(parts, room, look), counts[at], at == chosen))
    return _framed(_legend(marks.parts, looks, width), lines, chosen, height)


def _legend(names: Sequence[str], looks: Sequence[tuple[str, str]], width: int) -> list[Content]:
    """The shade of each part, in as many lines as needed."""
    lines = [Content("")]
    for (shade, style), name in zip(looks, names, strict=True):
        entry = Content.assemble((shade * 2, style), (f" {one_line(name, min(20, width - 4))}", "dim"))
        if lines[-1].cell_length == 0:
            lines[-1] = entry
        elif lines[-1].cell_length + 3 + entry.cell_length <= width:
            lines[-1] = Content.assemble(lines[-1], "   ", entry)
        else:
            lines.append(entry)
    return lines


def forest(marks: Forest, chosen: int, width: int, height: int, look: Glyphs) -> Content:
    """A point with its interval for each estimate, over one axis; the chosen one has its name in brackets.

    If there are more estimates than lines, only those around the chosen one are shown.
    """
    estimates = marks.marks
    bounds = axis(estimates)
    several = len({e.group for e in estimates}) > 1
    full_names = [f"{e.name}  {e.group}" if several else e.name for e in estimates]
    names = _names(full_names, chosen, look, width)
    values = [f"{_value(e, look)}  n={number(e.n)}" for e in estimates]
    room = width - cell_len(names[0]) - max(map(cell_len, values)) - 2
    if room < _FEWEST:
        values = [f"{_value(e, look, with_interval=False)}  n={number(e.n)}" for e in estimates]
        room = max(width - cell_len(names[0]) - max(map(cell_len, values)) - 2, _FEWEST)
    lines = []
    for at, e in enumerate(estimates):
        bar = interval(e.low, e.value, e.high, bounds, room, look)
        lines.append(_line(names[at], Content.styled(bar, "$accent"), values[at], at == chosen))
    low, high = tick(bounds[0]), tick(bounds[1])
    between = one_line(marks.x, max(room - len(low) - len(high) - 2, 1)).center(room - len(low) - len(high))
    head = " " * (cell_len(names[0]) + 1) + low + between + high
    return _framed([Content.styled(head, "dim")], lines, chosen, height)


def _value(estimate: Mark, look: Glyphs, *, with_interval: bool = True) -> str:
    """The value with its interval; a dash if it is undefined."""
    if estimate.value is None:
        return look.none
    if not with_interval or estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def _names(names: Sequence[str], chosen: int, look: Glyphs, width: int) -> list[str]:
    """The names, padded to one width, the chosen one in brackets."""
    most = max(min(_NAME, width // 3), 4)
    safe = [one_line(name, 200) for name in names]
    wide = min(max(map(cell_len, safe)), most)
    return [
        f"[{fit(name, wide, look)}]" if at == chosen else f" {fit(name, wide, look)} "
        for at, name in enumerate(safe)
    ]


def _line(name: str, bar: Content, value: str, chosen: bool) -> Content:
    return Content.assemble(
        (name, "bold $warning" if chosen else ""), " ", bar, " ", (value, "" if chosen else "dim")
    )


def _framed(head: Sequence[Content], lines: Sequence[Content], chosen: int, height: int) -> Content:
    """The heading and as many lines as fit, with blank lines between them if there is room."""
    room = max(height - len(head) - 1, 1)
    if len(lines) * 2 - 1 <= room:
        spaced = [part for line in lines for part in (line, Content(""))][:-1]
        return Content("\n").join([*head, Content(""), *spaced])
    first = min(max(chosen - room // 2, 0), max(len(lines) - room, 0))
    gap = [Content("")] if height > len(head) + 1 else []
    return Content("\n").join([*head, *gap, *lines[first : first + room]])
