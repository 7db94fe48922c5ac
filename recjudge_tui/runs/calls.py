"""One call until it is answered or has failed: its retries, the ladder of its answers, and its bill. A batch asks once."""

from __future__ import annotations

import asyncio
import json
import random
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from typing import Protocol as AnyProtocol

from recjudge_tui.domain.calls import (
    PROFILE,
    CallResult,
    Order,
    ParsedReply,
    Reply,
    Request,
    Usage,
    estimate_prompt_tokens,
    estimate_tokens,
    least_tokens,
    most_prompt_tokens,
)
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.run import Progress, RunSettings
from recjudge_tui.domain.text import money, one_line, quantity
from recjudge_tui.errors import CallError, RecjudgeError, ReplyFault, RunError
from recjudge_tui.judges.replies import added
from recjudge_tui.protocols.registry import Protocol, reask
from recjudge_tui.protocols.replies import parse_profile, repeats_itself
from recjudge_tui.runs.estimate import NO_MODEL, Price, unknown_price
from recjudge_tui.system import within

# ---- limits ------------------------------------------------------------------------------------------------------


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
    spent: float
    reserved: float = 0.0
    in_flight: int = 0
    worst: float = 1.0
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, amount: float) -> bool:
        """Reserve the most that an attempt can cost; False if this would exceed the limit."""
        if self.spent + (self.reserved + amount) * self.worst > self.limit:
            return False
        self.reserved += amount
        self.in_flight += 1
        return True

    def refusal(self, amount: float) -> str:
        """Why such an attempt is not made."""
        return (
            f"The budget of {money(self.limit)} would be exceeded: {money(self.spent)} of it is spent,"
            f" and the next call may cost up to {money(amount * self.worst)}."
        )

    async def reserve(self, amount: float, stopping: asyncio.Event) -> None:
        """`take`, after waiting while calls in flight may still free enough. Raises BudgetLimitError when they cannot,
        RunStopError when the run is to stop."""
        while not self.take(amount):
            if not self.in_flight or self.spent + amount * self.worst > self.limit:
                raise BudgetLimitError(self.refusal(amount))
            self.settled.clear()
            await self.settled.wait()
            if stopping.is_set():
                raise RunStopError

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
    if price == NO_MODEL:
        return None
    if price is None:
        raise unknown_price(judge)
    return Budget(settings.budget_usd, before.spent_usd + reserved)


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
    cannot be reached. `price` bounds the cost of an attempt."""

    stopping: asyncio.Event
    requests: RateLimit | None = None
    tokens: RateLimit | None = None
    budget: Budget | None = None
    price: Price | None = None
    until: float = 0.0
    trouble_since: float | None = None
    at_once: int | None = None
    in_flight: int = 0
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    retries: dict[int, Retry] = field(default_factory=dict)
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

    def most_written(self, seconds: float, read: int) -> int:
        """The longest reply that fits beside a prompt of `read` tokens and can be written in so many seconds."""
        room = self.context - read if self.context else 1 << 30
        return min(room, int(seconds * self.speed) if self.speed else room)

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
        assert self.price is not None, "a budget is enforced by a price"
        most = self.most_cost(request)
        try:
            await self.budget.reserve(most, self.stopping)
        except BaseException:
            self._free_place()
            raise
        return most

    def most_cost(self, request: Request) -> float:
        """The most that an attempt can cost in dollars; 0 without a price."""
        return self.price.most(most_tokens(request), request.sampling.max_tokens) if self.price else 0.0

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
        return max(self.most_cost(request), least)

    async def sleep(self, seconds: float) -> None:
        """Wait. Raises RunStopError as soon as the run is to stop, even if there is nothing to wait for."""
        if self.stopping.is_set():
            raise RunStopError
        try:
            await within(seconds, self.stopping.wait())
        except asyncio.TimeoutError:
            return
        raise RunStopError

    def note(self, error: CallError | None = None) -> None:
        """Note, by how an attempt ended, whether the server takes calls: it turned one away (too many calls, overloaded,
        unreachable), or answered."""
        if error is not None and error.kind in PATIENCE_S:
            self.trouble_since = time.monotonic() if self.trouble_since is None else self.trouble_since
        elif error is None or not error.retry:
            self.trouble_since = None


def most_tokens(request: Request) -> int:
    """An upper limit of the tokens of prompt and schema: no tokenizer and no language needs more."""
    return most_prompt_tokens(request.messages) + len(json.dumps(request.reply_schema))


# ---- retries -----------------------------------------------------------------------------------------------------


MAX_ATTEMPTS = 5
# after so many failed calls one after the other the work stops
FAILURES_IN_A_ROW = 25
# seconds to wait for a server that currently accepts no calls, independent of the number of attempts
PATIENCE_S = {"rate_limit": 3600.0, "overloaded": 3600.0, "connection": 120.0, "loading": 600.0}


@dataclass
class Failures:
    """The failed attempts of one call, and whether to try again.

    Five failures end a call, without those by which a server says that it takes no calls now (429, 503, 529, any delay, no
    connection). For these the call waits up to `PATIENCE_S`, counted from its first failure or from the server's last answer
    to any call, whichever is earlier. So a short outage fails no call, and a long one ends the run because many calls in a
    row fail. A connection lost again while others are answered is the call's own fault and counts."""

    limits: CallLimits
    in_row: int = 0
    counted: int = 0
    since: float = 0.0

    def end_with(self, error: CallError) -> bool:
        """Note a failed attempt. True if it was the last one."""
        if not error.retry:
            return True
        now, trouble = time.monotonic(), self.limits.trouble_since
        self.in_row += 1
        self.since = self.since or now
        patience = PATIENCE_S.get(error.kind, PATIENCE_S["rate_limit"] if error.retry_after else 0.0)
        others_answered = trouble is None or trouble > self.since
        if error.kind == "connection" and others_answered and self.in_row > 1:
            patience = 0.0
        waited = now - min(self.since, now if trouble is None else trouble)
        if waited + (error.retry_after or 0.0) < patience:
            return False
        self.counted += not patience
        return (self.in_row if patience else self.counted) >= MAX_ATTEMPTS

    async def wait(self, error: CallError) -> None:
        """Wait for the next attempt: as long as the server asked for (then all calls wait), else exponentially longer, with
        jitter, from 0.5 s to a minute. A delay of zero is honoured once. Raises RunStopError."""
        limits, told = self.limits, error.retry_after
        if told:
            limits.until = max(limits.until, time.monotonic() + told)
        # 2.0 ** 1024 would be too large for a float
        longest = min(FIRST_WAIT_S * 2.0 ** min(self.in_row - 1, 64), LONGEST_WAIT_S)
        delay = 0.0 if told or (told == 0 and self.in_row == 1) else random.uniform(0.1, 1.0) * longest
        if error.kind == "connection":
            limits.retries[id(self)] = Retry(error.title, time.monotonic() + delay)
        try:
            await limits.sleep(delay)
        finally:
            limits.retries.pop(id(self), None)


# ---- bill --------------------------------------------------------------------------------------------------------


CostOf = Callable[[Usage], float | None]

# errors with which a server rejects a request before any model works on it; they are never billed
_TURNED_AWAY = ("rate_limit", "overloaded", "bad_request", "redirect")


@dataclass
class Bill:
    """The dollars of one call's attempts in this process. `known` is None while no attempt has a known cost. `reserve`
    stores the most that the call can have cost when its next attempt ends, and returns when it is on disk: it counts as
    spent if the process is killed, or the call cancelled (`was_cut`), during the attempt."""

    known: float | None = None
    unknown: float = 0.0
    reserve: Callable[[float], Awaitable[None]] | None = None
    was_cut: bool = False

    def add(self, cost: float | None, most: float) -> None:
        """Add an attempt with this cost; None: unknown, but at most `most`."""
        if cost is None:
            self.unknown += most
        else:
            self.known = (self.known or 0.0) + cost


def credible_usage(usage: Usage, request: Request, reply: str = "") -> Usage:
    """The usage without counts that are too low for the texts sent and received: such a server has not counted them."""
    least = {"input": sum(least_tokens(m.content) for m in request.messages), "output": least_tokens(reply)}
    doubted = {name: None for name, n in least.items() if n > (getattr(usage, name) or 0)}
    return usage.model_copy(update=doubted) if doubted else usage


def billed(error: CallError, cost_of: CostOf, request: Request) -> tuple[float | None, float]:
    """The cost of a failed attempt, and the least it can be, which is what the server itself claims. 0 if the request was
    rejected or not sent; None if unknown, as for an answer that was lost, refused or unreadable."""
    usage = error.usage
    least = (usage.cost_usd or 0.0) if isinstance(usage, Usage) else 0.0
    if isinstance(usage, Usage) and usage != Usage():
        return cost_of(credible_usage(usage, request)), least
    # if a usage is reported, even an empty one, a model answered until the context was full
    too_long = error.kind == "overflow" and usage is None
    return (0.0 if error.kind in _TURNED_AWAY or too_long or not error.sent else None), least


# ---- call --------------------------------------------------------------------------------------------------------


LARGER_CAP = 4
# a cap that is not that much larger is not worth another attempt
LEAST_LARGER = 1.25
# the errors of answers that ended at the token cap
CUT = ("thinking", "length")
VARIED = 0.3


class Question(NamedTuple):
    """Everything needed to read a reply to a request."""

    request: Request
    protocol: Protocol
    prompt: Prompt
    material: Material
    order: Order
    aspect: str

    def read(self, reply: Reply) -> ParsedReply:
        """Raises ReplyFault for a reply that cannot be used."""
        try:
            if self.aspect == PROFILE:
                return parse_profile(reply)
            return self.protocol.parse(self.prompt, self.material, reply, self.order, self.aspect)
        except Exception as error:
            if isinstance(error, ReplyFault | RecjudgeError):
                raise
            raise ReplyFault(f"it cannot be read ({_place(error)})") from error


class Source(AnyProtocol):
    """What answers requests: a judge, or a batch that has arrived."""

    async def ask(self, request: Request) -> Reply: ...


@dataclass
class Call:
    """A call while it is asked. `request` is what is sent next. A reply that cannot be read is asked for once more with
    its fault named (`unread`), and an answer that ended at the cap once more with a changed request (`mended` says how);
    `earlier` are the kind and text of both. `usage` are the tokens of all attempts."""

    judge: Source
    question: Question
    timeout_s: float
    limits: CallLimits
    cost_of: CostOf
    bill: Bill
    attempts: int = 0
    usage: Usage = field(default_factory=Usage)
    earlier: list[tuple[str, str]] = field(default_factory=list)
    unread: tuple[Reply, ReplyFault] | None = None
    mended: str = ""
    latency_s: float | None = None

    def __post_init__(self) -> None:
        self.request = self.question.request

    async def result(self) -> CallResult:
        """Ask until there is an answer. Raises JudgeError when no call can work; RunStopError and BudgetLimitError while
        there is no reply. A reply that cannot be read, and cannot be asked for again because of one of these, is a failed
        call: it was paid for."""
        failures = Failures(self.limits)
        while True:
            try:
                try:
                    result = await self.attempt()
                except CallError as error:
                    result = None
                    if failures.end_with(error) or self._is_too_slow(error):
                        result = self.failed(error)
                    else:
                        sampling = self.request.sampling
                        if error.usage is not None and sampling.temperature == 0:
                            # nothing is sent again unchanged to a server that has just answered it
                            self._sample(
                                {"temperature": VARIED, "seed": (sampling.seed or 0) + self.attempts}
                            )
                        await failures.wait(error)
            except (RunStopError, BudgetLimitError):
                if self.unread is None:
                    raise
                result = self._unusable(*self.unread)
            if result is not None:
                return self.counted(result)

    async def attempt(self) -> CallResult | None:
        """Ask once. None where `request` was changed and is to be asked once more. Raises what `Judge.ask` raises."""
        try:
            return self._read(await self._send())
        except CallError as error:
            read = error.usage.input if isinstance(error.usage, Usage) else None
            if error.kind in CUT and self._mend(error.kind, error.text or error.thinking, read or 0):
                return None
            raise

    def climb(self, earlier: Iterable[tuple[str, str]]) -> None:
        """Change the request as these answers of former attempts did."""
        for kind, text in earlier:
            self._mend(kind, text) if kind in CUT else self._read(Reply(text=text))

    def counted(self, result: CallResult | None) -> CallResult:
        """The result with all attempts; None: without an end, because the call is to be asked once more."""
        if result is None:
            result = CallResult(self.attempts, Reply(text=self.earlier[-1][1]))
        reply = result.reply
        if reply is not None:
            latency_s = reply.latency_s or self.latency_s
            if (reply.usage, reply.latency_s) != (self.usage, latency_s):
                reply = reply.model_copy(update={"usage": self.usage, "latency_s": latency_s})
        elif self.usage != Usage():
            reply = Reply(text="", usage=self.usage)
        return result._replace(
            attempts=self.attempts,
            reply=reply,
            cost_usd=self.bill.known,
            unknown_usd=self.bill.unknown,
            earlier=tuple(self.earlier),
        )

    def _read(self, reply: Reply) -> CallResult | None:
        """The result of a reply; None where it is asked for once more."""
        unread = self.unread
        try:
            parsed = self.question.read(reply)
        except ReplyFault as fault:
            usable = fault.usable or (unread[1].usable if unread else None)
            if unread and isinstance(usable, ParsedReply):
                parsed = usable  # a clear label is not lost for odd flags
            elif unread:
                return self._unusable(reply, fault)
            else:
                self.unread, self.request = (reply, fault), reask(self.request, reply, str(fault))
                self.earlier.append(("bad_reply", reply.text))
                return None
        if unread:
            parsed = parsed.model_copy(update={"parsed_by": "reask"})
        return CallResult(self.attempts, reply, parsed)

    def _unusable(self, reply: Reply, fault: ReplyFault) -> CallResult:
        error = f"The reply cannot be used: {fault}."
        return CallResult(self.attempts, reply, error_kind="bad_reply", error=error)

    def _is_too_slow(self, error: CallError) -> bool:
        """Whether a server on this machine did not answer in time because it cannot: its usual answers take long too, or
        there is none after two attempts."""
        limits = self.limits
        if error.kind != "timeout" or not limits.is_local:
            return False
        return self.attempts > 1 if limits.usual_s is None else limits.usual_s > self.timeout_s / 4

    def _mend(self, kind: str, said: str, read: int = 0) -> bool:
        """Change the request, once, after an answer that ended at the cap: if it repeats itself, with a penalty where the
        server takes one; else with a larger cap, if that fits context and timeout. False if nothing changes."""
        sampling = self.request.sampling
        if self.mended:
            return False
        if repeats_itself(said):
            penalty: dict[str, Any] | None = getattr(self.judge, "repetition_penalty", None)
            if penalty is None:
                return False
            update: dict[str, Any] = {"extra": penalty | sampling.extra}
        else:
            cap = min(sampling.max_tokens * LARGER_CAP, self.limits.most_written(self.timeout_s, read))
            if cap < sampling.max_tokens * LEAST_LARGER:
                return False
            update = {"max_tokens": cap}
        (self.mended,) = update
        self._sample(update)
        self.earlier.append((kind, said))
        return True

    def _sample(self, update: dict[str, Any]) -> None:
        sampling = self.request.sampling.model_copy(update=update)
        self.request = self.request.model_copy(update={"sampling": sampling})

    def failed(self, error: CallError) -> CallResult:
        """The failure of the call, with what the last answer said and what was measured."""
        kind, cause, said = error.kind, error.sentences, error.text or error.thinking
        cap, speed = self.request.sampling.max_tokens, self.limits.speed
        if kind in CUT and repeats_itself(said):
            kind, cause = "loop", f"The model repeats itself: {one_line(said[-120:])}"
        elif kind in CUT and self.mended == "max_tokens":
            cause = f"{error.title}, twice, the second time at {cap:,} tokens. {error.cause}"
        elif kind in CUT and self.mended:
            cause = f"{error.title} of {cap:,}, asked again because the first answer repeated itself. {error.cause}"
        elif kind in CUT and speed:
            cause = f"{error.title} of {cap:,}. A larger one does not fit: {self._need(cap * 2, speed)}"
        elif kind == "timeout" and speed and cap / speed > self.timeout_s:
            cause = f"{error.title}. {self._need(cap, speed)}"
        reply = self.unread and self.unread[0]
        if said:
            stop = "length" if error.kind in CUT else ""
            reply = Reply(text=error.text, thinking=error.thinking, stop=stop)
        return CallResult(self.attempts, reply, error_kind=kind, error=cause)

    def _need(self, tokens: int, speed: float) -> str:
        context = f"; the context has {self.limits.context:,}" if self.limits.context else ""
        return f"{speed:.3g} tokens/s: {tokens:,} tokens need {tokens / speed:.0f} s{context}."

    async def _send(self) -> Reply:
        """Send the request. Its cost, and whether the server took it, are noted in the limits and on the bill."""
        limits, request = self.limits, self.request
        reserved = await limits.enter(request)
        try:
            if self.bill.reserve is not None:  # the reservation is stored before the attempt is sent
                spent = (self.bill.known or 0.0) + self.bill.unknown
                await self.bill.reserve(spent + reserved * (limits.budget.worst if limits.budget else 0.0))
            if limits.stopping.is_set():
                raise RunStopError
        except BaseException:
            limits.leave(reserved, 0.0)
            raise
        self.attempts += 1
        started, cost, least = time.monotonic(), None, 0.0
        try:
            reply = await within(self.timeout_s, self.judge.ask(request))
            cost = self.cost_of(credible_usage(reply.usage, request, reply.text))
            least = reply.usage.cost_usd or 0.0
            self._count(reply.usage, started)
        except asyncio.CancelledError:
            self.bill.was_cut = True
            raise
        except Exception as problem:
            if isinstance(problem, RecjudgeError) and not isinstance(problem, CallError):
                cost = 0.0  # refused because of key, model, credit or address
                raise
            error = _call_error(problem, self.timeout_s)
            cost, least = billed(error, self.cost_of, request)
            self._count(error.usage, started)
            limits.note(error)
            if error is problem:
                raise
            raise error from problem
        finally:
            self.bill.add(cost, limits.leave(reserved, cost, request, least))
        limits.note()
        return reply

    def _count(self, usage: object, started: float) -> None:
        self.latency_s = time.monotonic() - started
        if isinstance(usage, Usage):
            self.usage = usage if self.attempts == 1 else added(self.usage, usage)
            tokens, seconds, count = self.limits.answered
            self.limits.answered = tokens + (usage.output or 0), seconds + self.latency_s, count + 1


def _call_error(problem: Exception, timeout_s: float) -> CallError:
    """The failure of an attempt. A bug in reading the answer, in recjudge or in a judge of another package, is one too:
    one odd answer must not end a run. Its own words are left out, because they may quote the answer."""
    if isinstance(problem, CallError):
        return problem
    if isinstance(problem, asyncio.TimeoutError):
        return CallError("timeout", f"no answer within {timeout_s:g} s", retry=True)
    return CallError(
        "unforeseen",
        f"The answer could not be read ({_place(problem)})",
        "recjudge did not expect such an answer.",
        "Please report it. Other calls continue.",
        retry=True,
    )


def _place(error: Exception) -> str:
    """The kind of an error, and the line of code that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    return ", ".join(
        [type(error).__name__, *(f"{Path(frame.filename).name}:{frame.lineno}" for frame in last)]
    )
