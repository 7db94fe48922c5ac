"""Driving the app by its keys and reading its screen as text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.screen import Screen
from textual.worker import WorkerCancelled

from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.cases.screen import CasesScreen
from recjudge_tui.tui.projects.screen import ProjectsScreen

SIZES = ((80, 24), (120, 40))
# a screen that polls a run never rests
MOST_ROUNDS = 20
LONGEST_DELAY_S = 0.3


class AllVerdicts(RecjudgeApp):
    """Opens on all verdicts of the named project, by number, and not on its home; without a name on the projects."""

    def __init__(self, db_path: Path, project: str | None = None) -> None:
        super().__init__(db_path, project)
        self._named = project is not None

    def get_default_screen(self) -> Screen[Any]:
        if self._open_first is None or not self._named:
            return ProjectsScreen()
        return CasesScreen(self._open_first, "")


@asynccontextmanager
async def running(
    path: Path,
    project: str | None = None,
    size: tuple[int, int] = (80, 24),
    *,
    toasts: bool = True,
    app_class: type[RecjudgeApp] = AllVerdicts,
) -> AsyncIterator[Pilot[Any]]:
    """The app on a project: on all of its verdicts, or with `RecjudgeApp` where users find themselves."""
    app = app_class(path, project)
    async with app.run_test(size=size, notifications=toasts) as pilot:
        await settle(pilot)
        yield pilot


async def settle(pilot: Pilot[Any]) -> None:
    """Until timers that follow a key have fired, the workers they started have answered, and nothing is left to do."""
    quiet = 0
    for _ in range(MOST_ROUNDS):
        await pilot.pause()
        busy = _waits(pilot)
        with suppress(WorkerCancelled):  # a job that a newer one replaced
            await pilot.app.workers.wait_for_complete()
        # what a worker found may still be under way to the screen: twice quiet is quiet
        quiet = 0 if busy else quiet + 1
        if quiet == 2:
            return


def _waits(pilot: Pilot[Any]) -> bool:
    """Whether a worker is at work, or a timer that follows a key has still to fire."""
    if any(not worker.is_finished for worker in pilot.app.workers):
        return True
    timers = [timer for screen in pilot.app.screen_stack for timer in screen._timers]
    return any(
        timer._repeat == 0 and timer._interval <= LONGEST_DELAY_S and timer._task and not timer._task.done()
        for timer in timers
    )


async def press(pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


async def type_text(pilot: Pilot[Any], text: str) -> None:
    """Type into the line that has the focus, as fast as a paste comes from a terminal without bracketed paste."""
    for character in text:
        key = "space" if character == " " else _character_to_key(character)
        pilot.app.post_message(events.Key(key, character))
    await settle(pilot)


async def filter_by(pilot: Pilot[Any], text: str) -> None:
    """Write `text` behind the filter that stands, and apply it."""
    await press(pilot, "slash")
    await type_text(pilot, text)
    await press(pilot, "enter")


async def until(pilot: Pilot[Any], holds: Callable[[], bool], seconds: float = 8.0) -> None:
    for _ in range(int(seconds / 0.05)):
        if holds():
            return
        await pilot.pause(0.05)
    raise AssertionError(f"not within {seconds} s; the screen was:\n{shown(pilot)}")


def shown(pilot: Pilot[Any]) -> str:
    """The uppermost screen as lines of text."""
    return "\n".join(strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips())
