from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator

import httpx
import pytest

from recjudge_tui.judges.http import transport
from recjudge_tui.judges.http.request import Client
from recjudge_tui.judges.http.transport import DirectTransport
from tests.support.stub_server import answer, serving
from tests.support.waiting import wait_until


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=DirectTransport(), trust_env=False) as opened:
        yield opened


async def test_one_connection_serves_calls_that_follow_each_other(client: httpx.AsyncClient) -> None:
    with serving(lambda line, n: answer(200, {"n": n})) as stub:
        got = [(await client.post(stub.url, content=b"x" * n)).json()["n"] for n in range(5)]
        assert got == [0, 1, 2, 3, 4]
        assert stub.connections == 1
        assert [len(body) for body in stub.bodies] == [0, 1, 2, 3, 4]


async def test_calls_at_once_have_a_connection_each_and_share_them_later(client: httpx.AsyncClient) -> None:
    with serving(lambda line, n: answer(200, {})) as stub:
        for _ in range(3):
            await asyncio.gather(*(client.get(stub.url) for _ in range(8)))
        assert stub.connections <= 8
        assert len(stub.heads) == 24


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nabcde",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
    ],
)
async def test_every_way_to_end_a_body_is_read(client: httpx.AsyncClient, response: bytes) -> None:
    with serving(lambda line, n: response) as stub:
        for _ in range(2):
            assert (await client.get(stub.url)).content == b"abcde"


async def test_a_connection_that_the_server_closed_while_idle_is_replaced(client: httpx.AsyncClient) -> None:
    with serving(lambda line, n: answer(200, {}, "Connection: close")) as stub:
        await client.get(stub.url)
        stub.wait_until_ended(1)
        assert (await client.get(stub.url)).status_code == 200
        assert stub.connections == 2


async def test_a_request_lost_on_a_kept_connection_is_not_sent_twice(client: httpx.AsyncClient) -> None:
    with serving(lambda line, n: None if n == 1 else answer(200, {"n": n})) as stub:
        assert (await client.get(stub.url)).json() == {"n": 0}
        with pytest.raises(httpx.ReadError):
            await client.get(stub.url)
        assert (await client.get(stub.url)).json() == {"n": 2}
        assert stub.connections == 2


async def test_an_idle_connection_is_not_trusted_for_long(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "IDLE_S", 0.0)
    with serving(lambda line, n: answer(200, {})) as stub:
        await client.get(stub.url)
        await client.get(stub.url)
        assert stub.connections == 2


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", httpx.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nContent-Le", httpx.RemoteProtocolError),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", httpx.RemoteProtocolError),
    ],
)
async def test_a_broken_answer_and_a_lost_connection_are_different_errors(
    client: httpx.AsyncClient, response: bytes, error: type[Exception]
) -> None:
    with serving(lambda line, n: response) as stub, pytest.raises(error):
        await client.get(stub.url)


async def test_an_endless_answer_is_stopped(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_ANSWER", 1000)
    big = answer(200, b"x" * 5000)
    with serving(lambda line, n: big) as stub, pytest.raises(httpx.RemoteProtocolError, match="larger"):
        await client.get(stub.url)


async def test_a_cancelled_call_closes_its_connection(client: httpx.AsyncClient) -> None:
    with serving(lambda line, n: b"") as stub:
        call = asyncio.ensure_future(client.get(stub.url))
        await asyncio.to_thread(wait_until, lambda: stub.heads)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.to_thread(stub.wait_until_ended, 1)


async def test_no_server_is_a_connect_error(client: httpx.AsyncClient) -> None:
    with serving(lambda line, n: b"") as stub:
        gone = stub.url
    with pytest.raises(httpx.ConnectError):
        await client.get(gone)


async def test_https_to_a_server_that_speaks_none_is_a_connect_error(client: httpx.AsyncClient) -> None:
    hello: list[bytes] = []

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.append(await reader.read(3))
        writer.write(answer(400, {}))
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(httpx.ConnectError):
        await client.get(f"https://127.0.0.1:{port}/")
    assert hello[0][:2] == b"\x16\x03"
    server.close()
    await server.wait_closed()


async def test_a_connection_closed_without_an_answer_is_lost(client: httpx.AsyncClient) -> None:
    with serving(lambda line, n: None) as stub, pytest.raises(httpx.ReadError):
        await client.get(stub.url)


@pytest.mark.parametrize(
    "trailing", [b"HTTP/1.1 200 OK\r\n", b"garbage", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]
)
async def test_a_connection_with_bytes_behind_the_answer_is_not_used_again(
    client: httpx.AsyncClient, trailing: bytes
) -> None:
    with serving(lambda line, n: answer(200, {"n": n}) + trailing) as stub:
        assert (await client.get(stub.url)).json() == {"n": 0}
        assert (await client.get(stub.url)).json() == {"n": 1}
        assert stub.connections == 2


async def test_an_answer_that_comes_unasked_is_not_that_to_the_next_request() -> None:
    """It comes on the idle connection, a moment after the answer to the first request."""
    asked = 0
    on_with_it, sent = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                asked += 1
                writer.write(answer(200, {"n": asked}))
                await on_with_it.wait()
                on_with_it.clear()
                writer.write(answer(200, {"unasked": True}))
                sent.set()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, httpx.AsyncClient(transport=DirectTransport(), trust_env=False) as client:
        for n in range(1, 21):
            assert (await client.get(url)).json() == {"n": n}
            on_with_it.set()
            await sent.wait()
            sent.clear()


@pytest.mark.parametrize("place", ["header", "body"])
async def test_an_answer_that_names_another_request_is_refused(client: httpx.AsyncClient, place: str) -> None:
    def response(line: str, number: int) -> bytes:
        asked = [re.search(r"(?i)x-request-id: (\S+)", head) for head in stub.heads]
        name = asked[0 if number == 2 else number]
        assert name is not None
        return (
            answer(200, {"id": f"chatcmpl-{name[1]}"})
            if place == "body"
            else answer(200, {}, f"X-Request-Id: {name[1]}")
        )

    with serving(response) as stub:
        for _ in range(2):
            assert (await client.get(stub.url)).status_code == 200
        with pytest.raises(httpx.RemoteProtocolError, match="another request"):
            await client.get(stub.url)
        assert (await client.get(stub.url)).status_code == 200
        assert stub.connections == 2


async def test_a_connection_to_a_proxy_serves_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda line, n: answer(200, {"n": n}) + answer(200, {"unasked": True})) as stub:
        monkeypatch.setenv("http_proxy", stub.url)
        monkeypatch.delenv("no_proxy", raising=False)
        client = Client(("http://models.example",))
        got = [(await client.fetch("GET", "http://models.example", None, None)).json() for _ in range(2)]
        await client.aclose()
        assert got == [{"n": 0}, {"n": 1}]


async def test_an_answer_without_a_body_has_none(client: httpx.AsyncClient) -> None:
    with serving(lambda line, n: b"HTTP/1.1 204 No Content\r\n\r\n") as stub:
        answers = [await client.get(stub.url) for _ in range(2)]
        assert [(a.status_code, a.content) for a in answers] == [(204, b"")] * 2


async def test_an_endless_head_is_stopped(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_ANSWER", 1000)
    head = b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 5000
    with serving(lambda line, n: head) as stub, pytest.raises(httpx.RemoteProtocolError, match="larger"):
        await client.get(stub.url)


@pytest.mark.parametrize(
    "header", [("X-Key", b"secret\r\nX-Other: 1"), ("X Key", b"secret"), ("X-Key", b"se\x00cret")]
)
async def test_a_header_cannot_add_another_and_is_not_quoted(
    client: httpx.AsyncClient, header: tuple[str, bytes]
) -> None:
    with serving(lambda line, n: answer(200, {})) as stub:
        with pytest.raises(httpx.LocalProtocolError) as raised:
            await client.get(stub.url, headers=[(header[0].encode(), header[1])])
        assert "cret" not in str(raised.value)
        assert stub.heads == []


async def test_the_direct_way_sends_what_httpx_would_send() -> None:
    headers = httpx.Headers(
        {"Content-Type": "application/json", "Authorization": "Bearer k", "Accept": "a/b"}
    )
    with serving(lambda line, n: answer(200, {})) as stub:
        client = Client((stub.url,))
        await client.fetch("POST", f"{stub.url}/v1/x?y=1", headers, b"{}")
        await client.request("POST", f"{stub.url}/v1/x?y=1", headers=headers, content=b"{}")
        await client.fetch("GET", f"{stub.url}/v1/x", None, None)
        await client.request("GET", f"{stub.url}/v1/x")
        await client.aclose()
        heads = (head.lower().splitlines() for head in stub.heads)
        sent = [
            sorted(line for line in lines if not line.startswith("x-request-id: recjudge-"))
            for lines in heads
        ]
        assert sent[0] == sent[1]
        assert sent[2] == sent[3]
        assert stub.bodies[:2] == [b"{}", b"{}"]
