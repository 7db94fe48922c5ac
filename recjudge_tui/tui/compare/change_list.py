"""The cases that changed: a virtual list that reads only the rows it shows."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from recjudge_tui.tui.compare.text import case_cells, case_head
from recjudge_tui.tui.kit.glyphs import ascii_wanted, glyphs
from recjudge_tui.tui.kit.windows import Windows

if TYPE_CHECKING:
    from recjudge_tui.store.answers import ChangedCase

KEPT_WINDOWS = 8


class CasesHead(Widget):
    """The headings of the list, which begin after the mark of the cursor."""

    DEFAULT_CSS = """
    CasesHead { height: 1; color: $text-muted; text-wrap: nowrap; }
    """

    def render(self) -> Content:
        return Content(f" {case_head(self.content_size.width - 1, glyphs())}")


class ChangeList(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows `ids`, case ids in the order of the list; the rows come from `read`, in windows.

    The cursor belongs to a case and follows it when the list changes; if the case is gone, it goes to the top.
    """

    DEFAULT_CSS = """
    ChangeList { height: 1fr; background: $background; scrollbar-size-vertical: 1; overflow-x: hidden; }
    ChangeList > .change-list--cursor { background: $block-cursor-background; text-style: bold; }
    ChangeList > .change-list--up { color: $success; }
    ChangeList > .change-list--down { color: $warning; }
    ChangeList > .change-list--dim { text-style: dim; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"change-list--{kind}" for kind in ("cursor", "up", "down", "same", "dim")
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "case", key_display="enter", id="changes.open"),
        Binding("down,j", "move(1)", "next", show=False, key_display="j", id="changes.down"),
        Binding("up,k", "move(-1)", "previous", show=False, key_display="k", id="changes.up"),
        Binding("pagedown,space", "page(1)", "page down", show=False, id="changes.page_down"),
        Binding("pageup,b", "page(-1)", "page up", show=False, id="changes.page_up"),
        Binding("home,g", "first", "first", show=False, key_display="g", id="changes.first"),
        Binding("end,G", "last", "last", show=False, key_display="G", id="changes.last"),
    ]

    class Opened(Message):
        """`enter` on a case."""

        def __init__(self, case_id: int) -> None:
            super().__init__()
            self.case_id = case_id

    def __init__(self, read: Callable[[Sequence[int]], list[ChangedCase]], *, list_id: str) -> None:
        super().__init__(id=list_id)
        self._read = read
        self._windows: Windows[ChangedCase] = Windows(KEPT_WINDOWS, self._read_window)
        self.ids: array[int] = array("q")
        self.cursor = 0
        self._ordered = True

    @property
    def cursor_id(self) -> int | None:
        return self.ids[self.cursor] if self.cursor < len(self.ids) else None

    def show(self, ids: array[int], *, ordered: bool = True) -> None:
        """Another list of cases; changes between categories, which are not `ordered`, have no sign."""
        before = self.cursor_id
        self._ordered = ordered
        self.ids = ids
        self._windows.clear()
        self.cursor = ids.index(before) if before is not None and before in ids else 0
        self.virtual_size = Size(0, len(ids))
        self._into_view()
        self.refresh()

    def _row(self, place: int) -> ChangedCase | None:
        return self._windows.row(place)

    def _read_window(self, start: int, count: int) -> list[ChangedCase | None]:
        ids = self.ids[start : start + count]
        by_id = {row.case_id: row for row in self._read(ids)}
        return [by_id.get(case_id) for case_id in ids]

    def render_line(self, y: int) -> Strip:
        # the scroll bar covers the last cell of a line
        width, base = self.scrollable_content_region.width, self.rich_style
        place = y + self.scroll_offset.y
        if place >= len(self.ids):
            return Strip.blank(width, base)
        here = place == self.cursor
        style = base + (self.get_component_rich_style("change-list--cursor") if here else Style.null())
        mark = (">" if ascii_wanted() else "▌") if here else " "
        row = self._row(place)
        cells = [(" (gone)", "")]
        if row is not None:
            cells = case_cells(row, width - 1, glyphs(), ordered=self._ordered)
        segments = [Segment(mark, style)]
        for text, kind in cells:
            own = (
                self.get_component_rich_style(f"change-list--{kind}", partial=True) if kind else Style.null()
            )
            segments.append(Segment(text, style + own))
        return Strip(segments).adjust_cell_length(width, style).simplify()

    def action_move(self, rows: int) -> None:
        self._move_to(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        self._move_to(self.cursor + max(self.size.height - 1, 1) * pages)

    def action_first(self) -> None:
        self._move_to(0)

    def action_last(self) -> None:
        self._move_to(len(self.ids) - 1)

    def action_open(self) -> None:
        if self.cursor_id is not None:
            self.post_message(self.Opened(self.cursor_id))

    def on_click(self, event: events.Click) -> None:
        if event.y + self.scroll_offset.y < len(self.ids):
            self._move_to(event.y + self.scroll_offset.y)

    def on_resize(self) -> None:
        self._into_view()

    def _move_to(self, place: int) -> None:
        if self.ids:
            before, self.cursor = self.cursor, min(max(place, 0), len(self.ids) - 1)
            self._into_view()
            self.refresh_line(before)
            self.refresh_line(self.cursor)

    def _into_view(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if height and not top <= self.cursor < top + height:
            y = self.cursor if self.cursor < top else self.cursor - height + 1
            self.scroll_to(y=y, animate=False, force=True)
