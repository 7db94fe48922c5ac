"""HTTP by httpx2's core: one exchange with a total deadline and a cap on its size, no redirects, and errors that say what
to do. Proxies and certificates come from the environment and the system. A connection is used again only when nothing is
left on it: httpx2 alone takes what a server sent behind an answer for the answer to the next request."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import ssl
import sys
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, NamedTuple, cast

import httpcore2
import httpx2 as httpx

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.system import (
    MORE_HANDLES,
    certificates,
    is_out_of_handles,
    proxy_for,
    within,
    without_password,
)
from recjudge_tui.version import USER_AGENT

CONNECT_S = 10.0
IDLE_S = 4.0  # llama.cpp, uvicorn and others close an idle connection after five seconds
REST_S = 0.02
NEXT_ADDRESS_S = 0.25  # until the next address of a host is tried beside the first one
# bytes, also after decompression; the answer to one call usually has a few thousand
MAX_ANSWER = 16 * 1024 * 1024

_SETTINGS = (
    (b"User-Agent", USER_AGENT.encode()),
    (b"Accept", b"*/*"),
    (b"Accept-Encoding", b"gzip, deflate"),
)


class UnreachableError(CallError):
    """No connection could be made. Nothing was sent, so another server may be asked instead."""

    sent = False

    def __init__(self, title: str, cause: str = "", next_step: str = "") -> None:
        super().__init__("connection", title, cause, next_step, retry=True)


class Answer(NamedTuple):
    """A complete answer, its body unpacked."""

    status_code: int
    headers: httpx.Headers
    content: bytes

    @property
    def is_success(self) -> bool:
        return self.status_code in (200, 201)

    @property
    def text(self) -> str:
        """The body as UTF-8, whatever charset the server names: that may be any of Python's codecs."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON. Raises ValueError for anything else, also for nesting that is too deep to read."""
        try:
            return json.loads(self.content)
        except RecursionError:
            raise ValueError("nested too deeply") from None


class Client:
    """Connections to servers: as many as there are calls in flight. Through a proxy each serves one request."""

    def __init__(self) -> None:
        self._servers: dict[tuple[bytes, bytes], _Connections | httpcore2.AsyncConnectionPool] = {}

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        timeout_s: float,
    ) -> Answer:
        """Send one request and return the complete answer, whatever its status, within `timeout_s` seconds. Nothing is
        sent twice. Raises UnreachableError when no connection can be made, else CallError: `timeout`, `connection` (lost
        before the answer) or `bad_body` (the answer was cut short, too large, or is not HTTP). All of them are worth a
        retry. Raises JudgeError if the proxy or the certificates cannot be used."""
        try:
            return await within(timeout_s, self._exchange(method, url, headers, content))
        except asyncio.TimeoutError:
            title, step = (
                f"No answer from {url} within {timeout_s:g} s",
                "Raise --timeout if the model needs longer.",
            )
            raise CallError("timeout", title, next_step=step, retry=True) from None
        except connection_faults() as error:
            raise broken(url, error) from None

    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str] | None, content: bytes | None
    ) -> Answer:
        at, key, place = _parsed(url)
        raw = headers.raw if isinstance(headers, httpx.Headers) else httpx.Headers(headers).raw
        sent = [(b"Host", key[1]), *_SETTINGS, *raw]
        if content is not None:
            sent.append((b"Content-Length", b"%d" % len(content)))
        request = httpcore2.Request(
            method, place, headers=sent, content=content, extensions={"timeout": {"connect": CONNECT_S}}
        )
        if (server := self._servers.get(key)) is None:
            server = self._servers[key] = _made(at)
        if isinstance(server, httpcore2.AsyncConnectionPool):
            return await _answered(server, request)
        connection = await server.take(request.url.origin)
        try:
            answer = await _answered(connection.http, request)
        except BaseException:
            connection.stream.close()
            raise
        server.put(connection)
        return answer

    async def aclose(self) -> None:
        servers, self._servers = self._servers, {}
        for server in servers.values():
            if isinstance(server, _Connections):
                server.close()
            else:
                await server.aclose()
        await asyncio.sleep(0)  # gives the event loop time to close the sockets


@lru_cache(maxsize=64)
def _parsed(url: str) -> tuple[httpx.URL, tuple[bytes, bytes], httpcore2.URL]:
    """The URL, its server, and the URL as httpx2's core takes it."""
    at = httpx.URL(url)
    return (
        at,
        (at.raw_scheme, at.netloc),
        httpcore2.URL(scheme=at.raw_scheme, host=at.raw_host, port=at.port, target=at.raw_path),
    )


def _made(url: httpx.URL) -> _Connections | httpcore2.AsyncConnectionPool:
    proxy = proxy_for(url.scheme, url.host)
    with usable_network():
        # reading the certificates takes 20 ms, so an address without TLS goes without
        context = httpx.create_ssl_context() if url.scheme == "https" or proxy else None
        if not proxy:
            if context is not None:
                context.set_alpn_protocols(["http/1.1"])
            return _Connections(context)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        return httpx.AsyncHTTPTransport(
            verify=context or False, limits=limits, proxy=httpx.Proxy(proxy)
        )._pool


async def _answered(
    asked: httpcore2.AsyncConnectionInterface | httpcore2.AsyncConnectionPool, request: httpcore2.Request
) -> Answer:
    response = await asked.handle_async_request(request)
    try:
        if response.status < 200:
            raise httpx.RemoteProtocolError("the server wants another protocol")
        body = bytearray()
        async for chunk in response.aiter_stream():
            add_to(body, chunk)
    finally:
        await response.aclose()
    return whole_answer(response.status, response.headers, body)


# ---- connections -------------------------------------------------------------------------------------------------


class _Stream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """A connection of asyncio for httpx2's core, whose own one takes a third of a call's time. What is written is sent with
    the next read; a read has no timeout, because the exchange has one. `unread`: what came and no read has taken."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._unsent: list[bytes] = []
        self.unread = bytearray()
        self._has_ended = False
        self._fault: Exception | None = None
        self._news = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.unread += data
        if len(self.unread) > MAX_ANSWER:  # a server that never stops
            self.close()
        self._news.set()

    def eof_received(self) -> None:
        self._has_ended = True
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_ended, self._fault = True, exc
        self._news.set()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._unsent:
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()
        if not self.unread and not self._has_ended:
            self._news.clear()
            await self._news.wait()
        if not self.unread and self._fault is not None:
            raise httpcore2.ReadError(str(self._fault)) from self._fault
        data = bytes(self.unread[:max_bytes])
        del self.unread[:max_bytes]
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._unsent.append(buffer)

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        self._transport.abort()

    def get_extra_info(self, info: str) -> bool | None:
        if info != "is_readable":
            return None
        # the loop may not have looked at the socket since the connection was last used
        waiting = select.poll()
        waiting.register(self._transport.get_extra_info("socket"), select.POLLIN)
        return bool(self.unread) or self._has_ended or bool(waiting.poll(0))


async def _opened(origin: httpcore2.Origin, context: ssl.SSLContext | None) -> _Stream:
    """A new connection. Raises what httpx2's core raises if none can be made."""
    host = origin.host.decode("ascii")
    made = asyncio.ensure_future(
        asyncio.get_running_loop().create_connection(
            _Stream, host, origin.port, ssl=context, happy_eyeballs_delay=NEXT_ADDRESS_S
        )
    )
    try:
        return (await within(CONNECT_S, asyncio.shield(made)))[1]
    except BaseException as error:
        # not cancelled: asyncio would lose a socket that has connected in this moment
        made.add_done_callback(_close)
        if isinstance(error, asyncio.TimeoutError):
            raise httpcore2.ConnectTimeout(str(error)) from error
        if isinstance(error, OSError):
            if numbers := re.findall(r"\[Errno (-?\d+)\]", str(error)):  # of several addresses
                error.errno = error.errno or int(numbers[-1])
            raise httpcore2.ConnectError(str(error)) from error
        raise


def _close(made: asyncio.Future[tuple[asyncio.Transport, _Stream]]) -> None:
    if not made.cancelled() and made.exception() is None:
        made.result()[1].close()


class _Connection(NamedTuple):
    stream: _Stream
    http: httpcore2.AsyncHTTP11Connection

    def has_rest(self) -> bool:
        """Whether bytes came with the end of the last answer or behind it. If httpx2 does not tell: yes."""
        rest = getattr(getattr(self.http, "_h11_state", None), "trailing_data", None)
        return bool(self.stream.unread) or not isinstance(rest, tuple) or bool(rest[0])


class _Connections:
    """The connections to one server that serve no request. httpx2's pool would look at each of them for every request.
    None is used again once the server has sent something that nobody asked for; what comes behind an answer comes at once,
    so each rests for `REST_S` seconds."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context
        self._in_doubt = self._closed = False
        # the longest at rest first; so many of them have rested
        self._resting: deque[_Connection] = deque()
        self._rested = 0

    async def take(self, origin: httpcore2.Origin) -> _Connection:
        """A connection that has rested, else a new one."""
        while self._resting and (self._rested or self._in_doubt):
            connection = self._resting.popleft()
            self._rested -= 1
            self._in_doubt = self._in_doubt or connection.has_rest()
            if not self._in_doubt and not connection.http.has_expired():
                return connection
            connection.stream.close()
        stream = await _opened(origin, self._context)
        return _Connection(stream, httpcore2.AsyncHTTP11Connection(origin, stream, keepalive_expiry=IDLE_S))

    def put(self, connection: _Connection) -> None:
        """Keep a connection whose answer has ended, unless it or all of them have closed."""
        if self._closed or not connection.http.is_available():
            connection.stream.close()
            return
        self._in_doubt = self._in_doubt or connection.has_rest()
        self._resting.append(connection)
        # a timer runs after all that has arrived by then was read
        asyncio.get_running_loop().call_later(REST_S, self._has_rested)

    def _has_rested(self) -> None:
        self._rested += 1

    def close(self) -> None:
        self._closed = True
        while self._resting:
            self._resting.popleft().stream.close()


# ---- bodies ------------------------------------------------------------------------------------------------------


def add_to(body: bytearray, chunk: bytes) -> None:
    """Add a part of an answer. Raises httpx2.RemoteProtocolError if it becomes too large."""
    body += chunk
    if len(body) > MAX_ANSWER:
        raise httpx.RemoteProtocolError(f"the answer is larger than {MAX_ANSWER} bytes")


def whole_answer(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes | bytearray) -> Answer:
    """The answer with its unpacked body. Raises httpx2.DecodingError, and RemoteProtocolError if it is too large."""
    named = httpx.Headers([*headers])
    if packing := named.pop("content-encoding", ""):
        for name in reversed(packing.lower().split(",")):
            body = _unpacked(body, name.strip())
    return Answer(status, named, bytes(body))


def _unpacked(body: bytes | bytearray, packing: str) -> bytes | bytearray:
    """The body with one layer of compression removed. Decompresses at most one byte more than the limit."""
    if packing in ("", "identity"):
        return body
    if packing not in ("gzip", "x-gzip", "deflate"):
        raise httpx.DecodingError(f"the answer is compressed as {packing[:40]!r}, which was not requested")
    # zlib or gzip; some servers leave out the zlib header of deflate
    for window in (32 + zlib.MAX_WBITS, -zlib.MAX_WBITS)[: 1 + (packing == "deflate")]:
        unpacker = zlib.decompressobj(window)
        with suppress(zlib.error):
            plain = unpacker.decompress(body, MAX_ANSWER + 1)
            break
    else:
        raise httpx.DecodingError("the answer cannot be decompressed")
    add_to(bytearray(), plain)
    if body and not unpacker.eof:
        raise httpx.DecodingError("the compressed answer was cut short")
    return plain


# ---- errors ------------------------------------------------------------------------------------------------------


class _Fault(NamedTuple):
    """What an exception means, by the names of its classes in httpx2, its core and botocore: the first whose names and
    words fit."""

    names: frozenset[str]
    words: str
    kind: str
    title: str
    next_step: str = ""


_MAYBE_HTTPS = "If the server expects TLS, write https:// instead of http://."
_FAULTS = tuple(
    _Fault(frozenset(names.split()), *others)
    for names, *others in (
        # its text quotes the header, which may be the key
        ("LocalProtocolError UnsupportedProtocol", "", "bad_request", "The request to {} is not valid HTTP"),
        ("ConnectError ConnectTimeout ConnectTimeoutError EndpointConnectionError ProxyError SOCKSError", "",
         "unreachable", "No connection to {}"),
        ("ProxyConnectionError SSLError", "", "unreachable", "No connection to {}"),
        # the first byte is no letter: an alert of TLS
        ("RemoteProtocolError", "illegal request line", "unreachable", "The server at {} does not speak HTTP, but maybe TLS",
         "Write https:// instead of http://."),
        ("RemoteProtocolError", "without sending a response", "connection", "The connection to {} was lost",
         _MAYBE_HTTPS),
        ("ProtocolError DecodingError ResponseParserError", "", "bad_body",
         "The answer of {} was cut short or is not HTTP"),
        ("TimeoutException ReadTimeoutError", "", "timeout", "No answer from {} in time"),
        ("Exception", "", "connection", "The connection to {} was lost", _MAYBE_HTTPS),
    )
)  # fmt: skip
# OpenSSL's errors, in several versions, for an answer that is not TLS
_PLAIN_ANSWERS = {"WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"}
_OF_CONNECTIONS = (
    httpx.RequestError, httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError,
    httpcore2.ProxyError, httpcore2.UnsupportedProtocol, OSError,
)  # fmt: skip


def connection_faults() -> tuple[type[Exception], ...]:
    """What a failure of the connection raises."""
    # nothing but a SOCKS proxy loads the package; httpx2 passes its errors on
    socks = sys.modules.get("socksio")
    return (*_OF_CONNECTIONS, socks.SOCKSError) if socks else _OF_CONNECTIONS


def broken(url: str, error: Exception) -> CallError:
    """The error for a failure of the connection, with a next step if the cause is TLS, a proxy or this machine."""
    names = {kind.__name__ for kind in type(error).__mro__}
    fault = next(f for f in _FAULTS if f.names & names and re.search(f.words, str(error)))
    title, why = fault.title.format(url), one_line(error, 200)
    if fault.kind == "bad_request":
        why = "A header or the address holds a character that HTTP does not allow."
        return CallError(fault.kind, title, why)
    causes: list[BaseException] = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    of_system = (c for c in reversed(causes) if isinstance(c, OSError) and not isinstance(c, ssl.SSLError))
    if (system := next(of_system, None)) is not None and system.errno:
        # negative numbers are those of name resolution, which os.strerror does not know
        why = os.strerror(system.errno) if system.errno > 0 else str(system.strerror)
    if fault.kind != "unreachable":
        step = fault.next_step if url.startswith("http:") else ""
        return CallError(fault.kind, title, why, step, retry=True)
    if fault.next_step:
        return UnreachableError(title, f"{why.capitalize()}.", fault.next_step)
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    at = httpx.URL(url)
    proxy = without_password(proxy_for(at.scheme, at.host))
    if tls is not None and not (proxy and url.startswith("http:")):
        return _no_tls(url, tls)
    if any(isinstance(cause, OSError) and is_out_of_handles(cause) for cause in causes):
        return UnreachableError(title, "Too many files are open.", MORE_HANDLES)
    return UnreachableError(
        f"{title} through the proxy {proxy}" if proxy else title, why, OTHER_PROXY if proxy else ""
    )


def _no_tls(url: str, error: ssl.SSLError) -> UnreachableError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return UnreachableError(
            f"The certificate of {url} is not trusted",
            f"{one_line(error.verify_message, 200).rstrip('.').capitalize()}. Certificates in force: {certificates()}.",
            "Name the file of the authority that signed it in SSL_CERT_FILE.",
        )
    reason = getattr(error, "reason", None) or ""
    if reason in _PLAIN_ANSWERS:
        step = "Write http:// instead of https://, or give the port for TLS."
        return UnreachableError(f"The server at {url} does not speak TLS", "Its answer is not TLS.", step)
    why = f"TLS failed: {reason.replace('_', ' ').lower() or one_line(error, 200)}."
    return UnreachableError(f"No secure connection to {url}", why, "Check the address and the server's TLS.")


# ---- proxies and certificates ------------------------------------------------------------------------------------

OTHER_PROXY = "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or name the host in NO_PROXY."


@contextmanager
def usable_network() -> Iterator[None]:
    """For making an HTTP client: raises JudgeError if the environment's proxy or certificates cannot be used."""
    try:
        yield
    except ImportError as error:
        raise JudgeError(
            "the environment names a SOCKS proxy, which needs the package socksio",
            "It is not installed.",
            f"Install it with: pip install 'recjudge[socks]'. {OTHER_PROXY}",
        ) from error
    except OSError as error:
        reason = "no certificate in it" if isinstance(error, ssl.SSLError) else error.strerror
        step = "Correct or remove SSL_CERT_FILE and SSL_CERT_DIR."
        raise JudgeError("the certificates cannot be read", f"{certificates()}: {reason}.", step) from error
    except (ValueError, httpx.InvalidURL) as error:
        raise JudgeError(
            "the proxy in the environment has no valid address",
            "It is written as http://HOST:PORT or socks5://HOST:PORT.",
            OTHER_PROXY,
        ) from error
