"""A virtual table: it reads only the rows that it shows, in windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.kit.glyphs import fit, glyphs
from recjudge_tui.tui.kit.windows import Windows

_KEPT_WINDOWS = 16
_LONGEST = 200
# (key, cells) of a row
TableRow = tuple[str, tuple[str, ...]]


class WindowTable(ScrollView, can_focus=True, inherit_bindings=False):
    """`show(columns, count, read)` shows `count` rows; `read(offset, limit)` gives a window of them.

    A column is (name, whether it is a number). Numbers are never cut; the widest texts are. A column that is empty in
    all the rows on the screen takes no room.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"window-table--head", "window-table--cursor"}
    DEFAULT_CSS = """
    WindowTable {
        background: $background; scrollbar-size-vertical: 1; overflow-x: hidden;
        .window-table--head { text-style: bold dim; }
        .window-table--cursor { background: $block-cursor-background; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", key_display="enter", id="window.open"),
        Binding("down,j", "move(1)", "next", show=False, id="window.down"),
        Binding("up,k", "move(-1)", "previous", show=False, id="window.up"),
        Binding("pagedown,space", "page(1)", "page down", show=False, id="window.page_down"),
        Binding("pageup,b", "page(-1)", "page up", show=False, id="window.page_up"),
        Binding("home,g", "go_to(0)", "first", show=False, id="window.first"),
        Binding("end,G", "go_to(-1)", "last", show=False, id="window.last"),
    ]

    class Moved(Message):
        """The cursor is on another row."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, WindowTable.Moved)

    class Opened(Message):
        """`enter` on a row."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._columns: tuple[tuple[str, bool], ...] = ()
        self._read: Callable[[int, int], Sequence[TableRow]] = lambda _, __: ()
        self._windows: Windows[TableRow] = Windows(
            _KEPT_WINDOWS, lambda start, count: self._read(start, count)
        )
        self.count = 0
        self.cursor = 0

    @property
    def row(self) -> TableRow | None:
        """The row under the cursor."""
        return self._row(self.cursor)

    def show(
        self,
        columns: tuple[tuple[str, bool], ...],
        count: int,
        read: Callable[[int, int], Sequence[TableRow]],
    ) -> None:
        self._columns, self.count, self._read = columns, count, read
        self._windows.clear()
        self.cursor = 0
        self.virtual_size = Size(0, count + 1)
        self.scroll_to(y=0, animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved())

    def _row(self, place: int) -> TableRow | None:
        return self._windows.row(place) if 0 <= place < self.count else None

    def _widths(self, shown: Sequence[TableRow]) -> dict[int, int]:
        """Place of a column -> its width for these rows: full numbers, and the remaining room for the texts."""
        widths = {
            at: max([cell_len(name), *(cell_len(one_line(row[1][at], _LONGEST)) for row in shown)])
            for at, (name, _) in enumerate(self._columns)
            if not shown or any(row[1][at] for row in shown)
        }
        room = self.size.width - 1 - 2 * len(widths)
        texts = [at for at in widths if not self._columns[at][1]]
        while sum(widths.values()) > room and any(widths[at] > 4 for at in texts):
            widest = max(texts, key=lambda at: widths[at])
            others = [widths[at] for at in texts if at != widest]
            goal = max([4, *(width for width in others if width < widths[widest])])
            widths[widest] = max(
                widths[widest] - (sum(widths.values()) - room), min(goal, widths[widest] - 1), 4
            )
        return widths

    def render_line(self, y: int) -> Strip:
        width, base, top = self.size.width, self.rich_style, self.scroll_offset.y
        # the heading does not scroll
        rows = [row for at in range(self.size.height - 1) if (row := self._row(top + at)) is not None]
        widths = self._widths(rows)
        if y == 0:
            style = base + self.get_component_rich_style("window-table--head", partial=True)
            cells = tuple(name for name, _ in self._columns)
        elif y - 1 < len(rows):
            here = top + y - 1 == self.cursor
            style = base + (self.get_component_rich_style("window-table--cursor") if here else Style.null())
            cells = rows[y - 1][1]
        else:
            return Strip.blank(width, base)
        look = glyphs()
        text = " "
        for at, room in widths.items():
            shown = one_line(cells[at], _LONGEST)
            text += (shown.rjust(room) if self._columns[at][1] else fit(shown, room, look)) + "  "
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)

    # ---- the cursor

    def action_open(self) -> None:
        if self.row is not None:
            self.post_message(self.Opened())

    def action_move(self, rows: int) -> None:
        self._move_to(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        self._move_to(self.cursor + pages * max(self.size.height - 2, 1))

    def action_go_to(self, place: int) -> None:
        self._move_to(self.count - 1 if place < 0 else place)

    def on_click(self, event: events.Click) -> None:
        if event.y > 0:
            self._move_to(self.scroll_offset.y + event.y - 1)

    def _move_to(self, place: int) -> None:
        if not self.count:
            return
        self.cursor = min(max(place, 0), self.count - 1)
        top, height = self.scroll_offset.y, max(self.size.height - 1, 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved())
