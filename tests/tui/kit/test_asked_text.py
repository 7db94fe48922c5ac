"""A text of several lines, typed or pasted."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.events import Paste

from recjudge_tui.tui.dialogs import AskText, Lines
from tests.support.app.driving import driven, press, settle, type_text


class Asking(App[str | None]):
    def on_mount(self) -> None:
        self.push_screen(AskText("Note", "A note."), self.exit)


async def asked(pasted: str, *keys: str, typed: str = "") -> str | None:
    app: Any = Asking()
    async with driven(app) as pilot:
        await type_text(pilot, typed)
        app.screen.query_one(Lines).post_message(Paste(pasted))
        await settle(pilot)
        await press(pilot, *keys)
    return app.return_value  # type: ignore[no-any-return]


async def test_a_paste_keeps_its_lines_and_enter_accepts() -> None:
    assert await asked("two\nthree\n", "enter", typed="one ") == "one two\nthree"


async def test_a_paste_brings_no_control_characters() -> None:
    assert await asked("a\x1b[31m\x07b", "enter") == "a[31mb"


async def test_escape_gives_up() -> None:
    assert await asked("words", "escape") is None
