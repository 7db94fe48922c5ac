"""Scrollable text, laid out again when its width changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.visual import Visual

from recjudge_tui.tui.kit.glyphs import glyphs

# how many characters of one text, and of a whole prompt, are shown; what is stored is not cut
LONGEST_TEXT, LONGEST_PROMPT = 12_000, 60_000
# a width in cells -> the text
Layout = Callable[[int], Content]


class TextPane(ScrollView, can_focus=True, inherit_bindings=False):
    """Paints its own lines, so that a new text repaints only the visible lines and does not lay out the screen again."""

    DEFAULT_CSS = """
    TextPane { overflow-x: hidden; scrollbar-size-vertical: 1; scrollbar-gutter: stable; padding: 0 0 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "scroll down", show=False, id="text.down"),
        Binding("k,up", "scroll_up", "scroll up", show=False, id="text.up"),
        Binding("pagedown,space", "page_down", "page down", show=False, id="text.page_down"),
        Binding("pageup,b", "page_up", "page up", show=False, id="text.page_up"),
        Binding("home,g", "scroll_home", "top", show=False, id="text.top"),
        Binding("end,G", "scroll_end", "bottom", show=False, id="text.bottom"),
    ]

    # Textual's own lays out the whole screen when it changes
    virtual_size = Reactive(Size(0, 0), layout=False)
    # these texts have none, and Textual looks for them in every line
    auto_links = Reactive(False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._layout_of: Layout = lambda _: Content("")
        self._content = Content("")
        self._width = 0
        # None until painted with the current style and selection
        self._lines: list[Strip] | None = None

    def show(self, layout: Layout, *, stay: bool = False) -> None:
        """Show another text from its top; with `stay` the scroll position is kept."""
        self._layout_of = layout
        self._lay_out()
        if not stay:
            self.scroll_home(animate=False)

    def text(self) -> str:
        """The whole text."""
        return self._content.plain

    def to_next_part(self) -> None:
        """Scroll to the next line that begins like a title, from the last one to the top."""
        rule = f"{glyphs().rule} "
        top = int(self.scroll_offset.y)
        titles = [y for y, line in enumerate(self._painted()) if line.text.startswith(rule)]
        end = min(top, self.max_scroll_y - 1)
        self.scroll_to(y=next((y for y in titles if y > end), 0), animate=False)

    def on_resize(self) -> None:
        if self.scrollable_content_region.width != self._width:
            self._lay_out()

    def _lay_out(self) -> None:
        self._width = self.scrollable_content_region.width
        self._content = self._layout_of(max(self._width, 20))
        self._lines = None
        size = Size(self._width, len(self._painted()))
        self.virtual_size = size
        self._scroll_update(size)
        self.refresh()

    def _painted(self) -> list[Strip]:
        if self._lines is None:
            self._lines = Visual.to_strips(self, self._content, max(self._width, 1), None, self.visual_style)
        return self._lines

    def render_line(self, y: int) -> Strip:
        lines, place = self._painted(), y + int(self.scroll_offset.y)
        if place >= len(lines):
            return Strip.blank(self.size.width, self.rich_style)
        return lines[place]

    def notify_style_update(self) -> None:
        self._lines = None
        super().notify_style_update()

    def selection_updated(self, selection: Selection | None) -> None:
        self._lines = None
        super().selection_updated(selection)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract(self.text()), "\n"
