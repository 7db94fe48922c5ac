"""A time limit for an awaitable. Unlike the one in asyncio before Python 3.12, it never swallows a cancellation."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")

if sys.version_info >= (3, 11):

    async def within(seconds: float, awaitable: Awaitable[T]) -> T:
        """The awaitable's result. If it takes longer, it is cancelled and asyncio.TimeoutError is raised."""
        async with asyncio.timeout(seconds):
            return await awaitable

else:

    async def within(seconds: float, awaitable: Awaitable[T]) -> T:
        """The awaitable's result. If it takes longer, it is cancelled and asyncio.TimeoutError is raised."""
        task = asyncio.ensure_future(awaitable)
        try:
            await asyncio.wait({task}, timeout=seconds)
            late = not task.done()
        finally:
            # also when this task is cancelled, so that nothing keeps running
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
        if late and task.cancelled():
            raise asyncio.TimeoutError
        return task.result()
