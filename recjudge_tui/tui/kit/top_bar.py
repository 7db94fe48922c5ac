"""The top line: the place in the app, the database file, the number of active runs."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.kit.glyphs import glyphs


class TopBar(Widget):
    DEFAULT_CSS = """
    TopBar { dock: top; height: 1; padding: 0 1; background: $panel; color: $foreground; }
    """

    class CrumbClick(Message):
        """A click on a crumb other than the last, which is the current place."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, *crumbs: str) -> None:
        super().__init__()
        self._crumbs = crumbs
        self._right = ""
        self._active = 0

    def show(
        self, *, crumbs: tuple[str, ...] | None = None, right: str | None = None, active: int | None = None
    ) -> None:
        """Change any of the three; None keeps the current value."""
        self._crumbs = self._crumbs if crumbs is None else crumbs
        self._right = self._right if right is None else right
        self._active = self._active if active is None else active
        self.refresh()

    def _shown_crumbs(self) -> list[str]:
        return [one_line(crumb, 40) for crumb in self._crumbs]

    def on_click(self, event: events.Click) -> None:
        place, column = event.get_content_offset(self), 0
        between = cell_len(f" {glyphs().crumb} ")
        for at, crumb in enumerate(self._shown_crumbs()[:-1]):
            if place is not None and column <= place.x < column + cell_len(crumb):
                self.post_message(self.CrumbClick(at))
            column += cell_len(crumb) + between

    def render(self) -> Content:
        symbols = glyphs()
        width = self.content_size.width
        crumbs = self._shown_crumbs()
        left = Content.assemble(
            *[
                part
                for place, crumb in enumerate(crumbs)
                for part in (
                    (f" {symbols.crumb} " if place else "", "dim"),
                    (crumb, "bold" if place else "bold $accent"),
                )
            ]
        )
        runs = f"  {self._active} {symbols.running}" if self._active else ""
        room = width - left.cell_length - len(runs) - 2
        right = one_line(self._right, room) if room > 8 else ""
        gap = max(width - left.cell_length - Content(right).cell_length - len(runs), 1)
        return Content.assemble(left, " " * gap, (right, "dim"), (runs, "bold $success")).truncate(width)
