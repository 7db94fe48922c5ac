from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import recjudge_tui
from recjudge_tui.judges.http.deadline import within
from recjudge_tui.runs.limits import CallLimits

PACKAGE = Path(recjudge_tui.__file__).parent


async def test_a_result_in_time_is_returned() -> None:
    assert await within(5, asyncio.sleep(0, "done")) == "done"


async def test_a_late_result_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(asyncio.TimeoutError):
        await within(0.01, slow())
    assert cancelled.is_set()


async def test_a_cancelled_caller_gets_a_cancellation_and_no_timeout() -> None:
    task = asyncio.create_task(within(60, asyncio.sleep(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_is_not_swallowed_when_the_result_comes_at_the_same_moment() -> None:
    """`asyncio.wait_for` before Python 3.12 returns the result here, and the task goes on as if nothing were."""
    result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(within(60, result))
    await asyncio.sleep(0)
    result.set_result("an answer")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_pause_does_not_swallow_a_cancellation() -> None:
    limits = CallLimits(asyncio.Event())
    task = asyncio.create_task(limits.sleep(60))
    for _ in range(3):
        await asyncio.sleep(0)
    limits.stopping.set()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_the_package_uses_no_other_time_limit() -> None:
    users = [path.name for path in PACKAGE.rglob("*.py") if "asyncio.wait_for(" in path.read_text("utf-8")]
    assert users == []
