"""The list of verdicts folded to one line: where the case stands in it, whom it is about, and the last decision."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from recjudge_tui.domain.text import one_line
from recjudge_tui.store.verdicts import VerdictRow
from recjudge_tui.tui.kit.glyphs import glyphs, middle, number


class CaseStrip(Widget):
    """`◂ 37/224 ▸  viewer-01 · cooccurrence vs embedding · llama3.1:8b    ✓ 36 accepted`. A click on an arrow steps, one
    elsewhere unfolds."""

    class Step(Message):
        """The reader goes to the verdict that is `rows` further down the list."""

        def __init__(self, rows: int) -> None:
            super().__init__()
            self.rows = rows

    class ListRequest(Message):
        """The reader wants the list."""

    def __init__(self) -> None:
        super().__init__()
        self._place = ""
        self._row: VerdictRow | None = None
        self._decision = ""

    def show(self, cursor: int, total: int, row: VerdictRow | None) -> None:
        self._place = f"{number(cursor + 1 if total else 0)}/{number(total)}"
        self._row = row
        self.refresh()

    def show_decision(self, decision: str) -> None:
        """Name the last decision: its verdict is no longer on the screen."""
        self._decision = decision
        self.refresh()

    def render(self) -> Content:
        symbols = glyphs()
        arrows = Content.assemble(
            (f"{symbols.first} ", "$accent"), (self._place, "bold"), (f" {symbols.crumb}", "$accent")
        )
        if self._row is None:
            return arrows
        last = f"  {symbols.reviewed} {self._decision}" if self._decision else ""
        room = max(self.content_size.width - arrows.cell_length - 2 - cell_len(last), 1)
        systems = " vs ".join(one_line(name, 60) for name in self._row.systems)
        parts = [one_line(self._row.user_id, 60), systems, one_line(self._row.rater, 60)]
        text = f" {symbols.dot} ".join(part for part in parts if part)
        about = set_cell_size(middle(text, room, symbols), room)
        return Content.assemble(arrows, "  ", about, (last, "$success"))

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        if place is None:
            return
        if place.x < 2:
            self.post_message(self.Step(-1))
        elif place.x < len(self._place) + 4:
            self.post_message(self.Step(1))
        else:
            self.post_message(self.ListRequest())
