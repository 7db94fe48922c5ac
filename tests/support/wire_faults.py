"""Faults of the wire, byte by byte, on loopback; and a run in which the call of each user meets one of them."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from tests.support.runs import planned
from tests.support.stub_server import Stub, answer, completion, serving

KEY = "sk-wire-0123456789abcdef0123456789"
# a drip comes more often than any limit between two bytes, and never ends within a call's time
DRIP_S = 0.02
ENDLESS = 8_000_000
_PLACE = re.compile(rb"films like (\d+)\b")


class WireServer(NamedTuple):
    """The chat prompt of user N is answered at `own` by the fault N, byte for byte; nobody should ask `other`."""

    own: Stub
    other: Stub
    closing: threading.Event


# the server's side of an exchange after the request was read; the connection is closed after it
Talk = Callable[[socket.socket, WireServer], object]


@contextlib.contextmanager
def serving_talks(talks: Sequence[Talk]) -> Iterator[WireServer]:
    def script(line: str, number: int) -> bytes | Callable[[socket.socket], object]:
        if line.startswith("GET"):
            return answer(200, {"data": [{"id": "m"}]}, "Connection: close")
        place = _PLACE.search(own.bodies[number])
        return lambda connection: talks[int(place[1])](connection, server)

    with serving(script) as own, serving(lambda *_: None) as other:
        server = WireServer(own, other, threading.Event())
        try:
            yield server
        finally:
            server.closing.set()


def _reply(label: str) -> bytes:
    text = json.dumps({"reasoning": "é: fine.", "category": label, "flagged_items": []}, ensure_ascii=False)
    body = {**completion(text), "usage": {"prompt_tokens": 9, "completion_tokens": 9}}
    return json.dumps(body, ensure_ascii=False).encode()


GOOD, OTHER = _reply("Good Match"), _reply("Poor Match")


def _head(status: str, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *headers]).encode("latin-1") + b"\r\n\r\n"


def _whole(body: bytes = GOOD, *headers: str, status: str = "200 OK") -> bytes:
    return _head(status, f"Content-Length: {len(body)}", *headers) + body


def _chunked(*pieces: bytes) -> bytes:
    return _head("200 OK", "Transfer-Encoding: chunked") + b"".join(pieces)


def _chunk(data: bytes, extension: bytes = b"") -> bytes:
    return b"%x%b\r\n%b\r\n" % (len(data), extension, data)


class WireFault(NamedTuple):
    """`ends` are the kinds of error that the call may end with; "" means that it is done, with the label of GOOD."""

    name: str
    talk: Talk
    ends: tuple[str, ...]


def _sent(*pieces: bytes) -> Talk:
    return lambda connection, _: [connection.sendall(piece) for piece in pieces]


def _kept_open(*pieces: bytes) -> Talk:
    """Sent, and the connection stays open until the client leaves it."""

    def talk(connection: socket.socket, _: WireServer) -> None:
        for piece in pieces:
            connection.sendall(piece)
        connection.recv(1)

    return talk


def _reset(*pieces: bytes) -> Talk:
    def talk(connection: socket.socket, _: WireServer) -> None:
        for piece in pieces:
            connection.sendall(piece)
        time.sleep(DRIP_S)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return talk


def _half_closed(*pieces: bytes, way: int = socket.SHUT_WR) -> Talk:
    def talk(connection: socket.socket, _: WireServer) -> None:
        if way == socket.SHUT_RD:
            connection.shutdown(way)
        for piece in pieces:
            connection.sendall(piece)
        if way == socket.SHUT_WR:
            connection.shutdown(way)
            connection.recv(1)

    return talk


def _busy(delay: str) -> Talk:
    return _sent(_whole(b"{}", f"Retry-After: {delay}", status="429 Busy"))


def _dripped(start: bytes, drip: bytes) -> Talk:
    def talk(connection: socket.socket, server: WireServer) -> None:
        connection.sendall(start)
        while not server.closing.wait(DRIP_S):
            connection.sendall(drip)

    return talk


def _flooded(start: bytes, piece: bytes) -> Talk:
    """Sent over and over as fast as the client reads."""

    def talk(connection: socket.socket, _: WireServer) -> None:
        connection.sendall(start)
        for _n in range(ENDLESS // len(piece)):
            connection.sendall(piece)

    return talk


def _redirected(status: str, *headers: str) -> Talk:
    def talk(connection: socket.socket, server: WireServer) -> None:
        named = [
            header.replace("OTHER", server.other.url).replace("OWN", server.own.url) for header in headers
        ]
        connection.sendall(_whole(GOOD, *named, status=status))

    return talk


_LENGTH, _LONGER, _SHORTER = (f"Content-Length: {len(GOOD) + more}" for more in (0, 9, -9))
_LETTERS = [GOOD[n : n + 1] for n in range(len(GOOD))]
_JSON = "Content-Type: application/json; charset=utf-8"
_ENDLESS = ("bad_body", "timeout")  # at the limit of size, or of time on a busy machine
_BAD, _LATE, _LOST, _MOVED, _DONE = (
    ("bad_body",),
    ("timeout",),
    ("bad_body", "connection"),
    ("redirect",),
    ("",),
)

FAULTS = (
    # slow
    WireFault("nothing", _kept_open(), _LATE),
    WireFault("headers in drips without end", _dripped(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"), _LATE),
    WireFault("status line in drips", _dripped(b"HTTP/1.1 200 ", b"O"), _LATE),
    WireFault("body in drips without end", _dripped(_head("200 OK", "Content-Length: 99999"), b" "), _LATE),
    WireFault("chunks in drips", _dripped(_chunked(), b"1\r\n \r\n"), _LATE),
    WireFault("interim answers in drips", _dripped(b"", b"HTTP/1.1 102 Processing\r\n\r\n"), _LATE),
    WireFault("whole, but longer is announced", _kept_open(_head("200 OK", _LONGER), GOOD), _LATE),
    # cut
    WireFault("closed without an answer", _sent(), _LOST),
    WireFault("reset without an answer", _reset(), _LOST),
    WireFault("reset in the headers", _reset(b"HTTP/1.1 200 OK\r\nContent-Le"), _LOST),
    WireFault("reset in the body", _reset(_head("200 OK", _LENGTH), GOOD[:40]), _LOST),
    WireFault("reset in a chunk", _reset(_chunked(b"400\r\n" + GOOD[:100])), _LOST),
    WireFault("cut in the headers", _sent(b"HTTP/1.1 200 OK\r\nContent-Le"), _LOST),
    WireFault("cut in a chunk", _sent(_chunked(b"400\r\n" + GOOD[:100])), _BAD),
    WireFault("cut in the size of a chunk", _sent(_chunked(_chunk(GOOD), b"1")), _BAD),
    WireFault("no last chunk", _sent(_chunked(_chunk(GOOD))), _BAD),
    WireFault("half-closed in the body", _half_closed(_head("200 OK", _LENGTH), GOOD[:40]), _BAD),
    WireFault("half-closed in a chunk", _half_closed(_chunked(b"400\r\n" + GOOD[:100])), _BAD),
    # lengths
    WireFault("closed before the announced length", _sent(_head("200 OK", _LONGER), GOOD), _BAD),
    WireFault("a length that is too small", _sent(_head("200 OK", _SHORTER), GOOD), _BAD),
    WireFault("length 0", _sent(_head("200 OK", "Content-Length: 0"), GOOD), _BAD),
    WireFault("a negative length", _sent(_head("200 OK", f"Content-Length: -{len(GOOD)}"), GOOD), _BAD),
    WireFault("a length that is no number", _sent(_head("200 OK", "Content-Length: all"), GOOD), _BAD),
    WireFault("a length of forty digits", _sent(_head("200 OK", f"Content-Length: {'9' * 40}"), GOOD), _BAD),
    WireFault("two lengths", _sent(_head("200 OK", _LENGTH, _SHORTER), GOOD), _BAD),
    WireFault("a length and chunks", _sent(_head("200 OK", "Content-Length: 5", "Transfer-Encoding: chunked"), GOOD), _BAD),
    # chunks and trailers
    WireFault("a chunk size that is no number", _sent(_chunked(b"xyz\r\n" + GOOD + b"\r\n0\r\n\r\n")), _BAD),
    WireFault("a negative chunk size", _sent(_chunked(b"-5\r\n" + GOOD + b"\r\n0\r\n\r\n")), _BAD),
    WireFault("a chunk size beyond 64 bits", _sent(_chunked(b"1" + b"0" * 16 + b"\r\n" + GOOD + b"\r\n0\r\n\r\n")), _BAD),
    WireFault("a chunk longer than its size", _sent(_chunked(b"5\r\n" + GOOD + b"\r\n0\r\n\r\n")), _BAD),
    WireFault("an unknown transfer encoding", _sent(_head("200 OK", "Transfer-Encoding: rot13") + GOOD), _BAD),
    WireFault("trailers without end", _flooded(_chunked(_chunk(GOOD), b"0\r\n"), b"X-Trailer: 1\r\n" * 999), _ENDLESS),
    WireFault("a chunk extension without end", _flooded(_chunked(b"5;a="), b"b" * 60_000), _ENDLESS),
    # heads
    WireFault("a header without end", _flooded(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 60_000), _ENDLESS),
    WireFault("headers without end", _flooded(b"HTTP/1.1 200 OK\r\n", b"X-Header: 1\r\n" * 999), _ENDLESS),
    WireFault("interim answers without end", _flooded(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 999), _LATE),
    WireFault("a body without end", _flooded(_head("200 OK"), b" " * 60_000), _ENDLESS),
    WireFault("blank lines without end", _flooded(b"", b"\r\n" * 9999), _ENDLESS),
    WireFault("switched protocols", _sent(_head("101 Switching Protocols", "Upgrade: h2c"), GOOD), _BAD),
    WireFault("HTTP/0.9", _sent(GOOD), _LOST),
    WireFault("HTTP/2", _sent(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", GOOD), _BAD),
    WireFault("a version that is no number", _sent(_whole().replace(b"HTTP/1.1", b"HTTP/one")), _BAD),
    WireFault("a status that is no number", _sent(_whole(status="OK 200")), _BAD),
    WireFault("a status of seven digits", _sent(_whole(status="2000000 OK")), _BAD),
    WireFault("a header line without a colon", _sent(_head("200 OK", _LENGTH, "no colon"), GOOD), _BAD),
    WireFault("NUL in a header", _sent(_whole(GOOD, "X-Odd: a\0b")), _BAD),
    # bodies
    WireFault("204 with a body", _sent(_whole(status="204 No Content")), ("bad_request",)),
    WireFault("304 with a body", _sent(_whole(status="304 Not Modified")), _MOVED),
    WireFault("a bomb", _sent(_whole(gzip.compress(bytes(ENDLESS), 1), "Content-Encoding: gzip")), _BAD),
    WireFault("gzip that is cut", _sent(_whole(gzip.compress(GOOD)[:-9], "Content-Encoding: gzip")), _BAD),
    WireFault("gzip that is none", _sent(_whole(GOOD, "Content-Encoding: gzip")), _BAD),
    WireFault("an encoding that was not asked for", _sent(_whole(GOOD, "Content-Encoding: br")), _BAD),
    WireFault("Latin-1", _sent(_whole(GOOD.decode().encode("latin-1"), _JSON)), _BAD),
    WireFault("two documents in one body", _sent(_whole(GOOD + OTHER)), _BAD),
    WireFault("a stream that was not asked for", _sent(_whole(b"data: " + GOOD + b"\n\ndata: [DONE]\n\n")), _DONE),
    WireFault("a page of a captive portal", _sent(_whole(b"<html>Good Match</html>", "Content-Type: text/html")), _BAD),
    # elsewhere
    *(
        WireFault(f"{status} to another host", _redirected(f"{status} Moved", "Location: OTHER/v1/chat/completions"), _MOVED)
        for status in (300, 301, 302, 303, 307, 308)
    ),
    WireFault("307 to the same path", _redirected("307 Moved", "Location: OWN/v1/chat/completions"), _MOVED),
    WireFault("308 without an address", _sent(_whole(status="308 Moved")), _MOVED),
    WireFault("a redirect to a file", _sent(_whole(GOOD, "Location: file:///etc/passwd", status="302 Found")), _MOVED),
    # busy
    *(
        WireFault(f"429, Retry-After: {delay[:30]}", _busy(delay), ("rate_limit",))
        for delay in ("1e9", "9" * 300, "-1", "Fri, 31 Dec 9999 23:59:59 GMT", "NaN", "\xb2")
    ),
    WireFault("a status above 599", _sent(_whole(status="999 Odd")), ("server_error",)),
    # unusual, and still one whole answer
    WireFault("one interim answer", _sent(_head("100 Continue"), _whole()), _DONE),
    WireFault("an interim answer with a label", _sent(_head("103 Early Hints", "X-Label: Poor Match"), _whole()), _DONE),
    WireFault("a second answer behind it", _sent(_whole() + _whole(OTHER)), _DONE),
    WireFault("a trailer with a length", _sent(_chunked(_chunk(GOOD), b"0\r\nContent-Length: 5\r\n\r\n")), _BAD + _DONE),
    WireFault("a trailer with a label", _sent(_chunked(_chunk(GOOD), b"0\r\nX-Category: Poor Match\r\n\r\n")), _DONE),
    WireFault("chunks of one byte", _sent(_chunked(*map(_chunk, _LETTERS), b"0\r\n\r\n")), _DONE),
    WireFault("half-closed behind it", _half_closed(_head("200 OK"), GOOD), _DONE),
    WireFault("not read on after the request", _half_closed(_whole(), way=socket.SHUT_RD), _DONE),
    WireFault("a charset that is a codec", _sent(_whole(GOOD, "Content-Type: text/html; charset=rot13")), _DONE),
    WireFault("200 that names other hosts", _redirected("200 OK", "Location: OTHER", "Refresh: 0; url=OTHER"), _DONE),
    WireFault("a cookie", _sent(_whole(GOOD, "Set-Cookie: a=b; Domain=127.0.0.1")), _DONE),
)  # fmt: skip
SLOW = tuple(fault for fault in FAULTS if fault.ends == _LATE)
QUICK = tuple(fault for fault in FAULTS if fault.ends != _LATE)


class WireOutcome(NamedTuple):
    """How the call of one fault ended: its error's kind and text, empty if it is done, and its verdict's label."""

    fault: WireFault
    kind: str
    error: str
    label: str

    @property
    def holds(self) -> bool:
        consistent = self.label == "Good" if not self.kind else bool(self.error) and not self.label
        return consistent and self.kind in self.fault.ends


class WireRun(NamedTuple):
    """The outcomes, the requests that came, and whether the key or a cookie went where they do not belong."""

    outcomes: list[WireOutcome]
    requests: int
    leaks: list[str]


def judge_over_faults(
    db: Database, faults: Sequence[WireFault], *, timeout_s: float, proxied: bool = False
) -> WireRun:
    """A run of the project `films`, which has one list for each fault. `proxied`: the server is asked as a proxy."""
    with (
        serving_talks([fault.talk for fault in faults]) as server,
        _environment(server.own.url if proxied else ""),
    ):
        url = "http://models.test" if proxied else server.own.url
        judge = JudgeSpec(spec="openai:m", base_urls=(f"{url}/v1",), api_key_env="WIRE_KEY")
        run = planned(
            db,
            judge,
            systems=("als",),
            limit=len(faults),
            concurrency=64,
            use_cache=False,
            timeout_s=timeout_s,
        )
        work(db.path, run)
    rows = db.rows(
        """SELECT CAST(substr(c.user_id, 2) AS INTEGER), k.error_kind, k.error, v.label
           FROM calls k JOIN cases c ON c.id = k.case_id
           LEFT JOIN verdicts v ON v.case_id = c.id AND v.run_id = k.run_id WHERE k.run_id = ? ORDER BY 1""",
        (run,),
    )
    outcomes = [
        WireOutcome(faults[n], kind or "", error or "", label or "") for n, kind, error, label in rows
    ]
    asked = sum(head.startswith("POST") for head in server.own.heads)
    return WireRun(outcomes, asked, list(_leaks(server)))


@contextlib.contextmanager
def _environment(proxy: str) -> Iterator[None]:
    before = dict(os.environ)
    os.environ["WIRE_KEY"] = KEY
    if proxy:
        os.environ.update(http_proxy=proxy, no_proxy="")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _leaks(server: WireServer) -> Iterator[str]:
    if server.other.connections:
        yield f"{server.other.connections} connections to the other host"
    for head in server.own.heads:
        if head.count(KEY) != head.count(f"Bearer {KEY}") or "cookie" in head.lower():
            yield head
