"""Keys that come before the palette has drawn its list."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.kit.palette import Palette


async def test_page_up_in_a_palette_without_lines_does_nothing(tmp_path: Path) -> None:
    app = RecjudgeApp(tmp_path / "r.db")
    async with app.run_test() as pilot:
        app.action_command_palette()
        app.action_command_palette()
        await pilot.pause(0)
        assert isinstance(app.screen, Palette)
        for action in ("page_up", "page_down", "cursor_up", "last"):
            assert await app.run_action(f"command_list('{action}')", app.screen)
        await pilot.press("pageup", "z", "z", "z", "pageup", "pagedown", "escape")
        await pilot.pause()
        assert not isinstance(app.screen, Palette)
    assert app.fault is None


async def test_keys_faster_than_the_palette_open_and_close_it_once(tmp_path: Path) -> None:
    app = RecjudgeApp(tmp_path / "r.db")
    async with app.run_test() as pilot:
        for _ in range(3):
            app.action_command_palette()
            palette = app.screen
            assert isinstance(palette, Palette)
            palette._gather_commands("too early")
            palette.dismiss()
            palette.dismiss()
            palette._gather_commands("too late")
        await pilot.pause(0.2)
        assert not isinstance(app.screen, Palette)
    assert app.fault is None
