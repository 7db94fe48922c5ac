"""Several servers with the same model: a worker stays at its server as long as none has fewer calls in flight, because a
server that has just read the prompts of a user need not read them again."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

import httpx

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, RecjudgeError, UsageError
from recjudge_tui.judges.http.failures import UnreachableError

T = TypeVar("T")
ASIDE_S = 5.0
HIGHEST_PORT = 65535
_PORT = re.compile(r"\d{1,5}", re.ASCII)
_NO_URL = re.compile(r"[\s\x00-\x20\x7f\\\\<>\"^`{|}]")


@dataclass
class Endpoint:
    """One server. It is not asked before `aside_until` (monotonic; 0: no reason to wait)."""

    url: str
    in_flight: int = 0
    aside_until: float = 0.0


class Endpoints:
    """The servers of one judge, with the number of calls in flight at each."""

    def __init__(self, urls: tuple[str, ...]) -> None:
        self._all = [Endpoint(url) for url in dict.fromkeys(urls)]
        # seat -> the server that answered its last call
        self._kept: dict[int, Endpoint] = {}

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(endpoint.url for endpoint in self._all)

    async def call(self, action: Callable[[str], Awaitable[T]], seat: int | None = None) -> T:
        """Run `action` on the URL of a live endpoint with the fewest calls in flight; of several, on the one that answered
        the last call of this `Request.seat`.

        An endpoint without a connection (`UnreachableError`: nothing was sent) is set aside for 5 s and the next one
        is tried. When all are set aside, the one due first is tried anyway, so a single server is always asked.
        Raises the last UnreachableError when none can be reached.
        """
        tried: list[Endpoint] = []
        while True:
            endpoint = self._choose(tried, seat)
            known_until = endpoint.aside_until
            endpoint.in_flight += 1
            try:
                result = await action(endpoint.url)
            except UnreachableError:
                self.set_aside(endpoint.url)
                tried.append(endpoint)
                if not any(self._alive(other) for other in self._all if other not in tried):
                    raise
            else:
                if endpoint.aside_until == known_until:  # otherwise it was paused during this call
                    endpoint.aside_until = 0.0
                if seat is not None:
                    self._kept[seat] = endpoint
                return result
            finally:
                endpoint.in_flight -= 1

    def set_aside(self, url: str, seconds: float | None = None) -> None:
        """Do not ask this server for this many seconds (default 5), as long as there are other servers."""
        for endpoint in self._all:
            if endpoint.url == url:
                endpoint.aside_until = time.monotonic() + (ASIDE_S if seconds is None else seconds)

    def pause_server(self, url: str, error: RecjudgeError) -> RecjudgeError:
        """Pause a server that asked for it (429, 503, 529 with a delay), and return the error to raise.

        Its `retry_after` becomes the time until any server may be asked: 0 while another one is free.
        """
        if isinstance(error, CallError) and error.retry_after is not None:
            self.set_aside(url, error.retry_after)
            due = min(endpoint.aside_until for endpoint in self._all)
            error.retry_after = max(0.0, due - time.monotonic()) if len(self._all) > 1 else error.retry_after
        return error

    def _choose(self, tried: list[Endpoint], seat: int | None) -> Endpoint:
        alive = [e for e in self._all if e not in tried and self._alive(e)]
        if alive:
            kept = None if seat is None else self._kept.get(seat)
            return min(alive, key=lambda e: (e.in_flight, e is not kept))
        return min(self._all, key=lambda e: e.aside_until)

    @staticmethod
    def _alive(endpoint: Endpoint) -> bool:
        return endpoint.aside_until <= time.monotonic()


def under(url: str, path: str) -> str:
    """The URL of `path` at a server. A query in the server's URL stays at the end."""
    root, mark, query = url.partition("?")
    return f"{root}{path}{mark}{query}"


def checked_url(url: str) -> str:
    """The URL without a final slash. Raises UsageError for a bad URL and for one that holds a secret.

    The error does not repeat what precedes an `@` or follows a `?`.
    """
    bare = url.strip().rstrip("/")
    if "@" in bare or "?" in bare or "#" in bare:
        raise UsageError(
            "A base URL must not contain a user name, a password or a query",
            f"The URL is stored with every run. Use {bare.rpartition('@')[2].partition('?')[0]} instead.",
            "Put the key into an environment variable and name that with --api-key-env.",
        )
    scheme, sep, rest = bare.partition("://")
    fault = "" if scheme in ("http", "https") and sep else "It does not begin with http:// or https://."
    if fault := fault or _fault_of(bare, rest.partition("/")[0]):
        raise UsageError(
            f"“{one_line(bare, 200)}” is not a base URL",
            fault,
            "Write it as http://HOST:PORT or https://HOST.",
        )
    return bare


def _fault_of(url: str, place: str) -> str:
    """What is wrong with a URL whose host and port are `place`; empty if nothing is."""
    bracketed = place.startswith("[")
    host, closed, rest = place.partition("]") if bracketed else (place, "", "")
    host, _, port = (host, "", rest.removeprefix(":")) if bracketed else host.partition(":")
    if bracketed and (not closed or (rest and not rest.startswith(":"))):
        return "Its IPv6 address is incomplete: write it between [ and ]."
    if ":" in port and not bracketed:
        return "It has too many colons; write an IPv6 address between [ and ]."
    if (port or place.endswith(":")) and not (_PORT.fullmatch(port) and 0 < int(port) <= HIGHEST_PORT):
        return f"Its port must be a number from 1 to {HIGHEST_PORT}."
    if not host or _NO_URL.search(url):
        return (
            "It has no host."
            if not host
            else "It contains a space or another character that a URL cannot have."
        )
    try:
        parsed = urlsplit(url)
        httpx.URL(url).raw_host.decode("ascii").encode("idna")
    except UnicodeError:
        return "Its host is not a valid name."
    except (ValueError, httpx.InvalidURL) as error:
        return f"{one_line(error, 100)}."
    return "" if parsed.hostname else "It has no host."
