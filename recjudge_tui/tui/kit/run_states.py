"""The state of a run in a word with its glyph and colour."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.tui.kit.glyphs import Glyphs


class StateLook(NamedTuple):
    """`style` is a Rich colour, empty for none."""

    glyph: str
    word: str
    style: str

    def text(self) -> str:
        return f"{self.glyph} {self.word}"


def stored_state(state: str, symbols: Glyphs) -> StateLook | None:
    """The look of a state of a run that no process works on; None for an unknown state."""
    return {
        # no process works on it, otherwise it would be among the active ones
        "running": StateLook(symbols.paused, "interrupted", "yellow"),
        "done": StateLook(symbols.done, "done", ""),
        "paused": StateLook(symbols.paused, "paused", "yellow"),
        "stopped": StateLook(symbols.stopped, "stopped", "yellow"),
        "failed": StateLook(symbols.failed, "failed", "red"),
        "planned": StateLook(symbols.empty, "planned", ""),
    }.get(state)
