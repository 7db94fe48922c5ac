"""A judge of another package that is hard to stop: a cancellation does not end its calls, and its fourth call is fatal."""

from __future__ import annotations

import asyncio
import contextlib

from recjudge_tui.domain.calls import Reply, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.errors import JudgeError
from recjudge_tui.judges.random_judge import RandomJudge
from recjudge_tui.judges.registry import Provider

PROVIDER = Provider("tests.support.stubborn_judge:StubbornJudge", "stubborn", "for tests")
FATAL = 4
SWALLOWED = 3


class StubbornJudge:
    name = "stubborn"
    rater_kind: RaterKind = "random"
    cacheable = False
    concurrency = 8

    def __init__(self, spec: JudgeSpec) -> None:
        self._calls = 0
        self._random = RandomJudge(JudgeSpec(spec="random"))

    async def prepare(self, workload: Workload) -> Identity:
        return Identity(name="stubborn")

    async def ask(self, request: Request) -> Reply:
        self._calls += 1
        if self._calls == FATAL:
            raise JudgeError("The model is gone")
        for _ in range(SWALLOWED):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)
        return await self._random.ask(request)

    async def close(self) -> None:
        return None
