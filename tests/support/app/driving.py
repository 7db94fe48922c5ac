"""Driving the app by its keys and reading its screen as text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
import textual.app
import textual.pilot
from textual import events
from textual._compositor import Compositor
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.css.types import CSSLocation
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.screen import Screen
from textual.timer import Timer
from textual.worker import WorkerCancelled

from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.projects import ProjectsScreen
from recjudge_tui.tui.triage import CasesScreen
from tests.support.waiting import HANG_S

SIZES = ((80, 24), (120, 40))
RENDER = Compositor.render_update
PARSE = Stylesheet._parse_rules
START = Timer._start
MOST_ROUNDS = 200
MOST_TURNS = 10_000
# as long as the form waits before it estimates; timers that look at runs again take longer, and nobody waits for them
LONGEST_DELAY_S = 0.25
SHORTEST_DELAY_S = 0.002
_SHORT_TIMERS: WeakSet[Timer] = WeakSet()


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
    async with driven(app_class(path, project), size, toasts=toasts) as pilot:
        yield pilot


@asynccontextmanager
async def driven(
    app: App[Any], size: tuple[int, int] = (80, 24), *, toasts: bool = True
) -> AsyncIterator[Pilot[Any]]:
    """Any app, without the waiting, the parsing and the painting that tests can do without."""
    with pytest.MonkeyPatch.context() as patch:
        # Textual waits twice after each key until the process has computed nothing for 20 ms
        for module in (textual.app, textual.pilot):
            patch.setattr(module, "wait_for_idle", _no_task_is_ready)
        # and then calls every widget of the screen
        patch.setattr(Pilot, "_wait_for_screen", _no_task_is_ready)
        patch.setattr(Timer, "_start", start_timer)
        patch.setattr(Compositor, "render_update", _painted_later)
        patch.setattr(Stylesheet, "_parse_rules", _parsed)
        async with app.run_test(size=size, notifications=toasts) as pilot:
            await settle(pilot)
            yield pilot
            _paint(app)


async def settle(pilot: Pilot[Any]) -> None:
    await until_at_rest(pilot.app)


async def painted(pilot: Pilot[Any]) -> None:
    """At rest, and painted as a terminal shows it: what lies behind a dialog is part of that."""
    await settle(pilot)
    _paint(pilot.app)
    await settle(pilot)


async def until_at_rest(app: App[Any]) -> None:
    """Until timers that follow a key have fired, the workers they started have answered, and nothing is left to do."""
    for _ in range(MOST_ROUNDS):
        await _at_rest(app)
        if not _waits(app):
            return
        with suppress(WorkerCancelled):  # a job that a newer one replaced
            await app.workers.wait_for_complete()
        await asyncio.sleep(0.002)


async def _at_rest(app: App[Any]) -> None:
    """Until every message is processed, what it changed is laid out, and all that moves has come to its end."""
    for _ in range(MOST_ROUNDS):
        await _no_task_is_ready()
        await app._animator.wait_until_complete()
        app.screen._on_timer_update()
        if not _is_any_ready():
            return


def _parsed(sheet: Stylesheet, css: str, *where: Any, **more: Any) -> list[RuleSet]:
    """Parses each style sheet once; otherwise every app would parse the same styles again."""
    return _parsed_once(css, tuple(sheet._variables.items()), *where, **more)


@lru_cache(maxsize=1024)
def _parsed_once(
    css: str,
    variables: tuple[tuple[str, str], ...],
    read_from: CSSLocation,
    is_default_rules: bool = False,
    tie_breaker: int = 0,
    scope: str = "",
) -> list[RuleSet]:
    return PARSE(Stylesheet(variables=dict(variables)), css, read_from, is_default_rules, tie_breaker, scope)


def _painted_later(compositor: Compositor, full: bool = False, *_: object, **__: object) -> None:
    """Only collects the regions to be painted. The screen is painted once, at the end of the test; until then tests read it
    by `shown`, which renders it. Painting every update took half of the time."""
    if full:
        compositor._dirty_regions.add(compositor.size.region)


def _paint(app: App[Any]) -> None:
    if app.screen._compositor._dirty_regions:
        app._display(app.screen, RENDER(app.screen._compositor, screen_stack=app._background_screens))


async def _no_task_is_ready(*_: object) -> None:
    """Wait until the event loop has no task that could run now."""
    for _ in range(MOST_TURNS):
        await asyncio.sleep(0)
        if not _is_any_ready():
            return


def _is_any_ready() -> bool:
    """Whether any other task could run now."""
    return bool(asyncio.get_running_loop()._ready)  # type: ignore[attr-defined]


def _waits(app: App[Any]) -> bool:
    """Whether a worker is running, or a timer started by a key has not fired yet."""
    if any(not worker.is_finished for worker in app.workers):
        return True
    return any(timer._task and not timer._task.done() for timer in _SHORT_TIMERS)


def start_timer(timer: Timer) -> None:
    """Replaces Textual's `Timer._start`: timers that fire once and soon fire at once, as nobody reads what they wait for.
    It notes them, so that `_waits` need not search all widgets for them."""
    if timer._repeat == 0 and timer._interval <= LONGEST_DELAY_S:
        timer._interval = min(timer._interval, SHORTEST_DELAY_S)
        timer._skip = False  # a late tick is skipped otherwise: after 2 ms in which another thread worked, none would come
        _SHORT_TIMERS.add(timer)
    START(timer)


async def press(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
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


async def until(pilot: Pilot[Any], holds: Callable[[], bool]) -> None:
    """Until this holds and what follows from it is laid out; jobs may go on."""
    end = time.monotonic() + HANG_S
    while not holds():
        assert time.monotonic() < end, f"waited in vain; the screen is:\n{shown(pilot)}"
        await pilot.pause(0.02)
    await _at_rest(pilot.app)


def shown(pilot: Pilot[Any]) -> str:
    """The uppermost screen as lines of text."""
    return "\n".join(strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips())
