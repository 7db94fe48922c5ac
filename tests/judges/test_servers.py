from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import CallError, UsageError
from recjudge_tui.judges import local_servers, servers
from recjudge_tui.judges.http import Client, UnreachableError
from recjudge_tui.judges.servers import Endpoints, checked_url
from recjudge_tui.runs.engine import work
from recjudge_tui.store.schema import connect
from tests.support.runs import calls, make_project, planned
from tests.support.servers.counts import stats
from tests.support.servers.gate import allow, hold, wait_until_held
from tests.support.servers.process import ServerProcess, start
from tests.support.waiting import HANG_S, wait_until


async def test_each_call_goes_to_the_endpoint_with_the_fewest_in_flight() -> None:
    pool = Endpoints(("a", "b", "c"))
    used: Counter[str] = Counter()
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()

    async def action(url: str) -> None:
        used[url] += 1
        running[url] += 1
        most[url] = max(most[url], running[url])
        await asyncio.sleep(0.01)
        running[url] -= 1

    await asyncio.gather(*(pool.call(action) for _ in range(12)))
    assert used == {"a": 4, "b": 4, "c": 4}
    assert most == {"a": 4, "b": 4, "c": 4}


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(servers, "time", made)
    return made


async def test_an_unreachable_endpoint_is_set_aside_and_tried_again_later(clock: Clock) -> None:
    pool = Endpoints(("dead", "alive"))
    asked: list[str] = []
    down = {"dead"}

    async def action(url: str) -> str:
        asked.append(url)
        if url in down:
            raise UnreachableError("no")
        return url

    assert [await pool.call(action) for _ in range(3)] == ["alive"] * 3
    assert asked == ["dead", "alive", "alive", "alive"]
    down.clear()
    clock.now += servers.ASIDE_S
    assert await pool.call(action) == "dead"


def too_many(seconds: float | None) -> CallError:
    return CallError("rate_limit", "too many", retry=True, retry_after=seconds)


async def test_a_server_that_asks_for_a_pause_gets_it_and_the_others_go_on(clock: Clock) -> None:
    pool = Endpoints(("a", "b"))

    async def action(url: str) -> str:
        return url

    error = pool.pause_server("a", too_many(30))
    assert isinstance(error, CallError)
    assert error.retry_after == 0
    assert [await pool.call(action) for _ in range(3)] == ["b"] * 3
    error = pool.pause_server("b", too_many(60))
    assert isinstance(error, CallError)
    assert error.retry_after == 30, "the first of them that may be asked again"


@pytest.mark.parametrize(
    "url", ["http://user:planted-key@host/v1", "http://host/v1?key=planted-key", "http://host/v1#planted-key"]
)
def test_a_url_that_holds_a_secret_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_url(url)
    assert "planted-key" not in str(caught.value) + repr(caught.value)
    assert "Use http://host/v1 instead" in caught.value.cause


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("http://host:99999", "port"), ("http://host:0/v1", "port"), ("http://host:", "port"), ("http://host:-1", "port"),
        ("http://host:abc", "port"), ("http://host:8_0", "port"), ("http://host:٣", "port"), ("http://::1:80", "port"),
        ("http://[::1]:99999/v1", "port"), ("http://[::1", "IPv6"), ("http://[::1]x:80", "port|ipv6"),
        ("http://[zz]", "IPv6"), ("http://256.1.1.1:80", "IPv4"), ("http://a b", "space"), ("http://host/a b", "space"),
        ("http://host/\x01", "space"),
        ("http://host\\x", "space"), ("http://..:80", "host"), (f"http://{'a' * 70}.com", "host"),
        ("http://host/" + "a" * 70_000, "long"), ("http://\u202ehost", "host"), ("host:80", "begin"),
    ],
)  # fmt: skip
def test_a_url_that_cannot_be_called_is_refused_and_says_why(url: str, fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_url(url)
    assert any(word in caught.value.cause.lower() for word in fault.lower().split("|"))
    assert len(str(caught.value)) < 500
    assert "HOST:PORT" in caught.value.next_step


# ---- several servers -----------------------------------------------------------------------------------------


def requests_at(server: ServerProcess) -> int:
    found: int = stats(server)["requests"]
    return found


def test_no_call_is_lost_when_a_server_is_killed_and_it_is_used_again_when_it_is_back(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path))
    monkeypatch.setattr(servers, "ASIDE_S", 0.2)
    log = tmp_path / "log"
    with connect(project_db) as db, start("openai_api", "--log", log) as one, start("openai_api") as two:
        make_project(db, users=60)
        spec = JudgeSpec(spec="openai:hash-judge", base_urls=(one.url, two.url))
        run = planned(db, spec, concurrency=8)
        back: list[ServerProcess] = []
        for server in (one, two):
            hold(server, after=30)

        def kill_and_restart() -> None:
            wait_until(lambda: stats(one)["concurrent"] + stats(two)["concurrent"] == 8)
            os.kill(one.pid, signal.SIGKILL)
            # its calls are at the other one now, and so no more are made until that one answers
            wait_until_held(two, 8)
            back.append(start("openai_api", "--port", urlsplit(one.url).port))
            time.sleep(servers.ASIDE_S)
            allow(two)

        killing = threading.Thread(target=kill_and_restart)
        killing.start()
        try:
            ended = work(project_db, run)
        finally:
            killing.join(HANG_S)
        (again,) = back
        with again:
            after = requests_at(again)
        states = {call["state"] for call in calls(db, run)}
        assert (ended.state, ended.failed, states) == ("done", 0, {"done"})
        assert after > 0, "the server that came back was asked again"
        assert requests_at(two) > 0
        before = log.read_text(encoding="utf-8").count("\n")
        assert before + after + requests_at(two) >= 120


# ---- local servers -------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_else(monkeypatch: pytest.MonkeyPatch) -> int:
    """No server is named by the environment; gives a port at which nothing answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{port}")
    monkeypatch.setattr(local_servers, "USUAL", {})
    return port


def test_servers_are_named_with_their_models(
    nothing_else: int,
    ollama_server: ServerProcess,
    openai_server: ServerProcess,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama_server.url)
    port = int(openai_server.url.rpartition(":")[2])
    monkeypatch.setattr(local_servers, "USUAL", {"vLLM": port, "LM Studio": nothing_else})
    ollama, other = local_servers.local_servers(HANG_S)
    assert (ollama.name, ollama.base_urls) == ("Ollama", ())
    assert [spec for spec, _ in ollama.judges] == ["ollama:hash-judge:latest", "ollama:other:1b"]
    assert (other.name, other.place) == ("vLLM", f"localhost:{port}")
    assert other.base_urls == (f"http://127.0.0.1:{port}/v1",)
    assert ("openai:hash-judge", "") in other.judges
    monkeypatch.setattr(local_servers, "USUAL", {})
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url)
    assert [server.name for server in local_servers.local_servers(HANG_S)] == ["Ollama", "a server"]


def test_a_server_of_another_machine_is_not_asked(nothing_else: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://203.0.113.1:1/v1")
    asked: list[str] = []

    async def refused(client: Client, method: str, url: str, **_: object) -> None:
        asked.append(url)
        raise UnreachableError("no")

    monkeypatch.setattr(Client, "send", refused)
    assert local_servers.local_servers(HANG_S) == []
    assert asked == [f"http://127.0.0.1:{nothing_else}/api/tags"]
