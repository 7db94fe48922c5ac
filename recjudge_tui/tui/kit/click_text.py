"""Text with parts that can be clicked, in its own colours: Textual would paint them as links."""

from __future__ import annotations

from textual.content import Content
from textual.style import Style
from textual.widgets import Static


class ClickText(Static):
    def on_mount(self) -> None:
        self.auto_links = False


def clickable(text: Content, action: str) -> Content:
    """The text, on which a click runs `action`, such as `screen.answer('2')`."""
    return text.stylize(Style.from_meta({"@click": action}))
