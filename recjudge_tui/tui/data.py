"""What was imported: events, items, lists, and the imports themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Input

from recjudge_tui.domain.filters import Term, VerdictFilter
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import DATA_KINDS, DataRow, count_rows, data_columns, data_rows

# ---- dialogs -----------------------------------------------------------------------------------------------------
from recjudge_tui.tui.row_list import Windows
from recjudge_tui.tui.screens import COMMON, FilterBar, ImportScreen
from recjudge_tui.tui.widgets import KeyLine, TextPane, TopBar, clickable, fit, glyphs, number

# ---- window table ------------------------------------------------------------------------------------------------


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


# ---- details -----------------------------------------------------------------------------------------------------


_LONGEST_DETAIL = 4000
_MOST_ITEMS = 500


def details(db: Database, project_id: int, kind: str, row: DataRow) -> tuple[str, Content]:
    """A title and the text; reads the history of a user, so call it in a worker."""
    if kind in ("users", "events"):
        return f"what a judge sees of {one_line(row.key, 40)}", _user(db, project_id, row.key)
    facts = [
        (name, cell)
        for (name, _), cell in zip(data_columns(kind), row.cells, strict=True)
        if cell and name != "first"
    ]
    more: list[Content] = []
    if kind == "items":
        attributes, more = _item(db, project_id, row.key)
        facts += attributes
    elif kind == "lists":
        more = _positions(db, project_id, int(row.key))
    return one_line(row.cells[0], 60), Content("\n").join([*_aligned(facts), *more])


def _aligned(facts: Sequence[tuple[str, str]]) -> Iterator[Content]:
    names = [one_line(name, 40) for name, _ in facts]
    wide = max(map(cell_len, names), default=0) + 2
    for name, (_, text) in zip(names, facts, strict=True):
        yield Content.assemble(
            (name + " " * (wide - cell_len(name)), "dim"), safe_text(text[:_LONGEST_DETAIL])
        )


def _positions(db: Database, project_id: int, slate_id: int) -> list[Content]:
    """Every item of a list, best first."""
    from recjudge_tui.store.data import slate_top
    from recjudge_tui.tui.case import item_words

    items = slate_top(db, project_id, slate_id, _MOST_ITEMS)
    return [
        Content.assemble((f"{at:>3} ", "dim"), item_words(item, glyphs())) for at, item in enumerate(items, 1)
    ]


def _user(db: Database, project_id: int, user_id: str) -> Content:
    from recjudge_tui.domain.protocols import SAER
    from recjudge_tui.domain.run import RunSettings
    from recjudge_tui.reports.cases import user_lines
    from recjudge_tui.runs.context import user_view
    from recjudge_tui.store.histories import read_history

    user = user_view(read_history(db, project_id, user_id), RunSettings(protocol=SAER[1]))
    lines = list(user_lines(user, ""))
    about = "with the usual settings of a run; held-out events are left out"
    known = bool(user.attributes) or any(line.strip() for line in lines[1:])
    nothing = "nothing: this user has no attributes and no events; i imports them"
    text = safe_text("\n".join(lines)[: 5 * _LONGEST_DETAIL]) if known else nothing
    return Content.assemble((about, "dim"), "\n\n", text)


def _item(db: Database, project_id: int, item_id: str) -> tuple[list[tuple[str, str]], list[Content]]:
    """The other attributes of an item, and its image."""
    from recjudge_tui.store.data import ItemViews, image_contents, item_images
    from recjudge_tui.tui.case import drawn

    item = ItemViews(db, project_id).of([item_id])[item_id]
    attributes = [(name, str(value)) for name, value in item.attributes.items()]
    image = item_images(db, project_id, [item_id]).get(item_id)
    if image is None:
        return attributes, []
    size = Content(f"image {image.width}×{image.height}")
    return attributes, [size, *drawn(image_contents(db, [image.digest])[image.digest])]


# ---- screen ------------------------------------------------------------------------------------------------------


_REST_S = 0.06
# kind -> the filter term for the verdicts about a row of this kind
_VERDICTS = {
    "users": "user",
    "lists": "user",
    "events": "user",
    "texts": "user",
    "systems": "system",
    "labels": "case",
}


class _Rows(NamedTuple):
    """How many rows of a kind there are."""

    kind: str
    rows: int


class DataScreen(ImportScreen):
    """`DataScreen(project_id, "items")`.

    `enter` opens the verdicts about the row; the pane beside the table shows the row in full; for a user, what a
    judge will see.
    """

    AUTO_FOCUS = "WindowTable"
    CSS = """
    DataScreen #rows { width: 3fr; border: round $primary; border-title-color: $accent; }
    DataScreen #rows:focus-within { border: round $accent; }
    DataScreen TextPane { width: 2fr; border: round $primary; border-title-color: $accent; }
    DataScreen TextPane:focus { border: round $accent; }
    DataScreen WindowTable { height: 1fr; }
    DataScreen.-narrow Horizontal, DataScreen.-tiny Horizontal { layout: vertical; }
    DataScreen.-narrow #rows, DataScreen.-tiny #rows { width: 1fr; height: 1fr; }
    DataScreen.-narrow TextPane, DataScreen.-tiny TextPane { width: 1fr; height: 9; }
    .-ascii DataScreen #rows, .-ascii DataScreen TextPane, .-ascii DataScreen #rows:focus-within { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "turn(1)", "next kind", key_display="←→", id="data.next"),
        Binding("left", "turn(-1)", "previous kind", show=False, id="data.previous"),
        Binding("slash", "filter", "filter", key_display="/", id="data.filter"),
        Binding("i", "import", "import", id="data.import"),
        Binding("J", "scroll_details(3)", "scroll the details down", show=False, id="data.details_down"),
        Binding("K", "scroll_details(-3)", "scroll the details up", show=False, id="data.details_up"),
        *COMMON,
    ]

    def __init__(self, project_id: int, kind: str = DATA_KINDS[0]) -> None:
        super().__init__()
        self.project_id = project_id
        self.kind = kind
        self.name_of_project = ""
        self._wanted = ""
        self._delay: Timer | None = None

    def compose(self) -> ComposeResult:
        self.name_of_project = self.project_title(self.project_id)
        yield TopBar("recjudge", self.name_of_project, "Data")
        yield FilterBar(lambda text: tuple(text.split()), "words of a row")
        with Horizontal():
            with Vertical(id="rows"):
                yield WindowTable()
            yield TextPane()
        yield KeyLine()

    def on_mount(self) -> None:
        self._count()

    # ---- rows

    def _count(self) -> None:
        self.query_one("#rows").border_title = Content(f"{self.kind}: counting")
        job = partial(_counted, project_id=self.project_id, kind=self.kind, wanted=self._wanted)
        self.background.start("count", job, self._show_rows)

    def _show_rows(self, shown: _Rows) -> None:
        kinds = [
            clickable(Content(f"[{kind}]" if kind == shown.kind else kind), f"screen.show_kind({kind!r})")
            for kind in DATA_KINDS
        ]
        box = self.query_one("#rows")
        box.border_title = Content(f"{shown.kind} ({number(shown.rows)})")
        box.auto_links = False
        box.border_subtitle = Content(" ").join(kinds)
        read = partial(self._window, shown.kind, self._wanted)
        self.query_one(WindowTable).show(data_columns(shown.kind), shown.rows, read)

    def _window(self, kind: str, wanted: str, offset: int, limit: int) -> list[DataRow]:
        return data_rows(self.host.db, self.project_id, kind, wanted, offset, limit)

    def action_turn(self, step: int) -> None:
        self.action_show_kind(DATA_KINDS[(DATA_KINDS.index(self.kind) + step) % len(DATA_KINDS)])

    def action_show_kind(self, kind: str) -> None:
        self.kind = kind
        self._count()

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    @on(FilterBar.Applied)
    def _filter(self, message: FilterBar.Applied) -> None:
        if message.text != self._wanted:
            self._wanted = message.text
            self._count()

    @on(FilterBar.Closed)
    def _back_to_rows(self) -> None:
        self.query_one(WindowTable).focus()

    def action_import(self) -> None:
        self.ask_import(self.project_title(self.project_id))

    def imported(self, project: str) -> None:
        self._count()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input):
            return action in ("step_back", "app.command_palette")
        return super().check_action(action, parameters)

    # ---- the row under the cursor

    @on(WindowTable.Moved)
    def _moved(self) -> None:
        """Read the details when the cursor has come to rest."""
        if self._delay is not None:
            self._delay.stop()
        self._delay = self.set_timer(_REST_S, self._read_details)

    def _read_details(self) -> None:
        row, pane = self.query_one(WindowTable).row, self.query_one(TextPane)
        if row is None:
            pane.border_title = Content("")
            pane.show(lambda _: Content(_empty(self.kind, filtered=bool(self._wanted))))
            return
        job = partial(details, project_id=self.project_id, kind=self.kind, row=DataRow(*row))
        self.background.start("details", job, self._show_details)

    def _show_details(self, details: tuple[str, Content]) -> None:
        title, text = details
        pane = self.query_one(TextPane)
        pane.border_title = Content(title)
        pane.show(lambda _: text)

    def action_scroll_details(self, lines: int) -> None:
        self.query_one(TextPane).scroll_relative(y=lines, animate=False)

    @on(WindowTable.Opened)
    def _open(self) -> None:
        row = self.query_one(WindowTable).row
        if row is None:
            return
        key = _VERDICTS.get(self.kind)
        # the key of a list is its number
        about = row[1][0] if self.kind == "lists" else row[0]
        term = Term("text" if key is None else key, ":", about)
        self.open_screen("cases", self.project_id, filter_text=VerdictFilter((term,)).text())


def _counted(db: Database, project_id: int, kind: str, wanted: str) -> _Rows:
    return _Rows(kind, count_rows(db, project_id, kind, wanted))


def _empty(kind: str, *, filtered: bool) -> str:
    if filtered:
        return "No row has these words. / changes the filter."
    return f"No {one_line(kind)} yet. i imports a file or a folder."
