"""One call until it is answered or has failed: retries, and one repeated request when a reply cannot be read."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.calls import PROFILE, CallResult, Order, ParsedReply, Reply, Request, Usage
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.errors import CallError, RecjudgeError, ReplyFault
from recjudge_tui.judges.base import Judge
from recjudge_tui.judges.http.deadline import within
from recjudge_tui.protocols.base import Protocol, reask
from recjudge_tui.protocols.replies import parse_profile
from recjudge_tui.runs.control.limits import BudgetLimitError, CallLimits, RunStopError
from recjudge_tui.runs.control.retries import Failures, note_attempt
from recjudge_tui.runs.engine.bill import Bill, CostOf, claimed_cost, cost_of_failure, credible_usage

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
            usable = fault.usable or (unread[1].usable if unread else None)
            if unread is not None and isinstance(usable, ParsedReply):
                # a clear label is not lost for odd flags
                return CallResult(attempts, reply, usable.model_copy(update={"parsed_by": "reask"}))
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
