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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import httpcore2
import httpx2 as httpx

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges.base import within
from recjudge_tui.judges.trust import literal_address
from recjudge_tui.system import MORE_HANDLES, is_out_of_handles
from recjudge_tui.version import USER_AGENT

CONNECT_S = 10.0
IDLE_S = 4.0  # llama.cpp, uvicorn and others close an idle connection after five seconds
# a connection rests so long before its next request, because what comes behind an answer comes at once
REST_S = 0.02
# bytes, also after decompression; the answer to one call usually has a few thousand
MAX_ANSWER = 16 * 1024 * 1024
_HIGH_WATER = 256 * 1024
_TLS_ALERT = b"\x15\x03"
_ZLIB_OR_GZIP = 32 + zlib.MAX_WBITS
_SETTINGS = (
    (b"User-Agent", USER_AGENT.encode()),
    (b"Accept", b"*/*"),
    (b"Accept-Encoding", b"gzip, deflate"),
)
Header = tuple[bytes, bytes]


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
        # proxy ("": none) -> its connections; server -> those it is asked through
        self._pools: dict[str, httpcore2.AsyncConnectionPool] = {}
        self._pool_of: dict[tuple[bytes, bytes], httpcore2.AsyncConnectionPool] = {}

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
            return await within(timeout_s, self._exchange(method, httpx.URL(url), headers, content))
        except asyncio.TimeoutError:
            raise late(url, timeout_s) from None
        except connection_faults() as error:
            raise broken(url, error) from None

    async def _exchange(
        self, method: str, url: httpx.URL, headers: Mapping[str, str] | None, content: bytes | None
    ) -> Answer:
        sent = [(b"Host", url.netloc), *_SETTINGS, *httpx.Headers(headers).raw]
        if content is not None:
            sent.append((b"Content-Length", b"%d" % len(content)))
        request = httpcore2.Request(
            method,
            httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=sent,
            content=content,
            extensions={"timeout": {"connect": CONNECT_S}},
        )
        response = await self._pool(url).handle_async_request(request)
        try:
            if response.status < 200:
                raise httpx.RemoteProtocolError("the server wants another protocol")
            body = bytearray()
            async for chunk in response.aiter_stream():
                add_to(body, chunk)
        finally:
            await response.aclose()
        return whole_answer(response.status, response.headers, body)

    def _pool(self, url: httpx.URL) -> httpcore2.AsyncConnectionPool:
        server = url.raw_scheme, url.netloc
        if server not in self._pool_of:
            proxy = _proxy_for(url)
            if proxy not in self._pools:
                self._pools[proxy] = _made_pool(proxy, secure=url.scheme == "https")
            self._pool_of[server] = self._pools[proxy]
        return self._pool_of[server]

    async def aclose(self) -> None:
        pools, self._pools, self._pool_of = self._pools, {}, {}
        for pool in pools.values():
            await pool.aclose()
        await asyncio.sleep(0)  # gives the event loop time to close the sockets


def _made_pool(proxy: str, *, secure: bool) -> httpcore2.AsyncConnectionPool:
    with usable_network():
        # reading the certificates takes 20 ms, so an address without TLS goes without
        context = httpx.create_ssl_context() if secure or proxy else None
        if not proxy:
            return _Pool(context, max_connections=None, keepalive_expiry=IDLE_S)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        return httpx.AsyncHTTPTransport(
            verify=context or False, limits=limits, proxy=httpx.Proxy(proxy)
        )._pool


# ---- connections -------------------------------------------------------------------------------------------------


class _Pool(httpcore2.AsyncConnectionPool):
    """Does not use a server's connections again once the server has sent something that nobody asked for."""

    def __init__(self, ssl_context: ssl.SSLContext | None, **settings: Any) -> None:
        super().__init__(ssl_context, **settings)
        self._context = ssl_context
        self._in_doubt: set[httpcore2.Origin] = set()

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        return _Connection(origin, self._context, self._in_doubt)


class _Connection(httpcore2.AsyncHTTPConnection):
    def __init__(self, origin: httpcore2.Origin, context: ssl.SSLContext | None, in_doubt: set[Any]) -> None:
        self._wire = _Wire()
        super().__init__(origin, context, keepalive_expiry=IDLE_S, network_backend=self._wire)
        self._server, self._servers_in_doubt = str(origin), in_doubt
        self._idle_since: float | None = None

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        if self._idle_since is not None and (self.has_expired() or self._wire.is_readable()):
            await self.aclose()
            raise httpcore2.ConnectionNotAvailable  # the pool takes another one
        self._idle_since = None
        self._wire.begin()
        return await super().handle_async_request(request)

    def is_available(self) -> bool:
        if not self.is_idle():
            return False
        now = asyncio.get_running_loop().time()
        self._idle_since = self._idle_since or now
        return now - self._idle_since >= REST_S  # the pool has just asked whether it has expired

    def has_expired(self) -> bool:
        if self._server in self._servers_in_doubt:
            return True
        if self.is_idle() and (self._wire.received or self._has_rest()):
            self._servers_in_doubt.add(self._server)
            return True
        return super().has_expired()

    def _has_rest(self) -> bool:
        """Whether bytes came with the end of the last answer. If httpx2 does not tell: yes."""
        rest = getattr(getattr(self._connection, "_h11_state", None), "trailing_data", None)
        return not isinstance(rest, tuple) or bool(rest[0])


class _Wire(asyncio.Protocol, httpcore2.AsyncNetworkBackend, httpcore2.AsyncNetworkStream):
    """The socket of one connection. It is read as soon as something comes, so that nothing can wait on it unseen."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self.received, self._first = bytearray(), True
        self._unsent = b""
        self._news = asyncio.Event()
        self._ended, self._error = False, ""

    def begin(self) -> None:
        """A new request: nothing was read yet."""
        self._first, self._unsent = True, b""

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *_: Any, **__: Any
    ) -> _Wire:
        is_name = literal_address(host) is None
        # a name may have addresses that do not answer; one address needs no race
        delay = 0.25 if is_name else None
        making = asyncio.get_running_loop().create_connection(
            lambda: self, host, port, happy_eyeballs_delay=delay
        )
        opening = asyncio.ensure_future(within(timeout or CONNECT_S, making))
        opening.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            with _as_connect_error():
                await asyncio.shield(opening)
        except asyncio.CancelledError:
            # Python's race between addresses leaves a socket open when it is cancelled: it goes on, and is closed then
            self._ended = True
            if not is_name:
                opening.cancel()
            await self.aclose()  # it may have been made in the same turn of the loop
            raise
        return self

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Wire:
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        with _as_connect_error():
            opening = loop.start_tls(self._transport, self, ssl_context, server_hostname=server_hostname)
            secured = await within(timeout or CONNECT_S, opening)
        assert isinstance(secured, asyncio.Transport), "the connection was lost"
        self._transport = secured
        return self

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._unsent and self._transport is not None and not self._ended:
            self._transport.write(self._unsent)
            self._unsent = b""
        while not self.received and not self._ended:
            self._news.clear()
            await self._news.wait()
        if not self.received and (self._error or self._first):
            raise httpcore2.ReadError(self._error or "the server closed the connection without an answer")
        if self._first and self.received.startswith(_TLS_ALERT):
            raise httpcore2.RemoteProtocolError("it answered a plain request with a TLS alert")
        self._first = False
        data = bytes(self.received[:max_bytes])
        del self.received[:max_bytes]
        if self._transport is not None and not self._ended and len(self.received) < _HIGH_WATER:
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._ended or self._transport is None:
            raise httpcore2.WriteError(self._error)
        self._unsent += buffer  # head and body are sent as one, when the answer is waited for

    async def aclose(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return self._ended or bool(self.received)
        return None if self._transport is None else self._transport.get_extra_info(info)

    def is_readable(self) -> bool:
        """Whether there is data that the event loop has not delivered yet."""
        opened = self._transport and self._transport.get_extra_info("socket")
        if not opened or opened.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(opened.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._ended:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        self.received += data
        if len(self.received) >= _HIGH_WATER and self._transport is not None:
            self._transport.pause_reading()
        self._news.set()

    def eof_received(self) -> None:
        self._ended = True
        self._news.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._error = self._error or str(error or "")
        self.eof_received()


@contextmanager
def _as_connect_error() -> Iterator[None]:
    try:
        yield
    except asyncio.TimeoutError:
        raise httpcore2.ConnectTimeout(f"no connection within {CONNECT_S:g} s") from None
    except (OSError, UnicodeError) as error:  # ssl.SSLError is an OSError too
        raise httpcore2.ConnectError(str(error) or type(error).__name__) from error


# ---- bodies ------------------------------------------------------------------------------------------------------


def add_to(body: bytearray, chunk: bytes) -> None:
    """Add a part of an answer. Raises httpx2.RemoteProtocolError if it becomes too large."""
    body += chunk
    if len(body) > MAX_ANSWER:
        raise httpx.RemoteProtocolError(f"the answer is larger than {MAX_ANSWER} bytes")


def whole_answer(status: int, headers: Iterable[Header], body: bytes | bytearray) -> Answer:
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
    # some servers leave out the zlib header of deflate
    for window in (_ZLIB_OR_GZIP, -zlib.MAX_WBITS)[: 1 + (packing == "deflate")]:
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


_HTTPS = "Write https:// instead of http://."
_MAYBE_HTTPS = "If the server expects TLS, write https:// instead of http://."
_FAULTS = tuple(
    _Fault(frozenset(names.split()), *others)
    for names, *others in (
        # its text quotes the header, which may be the key
        ("LocalProtocolError UnsupportedProtocol", "", "bad_request", "The request to {} is not valid HTTP"),
        ("ConnectError ConnectTimeout ConnectTimeoutError EndpointConnectionError ProxyError SOCKSError", "",
         "unreachable", "No connection to {}"),
        ("ProxyConnectionError SSLError", "", "unreachable", "No connection to {}"),
        ("RemoteProtocolError", "TLS alert", "unreachable", "The server at {} speaks TLS", _HTTPS),
        ("ProtocolError DecodingError ResponseParserError", "", "bad_body",
         "The answer of {} was cut short or is not HTTP"),
        ("TimeoutException ReadTimeoutError", "", "timeout", "No answer from {} in time"),
        ("Exception", "", "connection", "The connection to {} was lost", _MAYBE_HTTPS),
    )
)  # fmt: skip
_ERROR_NUMBER = re.compile(r"\[Errno (-?\d+)\]")
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
    """The error for a failure of the connection."""
    names = {kind.__name__ for kind in type(error).__mro__}
    fault = next(f for f in _FAULTS if f.names & names and re.search(f.words, str(error)))
    title, why = fault.title.format(url), one_line(error, 200)
    if fault.kind == "bad_request":
        return CallError(
            fault.kind, title, "A header or the address holds a character that HTTP does not allow."
        )
    if number := _ERROR_NUMBER.search(why):
        # negative numbers are those of name resolution, which os.strerror does not know
        code = int(number[1])
        why = os.strerror(code) if code > 0 else why.replace(number[0], "").strip()
    if fault.kind != "unreachable":
        step = fault.next_step if url.startswith("http:") else ""
        return CallError(fault.kind, title, why, step, retry=True)
    if fault.next_step:
        return UnreachableError(title, f"{why.capitalize()}.", fault.next_step)
    return _unreachable(url, title, error, why)


def late(url: str, timeout_s: float) -> CallError:
    return CallError(
        "timeout",
        f"No answer from {url} within {timeout_s:g} s",
        next_step="Raise --timeout if the model needs longer.",
        retry=True,
    )


def _unreachable(url: str, title: str, error: BaseException, why: str) -> UnreachableError:
    """The error if no connection can be made, with a next step if the cause is TLS, a proxy or this machine."""
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    proxy = _without_password(_proxy_for(httpx.URL(url)))
    if tls is not None and not (proxy and url.startswith("http:")):
        return _no_tls(url, tls)
    if any(isinstance(cause, OSError) and is_out_of_handles(cause) for cause in causes):
        return UnreachableError(title, "Too many files are open.", MORE_HANDLES)
    if proxy:
        return UnreachableError(f"{title} through the proxy {proxy}", why, OTHER_PROXY)
    return UnreachableError(title, why)


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
# the first one that is set is used by httpx2
CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def certificates() -> str:
    """The source of the trusted certificates: a variable with its path, else the system's."""
    variable = next(filter(os.environ.get, CERTIFICATE_VARIABLES), "")
    default = ssl.get_default_verify_paths()
    path = os.environ.get(variable) or default.cafile or default.capath
    return ": ".join(filter(None, (variable or "the system's", path)))


def proxies() -> dict[str, str]:
    """The proxies that the environment or the system names, by kind (`https`, `http`, `all`), without user names and
    passwords."""
    return {kind: _without_password(proxy) for kind, proxy in _named_proxies().items()}


def _named_proxies() -> dict[str, str]:
    import urllib.request  # slow to load, and only needed here

    named = urllib.request.getproxies()
    return {kind: named[kind] for kind in ("https", "http", "all") if named.get(kind)}


def _proxy_for(url: httpx.URL) -> str:
    """The proxy that the environment names for this URL; empty if there is none."""
    named = _named_proxies()
    if proxy := named.get(url.scheme) or named.get("all") or "":
        import urllib.request

        proxy = "" if urllib.request.proxy_bypass(url.host) else proxy
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


def _without_password(proxy: str) -> str:
    scheme, sep, rest = proxy.rpartition("://")
    return f"{scheme}{sep}{rest.rpartition('@')[2]}"


@contextmanager
def usable_network() -> Iterator[None]:
    """For making an HTTP client: raises JudgeError if the proxy or the certificates that the environment names cannot be
    used."""
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
