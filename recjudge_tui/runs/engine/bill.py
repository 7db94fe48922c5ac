"""The cost of one call: known dollars, and the most that attempts of unknown cost may have cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from recjudge_tui.domain.calls import Request, Usage, least_tokens
from recjudge_tui.errors import CallError

CostOf = Callable[[Usage], float | None]

# errors with which a server rejects a request before any model works on it; they are never billed
_TURNED_AWAY = ("rate_limit", "overloaded", "bad_request", "redirect")


@dataclass
class Bill:
    """The dollars of one call's attempts in this process. `known` is None while no attempt has a known cost.

    `reserve`, if given, stores the most that the call can have cost when its next attempt ends, and returns when it
    is on disk, so that the amount counts as spent if the process is killed during an attempt. The same holds for a
    call cancelled during an attempt (`was_cut`).
    """

    known: float | None = None
    unknown: float = 0.0
    reserve: Callable[[float], Awaitable[None]] | None = None
    was_cut: bool = False

    async def open(self, most: float) -> None:
        """Reserve `most` dollars for the next attempt, beside what was spent so far."""
        if self.reserve is not None:
            await self.reserve((self.known or 0.0) + self.unknown + most)

    def add(self, cost: float | None, most: float) -> None:
        """Add an attempt with this cost; None: unknown, but at most `most`."""
        if cost is None:
            self.unknown += most
        else:
            self.known = (self.known or 0.0) + cost


def credible_usage(usage: Usage, request: Request, reply: str = "") -> Usage:
    """The usage without counts that are too low for what was sent and received: such a server has not counted them, so
    the cost is not known from them. Images are left out, because some models take next to nothing for one.
    """
    sent = sum(least_tokens(message.content) for message in request.messages)
    doubted = {
        name: None
        for name, count, least in (
            ("input", usage.input, sent),
            ("output", usage.output, least_tokens(reply)),
        )
        if count is not None and count < least
    }
    return usage.model_copy(update=doubted) if doubted else usage


def cost_of_failure(error: CallError, cost_of: CostOf, request: Request) -> float | None:
    """The cost of a failed attempt: from the usage that the server reported with the failure, else 0 if the request
    was rejected or not sent. None if unknown, as for an answer that was lost, refused or unreadable.
    """
    if isinstance(error.usage, Usage) and error.usage != Usage():
        return cost_of(credible_usage(error.usage, request))
    # if a usage is reported, even an empty one, a model answered until the context was full
    too_long = error.kind == "overflow" and error.usage is None
    return 0.0 if error.kind in _TURNED_AWAY or too_long or not error.sent else None


def claimed_cost(error: CallError) -> float:
    """The dollars that the server itself reports for a failed attempt; 0 if it reports none."""
    return (error.usage.cost_usd or 0.0) if isinstance(error.usage, Usage) else 0.0
