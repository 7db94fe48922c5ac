from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from recjudge_tui.errors import CallError, UsageError
from recjudge_tui.judges import servers as endpoints
from recjudge_tui.judges.http import UnreachableError
from recjudge_tui.judges.servers import Endpoints, checked_url


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


async def test_a_worker_stays_at_its_server_as_long_as_none_has_fewer_calls() -> None:
    pool = Endpoints(("a", "b"))
    asked: dict[int, list[str]] = {lane: [] for lane in range(4)}

    async def worker(lane: int) -> None:
        async def action(url: str) -> None:
            asked[lane].append(url)
            await asyncio.sleep(0)

        for _ in range(10):
            await pool.call(action, lane)

    await asyncio.gather(*(asyncio.create_task(worker(lane)) for lane in range(4)))
    assert {lane: set(urls) for lane, urls in asked.items()} == {0: {"a"}, 1: {"b"}, 2: {"a"}, 3: {"b"}}


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(endpoints, "time", made)
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
    clock.now += endpoints.ASIDE_S
    assert await pool.call(action) == "dead"


async def test_when_all_are_dead_each_call_still_tries_and_says_so() -> None:
    pool = Endpoints(("a", "b"))
    asked: list[str] = []

    async def action(url: str) -> None:
        asked.append(url)
        raise UnreachableError("no")

    for _ in range(2):
        with pytest.raises(UnreachableError) as caught:
            await pool.call(action)
        assert (caught.value.kind, caught.value.retry) == ("connection", True)
    assert asked[:2] == ["a", "b"]
    assert len(asked) == 3


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


@pytest.mark.parametrize("url", ["http://user:planted-key@host/v1", "https://host/v1?key=planted-key"])
def test_a_url_that_holds_a_secret_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_url(url)
    assert "planted-key" not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("http://host:99999", "port"),
        ("http://host:0/v1", "port"),
        ("http://host:", "port"),
        ("http://host:-1", "port"),
        ("http://host:abc", "port"),
        ("http://host:8_0", "port"),
        ("http://host:٣", "port"),
        ("http://[::1]:99999/v1", "port"),
        ("http://[::1", "IPv6"),
        ("http://[::1]x:80", "port"),
        ("http://::1:80", "port"),
        ("http://[zz]", "IPv6"),
        ("http://256.1.1.1:80", "IPv4"),
        ("http://a b", "space"),
        ("http://host/a b", "space"),
        ("http://host/\x01", "space"),
        ("http://host\\x", "space"),
        ("http://..:80", "host"),
        (f"http://{'a' * 70}.com", "host"),
        ("http://host/" + "a" * 70_000, "long"),
        ("http://\u202ehost", "host"),
        ("host:80", "begin"),
    ],
)
def test_a_url_that_cannot_be_called_is_refused_and_says_why(url: str, fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_url(url)
    assert fault.lower() in caught.value.cause.lower()
    assert len(str(caught.value)) < 500
    assert "HOST:PORT" in caught.value.next_step
