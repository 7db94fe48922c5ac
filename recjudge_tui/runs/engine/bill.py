"""What one call costs: known dollars, and the most that attempts of unknown cost may have cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from recjudge_tui.domain.calls import Usage
from recjudge_tui.errors import CallError

CostOf = Callable[[Usage], float | None]

# errors by which a server turns a request away before any model works on it; nobody bills these
_TURNED_AWAY = ("rate_limit", "overloaded", "bad_request", "redirect")


@dataclass
class Bill:
    """The dollars of one call's attempts in this process. `known` is None while no attempt has a known cost.

    `reserve`, if given, stores the most that the call can have cost when its next attempt ends, and returns when that
    is on disk: a process that is killed in the middle of an attempt leaves the amount as spent. So does a call that was
    cancelled in the middle of one, which `was_cut` says.
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
        """Add an attempt that cost so much; None: unknown, and `most` at most."""
        if cost is None:
            self.unknown += most
        else:
            self.known = (self.known or 0.0) + cost


def cost_of_failure(error: CallError, cost_of: CostOf) -> float | None:
    """What a failed attempt cost: by the usage that the server reported with the failure, else 0 where the request was
    turned away or not sent. None: unknown, as of an answer that was lost, refused or not readable."""
    if isinstance(error.usage, Usage) and error.usage != Usage():
        return cost_of(error.usage)
    # with a usage, even an empty one, a model answered until the context was full
    too_long = error.kind == "overflow" and error.usage is None
    return 0.0 if error.kind in _TURNED_AWAY or too_long or not error.sent else None


def claimed_cost(error: CallError) -> float:
    """The dollars that the server itself names for a failed attempt; 0 where it names none."""
    return (error.usage.cost_usd or 0.0) if isinstance(error.usage, Usage) else 0.0
