"""What a test server counts of the requests it gets: `GET /stats`, and `POST /reset` to begin anew."""

from __future__ import annotations

from typing import Any

from tests.support.servers.loopback import get, post
from tests.support.servers.process import ServerProcess


def stats(server: ServerProcess) -> dict[str, Any]:
    found: dict[str, Any] = get(f"{server.url}/stats").json()
    return found


def request_count(server: ServerProcess) -> int:
    return int(stats(server)["requests"])


def reset(server: ServerProcess) -> None:
    post(f"{server.url}/reset").raise_for_status()
