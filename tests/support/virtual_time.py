"""An event loop whose clock jumps to the next timer: waits cost nothing, and their lengths are exact on any machine."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from recjudge_tui.runs import calls as limits

T = TypeVar("T")
# no wait of a test is as long
NEVER_S = 1e6


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.now = 1000.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self.now


class _JumpingSelector(selectors.SelectSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is None or timeout < NEVER_S
        self._loop.now += timeout or 0.0
        return super().select(0)


def played(scene: Coroutine[Any, Any, T], within_s: float = 100_000.0) -> T:
    """Play a scene to its end. The limits of calls go by the clock of its loop. TimeoutError if it waits for ever."""
    loop = VirtualTimeLoop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "time", SimpleNamespace(monotonic=loop.time, time=loop.time))
        try:
            return loop.run_until_complete(asyncio.wait_for(scene, within_s))
        finally:
            loop.close()
