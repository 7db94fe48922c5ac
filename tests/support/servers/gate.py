"""Holding the answers of `openai_api`, so that a run stands where a test wants it for as long as the test needs."""

from __future__ import annotations

from tests.support.servers.counts import stats
from tests.support.servers.loopback import post
from tests.support.servers.process import ServerProcess
from tests.support.waiting import wait_until


def allow(server: ServerProcess, answers: int | None = None) -> None:
    """Let so many more answers out, and hold those after them; None holds none any more."""
    body = b"" if answers is None else str(answers).encode()
    post(f"{server.url}/allow", content=body).raise_for_status()


def hold(server: ServerProcess, after: int = 0) -> None:
    """Hold all answers after so many, counted from now: what is held for others, who may be gone, is let out first."""
    allow(server)
    allow(server, after)


def wait_until_held(server: ServerProcess, count: int) -> None:
    """Until so many requests are at the server at once."""
    wait_until(lambda: stats(server)["concurrent"] == count, f"{count} requests at a time")
