"""One call until it is answered or has failed: retries, one repeated request when a reply cannot be read, and its bill."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.calls import (
    PROFILE,
    CallResult,
    Order,
    ParsedReply,
    Reply,
    Request,
    Usage,
    least_tokens,
)
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.errors import CallError, RecjudgeError, ReplyFault
from recjudge_tui.judges.base import Judge, within
from recjudge_tui.protocols.base import Protocol, reask
from recjudge_tui.protocols.replies.profile import parse_profile
from recjudge_tui.runs.limits import BudgetLimitError, CallLimits, RunStopError

# ---- retries -----------------------------------------------------------------------------------------------------


MAX_ATTEMPTS = 5
# after so many failed calls one after the other the work stops
FAILURES_IN_A_ROW = 25
# the errors of calls that were in flight while the machine slept
FORGIVEN = ("connection", "timeout", "bad_body")
# seconds to wait for a server that currently accepts no calls, independent of the number of attempts
PATIENCE_S = {"rate_limit": 3600.0, "overloaded": 3600.0, "connection": 120.0, "loading": 600.0}


@dataclass
class Failures:
    """The failed attempts of one call, and whether to try again.

    Five failures end a call. Two kinds are not counted: failures of a machine that just woke up, and errors by which
    a server says that it takes no calls now (429, 503, 529, any error with a delay, no connection). For these the
    call waits up to an hour, or two minutes without a connection, counted from its first failure or from the server's
    last answer to any call, whichever is earlier. So a short outage fails no call, and a long one ends the run because
    many calls in a row fail. A connection lost again while other calls are answered is the call's own fault and counts.
    """

    limits: CallLimits
    in_row: int = 0
    counted: int = 0
    since: float = 0.0

    def end_with(self, error: CallError) -> bool:
        """Note a failed attempt. True if it was the last one."""
        if not error.retry:
            return True
        self.in_row += 1
        self.since = self.since or time.monotonic()
        if error.kind in FORGIVEN and self.limits.was_asleep():
            return False
        patience = self._patience(error)
        if self._waited() + (error.retry_after or 0.0) < patience:
            return False
        self.counted += not patience
        return (self.in_row if patience else self.counted) >= MAX_ATTEMPTS

    def _patience(self, error: CallError) -> float:
        trouble = self.limits.trouble_since
        others_answered = trouble is None or trouble > self.since
        if error.kind == "connection" and others_answered and self.in_row > 1:
            return 0.0
        return PATIENCE_S.get(error.kind, PATIENCE_S["rate_limit"] if error.retry_after else 0.0)

    def _waited(self) -> float:
        began = (
            self.since if self.limits.trouble_since is None else min(self.since, self.limits.trouble_since)
        )
        return time.monotonic() - began

    async def wait(self, error: CallError) -> None:
        """Wait for the next attempt: as long as the server asked for (then all calls wait), else exponentially longer.

        A delay of zero is honoured once. Raises RunStopError when the run is to stop.
        """
        if error.retry_after:
            self.limits.pause(error.retry_after)
        delay = self._delay(error)
        if error.kind != "connection":
            await self.limits.sleep(delay)
            return
        with self.limits.out_of_reach(error.title, delay):
            await self.limits.sleep(delay)

    def _delay(self, error: CallError) -> float:
        if error.retry_after or (error.retry_after is not None and self.in_row == 1):
            return 0.0
        return self.limits.backoff(self.in_row)


def note_attempt(limits: CallLimits, error: CallError | None = None) -> None:
    """Note whether the server takes calls, by how an attempt ended."""
    if error is not None and error.kind in PATIENCE_S:
        limits.trouble()
    elif error is None or not error.retry:
        limits.note_answer()


# ---- bill --------------------------------------------------------------------------------------------------------


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


# ---- call --------------------------------------------------------------------------------------------------------


LARGER_CAP = 4


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


async def ask(
    judge: Judge, question: Question, timeout_s: float, limits: CallLimits, cost_of: CostOf, bill: Bill
) -> CallResult:
    """Ask until there is an answer. The usage of its reply is the sum over all replies.

    `cost_of` prices a reply's usage; every attempt is added to `bill`, also when this raises. Raises JudgeError when no
    call can work; RunStopError and BudgetLimitError while there is no reply. A reply that cannot be read, and cannot
    be asked for again because of one of these, is a failed call, because it was paid for.
    """
    result = await _result(judge, question, timeout_s, limits, cost_of, bill)
    return result._replace(cost_usd=bill.known, unknown_usd=bill.unknown)


async def _result(
    judge: Judge, question: Question, timeout_s: float, limits: CallLimits, cost_of: CostOf, bill: Bill
) -> CallResult:
    request, failures, attempts, enlarged = question.request, Failures(limits), 0, False
    unread: tuple[Reply, ReplyFault] | None = None
    while True:
        try:
            reserved = await limits.enter(request)
            await _open(bill, limits, reserved)
            attempts += 1
            try:
                reply = await _one_attempt(judge, request, timeout_s, limits, cost_of, reserved, bill)
            except CallError as error:
                if error.kind in ("thinking", "length") and not enlarged:
                    enlarged, request = True, _with_larger_cap(request)
                elif failures.end_with(error):
                    return CallResult(attempts, unread and unread[0], error_kind=error.kind, error=str(error))
                else:
                    await failures.wait(error)
                continue
        except (RunStopError, BudgetLimitError):
            if unread is None:
                raise
            return unusable(attempts, *unread)
        if unread is not None:
            reply = reply.model_copy(update={"usage": _sum(unread[0].usage, reply.usage)})
        try:
            parsed = question.read(reply)
        except ReplyFault as fault:
            if unread is not None:
                return unusable(attempts, reply, fault)
            unread, request = (reply, fault), reask(request, reply, str(fault))
            continue
        if unread is not None:
            parsed = parsed.model_copy(update={"parsed_by": "reask"})
        return CallResult(attempts, reply, parsed)


async def _open(bill: Bill, limits: CallLimits, reserved: float) -> None:
    """Store the reservation of an attempt before it is sent. Raises RunStopError if the run is to stop meanwhile."""
    try:
        await bill.open(limits.counted(reserved))
        if limits.stopping.is_set():
            raise RunStopError
    except BaseException:
        limits.leave(reserved, 0.0)
        raise


def unusable(attempts: int, reply: Reply, fault: ReplyFault) -> CallResult:
    """The failure of a call whose reply cannot be read."""
    return CallResult(attempts, reply, error_kind="bad_reply", error=f"The reply cannot be used: {fault}.")


async def _one_attempt(
    judge: Judge,
    request: Request,
    timeout_s: float,
    limits: CallLimits,
    cost_of: CostOf,
    reserved: float,
    bill: Bill,
) -> Reply:
    """One attempt. Its cost, and whether the server took it, are noted in the limits and on the bill."""
    started, cost, least = time.monotonic(), None, 0.0
    try:
        reply = await _in_time(judge.ask(request), timeout_s)
        cost = cost_of(credible_usage(reply.usage, request, reply.text))
        least = reply.usage.cost_usd or 0.0
    except CallError as error:
        cost, least = cost_of_failure(error, cost_of, request), claimed_cost(error)
        note_attempt(limits, error)
        raise
    except asyncio.CancelledError:
        bill.was_cut = True
        raise
    except RecjudgeError:
        cost = 0.0  # refused because of key, model, credit or address
        raise
    except Exception as error:
        raise unforeseen(error) from error
    finally:
        bill.add(cost, limits.leave(reserved, cost, request, least))
    note_attempt(limits)
    if reply.latency_s is None:
        reply = reply.model_copy(update={"latency_s": time.monotonic() - started})
    return reply


def unforeseen(error: Exception) -> CallError:
    """The failure of a call because of a bug in reading the answer, in recjudge or in a judge of another package.

    One odd answer must not end a run. The error's own words are left out: they may quote the answer.
    """
    return CallError(
        "unforeseen",
        f"The answer could not be read ({_place(error)})",
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


async def _in_time(attempt: Awaitable[Reply], timeout_s: float) -> Reply:
    try:
        return await within(timeout_s, attempt)
    except asyncio.TimeoutError as error:
        raise CallError("timeout", f"no answer within {timeout_s:g} s", retry=True) from error


def _sum(first: Usage, second: Usage) -> Usage:
    """The sums of token counts and costs; None where both replies lack a figure."""
    sums = {
        name: sum(value for value in pair if value is not None) if any(v is not None for v in pair) else None
        for name in Usage.model_fields
        if (pair := (getattr(first, name), getattr(second, name)))
    }
    return Usage(**sums)


def _with_larger_cap(request: Request) -> Request:
    sampling = request.sampling
    return request.model_copy(
        update={"sampling": sampling.model_copy(update={"max_tokens": sampling.max_tokens * LARGER_CAP})}
    )
