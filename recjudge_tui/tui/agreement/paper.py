"""The printed tables of the paper whose data a project holds, with the project's own judges in them."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.page import render_page
from recjudge_tui.reports.common.table import Screen as Output
from recjudge_tui.reports.papers.runner import Reproduction, of_project
from recjudge_tui.store.database import Database
from recjudge_tui.tui.kit.base_screen import COMMON
from recjudge_tui.tui.kit.exporting import ExportScreen
from recjudge_tui.tui.kit.glyphs import UNICODE, glyphs
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.text_pane import TextPane
from recjudge_tui.tui.kit.top_bar import TopBar


class PaperScreen(ExportScreen):
    """The tables as `recjudge reproduce` prints them; `e` writes every figure as a row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "export", "export", id="paper.export"),
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.paper: Reproduction | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "The paper's table")
        yield TextPane(id="paper")
        yield KeyLine()

    def on_mount(self) -> None:
        pane = self.query_one(TextPane)
        pane.focus()
        pane.show(lambda _: Content.styled("computing", "dim"))
        job = partial(_of_project, project_id=self.project_id)
        self.background.start("paper", job, self._show, self._show_failure)

    def _show(self, paper: Reproduction) -> None:
        self.paper = paper
        self.refresh_bindings()
        self.query_one(TextPane).show(partial(_text, paper))

    def _show_failure(self, error: RecjudgeError) -> None:
        parts = [part for part in (error.title, error.cause, error.next_step) if part]
        self.query_one(TextPane).show(lambda _: Content("\n".join(map(safe_text, parts))))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "export":
            return self.paper is not None
        return super().check_action(action, parameters)

    def action_export(self) -> None:
        if (paper := self.paper) is not None:
            self.ask_export("paper.csv", lambda _: paper.rows)


def _of_project(db: Database, project_id: int) -> Reproduction:
    return of_project(Project.numbered(db, project_id))


def _text(paper: Reproduction, width: int) -> Content:
    return Content(render_page(paper.page, "text", Output(width, unicode=glyphs() is UNICODE)).text)
