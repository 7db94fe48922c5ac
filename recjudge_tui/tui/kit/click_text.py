"""Text that can be clicked: parts of a text in its own colours, and the keys in a dialog's last line."""

from __future__ import annotations

import re

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

# hints stand apart by more than one space
_HINT = re.compile(r"\S+(?: \S+)*")


class ClickText(Static):
    """Parts of it run an action when clicked, and keep their colours: Textual would paint them as links."""

    def on_mount(self) -> None:
        self.auto_links = False


def clickable(text: Content, action: str) -> Content:
    """The text, on which a click runs `action`, such as `screen.answer('2')`."""
    return text.stylize(Style.from_meta({"@click": action}))


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
