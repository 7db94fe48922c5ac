"""A form field with a few values on one line; left and right change the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.kit.glyphs import ascii_wanted


class Choice(Widget, can_focus=True):
    """`options` are (value, text); the first one is chosen unless `value` names another."""

    DEFAULT_CSS = """
    Choice { height: 1; width: 1fr; color: $foreground; }
    Choice:focus { background: $block-cursor-background; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space,l", "step(1)", "next value", show=False, id="choice.next"),
        Binding("left,h", "step(-1)", "previous value", show=False, id="choice.previous"),
    ]

    class Changed(Message):
        def __init__(self, choice: Choice, value: str) -> None:
            super().__init__()
            self.choice, self.value = choice, value

        @property
        def control(self) -> Choice:
            return self.choice

    def __init__(self, options: Sequence[tuple[str, str]], value: str = "", *, field_id: str) -> None:
        super().__init__(id=field_id)
        self._options = list(options)
        self.value = value if value in dict(self._options) else self._options[0][0]

    def offer(self, options: Sequence[tuple[str, str]]) -> None:
        """Replace the options; the chosen value stays if it is still offered."""
        self._options = list(options)
        if self.value not in dict(self._options):
            self.value = self._options[0][0]
        self.refresh(layout=True)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Room for the longest option, so that the width stays when another one is chosen."""
        return max(cell_len(text) for _, text in self._options) + 4

    def choose(self, value: str) -> None:
        """Choose one of the options without a message."""
        self.value = value
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """The left sign chooses the value before, the rest the next one."""
        place = event.get_content_offset(self)
        if place is not None:
            self.action_step(-1 if place.x < 2 else 1)

    def action_step(self, by: int) -> None:
        values = [value for value, _ in self._options]
        chosen = values[(values.index(self.value) + by) % len(values)]
        if chosen != self.value:
            self.value = chosen
            self.refresh()
            self.post_message(self.Changed(self, chosen))

    def render(self) -> Content:
        left, right = ("<", ">") if ascii_wanted() else ("‹", "›")
        shown = one_line(dict(self._options)[self.value], max(self.content_size.width - 4, 4))
        mark = "bold $accent" if len(self._options) > 1 else "dim"
        return Content.assemble((left, mark), f" {shown} ", (right, mark))
