"""One HTTP request with a deadline, sent to a server directly or through a proxy."""

from __future__ import annotations

import asyncio
import os
import re
import urllib.request
from collections.abc import Mapping
from typing import Any

import httpx

from recjudge_tui import __version__
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError
from recjudge_tui.judges.http.body import ACCEPTED, MAX_ANSWER, too_large, whole_answer
from recjudge_tui.judges.http.deadline import within
from recjudge_tui.judges.http.failures import UnreachableError
from recjudge_tui.judges.http.transport import DirectTransport

CONNECT_S = 10.0
_ERROR_NUMBER = re.compile(r"\[Errno (-?\d+)\]")


def client_settings(urls: tuple[str, ...]) -> dict[str, Any]:
    """Settings of an httpx client for these servers: direct, or through the proxy that the environment names.

    Redirects are not followed, because they could carry the key to another host.
    """
    settings: dict[str, Any] = {"timeout": httpx.Timeout(None, connect=CONNECT_S), "follow_redirects": False}
    if any(_proxied(httpx.URL(url)) for url in urls):
        unlimited = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        return {**settings, "limits": unlimited}
    return {**settings, "transport": DirectTransport(), "trust_env": False}


def _proxied(url: httpx.URL) -> bool:
    proxies = urllib.request.getproxies()
    return (url.scheme in proxies or "all" in proxies) and not urllib.request.proxy_bypass(url.host)


class Client(httpx.AsyncClient):
    """An httpx client. Without a proxy, `fetch` hands requests straight to the transport."""

    def __init__(self, urls: tuple[str, ...]) -> None:
        settings = client_settings(urls)
        headers = {"User-Agent": f"recjudge/{__version__}", "Accept-Encoding": ACCEPTED}
        super().__init__(headers=headers, **settings)
        transport = settings.get("transport")
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
        """The body is counted as it comes, so that no more than the limit is ever in memory."""
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
    """The operating system's words without its error number: `Connection refused`."""
    text = one_line(error, 200)
    number = _ERROR_NUMBER.search(text)
    if number is None:
        return text
    # negative numbers are those of name resolution, which os.strerror does not know
    code = int(number[1])
    return os.strerror(code) if code > 0 else text.replace(number[0], "").strip()


def broken(url: str, error: httpx.RequestError) -> CallError:
    """What a failure of the connection means."""
    why = _reason(error)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return UnreachableError(f"No connection to {url}", why)
    if isinstance(error, httpx.RemoteProtocolError | httpx.DecodingError):
        return CallError("bad_body", f"The answer of {url} was cut short or is not HTTP", why, retry=True)
    if isinstance(error, httpx.TimeoutException):
        return CallError("timeout", f"No answer from {url} in time", why, retry=True)
    return CallError("connection", f"The connection to {url} was lost", why, retry=True)
