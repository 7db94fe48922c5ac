"""The data of a project, kind by kind: users, items, systems, lists, events, labels and texts."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input

from recjudge_tui.domain.filters import Term, VerdictFilter
from recjudge_tui.domain.text import one_line
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import DATA_KINDS, DataRow, count_rows, data_columns, data_rows
from recjudge_tui.tui.data.details import details
from recjudge_tui.tui.data.window_table import WindowTable
from recjudge_tui.tui.kit.base_screen import COMMON
from recjudge_tui.tui.kit.click_text import clickable
from recjudge_tui.tui.kit.filter_bar import FilterBar
from recjudge_tui.tui.kit.glyphs import number
from recjudge_tui.tui.kit.importing import ImportScreen
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.text_pane import TextPane
from recjudge_tui.tui.kit.top_bar import TopBar

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
