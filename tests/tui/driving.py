"""Driving the app by its keys and reading its screen as text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from recjudge_tui.tui.app import RecjudgeApp

SIZES = ((80, 24), (120, 40))
# a screen that polls a run never rests
MOST_ROUNDS = 20


@asynccontextmanager
async def running(
    path: Path, project: str | None = None, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Pilot[Any]]:
    app = RecjudgeApp(path, project)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)
        yield pilot


async def settle(pilot: Pilot[Any]) -> None:
    """Until timers that follow a key have fired, the workers they started have answered, and the screen rests."""
    last, unchanged = "", 0
    for _ in range(MOST_ROUNDS):
        await pilot.pause(0.06)
        with suppress(WorkerCancelled):  # a job that a newer one replaced
            await pilot.app.workers.wait_for_complete()
        now = shown(pilot)
        unchanged = unchanged + 1 if now == last else 0
        if unchanged >= 2:
            break
        last = now
    await pilot.pause()


async def press(pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


async def type_text(pilot: Pilot[Any], text: str) -> None:
    await press(pilot, *["space" if c == " " else c for c in text])


async def until(pilot: Pilot[Any], holds: Callable[[], bool], seconds: float = 8.0) -> None:
    for _ in range(int(seconds / 0.05)):
        if holds():
            return
        await pilot.pause(0.05)
    raise AssertionError(f"not within {seconds} s; the screen was:\n{shown(pilot)}")


def shown(pilot: Pilot[Any]) -> str:
    """The uppermost screen as lines of text."""
    return "\n".join(strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips())
