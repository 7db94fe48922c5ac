"""Connecting to a name: no socket stays open, whenever the caller is cancelled."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

import httpx
import pytest

from recjudge_tui.judges.http import addresses
from recjudge_tui.judges.http.addresses import connected_socket
from recjudge_tui.judges.http.deadline import within
from recjudge_tui.judges.http.transport import DirectTransport
from tests.support.stub_server import answer, serving
from tests.support.waiting import HANG_S


def resolver(*addresses: str) -> Callable[..., object]:
    """A name's addresses, as the system's resolver finds them."""

    async def resolve(host: str, port: int) -> list[tuple[object, ...]]:
        families = {True: socket.AF_INET6, False: socket.AF_INET}
        return [(families[":" in a], socket.SOCK_STREAM, 6, "", (a, port)) for a in addresses]

    return resolve


@pytest.mark.parametrize("host", ["127.0.0.1", "name.test"])
@pytest.mark.parametrize("limit_s", [None, 5.0])
async def test_a_call_cancelled_in_any_turn_of_the_loop_leaves_no_socket(
    host: str, limit_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "resolved", resolver("127.0.0.3", "127.0.0.1"))
    opened: list[socket.socket] = []
    connected = addresses._connected

    async def recorded(address: tuple[int, int, int, str, object]) -> socket.socket:
        opened.append(await connected(address))
        return opened[-1]

    monkeypatch.setattr(addresses, "_connected", recorded)
    ended = 0
    with serving(lambda line, number: answer(200, {})) as stub:
        url = stub.url.replace("127.0.0.1", host)
        for turns in range(25):
            async with httpx.AsyncClient(
                transport=DirectTransport(), timeout=limit_s, trust_env=False
            ) as client:
                call = asyncio.ensure_future(client.get(url))
                for _ in range(turns):
                    await asyncio.sleep(0)
                call.cancel()
                ended += (await asyncio.gather(call, return_exceptions=True))[0] is not None
    assert ended == 25
    assert opened
    assert [one.fileno() for one in opened] == [-1] * len(opened)


async def test_an_address_that_refuses_is_followed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "resolved", resolver("::1", "127.0.0.3", "127.0.0.1"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with await connected_socket("name.test", port) as opened:
            assert opened.getpeername() == ("127.0.0.1", port)
    with pytest.raises(OSError, match=r"'::1'.*'127\.0\.0\.3'.*'127\.0\.0\.1'") as refused:
        await connected_socket("name.test", port)
    assert str(refused.value).count("Connect call failed") == 3


async def test_a_name_without_an_address_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "resolved", resolver())
    with pytest.raises(OSError, match="has no address"):
        await connected_socket("name.test", 80)


def test_nothing_waits_for_a_resolver_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    real, release, answered = socket.getaddrinfo, threading.Event(), threading.Event()

    def hanging(host: str, port: int, **more: int) -> object:
        if host != "name.test" or more.get("flags"):
            return real(host, port, **more)
        release.wait(HANG_S)
        answered.set()
        raise socket.gaierror(socket.EAI_AGAIN, "no answer")

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(within(0.05, connected_socket("name.test", 80)))
    assert not answered.is_set()
    release.set()
    assert answered.wait(HANG_S)


async def test_a_name_that_the_system_does_not_know_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnicodeError):
        await connected_socket("x" * 70 + ".test", 80)

    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(OSError, match="not known"):
        await connected_socket("name.test", 80)
