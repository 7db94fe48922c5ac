"""What to know before a run is started, above its first prompt."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from recjudge_tui.tui.kit.glyphs import glyphs

_MOST_LINES, _MOST_ON_TALL = 5, 12


class LaunchNotes(Static):
    """Shows as many notes as leave room for the prompt."""

    DEFAULT_CSS = """
    LaunchNotes { height: auto; padding: 0 1; color: $warning; }
    """

    def show(self, notes: Sequence[str]) -> list[str]:
        """Show the first notes; returns the others."""
        most = _MOST_ON_TALL if self.screen.has_class("-tall") else _MOST_LINES
        width = max(self.screen.size.width - 2, 20)
        shown: list[str] = []
        used = 0
        for note in (f"{glyphs().marked} {note}" for note in notes):
            used += len(Content(note).wrap(width))
            if used > most:
                break
            shown.append(note)
        self.display = bool(shown)
        self.update(Content("\n".join(shown)))
        return list(notes[len(shown) :])
