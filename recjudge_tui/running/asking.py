"""One call, until it is answered or has failed: retries, the one re-ask, and the pause a server asks for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from recjudge_tui.errors import CallError, ReplyFault
from recjudge_tui.judges.base import Judge
from recjudge_tui.model.calls import Order, ParsedReply, Reply, Request, Usage
from recjudge_tui.model.material import Material
from recjudge_tui.model.prompt import Prompt
from recjudge_tui.protocols.base import Protocol, reask
from recjudge_tui.running.gate import Gate

MAX_ATTEMPTS = 5
LARGER_CAP = 4
# what a machine that slept does to calls in flight
FORGIVEN = ("connection", "timeout", "bad_body")

CostOf = Callable[[Usage], float | None]


class Asked(NamedTuple):
    """How it ended: a reply with its reading, or the error; the last reply is kept when it could not be read."""

    attempts: int
    reply: Reply | None
    parsed: ParsedReply | None
    error_kind: str | None = None
    error: str | None = None


class Question(NamedTuple):
    """Everything needed to read a reply to a request."""

    request: Request
    protocol: Protocol
    prompt: Prompt
    material: Material
    order: Order
    aspect: str

    def read(self, reply: Reply) -> ParsedReply:
        return self.protocol.parse(self.prompt, self.material, reply, self.order, self.aspect)


async def ask(judge: Judge, question: Question, timeout_s: float, gate: Gate, cost_of: CostOf) -> Asked:
    """Ask until there is an answer; its usage is that of all replies together.

    `cost_of` prices a reply's usage. JudgeError passes through: then no call can work. Raises
    StoppedWaiting and BudgetReached.
    """
    request, reasked, enlarged, failures = question.request, False, False, 0
    attempts, spent = 0, Usage()
    while True:
        reserved = await gate.enter(request)
        attempts += 1
        cost: float | None = None
        try:
            reply = await _one_attempt(judge, request, timeout_s)
            cost = cost_of(reply.usage)
        except CallError as error:
            if not (error.kind in FORGIVEN and gate.forgives()):
                failures += 1
            if error.kind in ("thinking", "length") and not enlarged:
                enlarged, request = True, _with_larger_cap(request)
                continue
            if not error.retry or failures >= MAX_ATTEMPTS:
                return Asked(attempts, None, None, error.kind, str(error))
            await _wait_before_retry(error, failures, gate)
            continue
        finally:
            gate.leave(reserved, cost)
        if reasked:
            reply = reply.model_copy(update={"usage": _sum(spent, reply.usage)})
        try:
            parsed = question.read(reply)
        except ReplyFault as fault:
            if reasked:
                return Asked(attempts, reply, None, "bad_reply", f"The reply cannot be used: {fault}.")
            reasked, spent, request = True, reply.usage, reask(request, reply, str(fault))
            continue
        if reasked:
            parsed = parsed.model_copy(update={"parsed_by": "reask"})
        return Asked(attempts, reply, parsed)


async def _one_attempt(judge: Judge, request: Request, timeout_s: float) -> Reply:
    started = time.monotonic()
    try:
        reply = await asyncio.wait_for(judge.ask(request), timeout_s)
    except asyncio.TimeoutError as error:
        raise CallError("timeout", f"no answer within {timeout_s:g} s", retry=True) from error
    if reply.latency_s is None:
        reply = reply.model_copy(update={"latency_s": time.monotonic() - started})
    return reply


async def _wait_before_retry(error: CallError, failures: int, gate: Gate) -> None:
    if error.retry_after is not None:
        gate.pause(error.retry_after)
    else:
        await gate.sleep(gate.backoff(max(failures, 1)))


def _sum(first: Usage, second: Usage) -> Usage:
    """Token counts and costs added; what neither server reply told stays None."""
    told = {
        name: sum(value for value in pair if value is not None) if any(v is not None for v in pair) else None
        for name in Usage.model_fields
        if (pair := (getattr(first, name), getattr(second, name)))
    }
    return Usage(**told)


def _with_larger_cap(request: Request) -> Request:
    sampling = request.sampling
    return request.model_copy(
        update={"sampling": sampling.model_copy(update={"max_tokens": sampling.max_tokens * LARGER_CAP})}
    )
