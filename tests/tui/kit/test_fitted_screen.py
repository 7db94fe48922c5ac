from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import ComposeResult

from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.dialogs import Dialog
from recjudge_tui.tui.screens import BaseScreen
from recjudge_tui.tui.widgets import FittedScreen, TopBar
from tests.support.app.driving import running, settle


class Page(BaseScreen):
    def compose(self) -> ComposeResult:
        self.classes_at_first = self.classes
        yield TopBar("page")


class Window(Dialog[None]):
    def compose(self) -> ComposeResult:
        self.classes_at_first = self.classes
        yield from ()


@pytest.mark.parametrize("kind", [Page, Window])
@pytest.mark.parametrize(
    ("size", "fitting"),
    [
        ((79, 24), {"-tiny", "-short"}),
        ((80, 30), {"-narrow", "-tall"}),
        ((120, 40), {"-wide", "-tall"}),
        ((160, 24), {"-wide", "-short", "-huge"}),
    ],
)
async def test_a_screen_fits_the_terminal_before_it_has_widgets(
    project_db: Path, kind: type[Page | Window], size: tuple[int, int], fitting: set[str]
) -> None:
    async with running(project_db, size=size, app_class=RecjudgeApp) as pilot:
        screen = kind()
        pilot.app.push_screen(screen)
        await settle(pilot)
        assert isinstance(screen, FittedScreen)
        expected = fitting if kind is Page else fitting - {"-huge"}
        assert screen.classes_at_first == expected
        assert screen.classes == expected
