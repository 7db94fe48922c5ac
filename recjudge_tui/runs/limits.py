"""The checks before a call is sent: a pause that the server asked for, limits per minute, the budget."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from recjudge_tui.domain.calls import Request, estimate_prompt_tokens, estimate_tokens, most_prompt_tokens
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import Progress, RunSettings
from recjudge_tui.domain.text import money, quantity
from recjudge_tui.errors import RunError
from recjudge_tui.judges.base import within
from recjudge_tui.runs.prices import Price, unknown_price

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0


class RunStopError(Exception):
    """The run was told to stop while the call waits to be sent. The call stays planned."""


class BudgetLimitError(Exception):
    """The next call could exceed the budget. The message gives the amounts."""


@dataclass
class RateLimit:
    """An amount per minute, given out at a steady rate, first come first served. Servers also apply a limit per minute to
    windows of a second, so unused amounts are not saved up: in any T seconds at most T/60 of the limit is given out, plus
    one. A call that takes more than a minute's amount waits until all of it is available."""

    per_minute: float
    given_until: float = float("-inf")

    def take(self, amount: float) -> float:
        """Take `amount`. Returns the seconds to wait before it may be used."""
        now, each = time.monotonic(), 60 / self.per_minute
        self.given_until = max(self.given_until, now - each) + amount * each
        return max(0.0, self.given_until - now)


@dataclass
class Budget:
    """Dollars that a run may spend. Every attempt reserves the most it can cost, so the limit is not exceeded. If replies
    cost more than was reserved for them (tokens that cannot be counted beforehand, fees), all later reservations are
    multiplied by the worst such ratio seen. Where the cost of an attempt is not known (lost on its way, without a count of
    tokens), it counts as its reservation. `spent` includes such amounts of earlier processes."""

    limit: float
    price: Price
    spent: float
    reserved: float = 0.0
    in_flight: int = 0
    worst: float = 1.0
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, tokens_in: int, max_tokens: int) -> float | None:
        """Reserve the most that an attempt can cost, and return it; None if this would exceed the limit."""
        amount = self.price.most(tokens_in, max_tokens)
        if self.spent + (self.reserved + amount) * self.worst > self.limit:
            return None
        self.reserved += amount
        self.in_flight += 1
        return amount

    def refusal(self, tokens_in: int, max_tokens: int) -> str:
        """Why such an attempt is not made."""
        most = self.price.most(tokens_in, max_tokens) * self.worst
        return (
            f"The budget of {money(self.limit)} would be exceeded: {money(self.spent)} of it is spent,"
            f" and the next call may cost up to {money(most)}."
        )

    async def reserve(self, tokens_in: int, max_tokens: int, stopping: asyncio.Event) -> float:
        """`take`, after waiting while calls in flight may still free enough. Raises BudgetLimitError when they cannot,
        RunStopError when the run is to stop."""
        while (amount := self.take(tokens_in, max_tokens)) is None:
            most = self.price.most(tokens_in, max_tokens) * self.worst
            if not self.in_flight or self.spent + most > self.limit:
                raise BudgetLimitError(self.refusal(tokens_in, max_tokens))
            self.settled.clear()
            await self.settled.wait()
            if stopping.is_set():
                raise RunStopError
        return amount

    def settle(self, amount: float, cost: float | None, least: float = 0.0) -> float:
        """Replace a reservation by what the attempt cost, and return the dollars that count as spent. An unknown cost
        (None) counts as the reservation, or as `least` if that is more."""
        self.in_flight -= 1
        # sums of floats leave a remainder, which must not look like a call in flight
        self.reserved = self.reserved - amount if self.in_flight else 0.0
        if cost is not None and amount > 0:
            self.worst = max(self.worst, cost / amount)
        counted = max(amount * self.worst, least) if cost is None else cost
        self.spent += counted
        self.settled.set()
        return counted


def budget_of(
    settings: RunSettings,
    judge: JudgeSpec,
    price: Price | None,
    before: Progress,
    reserved: float = 0.0,
    *,
    is_model: bool = True,
) -> Budget | None:
    """The budget of a run of a language model, of which `reserved` dollars are beside what is spent; None without one.
    Raises RunError when it cannot be enforced."""
    if settings.budget_usd is None:
        return None
    if before.impossible_costs:
        raise RunError(
            "the budget of this run cannot be enforced",
            f"An impossible cost is stored for {quantity(before.impossible_costs, 'call')}.",
            "Start a new run; the stored replies are used again.",
        )
    if not is_model:
        return None
    if price is None:
        raise unknown_price(judge)
    return Budget(settings.budget_usd, price, before.spent_usd + reserved)


class Retry(NamedTuple):
    """A call that could not reach its server, and the time (monotonic) at which it tries again."""

    title: str
    due: float


@dataclass
class CallLimits:
    """The checks before an attempt is sent, shared by all calls of a run. Times are monotonic.

    `trouble_since` is when the server began to turn calls away; None while it answers. At most `at_once` attempts may be
    in flight (None: as many as there are workers); `in_flight` are, of `attempts` so far. `is_local`: the server is on
    this machine; `context` is the judge's, where it is known. `retries` are the calls that wait because their server
    cannot be reached. `price` bounds the cost of attempts of unknown cost if there is no budget."""

    stopping: asyncio.Event
    requests: RateLimit | None = None
    tokens: RateLimit | None = None
    budget: Budget | None = None
    price: Price | None = None
    until: float = 0.0
    trouble_since: float | None = None
    rng: random.Random = field(default_factory=random.Random)
    at_once: int | None = None
    in_flight: int = 0
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    retries: dict[object, Retry] = field(default_factory=dict)
    is_local: bool = False
    context: int | None = None
    attempts: int = 0
    # the attempts' seconds up to `busy_at`
    busy_s: float = 0.0
    busy_at: float = field(default_factory=time.monotonic)
    # tokens, seconds and number of the answers so far
    answered: tuple[int, float, int] = (0, 0.0, 0)

    @property
    def speed(self) -> float | None:
        """Tokens a second of a call, reading included; None while nothing was measured."""
        tokens, seconds, _ = self.answered
        return tokens / seconds if tokens and seconds else None

    @property
    def usual_s(self) -> float | None:
        """The seconds of an answer; None before the first one."""
        _, seconds, count = self.answered
        return seconds / count if count else None

    def note_speed(self, tokens: int, seconds: float) -> None:
        """Add an answer of so many tokens."""
        before = self.answered
        self.answered = before[0] + tokens, before[1] + seconds, before[2] + 1

    def most_written(self, seconds: float, read: int) -> int:
        """The longest reply that fits beside a prompt of `read` tokens and can be written in so many seconds."""
        room = self.context - read if self.context else 1 << 30
        return min(room, int(seconds * self.speed) if self.speed else room)

    @contextmanager
    def out_of_reach(self, title: str, delay_s: float) -> Iterator[None]:
        """Record a call that waits because its server cannot be reached, for those who watch the run."""
        key = object()
        self.retries[key] = Retry(title, time.monotonic() + delay_s)
        try:
            yield
        finally:
            del self.retries[key]

    async def enter(self, request: Request) -> float:
        """Wait until the attempt may be sent. Returns the dollars reserved for it. Raises RunStopError as soon as the run
        is to stop, BudgetLimitError when the call could exceed the budget."""
        # the most tokens that the prompt can have; servers put the schema into it as well
        schema = json.dumps(request.reply_schema) if self.tokens else ""
        size = estimate_prompt_tokens(request.messages)[1] + estimate_tokens(schema)[1] if self.tokens else 0
        while True:
            await self.wait_out_pause()
            wait = self.requests.take(1) if self.requests else 0.0
            if self.tokens:
                wait = max(wait, self.tokens.take(size + request.sampling.max_tokens // 4))
            if wait > 0:
                await self.sleep(wait)
            await self._wait_for_place()
            # after a pause that began in the meantime, all calls queue again; otherwise they would all be sent at its
            # end
            if self.until <= time.monotonic():
                break
            self._free_place()
        if self.budget is None:
            return 0.0
        try:
            return await self.budget.reserve(most_tokens(request), request.sampling.max_tokens, self.stopping)
        except BaseException:
            self._free_place()
            raise

    def pause_left(self) -> float:
        """Seconds until a pause requested by a server is over; 0 without one."""
        return max(0.0, self.until - time.monotonic())

    async def wait_out_pause(self) -> None:
        """Wait until a pause requested by a server is over. Raises RunStopError when the run is to stop."""
        while (left := self.pause_left()) > 0:
            await self.sleep(left)

    async def _wait_for_place(self) -> None:
        """Wait until fewer than `at_once` attempts are in flight; there may be more workers than that."""
        while self.at_once is not None and self.in_flight >= self.at_once:
            self.freed.clear()
            await self.freed.wait()
            if self.stopping.is_set():
                raise RunStopError
        self.busy(time.monotonic())
        self.in_flight += 1
        self.attempts += 1

    def busy(self, now: float) -> float:
        """The seconds that all attempts took so far, those in flight among them."""
        self.busy_s += self.in_flight * (now - self.busy_at)
        self.busy_at = now
        return self.busy_s

    def _free_place(self) -> None:
        self.busy(time.monotonic())
        self.in_flight -= 1
        self.freed.set()

    def allow(self, at_once: int) -> None:
        """Allow `at_once` attempts in flight from now on. Those that are in flight are not dropped."""
        self.at_once = at_once
        self.freed.set()

    def leave(
        self, reserved: float, cost: float | None, request: Request | None = None, least: float = 0.0
    ) -> float:
        """End an attempt begun with `enter`, and return the dollars that count as spent. `cost` is in dollars; None if
        unknown: it is then bounded by the reservation, else by the size of the `request`, and is at least `least`."""
        self._free_place()
        if self.budget:
            return self.budget.settle(reserved, cost, least)
        if cost is not None or self.price is None or request is None:
            return cost or 0.0
        return max(self.price.most(most_tokens(request), request.sampling.max_tokens), least)

    async def sleep(self, seconds: float) -> None:
        """Wait. Raises RunStopError as soon as the run is to stop, even if there is nothing to wait for."""
        if self.stopping.is_set():
            raise RunStopError
        try:
            await within(seconds, self.stopping.wait())
        except asyncio.TimeoutError:
            return
        raise RunStopError

    def pause(self, seconds: float) -> None:
        """Send nothing for this many seconds, as the server asked."""
        self.until = max(self.until, time.monotonic() + seconds)

    def trouble(self) -> None:
        """Note that the server turned a call away: too many calls, overloaded, or unreachable."""
        if self.trouble_since is None:
            self.trouble_since = time.monotonic()

    def note_answer(self) -> None:
        """Note that the server answered a call."""
        self.trouble_since = None

    def backoff(self, failures: int) -> float:
        """Seconds to wait after so many failures: exponential with jitter, from 0.5 s to a minute."""
        # 2.0 ** 1024 would be too large for a float
        longest = min(FIRST_WAIT_S * 2.0 ** min(failures - 1, 64), LONGEST_WAIT_S)
        return self.rng.uniform(0.1, 1.0) * longest


def most_tokens(request: Request) -> int:
    """An upper limit of the tokens of prompt and schema: no tokenizer and no language needs more."""
    return most_prompt_tokens(request.messages) + len(json.dumps(request.reply_schema))
