"""An answer is unpacked within a limit, with and without a proxy, and read as what it is whatever it says of itself."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import httpx
import pytest

from recjudge_tui.errors import CallError
from recjudge_tui.judges.http import body
from recjudge_tui.judges.http.body import MAX_ANSWER, body_json, body_text, whole_answer
from recjudge_tui.judges.http.request import Client, send
from tests.support.stub_server import answer, serving
from tests.support.waiting import HANG_S

TEXT = b'{"reply": "' + b"Good Match " * 50 + b'"}'
WAYS = ("direct", "proxy")
BOMB = gzip.compress(bytes(MAX_ANSWER + 1), 9)


async def fetched(
    monkeypatch: pytest.MonkeyPatch, way: str, response: bytes, timeout_s: float = HANG_S
) -> httpx.Response:
    """The answer of a server that sends these bytes, asked directly or as a proxy."""
    with serving(lambda line, n: response) as stub:
        if way == "proxy":
            monkeypatch.setenv("http_proxy", stub.url)
            monkeypatch.delenv("no_proxy", raising=False)
        url = "http://models.example" if way == "proxy" else stub.url
        async with Client((url,)) as client:
            return await send(client, "POST", url, content=b"{}", timeout_s=timeout_s)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("packing", "packed"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)[2:-4]),
        ("deflate, gzip", gzip.compress(zlib.compress(TEXT))),
        ("identity", TEXT),
    ],
)
async def test_a_packed_answer_is_unpacked(
    monkeypatch: pytest.MonkeyPatch, way: str, packing: str, packed: bytes
) -> None:
    got = await fetched(monkeypatch, way, answer(200, packed, f"Content-Encoding: {packing}"))
    assert got.content == TEXT


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("packing", "packed"),
    [
        ("gzip", BOMB),
        ("gzip, gzip", gzip.compress(BOMB)),
        ("gzip", gzip.compress(TEXT)[:-9]),
        ("gzip", b"not packed"),
        ("br", TEXT),
        ("\xe9", TEXT),
    ],
)
async def test_an_answer_that_cannot_be_unpacked_fails_only_its_call(
    monkeypatch: pytest.MonkeyPatch, way: str, packing: str, packed: bytes
) -> None:
    response = answer(200, packed, f"Content-Encoding: {packing}")
    with pytest.raises(CallError) as caught:
        await fetched(monkeypatch, way, response)
    assert (caught.value.kind, caught.value.retry) == ("bad_body", True)


@pytest.mark.parametrize("way", WAYS)
async def test_an_answer_without_end_is_left_at_the_limit(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    for module in ("body", "request", "transport"):
        monkeypatch.setattr(f"recjudge_tui.judges.http.{module}.MAX_ANSWER", 100_000)
    endless = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5_000_000
    with pytest.raises(CallError, match="larger than 100000 bytes"):
        await fetched(monkeypatch, way, endless)


def test_an_unpacked_answer_takes_no_more_memory_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "MAX_ANSWER", 1000)
    with pytest.raises(httpx.RemoteProtocolError, match="larger than 1000 bytes"):
        whole_answer(200, [(b"Content-Encoding", b"gzip")], [gzip.compress(bytes(1001))])
    exact = whole_answer(200, [(b"Content-Encoding", b"gzip")], [gzip.compress(bytes(1000))])
    assert len(exact.content) == 1000


@pytest.mark.parametrize("charset", ["hex", "undefined", "rot13", "zlib", "idna", "utf-16", "no-such"])
def test_the_charset_that_a_server_names_is_ignored(charset: str) -> None:
    got = whole_answer(200, [(b"Content-Type", f"text/html; charset={charset}".encode())], [b"<p>\xff"])
    assert body_text(got) == "<p>\ufffd"


@pytest.mark.parametrize("deep", [b"[" * 200_000, b'{"a":' * 50_000])
def test_json_too_deep_to_read_is_no_json(deep: bytes) -> None:
    with pytest.raises(ValueError, match=r"deep|Expecting"):
        body_json(whole_answer(200, [], [deep]))


async def test_a_client_requests_only_compressions_it_can_unpack() -> None:
    with serving(lambda line, n: answer(200, {})) as stub:
        async with Client((stub.url,)) as client:
            await asyncio.gather(*(send(client, "GET", stub.url, timeout_s=HANG_S) for _ in range(2)))
        assert all("accept-encoding: gzip, deflate\n" in f"{head.lower()}\n" for head in stub.heads)
