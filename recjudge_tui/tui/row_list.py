"""The kit of most screens: a list of rows that are read in windows, whose cursor belongs to a row's id, and a reader."""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import ClassVar, Generic, NamedTuple, TypeVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.dialogs import AskLine, Dialog
from recjudge_tui.tui.widgets import Layout, TextPane, fit, key_name, middle

Row = TypeVar("Row")
# rows that are read at once, and how many windows of them stay
WINDOW, KEPT_WINDOWS = 128, 24
_LINES = 512
# more than any column shows
_UNCUT = 200


class Windows(Generic[Row]):
    """`read(start, count)` gives the rows of a window, None for one that is gone. The `kept` windows used last stay."""

    def __init__(self, kept: int, read: Callable[[int, int], Sequence[Row | None]]) -> None:
        self._kept = kept
        self._read = read
        self._windows: OrderedDict[int, Sequence[Row | None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._windows)

    def row(self, place: int) -> Row | None:
        number, within = divmod(place, WINDOW)
        if number not in self._windows:
            self._windows[number] = self._read(number * WINDOW, WINDOW)
            while len(self._windows) > self._kept:
                self._windows.popitem(last=False)
        self._windows.move_to_end(number)
        window = self._windows[number]
        return window[within] if within < len(window) else None

    def clear(self) -> None:
        self._windows.clear()


@dataclass(frozen=True)
class Column(Generic[Row]):
    """`cell(row, width)` gives a text and its kind (RowList.KINDS, or empty); a longer text is cut at its end, or in its
    `middle`. Where there is no room, columns shrink to `narrowest` (0: not), then those with a `rank` go, the first one
    first. The last column takes the room that is left, and at least its `narrowest`; numbers stand at the `right`."""

    name: str
    cell: Callable[[Row, int], tuple[str, str]]
    widest: int
    narrowest: int = 0
    rank: int = 0
    middle: bool = False
    right: bool = False

    def fit(self, text: str, width: int, gap: int = 1) -> str:
        """The text in `width` cells, with a gap behind it."""
        text, room = one_line(text, _UNCUT), width - gap
        if self.right and cell_len(text) < room:
            text = " " * (room - cell_len(text)) + text
        text = middle(text, room) if self.middle else fit(text, room)
        return fit(text, width)


def fitted(columns: Sequence[Column[Row]], needs: Mapping[str, int], width: int) -> dict[str, int]:
    """Column -> its cells, with a space behind each, for a line of this width. `needs`: the width of the widest content; a
    column without any is left out."""
    *others, last = columns
    room = width - min(max(needs.get(last.name, 0), len(last.name)), last.narrowest) - 1
    wanted = {c.name: min(needs[c.name], c.widest) + 1 for c in others if needs.get(c.name)}

    def squeezed(widths: dict[str, int]) -> dict[str, int]:
        """Those that may go are cut first, and of these always the one that has most to lose."""
        least = {
            c.name: max(c.narrowest, needs.get(f"{c.name}<", 0)) + 1 if c.narrowest else widths[c.name]
            for c in others
            if c.name in widths
        }
        for _ in range(sum(widths.values()) - room):
            able = [c for c in others if c.name in widths and widths[c.name] > least[c.name]]
            if not able:
                break
            most = max(able, key=lambda c: (c.rank > 0, widths[c.name] - least[c.name]))
            widths[most.name] -= 1
        return widths

    for leaving in ("", *(c.name for c in sorted(others, key=lambda c: c.rank) if c.rank)):
        wanted.pop(leaving, None)
        widths = squeezed(dict(wanted))
        if sum(widths.values()) <= room:
            break
    # two spaces between columns where nothing is cut for them
    if sum(widths.values()) + len(widths) + needs.get(last.name, 0) < width:
        widths = {name: cells + 1 for name, cells in widths.items()}
    left = max(width - sum(widths.values()), 4)
    return {**widths, last.name: min(left, needs.get(last.name, left) + 1) if last.right else left}


def shared_prefix(names: Sequence[str]) -> str:
    """What all names begin with, up to a sign between words; empty if it is short, or all of a name."""
    alike = takewhile(lambda characters: len(set(characters)) == 1, zip(*set(names), strict=False))
    begin = "".join(characters[0] for characters in alike) if len(set(names)) > 1 else ""
    end = max((begin.rfind(sign) for sign in "-_./: "), default=-1) + 1
    return begin[:end] if end >= 4 and all(len(name) > end for name in names) else ""


class RowList(ScrollView, Generic[Row], can_focus=True, inherit_bindings=False):
    """Shows `ids` in their order below a line of headings; `read` gives the rows of some ids, `key` the id of a row.

    When the list changes, the cursor follows its row; if that is gone, it stays at the same place on the screen. The
    widths of the columns are taken from the beginning, the middle and the end of a list, and stay while it is shown.
    """

    KINDS: ClassVar[list[str]] = "head marked failed reviewed dim up down key cell".split()
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"row-list--{kind}" for kind in (*KINDS, "cursor")}
    DEFAULT_CSS = """
    RowList {
        height: 1fr; background: $background; scrollbar-size-vertical: 1; overflow-x: hidden;
        .row-list--head { text-style: dim; }
        .row-list--cursor { background: $block-cursor-background; text-style: bold; }
        .row-list--marked, .row-list--down { color: $warning; }
        .row-list--failed { color: $error; }
        .row-list--reviewed, .row-list--up { color: $success; }
        .row-list--dim { text-style: dim; }
        .row-list--key { color: $accent; text-style: bold; }
        .row-list--cell { text-style: reverse; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "next", show=False, key_display="j", id="list.down"),
        Binding("up,k", "move(-1)", "previous", show=False, key_display="k", id="list.up"),
        Binding(
            "pagedown,space", "page(1)", "page down", show=False, key_display="pgdn", id="list.page_down"
        ),
        Binding("pageup,b", "page(-1)", "page up", show=False, key_display="pgup", id="list.page_up"),
        Binding("home,g", "first", "first", show=False, key_display="g", id="list.first"),
        Binding("end,G", "last", "last", show=False, key_display="G", id="list.last"),
        Binding("enter", "open", "open", key_display="enter", id="list.open"),
    ]

    class Moved(Message):
        """The cursor is on another row, or the list became empty."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, RowList.Moved)

    class Opened(Message):
        """`enter` on a row."""

    # the lines of headings
    heads = 1

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        key: Callable[[Row], int],
        read: Callable[[Sequence[int]], Sequence[Row]] | None = None,
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        """Without `read` the rows are those of `fill`."""
        super().__init__(id=id)
        self.columns, self._key = tuple(columns), key
        self._read = read or (lambda ids: [self.filled[row_id] for row_id in ids])
        self.filled: dict[int, Row] = {}
        self._windows: Windows[Row] = Windows(KEPT_WINDOWS, self._read_window)
        self._announced: int | None = None
        self._needs: dict[str, int] | None = None
        self._widths: dict[str, int] = {}
        # (kind of the text, whether the cursor is on it) -> style; Textual computes a style anew whenever it is asked
        self._styles: dict[tuple[str, bool], Style] = {}
        # place -> the line of a row without the cursor, for those shown and the page after them
        self._lines: dict[int, Strip] = {}
        self.ids: array[int] | range = array("q")
        self.cursor = 0

    @property
    def cursor_id(self) -> int | None:
        return self.ids[self.cursor] if self.cursor < len(self.ids) else None

    @property
    def cursor_row(self) -> Row | None:
        return self._windows.row(self.cursor) if self.cursor < len(self.ids) else None

    # ---- the rows

    def fill(self, rows: Iterable[Row], anchor: int | None = None) -> None:
        """Show these rows, see `show`."""
        self.filled = {self._key(row): row for row in rows}
        self.show(array("q", self.filled), anchor=anchor)

    def show(
        self, ids: array[int] | range, *, follow: bool = True, stay: bool = True, anchor: int | None = None
    ) -> None:
        """Show another list. With `follow` the cursor follows its row; otherwise it starts at the top. If that row is gone,
        the cursor keeps its place (`stay`) or goes to the top. `anchor` is an id to follow instead."""
        before, offset = anchor or self.cursor_id, self.cursor - self.scroll_offset.y
        self.ids, self._needs = ids, None
        self.reload()
        if not follow or before is None:
            self.cursor, offset = 0, 0
        else:
            place = self.place_of(before)
            kept = min(self.cursor, max(len(ids) - 1, 0)) if stay else 0
            self.cursor = kept if place is None else place
        self.virtual_size = Size(0, len(ids) + self.heads)
        self.scroll_to(y=max(self.cursor - offset, 0), animate=False, force=True)
        self._into_view()
        self._announce()

    def extend(self, ids: array[int]) -> None:
        """Append rows to the list; nothing else moves."""
        assert isinstance(self.ids, array)
        self.ids.extend(ids)
        self.virtual_size = Size(0, len(self.ids) + self.heads)
        # new rows may also change what the visible ones say
        self.reload()

    def reload(self) -> None:
        """Read the rows again; the list itself is the same."""
        self._windows.clear()
        self._lines.clear()
        self.refresh()

    def go_to(self, row_id: int) -> bool:
        """Put the cursor on a row; False when it is not in the list."""
        place = self.place_of(row_id)
        if place is not None:
            self._move_to(place)
        return place is not None

    def place_of(self, row_id: int) -> int | None:
        try:
            return self.ids.index(row_id)
        except ValueError:
            return None

    def _read_window(self, start: int, count: int) -> Sequence[Row | None]:
        ids = self.ids[start : start + count]
        by_id = {self._key(row): row for row in self._read(ids)}
        return [by_id.get(row_id) for row_id in ids]

    def sampled(self, rows: Sequence[Row]) -> Mapping[str, int]:
        """The needs of the columns of these rows: `name` as much as the widest cell takes, `name<` no less than this."""
        needs = {}
        for column in self.columns:
            widest = max((cell_len(one_line(column.cell(row, _UNCUT)[0], _UNCUT)) for row in rows), default=0)
            needs[column.name] = max(widest, cell_len(self.heading(column))) if widest or not rows else 0
        return needs

    def measure(self) -> None:
        """Take the widths of the columns from the rows again."""
        self._needs = None

    def heading(self, column: Column[Row]) -> str:
        return "" if column.name == "mark" else column.name

    @property
    def widths(self) -> dict[str, int]:
        """Column -> its cells, each with the space behind it."""
        if self._needs is None:
            count = len(self.ids)
            starts = dict.fromkeys(max(at, 0) // WINDOW for at in (0, count // 2, count - 1))
            places = (start * WINDOW + at for start in starts for at in range(WINDOW))
            read = map(self._windows.row, places)
            self._needs, self._widths = dict(self.sampled([row for row in read if row is not None])), {}
        if not self._widths:
            self._widths = fitted(self.columns, self._needs, max(self.size.width - 2, 1))
            self._lines.clear()
        return self._widths

    # ---- painting

    def notify_style_update(self) -> None:
        self._styles.clear()
        self._lines.clear()
        super().notify_style_update()

    def _style(self, kind: str, chosen: bool) -> Style:
        """The style of a text of this kind; an empty kind is plain."""
        if (kind, chosen) not in self._styles:
            style = self.rich_style
            for part in (kind, "cursor" if chosen else ""):
                style += (
                    self.get_component_rich_style(f"row-list--{part}", partial=True) if part else Style.null()
                )
            self._styles[kind, chosen] = style
        return self._styles[kind, chosen]

    def render_line(self, y: int) -> Strip:
        place = y + self.scroll_offset.y - self.heads
        if y < self.heads:
            widths = self.widths
            heads = "".join(
                column.fit(self.heading(column), widths[column.name], self._gap(column, widths))
                for column in self.columns
                if column.name in widths
            )
            return self._strip([Segment(f" {heads}", self._style("head", False))], False)
        if place >= len(self.ids):
            return Strip.blank(self.size.width, self._style("", False))
        return self._draw(place, True) if place == self.cursor else self._line(place)

    def _line(self, place: int) -> Strip:
        if place not in self._lines:
            if len(self._lines) > _LINES:
                self._lines.clear()
            self._lines[place] = self._draw(place, False)
        return self._lines[place]

    def _draw(self, place: int, chosen: bool) -> Strip:
        row, plain = self._windows.row(place), self._style("", chosen)
        segments = [Segment("▌" if chosen else " ", plain)]
        if row is None:
            segments.append(Segment("(gone)", plain))
        else:
            segments += [
                Segment(text, self._style(kind, chosen)) for text, kind in self.cells(row, self.widths)
            ]
        return self._strip(segments, chosen)

    def _strip(self, segments: list[Segment], chosen: bool) -> Strip:
        return Strip(segments).adjust_cell_length(self.size.width, self._style("", chosen)).simplify()

    def cells(self, row: Row, widths: Mapping[str, int]) -> Iterator[tuple[str, str]]:
        """(text, kind) of one line in order, each as wide as its column."""
        for column in self.columns:
            if width := widths.get(column.name):
                text, kind = column.cell(row, width - 1)
                yield column.fit(text, width, self._gap(column, widths)), kind

    def _gap(self, column: Column[Row], widths: Mapping[str, int]) -> int:
        return min(max(widths[column.name] - (self._needs or widths)[column.name], 1), 2)

    # ---- moving

    def action_move(self, rows: int) -> None:
        self._move_to(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        rows = max(self.size.height - 2, 1) * pages
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False, force=True)
        self._move_to(self.cursor + rows)
        self.call_after_refresh(self._read_ahead, rows)

    def _read_ahead(self, rows: int) -> None:
        """Draw the next page in this direction while this one is looked at: to read its rows takes longer than a paint."""
        top = max(self.scroll_offset.y + rows, 0)
        for place in range(top, min(top + self.size.height, len(self.ids))):
            if place != self.cursor:
                self._line(place)

    def action_first(self) -> None:
        self._move_to(0)

    def action_last(self) -> None:
        self._move_to(len(self.ids) - 1)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """An empty list has nothing to open."""
        return bool(self.ids) if action == "open" else super().check_action(action, parameters)

    def action_open(self) -> None:
        if self.cursor_id is not None:
            self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        place = (
            -1 if offset is None or offset.y < self.heads else offset.y + self.scroll_offset.y - self.heads
        )
        if 0 <= place < len(self.ids):
            # a click on the row under the cursor is `enter`
            self.action_open() if place == self.cursor else self._move_to(place)

    def on_resize(self) -> None:
        self._lines.clear()
        self._widths = {}
        self._into_view()

    def _move_to(self, place: int) -> None:
        if not self.ids:
            return
        before, self.cursor = self.cursor, min(max(place, 0), len(self.ids) - 1)
        self._into_view()
        for moved in (before, self.cursor):
            self.refresh_line(moved + self.heads)
        self._announce()

    def _into_view(self) -> None:
        top, height = self.scroll_offset.y, self.size.height - self.heads
        if height > 0 and self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif height > 0 and self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def _announce(self) -> None:
        if self.cursor_id != self._announced:
            self._announced = self.cursor_id
            self.post_message(self.Moved())


# ---- reader ------------------------------------------------------------------------------------------------------


# of a screen with a Reader beside a list, see `ReadingScreen`
READER: list[BindingType] = [
    Binding("tab", "turn(1)", "next tab", show=False, id="reader.next"),
    Binding("shift+tab", "turn(-1)", "tab before", show=False, id="reader.previous"),
    Binding("f", "find", "find in the text", show=False, id="reader.find"),
    Binding("J", "scroll_text(3)", "scroll the text down", show=False, id="reader.scroll_down"),
    Binding("K", "scroll_text(-3)", "scroll the text up", show=False, id="reader.scroll_up"),
]


class Reader(TextPane):
    """What is known of one thing, in tabs, with search inside. The words of a filter and those that were searched for stand
    out."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "find", "find in the text", show=False, id="reader.find")
    ]
    _words: tuple[str, ...] = ()
    _wanted = ""
    _tabs: Mapping[str, Layout] = {}
    # the tab that is shown, and whether the user chose it
    tab = ""
    _chosen = False

    def show_tabs(self, title: str, tabs: Mapping[str, Layout], first: str, *, stay: bool = True) -> None:
        """Show these texts on the tab that the user chose, or on `first` until he has; `stay`: about the same thing."""
        before, self._tabs = self.tab, tabs
        self.tab = self.tab if self._chosen and self.tab in tabs else first
        self.border_title = Content(title)
        self._show_tab(stay=stay and before == self.tab)

    def turn(self, by: int) -> None:
        names = list(self._tabs)
        if names:
            self.go(names[(names.index(self.tab) + by) % len(names)])

    def go(self, tab: str) -> None:
        self._chosen, self.tab = True, tab
        self._show_tab(stay=False)

    def _show_tab(self, *, stay: bool) -> None:
        names = [(f"[{name}]", "bold $accent") if name == self.tab else (name, "dim") for name in self._tabs]
        names.append((f" {key_name(self.app, 'reader.next')}", "bold"))
        self.border_subtitle = Content(" ").join(Content.styled(*name) for name in names)
        self.show(self._tabs[self.tab], stay=stay)

    def mark(self, words: Sequence[str]) -> None:
        """Let these words stand out, too."""
        if tuple(words) != self._words:
            self._words = tuple(words)
            self._lay_out()

    def laid_out(self, width: int) -> Content:
        words = [re.escape(word) for word in (*self._words, self._wanted) if word]
        pattern = re.compile("|".join(words), re.IGNORECASE)
        return (
            super().laid_out(width).highlight_regex(pattern, style="reverse")
            if words
            else super().laid_out(width)
        )

    def end_search(self) -> bool:
        """Whether there was a search to end."""
        searched = bool(self._wanted)
        if searched:
            self._find(None)
        return searched

    def action_find(self) -> None:
        hint = "Enter again goes to the next place."
        self.app.push_screen(AskLine("Find in the text", hint, self._wanted), self._find)

    def _find(self, wanted: str | None) -> None:
        """Scroll to the next line with the words, from the last one to the first."""
        self._wanted = wanted or ""
        self._lay_out()
        if wanted is None:
            return
        top = min(int(self.scroll_offset.y), self.max_scroll_y - 1)
        found = [y for y, line in enumerate(self._painted()) if wanted.casefold() in line.text.casefold()]
        if found:
            self.scroll_to(y=next((y for y in found if y > top), found[0]), animate=False)
        else:
            self.notify(one_line(f"“{wanted}” is not in the text.", 100), markup=False)


# ---- palette -----------------------------------------------------------------------------------------------------


class Command(NamedTuple):
    """A line of the palette. `key` is empty if no key does the same; `words` find it, too."""

    group: str
    title: str
    key: str
    run: Callable[[], object]
    words: str = ""

    def has(self, words: Iterable[str]) -> bool:
        searched = f"{self.group} {self.title} {self.words}".casefold()
        return all(word in searched for word in words)


class Palette(Dialog[Command]):
    """`Palette(commands)`: a search, and the commands that match it, by group; below them the whole of the one under the
    cursor. `other` makes a command of what was typed, which is then the last; `typed` is typed already."""

    CSS = """
    Palette { align: center top; }
    Palette .dialog { width: 84; max-height: 96%; margin-top: 1; padding: 0 1; }
    Palette RowList { background: $surface; margin-top: 1; }
    Palette #about { height: 3; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "close", id="palette.close"),
        Binding("down", "move(1)", "next", show=False, id="palette.down"),
        Binding("up", "move(-1)", "previous", show=False, id="palette.up"),
        Binding("pagedown", "page(1)", "page down", show=False, id="palette.page_down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="palette.page_up"),
    ]

    def __init__(
        self,
        commands: Sequence[Command],
        title: str = "Commands",
        other: Callable[[str], Command] | None = None,
        typed: str = "",
        hint: str = "",
    ) -> None:
        super().__init__()
        self._title, self._other, self._typed, self._hint = title, other, typed, hint
        self._commands = tuple(commands)
        columns: tuple[Column[tuple[int, Command]], ...] = (
            Column("group", lambda row, _: (row[1].group, "dim"), 40, 8),
            Column("key", lambda row, _: (row[1].key, "up"), 24, 4),
            Column("command", lambda row, _: (row[1].title, ""), 200, 20),
        )
        self.rows = RowList(columns, lambda row: row[0])
        self.rows.can_focus = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            yield Input(self._typed, "search", compact=True, select_on_focus=False, id="palette-search")
            yield self.rows
            yield Static(id="about")

    def on_resize(self) -> None:
        self._list()

    def offer(self, commands: Sequence[Command], hint: str) -> None:
        """List other commands while it is open."""
        self._commands, self._hint = tuple(commands), hint
        self._list()

    @on(Input.Changed)
    def _list(self) -> None:
        typed = self.query_one(Input).value.strip()
        groups = list(dict.fromkeys(command.group for command in self._commands))
        shown = [command for command in self._commands if command.has(typed.casefold().split())]
        shown.sort(key=lambda command: groups.index(command.group))
        shown += [self._other(typed)] if self._other is not None and typed else []
        self.rows.styles.height = min(len(shown) + 1, max(self.app.size.height - 9, 4))
        self.rows.fill(enumerate(shown, 1))
        # the shortest title that begins with what was typed
        begin = [
            at for at, command in enumerate(shown, 1) if command.title.casefold().startswith(typed.casefold())
        ]
        best = min(begin, key=lambda at: len(shown[at - 1].title)) if typed and begin else 1
        self.rows.go_to(best)
        self._say()

    @on(RowList.Moved)
    def _say(self) -> None:
        row = self.rows.cursor_row
        hint = row[1].title if row is not None and cell_len(row[1].title) > 48 else self._hint
        self.query_one("#about", Static).update(Content(hint if row is not None else "nothing matches"))

    def action_move(self, rows: int) -> None:
        self.rows.action_move(rows)

    def action_page(self, pages: int) -> None:
        self.rows.action_page(pages)

    @on(Input.Submitted)
    @on(RowList.Opened)
    def _accept(self) -> None:
        if (row := self.rows.cursor_row) is not None:
            self.dismiss(row[1])
