"""What an attempt passes before it goes out: the pause a server asked for, limits a minute, the budget."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field

from recjudge_tui.model.calls import Request
from recjudge_tui.model.tokens import estimate_tokens
from recjudge_tui.running.prices import Price

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
STALL_S = 5.0
GRACE_S = 120.0


class StoppedWaiting(Exception):  # noqa: N818 - nothing went wrong
    """The run is to stop, and the call was waiting, not in flight: it stays planned."""


class BudgetReached(Exception):  # noqa: N818 - nothing went wrong
    """The next call could pass the budget; the message says where it stands."""


@dataclass
class Bucket:
    """So much a minute, in a steady flow: at most one second's worth may be taken at once.

    Takers are served in the order they came; one that wants more than there is waits for its own share.
    """

    per_minute: float
    level: float = field(init=False)
    at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.level = self.burst

    @property
    def burst(self) -> float:
        return max(self.per_minute / 60, 1.0)

    def take(self, amount: float) -> float:
        """Take `amount`; returns the seconds to wait before it may be used."""
        now = time.monotonic()
        self.level = min(self.burst, self.level + (now - self.at) * self.per_minute / 60)
        self.at = now
        self.level -= amount
        return max(0.0, -self.level * 60 / self.per_minute)


@dataclass
class Budget:
    """Dollars that a run may spend. Every attempt reserves the most it can cost, so the limit is never passed."""

    limit: float
    price: Price
    spent: float
    reserved: float = 0.0
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    async def reserve(self, tokens_in: int, max_tokens: int) -> float:
        """Set aside what the attempt can cost at most; waits while others in flight may free enough.

        Raises BudgetReached when even all of them together could not.
        """
        amount = self.price.cost(tokens_in, max_tokens)
        while self.spent + self.reserved + amount > self.limit:
            if self.reserved <= 0 or self.spent + amount > self.limit:
                raise BudgetReached(
                    f"the budget of ${self.limit:,.2f} would be passed: ${self.spent:,.4f} spent,"
                    f" the next call may cost up to ${amount:,.4f}"
                )
            self.settled.clear()
            await self.settled.wait()
        self.reserved += amount
        return amount

    def settle(self, amount: float, cost: float | None) -> None:
        """Replace a reservation by what the attempt cost; by itself when that is not known."""
        self.reserved = max(0.0, self.reserved - amount)
        self.spent += amount if cost is None else cost
        self.settled.set()


@dataclass
class Gate:
    """Everything an attempt passes before it goes out. Times are monotonic."""

    stopping: asyncio.Event
    requests: Bucket | None = None
    tokens: Bucket | None = None
    budget: Budget | None = None
    until: float = 0.0
    rng: random.Random = field(default_factory=random.Random)
    seen: tuple[float, float] = field(default_factory=lambda: (time.monotonic(), time.time()))
    woke_at: float = float("-inf")

    async def enter(self, request: Request) -> float:
        """Wait until the attempt may go out; returns the dollars reserved for it.

        Raises StoppedWaiting as soon as the run is to stop, BudgetReached when the money may not suffice.
        """
        size = _tokens(request) if self.tokens or self.budget else 0
        waits = [self.requests.take(1) if self.requests else 0.0]
        if self.tokens:
            waits.append(self.tokens.take(size + request.sampling.max_tokens // 4))
        if max(waits) > 0:
            await self.sleep(max(waits))
        while (left := self.until - time.monotonic()) > 0:
            await self.sleep(left)
        return await self.budget.reserve(size, request.sampling.max_tokens) if self.budget else 0.0

    def leave(self, reserved: float, cost: float | None) -> None:
        """Say what the attempt cost; None when nobody knows."""
        if self.budget:
            self.budget.settle(reserved, cost)

    async def sleep(self, seconds: float) -> None:
        """Wait; raises StoppedWaiting as soon as the run is to stop."""
        try:
            await asyncio.wait_for(self.stopping.wait(), seconds)
        except asyncio.TimeoutError:
            return
        raise StoppedWaiting

    def pause(self, seconds: float) -> None:
        """Let nobody ask for so long: the server said so."""
        self.until = max(self.until, time.monotonic() + seconds)

    def backoff(self, failures: int) -> float:
        """Exponential with jitter: up to 0.5 s after the first failure, doubling to a minute."""
        return self.rng.uniform(0.1, 1.0) * min(FIRST_WAIT_S * 2.0 ** (failures - 1), LONGEST_WAIT_S)

    def look(self) -> None:
        """Notice that this process stood still: the machine slept, or the process was stopped.

        The monotonic clock stands still with a sleeping machine while the wall clock goes on; in a stopped
        process both go on, but nobody looks. A clock that jumps back is no sleep.
        """
        now = (time.monotonic(), time.time())
        stood = now[0] - self.seen[0]
        if stood > STALL_S or (now[1] - self.seen[1]) - stood > STALL_S:
            self.woke_at = now[0]
        self.seen = now

    def forgives(self) -> bool:
        """Whether a lost connection or a passed deadline is the machine's sleep and not the server's fault."""
        self.look()
        return time.monotonic() - self.woke_at < GRACE_S


def _tokens(request: Request) -> int:
    return sum(estimate_tokens(message.content)[1] for message in request.messages)
