"""The last filters before the terminal: they remove control characters and, if requested, everything but ASCII."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from recjudge_tui.domain.text import paintable
from recjudge_tui.tui.kit.glyphs import ascii_wanted

_LIKE = {
    **dict.fromkeys("─━┄┈╌═▁▔‾–—−", "-"),
    **dict.fromkeys("│┃║▏▎▍▌▐▕", "|"),
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝", "+"),
    **dict.fromkeys("█▇▆▅▄▃▂▀▉▊▋■", "#"),
    **dict.fromkeys("“”„«»", '"'),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("·•●", "."),
    **dict.fromkeys("▸▶→", ">"),
    **dict.fromkeys("◂◀←", "<"),
    **dict.fromkeys("▲△↑", "^"),
    **dict.fromkeys("▼▽↓✓", "v"),
    **dict.fromkeys("✗×", "x"),
    "…": "~",
    "κ": "k",
    "‹": "<",
    "›": ">",
    "\N{NO-BREAK SPACE}": " ",
}


class FilterChain(LineFilter):
    """Applies filters one after the other. Textual keeps a filtered copy of each line for each filter; this needs one."""

    def __init__(self, filters: tuple[LineFilter, ...] = ()) -> None:
        super().__init__()
        self.filters = filters

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        for line_filter in self.filters:
            segments = line_filter.apply(segments, background)
        return segments


class ControlFilter(LineFilter):
    """Drops control characters from everything painted, including text pasted into an input.

    Text from data is already made safe where it is shown; this is a second barrier. It changes no width, because such
    characters have none.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.control or segment.text.isprintable()
            else Segment(paintable(segment.text), segment.style)
            for segment in segments
        ]


class AsciiFilter(LineFilter):
    """Replaces every non-ASCII character by a similar one, or by as many `?` as the character is wide."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.control or segment.text.isascii()
            else Segment("".join(map(_ascii, segment.text)), segment.style)
            for segment in segments
        ]


def _ascii(character: str) -> str:
    if character.isascii():
        return character
    return _LIKE.get(character) or "?" * cell_len(character)


class Filters:
    """The filters of the app around those of Textual, as one."""

    def __init__(self, first: tuple[LineFilter, ...]) -> None:
        self._first = first
        self._last = (ControlFilter(), *([AsciiFilter()] if ascii_wanted() else []))
        self._chain = FilterChain()

    def around(self, others: Iterable[LineFilter]) -> tuple[LineFilter]:
        """The same filter as long as the others are the same: Textual remembers lines by it."""
        filters = (*self._first, *others, *self._last)
        if filters != self._chain.filters:
            self._chain = FilterChain(filters)
        return (self._chain,)
