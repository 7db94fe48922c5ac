"""The palette: a line each with its key, by group; keys that come before it is drawn or after it is closed."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.dialogs import AskLine, Palette
from recjudge_tui.tui.runs import RunsScreen
from tests.support.app.driving import press, running, settle, shown, type_text
from tests.support.app.projects import make_project


async def test_a_line_each_with_its_key_by_group(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await press(pilot, "colon")
        lines = [part.strip() for line in shown(pilot).splitlines() for part in line.split("│")]
        at = lines.index("Do")
        assert any(line.startswith("Accept ") and line.endswith(" c") for line in lines[at:])
        await type_text(pilot, "go to")
        lines = [part.strip() for line in shown(pilot).splitlines() for part in line.split("│")]
        assert "Go to" in lines
        assert "Do" not in lines
        await type_text(pilot, " nowhere")
        assert "nothing matches" in shown(pilot)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, Palette)
        await press(pilot, "escape", "colon")
        await type_text(pilot, "go to runs")
        line = next(at for at, text in enumerate(shown(pilot).splitlines()) if "Go to runs" in text)
        await pilot.click(offset=(10, line))
        await settle(pilot)
        assert isinstance(pilot.app.screen, RunsScreen)


async def test_the_keys_of_the_screen_and_then_the_terms(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies", size=(120, 60)) as pilot:
        await press(pilot, "question_mark")
        lines = [part.strip() for line in shown(pilot).splitlines() for part in line.split("│")]
        order = [lines.index(title) for title in ("Do", "Go to", "Move", "On every screen")]
        assert order == sorted(order)
        assert any(line.startswith("Accept ") and line.endswith(" c") for line in lines[order[0] : order[1]])
        await type_text(pilot, "swap")
        assert "swap: The same pair shown again in the other order" in shown(pilot)
        assert "Terms" in shown(pilot)
        await press(pilot, *["backspace"] * 4)
        await type_text(pilot, "add a tag")
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, AskLine)


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
