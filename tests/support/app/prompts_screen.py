"""The prompts screen opened for a test, and what can be read off it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from recjudge_tui.store.prompts import get_prompt, load_shipped, store_prompt
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.prompts import PromptsScreen
from recjudge_tui.tui.widgets import TextPane
from tests.support.app.driving import running, settle


@asynccontextmanager
async def prompts(
    path: Path, project: int, on: str = "", size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Pilot[Any], PromptsScreen]]:
    """The screen, with the cursor on the newest version of the prompt `on`."""
    async with running(path, size=size) as pilot:
        screen = PromptsScreen(project)
        pilot.app.push_screen(screen)
        await settle(pilot)
        if on:
            screen.rows.go_to(next(row["id"] for row in screen.every if row["name"] == on))
            await settle(pilot)
        yield pilot, screen


def front(pilot: Pilot[Any]) -> object:
    return pilot.app.screen


def order(screen: PromptsScreen) -> str:
    return screen.case.order


def pane(screen: PromptsScreen) -> str:
    return screen.query_one(TextPane).text()


def title(screen: PromptsScreen) -> str:
    return str(screen.query_one(TextPane).border_title)


def versions(path: Path, name: str) -> list[tuple[int, str]]:
    with connect(path) as db:
        rows = db.rows("SELECT version, origin FROM prompts WHERE name = ? ORDER BY version", (name,))
        return [tuple(row) for row in rows]


def second_version(path: Path, name: str = "pairwise-media") -> None:
    with connect(path) as db:
        load_shipped(db)
        prompt = get_prompt(db, name)[2]
        store_prompt(
            db, prompt.model_copy(update={"system": prompt.system.replace("You compare", "You weigh")})
        )
