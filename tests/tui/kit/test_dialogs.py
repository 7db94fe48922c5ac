"""Windows over a screen, and clicks and keys that come too late for what was there."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Input

from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.dialogs import AskLine, Confirm, Notice
from recjudge_tui.tui.widgets import FigureTable


@pytest.mark.parametrize("dialog", [Confirm, Notice, AskLine])
async def test_a_dialog_closes_once_and_leaves_the_screen_below(tmp_path: Path, dialog: type) -> None:
    app = RecjudgeApp(tmp_path / "r.db")
    answers: list[object] = []
    async with app.run_test() as pilot:
        below = app.screen
        window = dialog("Title", "Text")
        app.push_screen(window, answers.append)
        await pilot.pause()
        if isinstance(window, AskLine):
            line = window.query_one(Input)
            for _ in range(2):
                line.post_message(Input.Submitted(line, "x"))
        else:
            window.dismiss(None)
            window.dismiss(None)
        await pilot.pause()
        assert app.screen is below
    assert len(answers) == 1
    assert app.fault is None


class Lists(App[None]):
    def compose(self) -> ComposeResult:
        yield FigureTable(id="table")

    def on_mount(self) -> None:
        table = self.query_one(FigureTable)
        table.add_columns("a", "b")
        for _ in range(3):
            table.add_row("1", "2")


@pytest.mark.parametrize("row", [2, 0])
async def test_a_click_on_a_row_that_is_gone_does_nothing(row: int) -> None:
    app = Lists()
    async with app.run_test() as pilot:
        await pilot.pause()
        table = app.query_one(FigureTable)
        # the rows go after the paint, and before the click is read
        with app.batch_update():
            table.rows.clear()
            table.ordered_columns.clear() if row == 0 else None
            await pilot.click("#table", offset=(2, row + 1))
