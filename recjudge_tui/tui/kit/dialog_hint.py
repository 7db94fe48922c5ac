"""The last line of a dialog: its keys, each of which can be clicked."""

from __future__ import annotations

import re

from textual import events
from textual.content import Content
from textual.widgets import Static

# hints stand apart by more than one space
_HINT = re.compile(r"\S+(?: \S+)*")


class DialogHint(Static):
    """`DialogHint("enter show   esc cancel")`: a click on a hint presses its key, which is its first word."""

    def __init__(self, text: str) -> None:
        super().__init__(Content(text), classes="dialog-hint")

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        line = self.render_line(place.y).text if place is not None else ""
        for hint in _HINT.finditer(line):
            if place is not None and hint.start() <= place.x < hint.end():
                self._press(hint.group().split()[0])

    def _press(self, shown: str) -> None:
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if enabled and shown in (binding.key, binding.key_display, self.app.get_key_display(binding)):
                self.app.simulate_key(binding.key)
                return
