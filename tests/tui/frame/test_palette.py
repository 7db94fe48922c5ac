"""The palette: a line each with its key, by group; keys that come before it is drawn or after it is closed."""

from __future__ import annotations

import re
from pathlib import Path

from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.row_list import Palette
from recjudge_tui.tui.runs import RunsScreen
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
