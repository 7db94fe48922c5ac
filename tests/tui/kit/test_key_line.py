"""The last line of a screen where not all hints fit."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.tui.screens import make_screen
from tests.support.app.driving import running, settle, shown
from tests.support.app.lists import import_lists


async def test_the_key_that_leaves_the_screen_is_always_shown(project_db: Path) -> None:
    project = import_lists(project_db)
    async with running(project_db, size=(80, 24)) as pilot:
        pilot.app.push_screen(make_screen("launch", project))
        await settle(pilot)
        assert shown(pilot).splitlines()[-1].endswith("? keys esc close or go back")
        for width in (50, 30):
            await pilot.resize_terminal(width, 24)
            await settle(pilot)
            line = shown(pilot).splitlines()[-1]
            assert line.startswith("f5 start") or width == 30
            assert line.endswith("esc close or go back")
            assert len(line) <= width
