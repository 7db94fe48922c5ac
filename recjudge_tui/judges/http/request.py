"""One HTTP request with a deadline, sent to a server directly or through a proxy."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError
from recjudge_tui.judges.http.body import ACCEPTED, MAX_ANSWER, too_large, whole_answer
from recjudge_tui.judges.http.deadline import within
from recjudge_tui.judges.http.failures import UnreachableError
from recjudge_tui.judges.http.transport import DirectTransport
from recjudge_tui.network import (
    OTHER_PROXY,
    certificates,
    proxy_for,
    socks_answers,
    tls_context,
    usable_network,
)
from recjudge_tui.system import MORE_HANDLES, is_out_of_handles
from recjudge_tui.version import USER_AGENT

CONNECT_S = 10.0
# OpenSSL's errors, in several versions, for an answer that is not TLS
_PLAIN_ANSWERS = {"WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"}
_ERROR_NUMBER = re.compile(r"\[Errno (-?\d+)\]")


def client_settings(urls: tuple[str, ...]) -> dict[str, Any]:
    """Settings of an httpx client for these servers: direct, or through the proxy of the environment. Redirects are
    not followed, because they could send the key to another host.
    """
    settings: dict[str, Any] = {"timeout": httpx.Timeout(None, connect=CONNECT_S), "follow_redirects": False}
    if any(proxy_for(httpx.URL(url)) for url in urls):
        # httpx would read what a server sends after an answer as the next answer, so no connection is used twice
        unlimited = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        return {**settings, "limits": unlimited}
    return {**settings, "transport": DirectTransport(), "trust_env": False}


class Client(httpx.AsyncClient):
    """An httpx client. Without a proxy, `fetch` hands requests straight to the transport."""

    def __init__(self, urls: tuple[str, ...]) -> None:
        settings = client_settings(urls)
        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": ACCEPTED}
        transport = settings.get("transport")
        with usable_network():
            if transport is None:
                settings["verify"] = tls_context()
            super().__init__(headers=headers, **settings)
        self._direct = transport if isinstance(transport, DirectTransport) else None
        self._own_headers = [(name.lower(), (name, value)) for name, value in self.headers.raw]

    async def fetch(
        self, method: str, url: str, headers: Mapping[str, str] | None, content: bytes | None
    ) -> httpx.Response:
        """The complete answer to one request. Unlike `request` it keeps no cookies."""
        if self._direct is None:
            return await self._through_proxy(method, url, headers, content)
        given = (headers if isinstance(headers, httpx.Headers) else httpx.Headers(headers)).raw
        names = {name.lower() for name, _ in given}
        own = [header for name, header in self._own_headers if name not in names]
        return await self._direct.request(method, url, own + given, content, CONNECT_S)

    async def _through_proxy(
        self, method: str, url: str, headers: Mapping[str, str] | None, content: bytes | None
    ) -> httpx.Response:
        """Send the request through the proxy.

        The body is counted as it arrives, so that never more than the limit is in memory.
        """
        with socks_answers():
            async with self.stream(method, url, headers=headers, content=content) as response:
                chunks: list[bytes] = []
                async for chunk in response.aiter_raw():
                    chunks.append(chunk)
                    if response.num_bytes_downloaded > MAX_ANSWER:
                        raise too_large()
                return whole_answer(response.status_code, response.headers.raw, chunks)


async def send(
    client: Client,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    timeout_s: float,
) -> httpx.Response:
    """Send one request and return the complete answer, whatever its status, within `timeout_s` seconds.

    Raises UnreachableError when no connection can be made, else CallError: `timeout`, `connection` (lost before the
    answer) or `bad_body` (the answer was cut short or is not HTTP). All of them are worth a retry.
    """
    try:
        return await within(timeout_s, client.fetch(method, url, headers, content))
    except asyncio.TimeoutError:
        raise late(url, timeout_s) from None
    except httpx.RequestError as error:
        raise broken(url, error) from None


def late(url: str, timeout_s: float) -> CallError:
    return CallError(
        "timeout",
        f"No answer from {url} within {timeout_s:g} s",
        next_step="Raise --timeout if the model needs longer.",
        retry=True,
    )


def _reason(error: httpx.RequestError) -> str:
    """The operating system's message without its error number: `Connection refused`."""
    text = one_line(error, 200)
    number = _ERROR_NUMBER.search(text)
    if number is None:
        return text
    # negative numbers are those of name resolution, which os.strerror does not know
    code = int(number[1])
    return os.strerror(code) if code > 0 else text.replace(number[0], "").strip()


def broken(url: str, error: httpx.RequestError) -> CallError:
    """The error for a failure of the connection."""
    why = _reason(error)
    if isinstance(error, httpx.UnsupportedProtocol):
        return UnreachableError(f"The server at {url} speaks TLS", why, "Write https:// instead of http://.")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return _unreachable(url, error, why)
    if isinstance(error, httpx.RemoteProtocolError | httpx.DecodingError):
        return CallError("bad_body", f"The answer of {url} was cut short or is not HTTP", why, retry=True)
    if isinstance(error, httpx.TimeoutException):
        return CallError("timeout", f"No answer from {url} in time", why, retry=True)
    step = "If the server expects TLS, write https:// instead of http://." if url.startswith("http:") else ""
    return CallError("connection", f"The connection to {url} was lost", why, step, retry=True)


def _unreachable(url: str, error: httpx.RequestError, why: str) -> UnreachableError:
    """The error if no connection can be made, with a next step if the cause is TLS, a proxy or this machine."""
    causes = list(_causes(error))
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    proxy = proxy_for(httpx.URL(url))
    if tls is not None and not (proxy and url.startswith("http:")):
        return _no_tls(url, tls)
    if any(isinstance(cause, OSError) and is_out_of_handles(cause) for cause in causes):
        return UnreachableError(f"No connection to {url}", "Too many files are open.", MORE_HANDLES)
    if proxy:
        return UnreachableError(f"No connection to {url} through the proxy {proxy}", why, OTHER_PROXY)
    return UnreachableError(f"No connection to {url}", why)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _no_tls(url: str, error: ssl.SSLError) -> UnreachableError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return UnreachableError(
            f"The certificate of {url} is not trusted",
            f"{one_line(error.verify_message, 200).rstrip('.').capitalize()}. Certificates in force: {certificates()}.",
            "Name the file of the authority that signed it in SSL_CERT_FILE.",
        )
    if getattr(error, "reason", None) in _PLAIN_ANSWERS:
        return UnreachableError(
            f"The server at {url} does not speak TLS",
            "Its answer is not TLS.",
            "Write http:// instead of https://, or give the port for TLS.",
        )
    reason = (getattr(error, "reason", None) or "").replace("_", " ").lower() or one_line(error, 200)
    return UnreachableError(
        f"No secure connection to {url}", f"TLS failed: {reason}.", "Check the address and the server's TLS."
    )
