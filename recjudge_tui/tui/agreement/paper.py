"""The printed table of the paper whose data a project holds, with the project's own judges below it."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.common.table import Screen as Output
from recjudge_tui.reports.common.table import Table, render
from recjudge_tui.reports.papers.of_project import paper_table
from recjudge_tui.tui.kit.base_screen import COMMON
from recjudge_tui.tui.kit.exporting import ExportScreen
from recjudge_tui.tui.kit.glyphs import UNICODE, glyphs
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.text_pane import TextPane
from recjudge_tui.tui.kit.top_bar import TopBar


class PaperScreen(ExportScreen):
    """The table as `recjudge reproduce` prints it; `e` writes all its columns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "export", "export", id="paper.export"),
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.table: Table | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "The paper's table")
        yield TextPane(id="paper")
        yield KeyLine()

    def on_mount(self) -> None:
        pane = self.query_one(TextPane)
        pane.focus()
        pane.show(lambda _: Content.styled("computing", "dim"))
        job = partial(paper_table, project_id=self.project_id)
        self.background.start("paper", job, self._show, self._show_failure)

    def _show(self, table: Table) -> None:
        self.table = table
        self.refresh_bindings()
        self.query_one(TextPane).show(partial(_text, table))

    def _show_failure(self, error: RecjudgeError) -> None:
        parts = [part for part in (error.title, error.cause, error.next_step) if part]
        self.query_one(TextPane).show(lambda _: Content("\n".join(map(safe_text, parts))))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "export":
            return self.table is not None
        return super().check_action(action, parameters)

    def action_export(self) -> None:
        table = self.table
        if table is not None:
            self.ask_export("paper.csv", lambda _: table)


def _text(table: Table, width: int) -> Content:
    return Content(render(table, "text", Output(width, unicode=glyphs() is UNICODE)).text)
