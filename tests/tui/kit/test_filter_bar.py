from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.store.database import Database
from recjudge_tui.store.filters import filter_values
from recjudge_tui.tui.screens import BaseScreen, Chips, FilterBar, FilterLine, SuggestionList
from recjudge_tui.tui.widgets import TopBar
from tests.support.app.driving import press, running, settle, shown, type_text, until
from tests.support.app.projects import make_project


class Barred(BaseScreen):
    """A screen with nothing but a filter."""

    def __init__(self, values: Any) -> None:
        super().__init__()
        self.values = values
        self.applied: list[str] = []

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge")
        yield FilterBar(lambda text: parse_filter(text).chips(), "filter", self.values)

    def on_filter_bar_applied(self, message: FilterBar.Applied) -> None:
        self.applied.append(message.text)


@asynccontextmanager
async def barred(
    path: Path, values: Any, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Pilot[Any], Barred]]:
    async with running(path, size=size) as pilot:
        screen = Barred(values)
        await pilot.app.push_screen(screen)
        screen.query_one(FilterBar).open()
        await settle(pilot)
        yield pilot, screen


async def test_keys_and_values_of_the_project_are_completed(project_db: Path) -> None:
    project = make_project(project_db)
    async with barred(project_db, partial(filter_values, project_id=project)) as (pilot, screen):
        await type_text(pilot, "wh")
        assert "> why:" in shown(pilot)
        await press(pilot, "tab")
        line = screen.query_one(FilterLine)
        assert line.value == "why:"
        assert "why:swap" in shown(pilot)
        await press(pilot, "down", "right")
        assert line.value == "why:flag "
        assert not screen.query_one(SuggestionList).has_class("-open")
        await type_text(pilot, "system:co")
        await press(pilot, "tab")
        assert line.value == "why:flag system:cooc "
        await press(pilot, "enter")
        assert screen.applied == ["why:flag system:cooc"]
        assert not line.suggestions


async def test_typing_does_not_wait_for_the_values(project_db: Path) -> None:
    make_project(project_db)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    asked: list[int] = []

    def values(db: Database) -> Mapping[str, Sequence[str]]:
        asked.append(1)
        if len(asked) == 1:
            db.value(endless)
        return {"judge": ("qwen",)}

    async with running(project_db) as pilot:
        screen = Barred(values)
        await pilot.app.push_screen(screen)
        bar = screen.query_one(FilterBar)
        bar.open()
        await until(pilot, lambda: bool(bar.background._open))
        await pilot.press("w", "h")
        await pilot.pause()
        assert screen.query_one(FilterLine).value == "wh"
        assert "why:" in shown(pilot)
        bar.open()  # the job in the way is ended by the next one
        await until(pilot, lambda: bool(bar._values))
        await type_text(pilot, "judge:")
        assert "judge:qwen" in shown(pilot)


async def test_a_click_on_a_chip_takes_it_away(project_db: Path) -> None:
    make_project(project_db)
    async with barred(project_db, None) as (pilot, screen):
        bar = screen.query_one(FilterBar)
        bar.apply('why:flag "two words" conf<.6')
        await settle(pilot)
        chips = screen.query_one(Chips)
        line = shown(pilot).splitlines()[chips.region.y]
        await pilot.click(Chips, offset=(line.index("two words") - chips.region.x, 0))
        await settle(pilot)
        assert bar.text == "why:flag conf<.6"
        await pilot.click(Chips, offset=(line.index("why:flag") - chips.region.x, 0))
        await settle(pilot)
        assert screen.applied[-1] == "conf<.6"
        assert not screen.query_one(Input).has_focus
