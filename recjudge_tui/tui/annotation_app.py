"""The apps for annotators: one screen with its keys and its help. They show nothing else of the project."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from textual.screen import Screen

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.system import leaving_cleanly
from recjudge_tui.tui.annotate import AnnotationScreen, Desk, Disputes, OwnCases
from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.row_list import Command


class SingleScreenApp(RecjudgeApp):
    """Opens on one screen; leaving the screen leaves the app."""

    def __init__(self, db_path: Path, make: Callable[[], Screen[Any]]) -> None:
        super().__init__(db_path)
        self._make = make

    def get_default_screen(self) -> Screen[Any]:
        return self._make()

    def leave_screen(self) -> None:
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.exit()

    async def leave_project(self, error: RecjudgeError) -> None:
        self.end_with(error)

    def action_leave_app(self) -> None:
        if isinstance(self.screen, AnnotationScreen):
            self.screen.action_leave()
        else:
            self.exit()

    def commands(self, screen: Screen[Any]) -> Iterable[Command]:
        for command in super().commands(screen):
            if not command.title.startswith("Go to"):
                yield command


def annotation_app(db_path: Path, project_id: int, desk: Desk) -> SingleScreenApp:
    return SingleScreenApp(db_path, lambda: AnnotationScreen(project_id, desk))


def run_annotation(
    db_path: Path, project_id: int, rater_id: int, protocol: str, *, adjudicate: bool = False
) -> None:
    """Label one person's cases, or settle as a third person those on which others differ, in this terminal; returns when
    the person leaves."""
    own = OwnCases(rater_id, protocol, reveal_at_end=True)
    app = annotation_app(db_path, project_id, Disputes(project_id, rater_id, protocol) if adjudicate else own)
    with leaving_cleanly(app.leave_at_once, app.borrower):
        app.run()
    if app.fault is not None:
        raise app.fault
