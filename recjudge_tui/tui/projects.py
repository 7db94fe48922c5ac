"""A project as one row, and in the panel below the rows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.worker import get_current_worker

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.settings import user_path
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.projects import create_project, delete_project, project_names, project_overview
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import AskLine, Confirm
from recjudge_tui.tui.home import HomeView
from recjudge_tui.tui.row_list import Column, RowList
from recjudge_tui.tui.screens import COMMON, FILTER, FilterBar, ListScreen
from recjudge_tui.tui.widgets import GLYPHS, RUN_LOOKS, TopBar, ago, at_rest, keyed, number

# ---- screen ------------------------------------------------------------------------------------------------------


_EMPTY = """No projects yet.

{projects.demo}  try the sample data: two small projects, judged in a few seconds
{projects.import}  import lists, items, events or labels into a new project
{projects.new}  create an empty project
{projects.other_file}  open another database file"""
_DEMO_S = 0.1


class ProjectsScreen(ListScreen):
    """Its rows are ids; the names are shown at once, and a worker reads the numbers, because it counts verdicts."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "demo", "sample data", id="projects.demo"),
        Binding("n", "new", "new", id="projects.new"),
        Binding("i", "import", "import", id="projects.import"),
        # one of the hints where there is nothing else to open
        Binding("o", "other_file('first')", "another file", id="projects.first_file"),
        Binding("o", "other_file", "open another file", show=False, id="projects.other_file"),
        Binding("r", "open('runs')", "runs", id="projects.launch"),
        Binding("a", "open('reports')", "reports", id="projects.reports"),
        Binding("d", "open('compare')", "compare raters", show=False, id="projects.compare"),
        Binding("p", "open('prompts')", "prompts", show=False, id="projects.prompts"),
        Binding("l", "open('annotate')", "label cases yourself", show=False, id="projects.annotate"),
        Binding("e", "export", "export", show=False, id="projects.export"),
        Binding("D", "delete", "delete the project", show=False, id="projects.delete"),
        FILTER,
        *COMMON,
    ]
    LISTED = PLACE = "Projects"
    WORDS = "part of a name"

    def __init__(self) -> None:
        super().__init__()
        counts = ("cases", "verdicts", "flagged")
        columns: tuple[Column[int], ...] = (
            Column("name", lambda key, _: (self.names[key], ""), 24, 10),
            *(Column(name, partial(self._count, name), 10, right=True) for name in counts),
            Column("last run", self._last_run, 16, rank=1),
            Column("state", self._state, 20, 10),
        )
        self.rows = RowList(columns, lambda key: key)
        self.names: dict[int, str] = {}
        self.figures: dict[int, StoredRow] = {}
        self.active: dict[int, StoredRow] = {}
        self._any_active = self._makes_demo = False
        self._seen: tuple[int, int] | None = None

    def beside(self) -> HomeView:
        return HomeView(live=False)

    def on_mount(self) -> None:
        path = str(self.host.db_path)
        short = path if len(path) <= 36 else "/".join([GLYPHS.cut, *path.split("/")[-2:]])
        self.query_one(TopBar).show(right=short)

    def on_screen_resume(self) -> None:
        self.active = {run.project_id: run for run in self.host.active}
        self._read_rows()
        if self.host.db.change_count() != self._seen:
            self.query_one(HomeView).forget()

    def on_screen_suspend(self) -> None:
        super().on_screen_suspend()
        self.query_one(HomeView).stop_reading()
        self._seen = self.host.db.change_count()

    # ---- rows

    def _count(self, name: str, key: int, _: int) -> tuple[str, str]:
        """A number that is not read yet is a dot."""
        if (figures := self.figures.get(key)) is None:
            return GLYPHS.dot, "dim"
        mark = f"{GLYPHS.marked} " if name == "flagged" and figures[name] else ""
        return f"{mark}{number(figures[name])}", ""

    def _last_run(self, key: int, _: int) -> tuple[str, str]:
        figures = self.figures.get(key)
        return (ago(figures["last_run"]) if figures is not None else ""), ""

    def _state(self, key: int, _: int) -> tuple[str, str]:
        figures = self.figures.get(key)
        if (active := self.active.get(key)) is not None:
            share = active.finished / active.calls if active.calls else 0.0
            return f"{GLYPHS.running} {share:.0%}", "up"
        if figures is None or (figures["state"] == "running" and not self.host.runs_known):
            return "", ""
        if figures["state"] is not None:
            glyph, kind = RUN_LOOKS.get(at_rest(figures["state"]), ("?", ""))
            return f"{glyph} {at_rest(figures['state'])}", kind
        return f"{GLYPHS.empty} {'no run' if figures['imports'] or figures['cases'] else 'empty'}", "dim"

    def refresh_rows(self, select: str | None = None) -> None:
        self._read_rows(select)
        self.query_one(HomeView).forget()

    def _read_rows(self, select: str | None = None) -> None:
        def show(rows: list[StoredRow]) -> None:
            self.figures = {row["id"]: row for row in rows}
            self.names = {row["id"]: row["name"] for row in rows}
            self._list()

        self.names = dict(project_names(self.host.db))
        self._list(select)
        self.background.start("overview", project_overview, show)

    def _list(self, select: str | None = None) -> None:
        self.fill(list(self.names), next((key for key, name in self.names.items() if name == select), None))

    def nothing(self) -> str:
        """What can be done in an empty database, by the keys that the user has for it."""
        if self._makes_demo:
            return "Importing and judging the sample data …"
        return keyed(self.app, _EMPTY)

    def searched(self, row: int) -> str:
        return self.names[row]

    def fill(self, every: Sequence[int], anchor: int | None = None) -> None:
        super().fill(every, anchor)
        self._show_home()

    @property
    def project_id(self) -> int | None:
        """The project under the cursor."""
        return self.rows.cursor_id

    def runs_changed(self, active: list[StoredRow]) -> None:
        super().runs_changed(active)
        self.active = {run.project_id: run for run in active}
        before, self._any_active = self._any_active, bool(active)
        if active:
            self._read_rows()
        elif before:
            self.refresh_rows()
        else:
            self._list()

    # ---- the panel under the table

    @on(RowList.Moved)
    def _show_home(self) -> None:
        key = self.project_id
        active = None if key is None else self.active.get(key)
        self.query_one(HomeView).border_title = Content(one_line("" if key is None else self.names[key], 60))
        self.query_one(HomeView).show_home(key, () if active is None else (active,))

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("open", "delete") and not self.names:
            return False
        if action == "demo" and (self.names or self._makes_demo):
            return False
        if action == "other_file":
            return bool(self.names) is not bool(parameters)
        return super().check_action(action, parameters)

    def action_export(self) -> None:
        from recjudge_tui.reports.listings import projects

        self.ask_export("projects.csv", projects)

    @on(RowList.Opened)
    @on(HomeView.Opened)
    def _open(self) -> None:
        self.action_open("home")

    def action_step_back(self) -> None:
        """`esc` clears the filter; it never leaves the app."""
        if self.wanted:
            self.query_one(FilterBar).apply("")

    # ---- changes

    def action_new(self) -> None:
        ask = AskLine(
            "New project",
            keyed(
                self.app, "The name of the project. Then press {projects.import} to import lists and labels."
            ),
        )

        def make(name: str) -> None:
            try:
                create_project(self.host.db, name)
            except RecjudgeError as error:
                self.host.show_error(error)
            else:
                self.refresh_rows(select=name.strip())

        self.ask(ask, make)

    def action_delete(self) -> None:
        if (key := self.project_id) is None:
            return
        name, figures = self.names[key], self.figures.get(key)
        holds = (
            f"{figures['cases']:,} cases and {figures['verdicts']:,} verdicts"
            if figures
            else "everything in it"
        )
        text = f"“{one_line(name, 60)}”, with {holds}, will be deleted for good."
        if key in self.active:
            text += "\nOne of its runs is active; it will stop with an error."

        def show(_: object) -> None:
            self.refresh_rows()
            self.notify(f"“{one_line(name, 60)}” is deleted.", markup=False)

        job = partial(delete_project, name=name)
        question = Confirm("Delete the project?", text, "delete it", "keep it")
        self.ask(question, lambda _: self.background.start("change", job, show))

    def action_import(self) -> None:
        """Into the project under the cursor if that is empty, else into one of the folder's name."""
        figures = self.figures.get(self.project_id or 0)
        full = figures is not None and (figures["imports"] or figures["cases"])
        self.ask_import("" if full or self.project_id is None else self.names[self.project_id])

    def imported(self, project: str) -> None:
        self.refresh_rows(select=project)

    # ---- the first minute

    def action_demo(self) -> None:
        self._makes_demo = True
        self._list()
        self.background.start("demo", _make_demo, lambda _: self._end_demo(), self._end_demo)

    def _end_demo(self, error: RecjudgeError | None = None) -> None:
        self._makes_demo = False
        self.refresh_rows()
        if error is not None:
            self.host.show_error(error)

    def action_other_file(self, _: str = "") -> None:
        hint = "Another database of recjudge. Leaving it brings you back here."
        self.ask(
            AskLine("Open another file", hint, placeholder="such as recjudge.db", path=True), self._open_file
        )

    def _open_file(self, typed: str) -> None:
        """Lend the terminal to an app on that file."""
        path = user_path(typed)
        try:
            # what is wrong with the file is said here, not on the terminal that comes back
            connect(path, read_only=True).close()
            self.host.lend(_command(path))
        except SuspendNotSupported:
            step = "Open it in another terminal with “recjudge --db FILE”."
            self.host.show_error(UsageError("this terminal cannot be lent to a second app", next_step=step))
        except (OSError, RecjudgeError) as error:
            if isinstance(error, OSError):
                error = RecjudgeError("the file cannot be opened", f"{error.strerror}.")
            self.host.show_error(error)


def _command(path: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "recjudge_tui", "--db", str(path), *words]


def _make_demo(db: Database) -> None:
    """Raises RecjudgeError with what the command said last."""
    command = _command(db.path, "demo", "--no-tui")
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(
        command, stdin=null, stdout=null, stderr=pipe, text=True, errors="replace"
    ) as process:
        while True:
            try:
                _, said = process.communicate(timeout=_DEMO_S)
                break
            except subprocess.TimeoutExpired:
                if get_current_worker().is_cancelled:
                    process.terminate()
    if process.returncode:
        raise RecjudgeError("the sample data could not be made", one_line(said.strip()[-400:], 400))
