"""HTTP/1.1 straight over asyncio, as a transport for httpx.

httpx's own connection pool walks over every connection for every call: with 128 calls in flight it spends ten
milliseconds of processor time on each. This one takes the connection used last from a list, so a call costs a
third of a millisecond at any concurrency. It knows no proxies: `http.open_client` leaves those to httpx.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from typing import cast

import h11
import httpx

IDLE_S = 4.0  # llama.cpp, uvicorn and others close an idle connection after five seconds
MAX_BODY = 16 * 1024 * 1024
_NO_ANSWER = "the server closed the connection without an answer"

_Origin = tuple[str, str, int]


class DirectTransport(httpx.AsyncBaseTransport):
    """Keeps as many connections as there are calls in flight, the one used last on top.

    Raises httpx.ConnectError or ConnectTimeout when there is no connection, ReadError when it is lost before
    an answer began, RemoteProtocolError when the answer is cut or is not HTTP. The `connect` timeout of the
    request is honoured; the caller sets the deadline for the whole. Nothing is ever sent twice.
    """

    def __init__(self) -> None:
        self._idle: dict[_Origin, list[_Connection]] = {}
        self._tls: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        origin = _origin(request.url)
        connection = self._take(origin) or await self._connect(origin, request)
        return await self._exchange(connection, origin, request, body)

    async def aclose(self) -> None:
        for connections in self._idle.values():
            for connection in connections:
                connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # lets the event loop close the sockets

    async def _exchange(
        self, connection: _Connection, origin: _Origin, request: httpx.Request, body: bytes
    ) -> httpx.Response:
        try:
            response = await connection.exchange(request, body)
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

    async def _connect(self, origin: _Origin, request: httpx.Request) -> _Connection:
        scheme, host, port = origin
        loop = asyncio.get_running_loop()
        secure = scheme == "https"
        if secure and self._tls is None:
            self._tls = httpx.create_ssl_context()
        opening = loop.create_connection(
            _Connection,
            host,
            port,
            ssl=self._tls if secure else None,
            server_hostname=host if secure else None,
        )
        limit = request.extensions.get("timeout", {}).get("connect")
        try:
            _, connection = await asyncio.wait_for(opening, limit)
        except asyncio.TimeoutError:
            raise httpx.ConnectTimeout(f"no connection within {limit:g} s", request=request) from None
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error) or type(error).__name__, request=request) from error
        return connection


class _Connection(asyncio.Protocol):
    """One connection, one exchange at a time."""

    def __init__(self) -> None:
        self.lost = False
        self.last_used = 0.0
        self.answer_began = False
        self._loop = asyncio.get_running_loop()
        self._wire = h11.Connection(h11.CLIENT)
        self._answer: asyncio.Future[httpx.Response] | None = None
        self._head: h11.Response | None = None
        self._body = bytearray()

    async def exchange(self, request: httpx.Request, body: bytes) -> httpx.Response:
        self.answer_began = False
        self._head = None
        self._body = bytearray()
        self._answer = self._loop.create_future()
        if self.lost:
            raise httpx.ReadError("the connection was closed")
        try:
            head = h11.Request(
                method=request.method, target=request.url.raw_path, headers=request.headers.raw
            )
            out = self._wire.send(head) or b""
            if body:
                out += self._wire.send(h11.Data(data=body)) or b""
            out += self._wire.send(h11.EndOfMessage()) or b""
        except h11.LocalProtocolError:
            # Its text would quote the header at fault, which may be the key.
            raise httpx.LocalProtocolError("the request is not valid HTTP") from None
        self._transport.write(out)
        return await self._answer

    def ready_again(self) -> bool:
        """Make the connection fit for the next exchange; False when it has to be closed."""
        self.last_used = self._loop.time()
        self._answer = None
        self._head = None
        self._body = bytearray()
        if self.lost or self._wire.their_state is not h11.DONE or self._wire.our_state is not h11.DONE:
            return False
        if self._wire.trailing_data[0]:
            return False
        self._wire.start_next_cycle()
        return True

    def is_quiet(self) -> bool:
        """Whether it is open and nothing came since the last answer, not even news that the event loop has yet
        to deliver: something to read on an idle connection is its end."""
        if self.lost:
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        self.lost = True
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.abort()
            return
        self.answer_began = True
        self._receive(data)

    def eof_received(self) -> bool | None:
        self.lost = True
        if self.answer_began:
            self._receive(b"")  # ends a body without a length
        else:
            self._fail(httpx.ReadError(_NO_ANSWER))
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if self.answer_began:
            self._fail(httpx.RemoteProtocolError("the connection was lost in the middle of the answer"))
        else:
            self._fail(httpx.ReadError(str(exc) if exc else _NO_ANSWER))

    def _receive(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            return
        try:
            self._wire.receive_data(data)
            self._read_events()
        except h11.RemoteProtocolError as error:
            self._fail(httpx.RemoteProtocolError(str(error)))

    def _read_events(self) -> None:
        while True:
            event = self._wire.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return
            if isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > MAX_BODY:
                    self._fail(httpx.RemoteProtocolError(f"the answer is larger than {MAX_BODY} bytes"))
                    return
            elif isinstance(event, h11.Response):
                self._head = event
            elif isinstance(event, h11.EndOfMessage):
                self._finish()
                return
            elif isinstance(event, h11.ConnectionClosed):
                self._fail(httpx.ReadError(_NO_ANSWER))
                return

    def _finish(self) -> None:
        if self._answer is not None and not self._answer.done() and self._head is not None:
            self._answer.set_result(
                httpx.Response(
                    self._head.status_code, headers=self._head.headers.raw_items(), content=bytes(self._body)
                )
            )

    def _fail(self, error: httpx.TransportError) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


def _origin(url: httpx.URL) -> _Origin:
    return url.scheme, url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)
