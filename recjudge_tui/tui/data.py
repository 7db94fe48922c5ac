"""What was imported: events, items, lists, and the imports themselves."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer

from recjudge_tui.domain.filters import Term, VerdictFilter
from recjudge_tui.domain.protocols import SAER
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.reports.cases import user_lines
from recjudge_tui.runs.context import shown_user
from recjudge_tui.store.data import ItemViews, item_images, slate_top
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_history
from recjudge_tui.store.projects import DATA_KINDS, DataRow, count_rows, data_columns, data_rows
from recjudge_tui.tui.case import item_words
from recjudge_tui.tui.row_list import READER, Column, Reader, RowList
from recjudge_tui.tui.screens import COMMON, FILTER, FilterLine, ListScreen, ReadingScreen, host_of
from recjudge_tui.tui.texts import facts_content
from recjudge_tui.tui.widgets import Layout, clickable, keyed, number

# ---- rows --------------------------------------------------------------------------------------------------------


class DataList(RowList[DataRow]):
    """The rows of one kind of data, by their places. The columns are those of the kind; numbers are never cut."""

    def __init__(self, project_id: int, kind: str) -> None:
        super().__init__((), lambda _: 0)
        self._project_id = project_id
        self.list_kind(kind, "", 0)

    def list_kind(self, kind: str, wanted: str, count: int) -> None:
        self._kind, self._wanted = kind, wanted
        self.columns = tuple(
            Column(name, partial(_cell, at), 80, 0 if is_number else 8 if at else 16, right=is_number)
            for at, (name, is_number) in enumerate(data_columns(kind))
        )
        self.show(range(count), follow=False)

    def _read_window(self, start: int, count: int) -> list[DataRow]:
        return data_rows(host_of(self).db, self._project_id, self._kind, self._wanted, start, count)


def _cell(at: int, row: DataRow, _: int) -> tuple[str, str]:
    return row.cells[at], ""


# ---- details -----------------------------------------------------------------------------------------------------


_LONGEST_DETAIL = 4000
_MOST_ITEMS = 500


def details(db: Database, project_id: int, kind: str, row: DataRow) -> tuple[str, Layout]:
    """A title and the text; reads the history of a user, so call it in a worker."""
    if kind in ("users", "events"):
        user = _user(db, project_id, row.key)
        return f"what a judge sees of {one_line(row.key, 40)}", lambda _: user
    facts = [
        (one_line(name, 40), safe_text(cell[:_LONGEST_DETAIL]))
        for (name, _), cell in zip(data_columns(kind), row.cells, strict=True)
        if cell and name != "first"
    ]
    more: list[Content] = []
    if kind == "items":
        facts += _item(db, project_id, row.key)
    elif kind == "lists":
        more = _positions(db, project_id, int(row.key))
    return one_line(row.cells[0], 60), lambda width: Content("\n").join([facts_content(facts, width), *more])


def _positions(db: Database, project_id: int, slate_id: int) -> list[Content]:
    """Every item of a list, best first."""
    items = slate_top(db, project_id, slate_id, _MOST_ITEMS)
    return [Content.assemble((f"{at:>3} ", "dim"), item_words(item)) for at, item in enumerate(items, 1)]


def _user(db: Database, project_id: int, user_id: str) -> Content:
    user = shown_user(read_history(db, project_id, user_id), RunSettings(protocol=SAER[1]))
    lines = list(user_lines(user, ""))
    about = "with the usual settings of a run; held-out events are left out"
    known = bool(user.attributes) or any(line.strip() for line in lines[1:])
    nothing = "nothing: this user has no attributes and no events; i imports them"
    text = safe_text("\n".join(lines)[: 5 * _LONGEST_DETAIL]) if known else nothing
    return Content.assemble((about, "dim"), "\n\n", text)


def _item(db: Database, project_id: int, item_id: str) -> list[tuple[str, str]]:
    """The other attributes of an item, and the size of its image."""
    item = ItemViews(db, project_id).of([item_id])[item_id]
    given = item.attributes.items()
    attributes = [(one_line(name, 40), safe_text(str(value)[:_LONGEST_DETAIL])) for name, value in given]
    image = item_images(db, project_id, [item_id]).get(item_id)
    return attributes if image is None else [*attributes, ("image", f"{image.width}×{image.height}")]


# ---- screen ------------------------------------------------------------------------------------------------------


_REST_S = 0.06
# kind -> the filter term for the verdicts about a row of this kind
_OF_USERS = ("users", "lists", "events", "texts")
_VERDICTS = dict.fromkeys(_OF_USERS, "user") | {"systems": "system", "labels": "case"}


class DataScreen(ReadingScreen, ListScreen):
    """`DataScreen(project_id, "items")`.

    `enter` opens the verdicts about the row; the pane beside the list shows the row in full; for a user, what a
    judge will see.
    """

    CSS = """
    DataScreen #listed { width: 3fr; }
    DataScreen Reader { width: 2fr; }
    DataScreen.-narrow Horizontal, DataScreen.-tiny Horizontal { layout: vertical; }
    DataScreen.-narrow #listed, DataScreen.-tiny #listed { width: 1fr; }
    DataScreen.-narrow Reader, DataScreen.-tiny Reader { width: 1fr; height: 9; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "turn(1)", "next kind", key_display="←→", id="data.next"),
        Binding("left", "turn(-1)", "previous kind", show=False, id="data.previous"),
        FILTER,
        Binding("i", "import", "import", id="data.import"),
        # one text has no tabs
        *READER[2:],
        *COMMON,
    ]
    PLACE = "Data"
    WORDS = "words of a row"
    rows: DataList

    def __init__(self, project_id: int, kind: str = DATA_KINDS[0]) -> None:
        super().__init__()
        self.project_id = project_id
        self.kind = kind
        self.rows = DataList(project_id, kind)
        self._delay: Timer | None = None

    def beside(self) -> Reader:
        return Reader()

    def on_mount(self) -> None:
        self.filtered()

    # ---- rows

    def filtered(self) -> None:
        """Count the rows of the kind and the filter."""
        kind, wanted = self.kind, self.wanted
        self.query_one("#listed").border_title = Content(f"{kind}: counting")

        def job(db: Database) -> int:
            return count_rows(db, self.project_id, kind, wanted)

        self.background.start("count", job, partial(self._show_rows, kind, wanted))

    def _show_rows(self, kind: str, wanted: str, count: int) -> None:
        kinds = [
            clickable(Content(f"[{each}]" if each == kind else each), f"screen.show_kind({each!r})")
            for each in DATA_KINDS
        ]
        box = self.query_one("#listed")
        box.border_title = Content(f"{kind} ({number(count)})")
        box.auto_links = False
        box.border_subtitle = Content(" ").join(kinds)
        self.rows.list_kind(kind, wanted, count)
        self._moved()

    def action_turn(self, step: int) -> None:
        self.action_show_kind(DATA_KINDS[(DATA_KINDS.index(self.kind) + step) % len(DATA_KINDS)])

    def action_show_kind(self, kind: str) -> None:
        self.kind = kind
        self.filtered()

    def imported(self, project: str) -> None:
        self.filtered()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "filter":
            return not isinstance(self.focused, FilterLine)
        return super().check_action(action, parameters)

    # ---- the row under the cursor

    @on(RowList.Moved)
    def _moved(self) -> None:
        """Read the details when the cursor has come to rest."""
        if self._delay is not None:
            self._delay.stop()
        self._delay = self.set_timer(_REST_S, self._read_details)

    def _read_details(self) -> None:
        if (row := self.rows.cursor_row) is None:
            nothing = "No row has these words. {list.filter} changes the filter."
            if not self.wanted:
                nothing = f"No {one_line(self.kind)} yet. {{data.import}} imports a file or a folder."
            said = Content(keyed(self.app, nothing))
            self._show_details(("", lambda _: said))
        else:
            job = partial(details, project_id=self.project_id, kind=self.kind, row=row)
            self.background.start("details", job, self._show_details)

    def _show_details(self, details: tuple[str, Layout]) -> None:
        title, layout = details
        self.reader.border_title = Content(title)
        self.reader.show(layout)

    @on(RowList.Opened)
    def _open(self) -> None:
        if (row := self.rows.cursor_row) is None:
            return
        key = _VERDICTS.get(self.kind)
        # the key of a list is its number
        about = row.cells[0] if self.kind == "lists" else row.key
        term = Term("text" if key is None else key, ":", about)
        self.open_screen("cases", self.project_id, filter_text=VerdictFilter((term,)).text())
