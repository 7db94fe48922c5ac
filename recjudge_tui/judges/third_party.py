"""A judge of another package in a thread of its own: code that blocks there holds up neither time limits nor signals."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.metadata import EntryPoint
from typing import Any, TypeVar

from recjudge_tui.domain.calls import Reply, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.errors import JudgeError, RecjudgeError
from recjudge_tui.judges.base import Judge, within
from recjudge_tui.plugins import load_plugin, package_of

T = TypeVar("T")
# for a judge that does not block this is ages
CLOSED_WITHIN_S = 2.0


class ThirdPartyJudge:
    """Everything about the judge itself is as its package says; its coroutines run in an event loop of this judge's own. A
    call that is given up, because of a time limit or a signal, is cancelled; code that blocks notices nothing of it, and
    its thread ends with the process."""

    def __init__(self, point: EntryPoint, spec: JudgeSpec) -> None:
        """Raises UsageError if the package cannot be loaded or makes no judge of this name."""
        self._package = package_of(point)
        make: Callable[[JudgeSpec], Judge] = load_plugin(point)
        try:
            self._judge = make(spec)
        except RecjudgeError:
            raise
        except Exception as error:  # noqa: BLE001 - another package's code
            raise self._fault("cannot be used", error) from None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=spec.spec, daemon=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._judge, name)

    async def prepare(self, workload: Workload) -> Identity:
        return await self._within(lambda: self._judge.prepare(workload), workload.timeout_s)

    async def ask(self, request: Request) -> Reply:
        return await self._within(lambda: self._judge.ask(request))

    async def close(self) -> None:
        if not self._thread.is_alive():
            return
        with suppress(RecjudgeError):
            await self._within(self._judge.close, CLOSED_WITHIN_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, CLOSED_WITHIN_S)
        if not self._thread.is_alive():
            self._loop.close()

    async def _within(self, work: Callable[[], Awaitable[T]], limit_s: float | None = None) -> T:
        async def working() -> T:
            return await work()

        if self._thread.ident is None:
            self._thread.start()
        future = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(working(), self._loop))
        try:
            return await within(limit_s, future)
        except RecjudgeError:
            raise
        except asyncio.TimeoutError:
            raise self._fault("does not answer", f"it gave nothing back within {limit_s:g} s") from None
        except Exception as error:  # noqa: BLE001 - another package's code
            raise self._fault("failed", error) from None

    def _fault(self, what: str, why: object) -> JudgeError:
        cause = f"{type(why).__name__}: {why}" if isinstance(why, Exception) else str(why).capitalize()
        return JudgeError(
            f"The judge of the package {self._package} {what}",
            f"{cause}.",
            "Report it to the authors of the package.",
        )
