"""The list of verdicts: a virtual table that reads only the rows it shows."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from recjudge_tui.store.verdicts import VerdictRow
from recjudge_tui.tui.cases.verdict_line import Columns, Needs, columns_for, verdict_cells
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.kit.windows import Windows

KEPT_WINDOWS = 24
_LINES = 512


class VerdictList(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows `ids`, an array of verdict ids in the order of the list; the rows come from `read`, in windows.

    The cursor belongs to a verdict, not to a row number. When the list changes it follows its verdict; if that is
    gone, it stays at the same place on the screen.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"verdict-list--cursor", "verdict-list--marked", "verdict-list--failed",
                                             "verdict-list--reviewed", "verdict-list--dim"}  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "next", show=False, key_display="j", id="list.down"),
        Binding("up,k", "move(-1)", "previous", show=False, key_display="k", id="list.up"),
        Binding(
            "pagedown,space", "page(1)", "page down", show=False, key_display="pgdn", id="list.page_down"
        ),
        Binding("pageup,b", "page(-1)", "page up", show=False, key_display="pgup", id="list.page_up"),
        Binding("home,g", "first", "first", show=False, key_display="g", id="list.first"),
        Binding("end,G", "last", "last", show=False, key_display="G", id="list.last"),
        Binding("enter", "open", "read", show=False, key_display="enter", id="list.open"),
    ]

    class Moved(Message):
        """The cursor is on another verdict, or the list became empty."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, VerdictList.Moved)

    class Opened(Message):
        """`enter` on a verdict."""

    class Resized(Message):
        """Lines have other `columns` from now on."""

    class WantsLast(Message):
        """The user asked for the end of the list."""

    def __init__(self, read: Callable[[Sequence[int]], list[VerdictRow]], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._read = read
        self._windows: Windows[VerdictRow] = Windows(KEPT_WINDOWS, self._read_window)
        self._announced: int | None = None
        # the columns needed by the rows read so far; a column stays until another list is shown
        self._needs = Needs()
        # (kind of the text, whether the cursor is on it) -> style; Textual computes a style anew whenever it is asked
        self._styles: dict[tuple[str, bool], Style] = {}
        # place -> the line of a row without the cursor, for those shown and the page after them
        self._lines: dict[int, Strip] = {}
        self.ids: array[int] = array("q")
        self.cursor = 0

    @property
    def cursor_id(self) -> int | None:
        return self.ids[self.cursor] if self.cursor < len(self.ids) else None

    @property
    def cursor_row(self) -> VerdictRow | None:
        return self._row(self.cursor) if self.cursor < len(self.ids) else None

    def show(
        self, ids: array[int], *, follow: bool = True, stay: bool = True, anchor: int | None = None
    ) -> None:
        """Show another list. With `follow` the cursor follows its verdict; otherwise it starts at the top.

        If that verdict is gone, the cursor keeps its row (`stay`) or goes to the top. `anchor` is a verdict to follow
        instead of the one under the cursor.
        """
        before, offset = anchor or self.cursor_id, self.cursor - self.scroll_offset.y
        self.ids = ids
        self._forget_rows()
        self._needs = Needs()
        if not follow or before is None:
            self.cursor, offset = 0, 0
        else:
            place = self._place(before)
            kept = min(self.cursor, max(len(ids) - 1, 0)) if stay else 0
            self.cursor = kept if place is None else place
        self.virtual_size = Size(0, len(ids))
        self.scroll_to(y=max(self.cursor - offset, 0), animate=False, force=True)
        self._into_view()
        self.refresh()
        self._announce()

    def extend(self, ids: array[int]) -> None:
        """Append verdicts to the list; nothing else moves."""
        self.ids.extend(ids)
        self.virtual_size = Size(0, len(self.ids))
        # new verdicts may also change what the visible rows say about other raters
        self.reload()

    def reload(self) -> None:
        """Read the rows again; the list itself is the same."""
        self._forget_rows()
        self.refresh()

    def _forget_rows(self) -> None:
        self._windows.clear()
        self._lines.clear()

    def go_to(self, verdict_id: int) -> bool:
        """Put the cursor on a verdict; False when it is not in the list."""
        place = self._place(verdict_id)
        if place is not None:
            self._move_to(place)
        return place is not None

    def _place(self, verdict_id: int) -> int | None:
        try:
            return self.ids.index(verdict_id)
        except ValueError:
            return None

    def _row(self, place: int) -> VerdictRow | None:
        return self._windows.row(place)

    def _read_window(self, start: int, count: int) -> list[VerdictRow | None]:
        ids = self.ids[start : start + count]
        rows = self._read(ids)
        self._widen(rows)
        by_id = {row.verdict_id: row for row in rows}
        return [by_id.get(verdict_id) for verdict_id in ids]

    def _widen(self, rows: Sequence[VerdictRow]) -> None:
        needs = self._needs.with_rows(rows, glyphs())
        if needs != self._needs:
            self._needs = needs
            self._lines.clear()
            self.refresh()
            self.post_message(self.Resized())

    @property
    def columns(self) -> Columns:
        return columns_for(max(self.size.width - 1, 1), self._needs)

    def notify_style_update(self) -> None:
        self._styles.clear()
        self._lines.clear()
        super().notify_style_update()

    def _style(self, kind: str, chosen: bool) -> Style:
        """The style of a text of this kind; an empty kind is plain."""
        if (kind, chosen) not in self._styles:
            style = self.rich_style
            if kind:
                style += self.get_component_rich_style(f"verdict-list--{kind}", partial=True)
            if chosen:
                style += self.get_component_rich_style("verdict-list--cursor")
            self._styles[kind, chosen] = style
        return self._styles[kind, chosen]

    def render_line(self, y: int) -> Strip:
        place = y + self.scroll_offset.y
        if place >= len(self.ids):
            return Strip.blank(self.size.width, self._style("", False))
        return self._draw(place, True) if place == self.cursor else self._line(place)

    def _line(self, place: int) -> Strip:
        if place not in self._lines:
            line = self._draw(place, False)  # may read rows for which all lines are drawn anew
            if len(self._lines) > _LINES:
                self._lines.clear()
            self._lines[place] = line
        return self._lines[place]

    def _draw(self, place: int, chosen: bool) -> Strip:
        row, symbols = self._row(place), glyphs()
        mark = " " if not chosen else "▌" if symbols.bar == "█" else ">"
        plain = self._style("", chosen)
        segments = [Segment(mark, plain)]
        if row is None:
            segments.append(Segment("(gone)", plain))
        else:
            cells = verdict_cells(row, self.columns, symbols)
            segments += [Segment(text, self._style(kind, chosen)) for text, kind in cells]
        return Strip(segments).adjust_cell_length(self.size.width, plain).simplify()

    def action_move(self, rows: int) -> None:
        self._move_to(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        rows = max(self.size.height - 1, 1) * pages
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False, force=True)
        self._move_to(self.cursor + rows)
        self.call_after_refresh(self._read_ahead, rows)

    def _read_ahead(self, rows: int) -> None:
        """Draw the next page in this direction while this one is looked at: to read its rows takes longer than a paint."""
        top = max(self.scroll_offset.y + rows, 0)
        for place in range(top, min(top + self.size.height, len(self.ids))):
            self._line(place)

    def action_first(self) -> None:
        self._move_to(0)

    def action_last(self) -> None:
        self._move_to(len(self.ids) - 1)
        self.post_message(self.WantsLast())

    def action_open(self) -> None:
        if self.cursor_id is not None:
            self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        place = event.y + self.scroll_offset.y
        if place < len(self.ids):
            self._move_to(place)

    def on_resize(self) -> None:
        self._lines.clear()
        self._into_view()
        self.post_message(self.Resized())

    def _move_to(self, place: int) -> None:
        if not self.ids:
            return
        before, self.cursor = self.cursor, min(max(place, 0), len(self.ids) - 1)
        self._into_view()
        self.refresh_line(before)
        self.refresh_line(self.cursor)
        self._announce()

    def _into_view(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if height and self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif height and self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def _announce(self) -> None:
        if self.cursor_id != self._announced:
            self._announced = self.cursor_id
            self.post_message(self.Moved())
