"""A pane of text about what is under the cursor, as high as its longest text."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static


class DetailsPane(VerticalScroll, can_focus=False):
    """Grows with its text up to its `max-height`. It does not shrink while the cursor moves, so that the table above
    stays where it is.
    """

    DEFAULT_CSS = """
    DetailsPane { height: auto; padding: 0 1; scrollbar-size-vertical: 1; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._width = 0

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("computing", "dim"))

    def show(self, text: Content) -> None:
        self.query_one(Static).update(text)
        self.scroll_home(animate=False)

    def on_resize(self, event: events.Resize) -> None:
        if event.size.width != self._width:
            # the text is wrapped anew
            self._width = event.size.width
            self.styles.min_height = None
        elif self.outer_size.height > (self.styles.min_height.value if self.styles.min_height else 0):
            self.styles.min_height = self.outer_size.height
