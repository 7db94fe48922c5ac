"""Screens that fit the terminal from their first widget on."""

from __future__ import annotations

from textual.screen import Screen, ScreenResultType


class FittedScreen(Screen[ScreenResultType]):
    """Has the classes of the app's breakpoints before it has widgets.

    Textual sets them when a screen is first resized, and then computes the styles of all its widgets a second time.
    """

    def on_compose(self) -> None:
        width, height = self.app.size
        self.add_class(
            *_reached(width, self.app.HORIZONTAL_BREAKPOINTS),
            *_reached(height, self.app.VERTICAL_BREAKPOINTS),
        )


def _reached(length: int, breakpoints: list[tuple[int, str]] | None) -> list[str]:
    """The class of the largest breakpoint that this many cells reach, if any."""
    reached = [(cells, name) for cells, name in breakpoints or () if cells <= length]
    return [max(reached)[1]] if reached else []
