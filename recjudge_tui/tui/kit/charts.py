"""Bars, sparklines and intervals drawn with characters, each with an ASCII form; shaded cells. Contains no widget."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.content import Content

from recjudge_tui.tui.kit.glyphs import Glyphs

_STEPS = "▁▂▃▄▅▆▇█"
_ASCII_STEPS = "_.:-=+*#"
# backgrounds, faint to strong; each cell shows its value, and the colour only repeats it
COUNTS = ("#16212e", "#1b3350", "#204672", "#255a94", "#2a6eb6")
ABOVE = ("#14302a", "#17453a", "#1a5b4a", "#1d725a")
BELOW = ("#3a2320", "#552a24", "#713127", "#8d382a")


def tick(value: float) -> str:
    """A value on an axis: three digits, and thousands without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def is_ascii(look: Glyphs) -> bool:
    return look.bar.isascii()


def spark(values: Sequence[float], width: int, look: Glyphs, top: float | None = None) -> str:
    """The newest `width` values as heights from zero to `top` (None: the highest); empty without values."""
    steps = _ASCII_STEPS if is_ascii(look) else _STEPS
    shown = values[-width:] if width > 0 else ()
    top = max(shown, default=0.0) if top is None else top
    if top <= 0:
        return steps[0] * len(shown)
    return "".join(steps[max(min(int(value / top * len(steps)), len(steps) - 1), 0)] for value in shown)


def stacked(parts: Sequence[tuple[float, str, str]], width: int, look: Glyphs) -> Content:
    """One bar of `width` cells from (share, character, style), in order; shares add up to at most 1.

    Cells are assigned by cumulative rounding, so the bar never gets too long; a share above zero gets a cell if there
    is room.
    """
    cells, ends, total = [], 0, 0.0
    for share, _, _ in parts:
        total += share
        end = min(max(round(total * width), ends + (1 if share > 0 else 0)), width)
        cells.append(end - ends)
        ends = end
    drawn = [(char * count, style) for count, (_, char, style) in zip(cells, parts, strict=True)]
    rest = "." if is_ascii(look) else "·"
    return Content.assemble(*drawn, (rest * (width - ends), "dim"))


def place_of(value: float, bounds: tuple[float, float], width: int) -> int:
    """The cell of a value on a scale of `width` cells from `bounds[0]` to `bounds[1]`."""
    span = bounds[1] - bounds[0]
    share = (value - bounds[0]) / span if span > 0 else 0.5
    return min(max(round(share * (width - 1)), 0), width - 1)


def interval(
    low: float | None,
    value: float | None,
    high: float | None,
    bounds: tuple[float, float],
    width: int,
    look: Glyphs,
    even: float | None = None,
) -> str:
    """`····├──●──┤·┼··` on a scale from `bounds[0]` to `bounds[1]`; only the track when `value` is None.

    A cross stands at `even`, where neither side is better. An end that lies beyond the scale is an arrow.
    """
    plain = is_ascii(look)
    track, left, line, right, dot = (".", "|", "-", "|", "o") if plain else ("·", "├", "─", "┤", "●")
    cells = [track] * width
    if even is not None:
        cells[place_of(even, bounds, width)] = "+" if plain else "┼"
    if value is None:
        return "".join(cells)

    def place(at: float) -> int:
        return place_of(at, bounds, width)

    if low is not None and high is not None:
        first, last = place(low), place(high)
        middle = None if even is None else place(even)
        cells[first : last + 1] = [cells[at] if at == middle else line for at in range(first, last + 1)]
        cells[first] = left if low >= bounds[0] else "<" if plain else "◂"
        cells[last] = right if high <= bounds[1] else ">" if plain else "▸"
    cells[place(value)] = dot
    return "".join(cells)


def shaded(text: str, ramp: Sequence[str], share: float, bold: bool = False) -> Text:
    """The text, right-aligned, on a background that is stronger for a larger share; at 0 dim and without background."""
    weight = "bold " if bold else ""
    if share <= 0:
        return Text(text, "bold" if bold else "dim", justify="right")
    shade = ramp[min(int(share * len(ramp)), len(ramp) - 1)]
    return Text(text, f"{weight}#ffffff on {shade}", justify="right")
