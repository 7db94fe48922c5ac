"""The home of a project: its data, its judges' results, their agreement with people, and what needs a reader."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property, partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.home import RUNS_NAMED, Home
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import ActiveRun, NewestRun, newest_runs
from recjudge_tui.tui.home.board import HomeBoard
from recjudge_tui.tui.home.layout import laid_out
from recjudge_tui.tui.home.lines import Destination
from recjudge_tui.tui.home.reading import HomeReader
from recjudge_tui.tui.kit.base_screen import COMMON
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.kit.importing import ImportScreen
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.top_bar import TopBar

# screen -> the meaning of the argument of `Destination`
_ARGUMENTS = {"cases": "filter_text", "data": "kind"}


class HomeScreen(ImportScreen):
    """`HomeScreen(project_id)`. A worker reads the home part by part. Leaving the screen stops it. Returning resumes
    it, or starts it again if the database has changed meanwhile.
    """

    AUTO_FOCUS = "HomeBoard"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Q", "go('cases')", "queue", show=False, id="home.queue"),
        Binding("i", "import", "import", id="home.import"),
        Binding("n", "go('launch')", "new run", id="home.launch"),
        Binding("r", "go('runs')", "runs", id="home.runs"),
        Binding("a", "go('agreement')", "agreement", id="home.agreement"),
        Binding("l", "go('annotate')", "label", id="home.annotate"),
        Binding("B", "go('data')", "browse the data", show=False, id="home.data"),
        Binding("d", "go('compare')", "compare raters", show=False, id="home.compare"),
        Binding("p", "go('prompts')", "prompts", show=False, id="home.prompts"),
        Binding("V", "verdicts", "all verdicts", show=False, id="home.verdicts"),
        Binding("R", "read_again", "read again", show=False, id="home.refresh"),
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.name_of_project = ""
        # the newest of each part
        self.home = Home()
        self._seen: tuple[int, int] | None = None
        self._was_live = False

    def compose(self) -> ComposeResult:
        self.name_of_project = self.project_title(self.project_id)
        yield TopBar("recjudge", self.name_of_project)
        yield HomeBoard()
        yield KeyLine()

    @cached_property
    def _reader(self) -> HomeReader:
        return HomeReader(self.background, self._take_part)

    def on_screen_resume(self) -> None:
        if self.host.db.change_count() != self._seen:
            self.action_read_again()
        else:
            self._reader.read_on()

    def on_screen_suspend(self) -> None:
        super().on_screen_suspend()
        self.background.stop()
        self._seen = self.host.db.change_count()

    # ---- reading

    def action_read_again(self) -> None:
        self._reader.read(self.project_id)

    def _take_part(self, _: int, home: Home) -> None:
        newer = {f.name: value for f in fields(Home) if (value := getattr(home, f.name)) is not None}
        self.home = replace(self.home, **newer)
        if home.totals is not None:
            totals = f"{quantity(home.totals.verdicts, 'verdict')} on {quantity(home.totals.cases, 'case')}"
            self.query_one(TopBar).show(right=totals)
        self._show()

    @on(HomeBoard.Resized)
    def _show(self) -> None:
        board = self.query_one(HomeBoard)
        size = board.scrollable_content_region.size
        if size.width > 0:
            board.show(laid_out(self.home, self.name_of_project, self._active(), size, glyphs()))

    def _active(self) -> list[ActiveRun]:
        return [run for run in self.host.active if run.project_id == self.project_id]

    def runs_changed(self, active: list[ActiveRun]) -> None:
        super().runs_changed(active)
        live = any(run.project_id == self.project_id for run in active)
        if self._was_live and not live:
            self.action_read_again()
        elif live:
            self.background.start("runs", partial(_runs, project_id=self.project_id), self._show_runs)
        self._was_live = live

    def _show_runs(self, runs: tuple[NewestRun, ...]) -> None:
        self.home = replace(self.home, runs=runs)
        self._show()

    def action_import(self) -> None:
        self.ask_import(self.project_title(self.project_id))

    def imported(self, project: str) -> None:
        self.action_read_again()

    # ---- opening

    @on(HomeBoard.Opened)
    def _open(self, message: HomeBoard.Opened) -> None:
        self._go_to(message.destination)

    def action_go(self, screen: str) -> None:
        self._go_to(Destination(screen))

    def action_verdicts(self) -> None:
        self.open_screen("cases", self.project_id, filter_text="")

    def _go_to(self, destination: Destination) -> None:
        if destination.screen == "import":
            self.action_import()
        elif destination.screen == "figure":
            self._open_figure(destination.argument)
        elif destination.screen == "monitor":
            self.open_screen("monitor", int(destination.argument))
        else:
            more = {_ARGUMENTS[destination.screen]: destination.argument} if destination.argument else {}
            self.open_screen(destination.screen, self.project_id, **more)

    def _open_figure(self, name: str) -> None:
        from recjudge_tui.tui.figures.screen import FiguresScreen

        if self.home.board is not None and self.home.board.topic is not None:
            self.app.push_screen(FiguresScreen(self.project_id, self.home.board.topic, name, {}))


def _runs(db: Database, project_id: int) -> tuple[NewestRun, ...]:
    return newest_runs(db, project_id, RUNS_NAMED)
