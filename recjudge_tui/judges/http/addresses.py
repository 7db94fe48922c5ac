"""Connects a socket to the first address of a host name that answers (RFC 8305, "happy eyeballs"). asyncio can do
this too, but it loses the socket if the caller is cancelled in the loop iteration in which the socket connects; the
socket then stays open until the garbage collector finds it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from itertools import chain, zip_longest
from typing import Any

# after this time the next address of a name is tried in parallel, and the first connection wins
NEXT_ADDRESS_S = 0.25

_Address = tuple[int, int, int, str, Any]


async def connected_socket(host: str, port: int) -> socket.socket:
    """A connected socket that does not block. Raises OSError, which names every address that failed."""
    waiting = await _addresses(host, port)
    attempts: list[asyncio.Task[socket.socket]] = []
    pending: set[asyncio.Task[socket.socket]] = set()
    winner: asyncio.Task[socket.socket] | None = None
    try:
        while winner is None and (waiting or pending):
            if waiting:
                attempts.append(asyncio.ensure_future(_connected(waiting.pop(0))))
                pending.add(attempts[-1])
            done, pending = await asyncio.wait(
                pending,
                timeout=NEXT_ADDRESS_S if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            winner = next((attempt for attempt in done if attempt.exception() is None), None)
    finally:
        for attempt in attempts:
            if attempt is not winner and not attempt.cancel() and attempt.exception() is None:
                attempt.result().close()
    if winner is None:
        raise _failure([attempt.exception() for attempt in attempts])
    return winner.result()


async def _addresses(host: str, port: int) -> list[_Address]:
    """The addresses of a host name, alternating between IPv6 and IPv4. A numeric address needs no resolver."""
    try:
        addresses: list[_Address] = socket.getaddrinfo(  # type: ignore[assignment]
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
    except socket.gaierror:
        addresses = await resolved(host, port)
    families: dict[int, list[_Address]] = {}
    for address in addresses:
        families.setdefault(address[0], []).append(address)
    in_turn = chain.from_iterable(zip_longest(*families.values()))
    return [address for address in in_turn if address is not None]


async def resolved(host: str, port: int) -> list[_Address]:
    """The addresses that the system's resolver finds for a name. Raises OSError.

    The resolver may take half a minute. It has a thread of its own, because an event loop waits for its own threads
    before it ends; nothing waits for this one if the caller is cancelled.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[_Address]] = loop.create_future()

    def settle(found: list[_Address], error: Exception | None) -> None:
        if answer.cancelled():
            return
        if error is None:
            answer.set_result(found)
        else:
            answer.set_exception(error)

    def resolve() -> None:
        found: list[_Address] = []
        error: Exception | None = None
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)  # type: ignore[assignment]
        except (OSError, UnicodeError) as failure:
            error = failure
        # the loop may be closed by now
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, found, error)

    threading.Thread(target=resolve, name="resolver", daemon=True).start()
    return await answer


async def _connected(address: _Address) -> socket.socket:
    family, kind, protocol, _, target = address
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, target)
    except BaseException:
        opened.close()
        raise
    return opened


def _failure(errors: list[BaseException | None]) -> OSError:
    """One error for all addresses: the only error, or a new one that names each address."""
    messages = dict.fromkeys(str(error) for error in errors)
    first = errors[0] if errors else None
    if len(messages) == 1 and isinstance(first, OSError):
        return first
    return OSError("; ".join(messages) or "the name has no address")
