"""One call, until it is answered or has failed: retries, the one re-ask, and the pause a server asks for."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from recjudge_tui.errors import CallError, ReplyFault
from recjudge_tui.judges.base import Judge
from recjudge_tui.model.calls import Order, ParsedReply, Reply, Request
from recjudge_tui.model.material import Material
from recjudge_tui.model.prompt import Prompt
from recjudge_tui.protocols.base import Protocol, reask

MAX_ATTEMPTS = 5
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
LARGER_CAP = 4


class Asked(NamedTuple):
    """How it ended: a reply with its reading, or the error; the last reply is kept when it could not be read."""

    attempts: int
    reply: Reply | None
    parsed: ParsedReply | None
    error_kind: str | None = None
    error: str | None = None


@dataclass
class Pause:
    """The moment until which nobody asks this judge, because it said so. Monotonic time."""

    until: float = 0.0
    rng: random.Random = field(default_factory=random.Random)

    async def wait(self) -> None:
        while (left := self.until - time.monotonic()) > 0:
            await asyncio.sleep(left)

    def extend(self, seconds: float) -> None:
        self.until = max(self.until, time.monotonic() + seconds)

    def backoff(self, attempt: int) -> float:
        """Exponential with full jitter: up to 0.5 s after the first attempt, doubling to a minute."""
        return self.rng.uniform(0.1, 1.0) * min(FIRST_WAIT_S * 2.0 ** (attempt - 1), LONGEST_WAIT_S)


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


async def ask(judge: Judge, question: Question, timeout_s: float, pause: Pause) -> Asked:
    """Ask until there is an answer. JudgeError passes through: then no call can work."""
    request, reasked, enlarged, failures = question.request, False, False, 0
    attempts = 0
    while True:
        await pause.wait()
        attempts += 1
        try:
            reply = await _one_attempt(judge, request, timeout_s)
        except CallError as error:
            failures += 1
            if error.kind in ("thinking", "length") and not enlarged:
                enlarged, request = True, _with_larger_cap(request)
                continue
            if not error.retry or failures >= MAX_ATTEMPTS:
                return Asked(attempts, None, None, error.kind, str(error))
            await _wait_before_retry(error, failures, pause)
            continue
        try:
            parsed = question.read(reply)
        except ReplyFault as fault:
            if reasked:
                return Asked(attempts, reply, None, "bad_reply", f"The reply cannot be used: {fault}.")
            reasked, request = True, reask(request, reply, str(fault))
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


async def _wait_before_retry(error: CallError, failures: int, pause: Pause) -> None:
    if error.retry_after is not None:
        pause.extend(error.retry_after)
    else:
        await asyncio.sleep(pause.backoff(failures))


def _with_larger_cap(request: Request) -> Request:
    sampling = request.sampling
    return request.model_copy(
        update={"sampling": sampling.model_copy(update={"max_tokens": sampling.max_tokens * LARGER_CAP})}
    )
