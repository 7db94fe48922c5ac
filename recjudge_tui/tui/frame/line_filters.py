"""The last filters before the terminal: they remove control characters and, if requested, everything but ASCII."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from recjudge_tui.domain.text import paintable

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


class Harmless(LineFilter):
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


class AsciiOnly(LineFilter):
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
