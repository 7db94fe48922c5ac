"""What one would click is there to be clicked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import AskLine
from recjudge_tui.tui.home import HomeScreen, PartList
from recjudge_tui.tui.projects import ProjectsScreen
from recjudge_tui.tui.row_list import RowList
from recjudge_tui.tui.screens import make_screen
from recjudge_tui.tui.triage import CasesScreen
from recjudge_tui.tui.verdict_list import CaseStrip, VerdictList
from recjudge_tui.tui.widgets import KeyLine, TopBar
from tests.support.app.driving import press, running, settle, shown, type_text, until
from tests.support.app.projects import make_project


async def test_rows_are_clicked(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db) as pilot:
        line = next(text for text in shown(pilot).splitlines() if "movies" in text)
        row = shown(pilot).splitlines().index(line)
        table = pilot.app.screen.query_one(RowList)
        await pilot.click(RowList, offset=(4, row - table.region.y))
        await settle(pilot)
        # the cursor is on what to read first: a click on it opens it
        line = next(text for text in shown(pilot).splitlines() if "▲ u" in text)
        first = pilot.app.screen.query_one("#first", PartList)
        await pilot.click("#first", offset=(6, shown(pilot).splitlines().index(line) - first.region.y))
        await settle(pilot)
        assert isinstance(pilot.app.screen, CasesScreen)
        # a click on an arrow goes to the next case, one beside them unfolds the list
        assert "1/6 ▸" in shown(pilot)
        await pilot.click(CaseStrip, offset=(6, 0))
        await settle(pilot)
        assert "2/6 ▸" in shown(pilot)
        await pilot.click(CaseStrip, offset=(40, 0))
        await settle(pilot)
        await pilot.click(VerdictList, offset=(4, 5))
        await settle(pilot)
        assert pilot.app.screen.query_one(VerdictList).cursor == 3


async def test_the_footer_is_clicked(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db) as pilot:
        column = shown(pilot).splitlines()[-1].index("n new")
        await pilot.click(KeyLine, offset=(column + 3, 0))
        await settle(pilot)
        assert isinstance(pilot.app.screen, AskLine)


async def test_the_places_of_the_top_line_are_clicked(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db) as pilot:
        await press(pilot, "enter", "enter")
        assert len(pilot.app.screen_stack) == 3
        # where one is stays; the project is its home
        await pilot.click(TopBar, offset=(shown(pilot).index("Read first") + 2, 0))
        await settle(pilot)
        assert len(pilot.app.screen_stack) == 3
        await pilot.click(TopBar, offset=(shown(pilot).index("movies") + 2, 0))
        await until(pilot, lambda: isinstance(pilot.app.screen, HomeScreen))
        await settle(pilot)
        assert len(pilot.app.screen_stack) == 2
        await pilot.click(TopBar, offset=(3, 0))
        await until(pilot, lambda: isinstance(pilot.app.screen, ProjectsScreen))


async def test_the_keys_of_a_dialog_are_clicked(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await press(pilot, "Q", "w")
        assert isinstance(pilot.app.screen, AskLine)
        await _click_text(pilot, "esc cancel")
        assert isinstance(pilot.app.screen, CasesScreen)
        await press(pilot, "w")
        await type_text(pilot, "odd")
        await _click_text(pilot, "enter accept")
        assert isinstance(pilot.app.screen, CasesScreen)
        await press(pilot, "v")
        await _click_text(pilot, " 2 b  ")
        assert isinstance(pilot.app.screen, CasesScreen)
    with connect(project_db) as db:
        assert db.value("SELECT count(*) FROM raters WHERE kind = 'reader'") == 1


async def test_tabs_of_reports_figures_and_kinds_of_data_are_clicked(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await press(pilot, "a")
        await until(pilot, lambda: "[leaderboard]" in shown(pilot))
        await _click_text(pilot, "flags  metrics")
        await until(pilot, lambda: "[flags]" in shown(pilot))
        await _click_text(pilot, "leaderboard  agreement")
        await until(pilot, lambda: "[leaderboard]" in shown(pilot))
        await press(pilot, "f")
        await until(pilot, lambda: "[Q matrix]" in shown(pilot))
        await _click_text(pilot, "confusion")
        await until(pilot, lambda: "[confusion]" in shown(pilot))
        pilot.app.push_screen(make_screen("data", 1))
        await until(pilot, lambda: "[users]" in shown(pilot))
        await settle(pilot)
        await _click_text(pilot, "lists events")
        await until(pilot, lambda: "[lists]" in shown(pilot))


async def _click_text(pilot: Pilot[Any], text: str) -> None:
    lines = shown(pilot).splitlines()
    row = next(at for at, line in enumerate(lines) if text in line)
    await pilot.click(offset=(lines[row].index(text) + 1, row))
    await settle(pilot)
