"""The palette: a line each with its key, by group; keys that come before it is drawn or after it is closed."""

from __future__ import annotations

import re
from pathlib import Path

from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.row_list import Palette
from recjudge_tui.tui.runs import MonitorScreen, RunsScreen
from recjudge_tui.tui.triage import CasesScreen
from tests.support.app.driving import press, running, settle, shown, type_text
from tests.support.app.projects import make_project


async def test_a_line_each_with_its_key_by_group(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies", size=(120, 60)) as pilot:
        await press(pilot, "colon")
        assert re.search(r"Do +c +Accept", shown(pilot))
        await type_text(pilot, "go to nowhere")
        assert "nothing matches" in shown(pilot)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, Palette)
        await press(pilot, "escape", "colon")
        await type_text(pilot, "go to runs")
        line = next(at for at, text in enumerate(shown(pilot).splitlines()) if "Go to runs" in text)
        await pilot.click(offset=(40, line))
        await settle(pilot)
        assert isinstance(pilot.app.screen, RunsScreen)


async def test_a_run_finds_what_its_project_has_by_the_words_of_a_user(project_db: Path) -> None:
    project = make_project(project_db)
    async with running(project_db, "movies", size=(120, 40)) as pilot:
        for screen in (MonitorScreen(1), RunsScreen(project), CasesScreen(project, "")):
            await pilot.app.push_screen(screen)
            await settle(pilot)
            found = tuple(pilot.app.commands(screen))
            for words in "csv,export,latex,html,settings,delete,heat map,disagree,leaderboard".split(","):
                assert any(command.has(words.split()) for command in found), words
        await press(pilot, "colon")
        await type_text(pilot, "export all verdicts")
        await press(pilot, "enter")
        assert "verdicts.csv" in shown(pilot)


async def test_keys_before_it_is_drawn_and_after_it_is_closed(tmp_path: Path) -> None:
    app = RecjudgeApp(tmp_path / "r.db")
    async with app.run_test() as pilot:
        for _ in range(3):
            app.action_command_palette()
            app.action_command_palette()
            palette = app.screen
            assert isinstance(palette, Palette)
            palette.dismiss()
            palette.dismiss()
        app.action_command_palette()
        await pilot.press("pageup", "z", "z", "z", "pageup", "pagedown", "up")
        await pilot.click(offset=(0, 23))
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, Palette)
    assert app.fault is None
