"""What a test server counts of the requests it gets: `GET /stats`, and `POST /reset` to begin anew."""

from __future__ import annotations

from typing import Any

import httpx

from tests.support.servers.process import ServerProcess
from tests.support.waiting import HANG_S


def stats(server: ServerProcess) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{server.url}/stats", timeout=HANG_S, trust_env=False).json()
    return found


def request_count(server: ServerProcess) -> int:
    return int(stats(server)["requests"])


def reset(server: ServerProcess) -> None:
    httpx.post(f"{server.url}/reset", timeout=HANG_S, trust_env=False).raise_for_status()
