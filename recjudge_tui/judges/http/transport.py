"""An httpx transport for HTTP/1.1 directly on asyncio. httpx's own connection pool checks every connection for every
call; with 128 calls in flight that costs ten milliseconds of processor time per call. This transport takes the most
recently used connection from a list, and a C parser reads the answer, so a call costs a tenth of a millisecond at any
concurrency. It does not support proxies: `request.client_settings` leaves those to httpx.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import select
import ssl
from itertools import count
from typing import cast

import httptools
import httpx

from recjudge_tui.judges.http.addresses import connected_socket
from recjudge_tui.judges.http.body import MAX_ANSWER, RawHeaders, too_large, whole_answer
from recjudge_tui.judges.http.deadline import within
from recjudge_tui.network import tls_context, usable_network

IDLE_S = 4.0  # llama.cpp, uvicorn and others close an idle connection after five seconds
_KEPT_HEADS = 64
_NO_ANSWER = "the server closed the connection without an answer"
_TLS_ALERT = b"\x15\x03"
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_TARGET = re.compile(rb"[!-~]+")

_Origin = tuple[str, str, int]


class DirectTransport(httpx.AsyncBaseTransport):
    """Keeps as many connections as there are calls in flight, and reuses the last one first.

    Raises httpx.ConnectError or ConnectTimeout when there is no connection, ReadError when it is lost before
    an answer began, RemoteProtocolError when the answer is cut or is not HTTP. The `connect` timeout of the
    request is honoured; the caller sets the deadline for the whole exchange. Nothing is sent twice.

    Each request has an id in the header `X-Request-Id`. Servers that know it (vLLM, many gateways) name it in the answer,
    in a header or in the body; an answer that names another request's id raises RemoteProtocolError.
    """

    def __init__(self) -> None:
        self._idle: dict[_Origin, list[_Connection]] = {}
        self._tls: ssl.SSLContext | None = None
        self._ids = RequestIds()
        self._heads: dict[tuple[str, str, tuple[tuple[bytes, bytes], ...]], tuple[_Origin, bytes]] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        head = request_head(request.method, request.url, request.headers.raw)
        limit = request.extensions.get("timeout", {}).get("connect")
        return await self._exchange(_origin(request.url), head, body, limit)

    async def request(
        self, method: str, url: str, headers: RawHeaders, body: bytes | None, connect_s: float
    ) -> httpx.Response:
        """A request without httpx's client around it. `Host` and `Content-Length` are added to the headers."""
        key = (method, url, tuple(headers))
        if key not in self._heads:
            if len(self._heads) >= _KEPT_HEADS:
                self._heads.clear()
            parsed = httpx.URL(url)
            host = (b"Host", parsed.netloc)
            self._heads[key] = _origin(parsed), request_head(method, parsed, [host, *headers])
        origin, head = self._heads[key]
        framed = b"" if body is None else b"Content-Length: %d\r\n" % len(body)
        return await self._exchange(origin, head + framed, body or b"", connect_s)

    async def aclose(self) -> None:
        for connections in self._idle.values():
            for connection in connections:
                connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # gives the event loop time to close the sockets

    async def _exchange(
        self, origin: _Origin, head: bytes, body: bytes, connect_s: float | None
    ) -> httpx.Response:
        identity = self._ids.new()
        message = b"%bX-Request-Id: %b\r\n\r\n%b" % (head, identity, body)
        connection = self._take(origin) or await self._connect(origin, connect_s)
        try:
            response = await connection.exchange(message)
            self._ids.check(identity, response)
        except BaseException:
            connection.abort()
            raise
        if connection.ready_again():
            self._idle.setdefault(origin, []).append(connection)
        else:
            connection.abort()
        return response

    def _take(self, origin: _Origin) -> _Connection | None:
        connections = self._idle.get(origin)
        oldest = asyncio.get_running_loop().time() - IDLE_S
        while connections:
            connection = connections.pop()
            if connection.last_used > oldest and connection.is_quiet():
                return connection
            connection.abort()
        return None

    async def _connect(self, origin: _Origin, limit_s: float | None) -> _Connection:
        scheme, host, port = origin
        secure = scheme == "https"
        if secure and self._tls is None:
            with usable_network():
                self._tls = tls_context()
        connection = _Connection()
        opening = self._open(connection, host, port, self._tls if secure else None)
        try:
            await (opening if limit_s is None else within(limit_s, opening))
        except asyncio.TimeoutError:
            raise httpx.ConnectTimeout(f"no connection within {limit_s:g} s") from None
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error) or type(error).__name__) from error
        except BaseException:
            connection.abort()  # cancelled after the connection was opened
            raise
        return connection

    @staticmethod
    async def _open(connection: _Connection, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        opened = await connected_socket(host, port)
        await asyncio.get_running_loop().create_connection(
            lambda: connection, sock=opened, ssl=tls, server_hostname=host if tls else None
        )


class RequestIds:
    """Ids for the requests of one transport; no other process uses the same."""

    def __init__(self) -> None:
        self._common = b"recjudge-%b-" % secrets.token_hex(6).encode()
        self._any = re.compile(re.escape(self._common) + rb"\d+")
        self._numbers = count(1)

    def new(self) -> bytes:
        return self._common + b"%d" % next(self._numbers)

    def check(self, identity: bytes, response: httpx.Response) -> None:
        """Raise RemoteProtocolError for an answer that names another request and not this one."""
        named = set(self._any.findall(response.content))
        named.update(*(self._any.findall(value) for _, value in response.headers.raw))
        if named and identity not in named:
            raise httpx.RemoteProtocolError("the answer belongs to another request")


class _Connection(asyncio.Protocol):
    """One connection, one exchange at a time. The methods `on_…` are called by the parser."""

    def __init__(self) -> None:
        self.lost = False
        self._connected = False
        self.last_used = 0.0
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[httpx.Response] | None = None
        self._received = 0
        self._reusable = False
        self._begin()

    async def exchange(self, message: bytes) -> httpx.Response:
        self._received = 0
        self._reusable = False
        self._answer = self._loop.create_future()
        if self.lost:
            raise httpx.ReadError("the connection was closed")
        self._transport.write(message)
        return await self._answer

    def ready_again(self) -> bool:
        """Prepare the connection for the next exchange. False if it must be closed."""
        self.last_used = self._loop.time()
        self._answer = None
        return self._reusable and not self.lost and not self._transport.get_write_buffer_size()

    def is_quiet(self) -> bool:
        """Whether the connection is open and has nothing to read, not even data that the event loop has not delivered
        yet. Data on an idle connection means that the server closed it.
        """
        if self.lost:
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        self.lost = True
        if self._connected:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connected = True

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.abort()
            return
        if not self._received and data.startswith(_TLS_ALERT):
            self._fail(httpx.UnsupportedProtocol("It answered a plain request with a TLS alert."))
            return
        self._received += len(data)
        if self._received > MAX_ANSWER:
            self._fail(too_large())
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._reusable = False
            self._fail(httpx.RemoteProtocolError(str(error)))

    def eof_received(self) -> bool | None:
        self.lost = True
        if self._ends_with_connection():
            self._finish()
        elif self._received:
            self._fail(httpx.RemoteProtocolError("the connection was closed in the middle of the answer"))
        else:
            self._fail(httpx.ReadError(_NO_ANSWER))
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if self._received:
            self._fail(httpx.RemoteProtocolError("the connection was lost in the middle of the answer"))
        else:
            self._fail(httpx.ReadError(str(exc) if exc else _NO_ANSWER))

    def on_message_begin(self) -> None:
        if self._answer is None or self._answer.done():
            self.lost = True  # bytes after the answer belong to no request
        self._begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        self._keeps_alive = self._parser.should_keep_alive()

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        if self._status >= 200:  # a lower status only announces that the answer will follow
            self._reusable = self._keeps_alive
            self._finish()

    def _begin(self) -> None:
        self._status = 0
        self._keeps_alive = False
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []

    def _ends_with_connection(self) -> bool:
        """Whether the answer has begun and its headers do not give its length."""
        framed = {b"content-length", b"transfer-encoding"}
        return self._status >= 200 and not any(name.lower() in framed for name, _ in self._headers)

    def _finish(self) -> None:
        if self._answer is not None and not self._answer.done():
            try:
                self._answer.set_result(whole_answer(self._status, self._headers, self._body))
            except httpx.RequestError as error:
                self._reusable = False
                self._answer.set_exception(error)

    def _fail(self, error: httpx.RequestError) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


def request_head(method: str, url: httpx.URL, headers: RawHeaders) -> bytes:
    """Request line and header lines. Raises httpx.LocalProtocolError, which quotes no header: it may be the key."""
    sound = _TARGET.fullmatch(url.raw_path) and method.isalpha() and method != "HEAD"
    if not sound or not all(_TOKEN.fullmatch(n) and _VALUE.fullmatch(v) for n, v in headers):
        raise httpx.LocalProtocolError("the request is not valid HTTP")
    lines = [b"%b %b HTTP/1.1" % (method.encode("ascii"), url.raw_path)]
    lines += [b"%b: %b" % header for header in headers]
    return b"\r\n".join([*lines, b""])


def _origin(url: httpx.URL) -> _Origin:
    return url.scheme, url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)
