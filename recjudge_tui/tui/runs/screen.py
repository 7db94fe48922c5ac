"""The runs of a project with their state; opens the monitor of a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.coordinate import Coordinate
from textual.widgets import DataTable, Input, Static

from recjudge_tui.domain.text import money, one_line
from recjudge_tui.reports.runs import run_differences
from recjudge_tui.runs.lease import is_active, refuse_when_active
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.runs import ActiveRun, delete_run, list_runs
from recjudge_tui.tui.kit.base_screen import COMMON
from recjudge_tui.tui.kit.dialogs import Confirm
from recjudge_tui.tui.kit.exporting import ExportScreen
from recjudge_tui.tui.kit.filter_bar import FilterBar
from recjudge_tui.tui.kit.glyphs import Glyphs, ago, glyphs, middle, number
from recjudge_tui.tui.kit.importing import IMPORT, ImportScreen
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.steady_table import SteadyTable
from recjudge_tui.tui.kit.top_bar import TopBar
from recjudge_tui.tui.runs.run_pane import PaneRun, RunPane
from recjudge_tui.tui.runs.text import RunStatus, status_glyph, status_of

_COLUMNS = ("run", "state", "protocol", "judge", "rater", "calls", "failed", "cost", "when")
# at 80 columns the judge's column shows the rater, and only the monitor shows the cost
_WIDE_ONLY = ("rater", "cost")
_WIDE_FROM = 100
_EMPTY = """No runs yet.

n  starts one: a judge reads the lists of this project and gives verdicts

It works in the background, also after you close the app."""
_COLOURS: dict[RunStatus, str] = {
    "running": "green",
    "pausing": "yellow",
    "stopping": "yellow",
    "interrupted": "yellow",
    "paused": "yellow",
    "stopped": "yellow",
    "failed": "red",
}


class ListedRun(NamedTuple):
    """`own`: how the run differs from the others of its protocol."""

    row: StoredRow
    status: RunStatus
    own: tuple[str, ...] = ()


class RunTable(SteadyTable):
    """A table whose `enter` is shown in the footer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "watch", key_display="enter", id="runs.open")
    ]


class RunsScreen(ExportScreen, ImportScreen):
    CSS = """
    RunsScreen #runs { width: 3fr; height: 1fr; border: round $primary; border-title-color: $accent; }
    RunsScreen DataTable { height: 1fr; background: $background; scrollbar-size-vertical: 1; }
    RunsScreen #no-runs { display: none; padding: 1 2; }
    RunsScreen RunPane { display: none; width: 2fr; border: round $primary; border-title-color: $accent; }
    RunsScreen RunPane:focus { border: round $accent; }
    RunsScreen.-huge RunPane { display: block; }
    RunsScreen.-empty DataTable, RunsScreen.-empty FilterBar, RunsScreen.-empty RunPane { display: none; }
    RunsScreen.-empty #no-runs { display: block; }
    .-ascii RunsScreen #runs, .-ascii RunsScreen RunPane { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "new run", id="runs.new"),
        Binding("V", "verdicts", "verdicts", id="runs.verdicts"),
        Binding("D", "delete", "delete", id="runs.delete"),
        Binding("e", "export", "export", id="runs.export"),
        Binding("j", "move(1)", "next", show=False, id="runs.down"),
        Binding("k", "move(-1)", "previous", show=False, id="runs.up"),
        Binding("slash", "filter", "filter", key_display="/", id="runs.filter"),
        IMPORT,
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self._runs: list[ListedRun] | None = None
        self._wanted = ""
        self._was_live = False

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Runs")
        yield FilterBar(_words, "part of a state, protocol, judge or rater")
        with Horizontal():
            with Vertical(id="runs") as box:
                box.border_title = Content("Runs")
                yield RunTable(cursor_type="row", cell_padding=1)
                yield Static(Content(_EMPTY), id="no-runs")
            yield RunPane()
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(DataTable).focus()

    def on_screen_resume(self) -> None:
        self._read()

    def on_screen_suspend(self) -> None:
        super().on_screen_suspend()
        self.query_one(RunPane).stop_reading()

    def action_import(self) -> None:
        self.ask_import(self.project_title(self.project_id))

    def imported(self, project: str) -> None:
        self._read()

    def _read(self) -> None:
        self.background.start("runs", partial(_list, project_id=self.project_id), self._show_runs)

    def runs_changed(self, active: list[ActiveRun]) -> None:
        super().runs_changed(active)
        live = any(run.project_id == self.project_id for run in active)
        if live or self._was_live:
            self._read()
        self._was_live = live

    def _show_runs(self, runs: list[ListedRun]) -> None:
        self._runs = runs
        self._show_rows()

    def _show_rows(self) -> None:
        table: DataTable[Text] = self.query_one(DataTable)
        runs, stood_on, look = self._runs or [], self._current(), glyphs()
        words = self._wanted.casefold().split()
        shown = [run for run in runs if all(word in _searched(run) for word in words)]
        wide = self.size.width >= _WIDE_FROM
        rows = [run_cells(run, look, wide=wide) for run in shown]
        names = [
            name for name in _COLUMNS if (wide or name not in _WIDE_ONLY) and _is_informative(name, shown)
        ]
        # the scroll bar and the border take the rest
        shorten_names(rows, names, self.query_one("#runs").outer_size.width - 3, look)
        table.clear(columns=True)
        table.add_columns(*[(name, name) for name in names])
        for run, row in zip(shown, rows, strict=True):
            table.add_row(*[row[name] for name in names], key=str(run.row["id"]))
        keys = [run.row["id"] for run in shown]
        if stood_on in keys:
            table.move_cursor(row=keys.index(stood_on), animate=False)
        self.set_class(not runs, "-empty")
        count = f"{len(shown)}" if len(shown) == len(runs) else f"{len(shown)} of {len(runs)}"
        self.query_one("#runs").border_title = Content(f"Runs ({count})")
        self._show_one()
        self.refresh_bindings()

    def _current(self) -> int | None:
        table: DataTable[Text] = self.query_one(DataTable)
        if not table.row_count or not table.is_valid_row_index(table.cursor_row):
            return None
        value = table.coordinate_to_cell_key(Coordinate(table.cursor_row, 0)).row_key.value
        return int(value) if value is not None else None

    def on_resize(self) -> None:
        if self._runs is not None:
            self.call_after_refresh(self._show_rows)

    @on(DataTable.RowHighlighted)
    def _show_one(self) -> None:
        """Beside the list, if it is wide: the run under the cursor; else below it, what sets it apart."""
        run_id, pane, look = self._current(), self.query_one(RunPane), glyphs()
        run = next((run for run in self._runs or () if run.row["id"] == run_id), None)
        pane.show_run(None if run is None else _in_pane(run))
        own = f" {look.dot} ".join(run.own) if run is not None and not pane.display else ""
        text = f"differs from other {run.row['protocol']} runs: {own}" if run is not None and own else ""
        self.query_one("#runs").border_subtitle = Content(one_line(text, max(self.size.width - 8, 20)))

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input):
            return action in ("step_back", "app.command_palette")
        if action in ("verdicts", "delete", "export", "move", "filter"):
            return bool(self._runs)
        return super().check_action(action, parameters)

    def action_move(self, rows: int) -> None:
        table: DataTable[Text] = self.query_one(DataTable)
        table.move_cursor(row=table.cursor_row + rows, animate=False)

    @on(DataTable.RowSelected)
    def _watch(self) -> None:
        run_id = self._current()
        if run_id is not None:
            self.open_screen("monitor", run_id)

    def action_new(self) -> None:
        self.open_screen("launch", self.project_id)

    def action_verdicts(self) -> None:
        from recjudge_tui.tui.cases.screen import CasesScreen

        run_id = self._current()
        if run_id is not None:
            self.app.push_screen(CasesScreen(self.project_id, f"run:{run_id}"))

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    @on(FilterBar.Applied)
    def _filter(self, message: FilterBar.Applied) -> None:
        self._wanted = message.text
        self._show_rows()

    @on(FilterBar.Closed)
    def _back_to_table(self) -> None:
        self.query_one(DataTable).focus()

    def action_export(self) -> None:
        from recjudge_tui.project import Project
        from recjudge_tui.reports.listings import runs

        self.ask_export("runs.csv", lambda db: runs(db, Project.numbered(db, self.project_id)))

    def action_delete(self) -> None:
        run_id = self._current()
        if run_id is None:
            return
        text = f"Run {run_id} with its calls, answers and verdicts will be deleted for good."
        self.app.push_screen(
            Confirm("Delete the run?", text, "delete it", "keep it"), partial(self._delete, run_id=run_id)
        )

    def _delete(self, sure: bool | None, run_id: int) -> None:
        if sure:
            job = partial(_delete_at_rest, run_id=run_id)
            self.background.start("delete", job, lambda _: self._show_deleted(run_id))

    def _show_deleted(self, run_id: int) -> None:
        self.notify(f"Run {run_id} deleted.", markup=False)
        self._read()

    def action_step_back(self) -> None:
        self.action_leave()


def _in_pane(run: ListedRun) -> PaneRun:
    row = run.row
    title = f"Run {row['id']} {row['protocol']} by {one_line(row['rater'], 40)}"
    return PaneRun(row["id"], title, run.status, row["done"] + row["failed"], run.own)


def _is_informative(column: str, runs: Sequence[ListedRun]) -> bool:
    """Whether a column is worth its space: the rater may be the judge in every row, and all runs may be free."""
    if column == "rater":
        return any(run.row["rater"] != run.row["judge"] for run in runs)
    return column != "cost" or any(run.row["cost_usd"] for run in runs)


def run_cells(run: ListedRun, look: Glyphs, *, wide: bool = True) -> dict[str, Text]:
    """Column -> its cell."""
    row, finished = run.row, run.row["done"] + run.row["failed"]
    share = f" {finished / row['calls']:.0%}" if row["calls"] and finished < row["calls"] else ""
    cost = look.none if row["cost_usd"] is None else money(row["cost_usd"])
    rater = one_line(row["rater"], 60) if row["rater"] != row["judge"] else ""
    return {
        "run": Text(str(row["id"]), justify="right"),
        "state": Text(f"{status_glyph(run.status, look)} {run.status}{share}", _COLOURS.get(run.status, "")),
        "protocol": Text(row["protocol"]),
        "judge": Text(one_line(row["judge"] if wide or not rater else f"{rater} ({row['judge']})", 80)),
        "rater": Text(rater, "dim"),
        "calls": Text(number(row["calls"]), justify="right"),
        "failed": Text(number(row["failed"]), "red" if row["failed"] else "", justify="right"),
        "cost": Text(cost, justify="right"),
        "when": Text(ago(row["created_at"])),
    }


def shorten_names(rows: Sequence[dict[str, Text]], columns: Sequence[str], width: int, look: Glyphs) -> None:
    """Shorten the names of judges and raters as far as a table of these columns, `width` cells wide, requires."""
    cells = {name: max([len(name), *(row[name].cell_len for row in rows)]) for name in columns}
    for name in ("rater", "judge"):
        over = sum(cells.values()) + 2 * len(columns) - width
        if name in cells and over > 0:
            cells[name] = max(cells[name] - over, 12)
            for row in rows:
                row[name] = Text(middle(row[name].plain, cells[name], look), row[name].style)


def _searched(run: ListedRun) -> str:
    row = run.row
    return (
        f"{row['id']} {run.status} {row['protocol']} {row['judge']} {row['rater']} {row['prompt']}".casefold()
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _list(db: Database, project_id: int) -> list[ListedRun]:
    own = run_differences(db, project_id)
    return [
        ListedRun(
            row,
            status_of(row["state"], row["wanted"], active=is_active(db, row["id"])),
            own.get(row["id"], ()),
        )
        for row in list_runs(db, project_id)
    ]


def _delete_at_rest(db: Database, run_id: int) -> None:
    refuse_when_active(db, run_id)
    delete_run(db, run_id)
