"""Makes the calls of a run: they are prepared ahead, sent many at once, and recorded in the background.

A worker only waits for the judge, so the server is never idle while a request is built or an answer is stored. The
calls that are asked and not yet stored are limited in number, and so is memory.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from recjudge_tui.domain.calls import CallResult, Usage
from recjudge_tui.domain.roles import is_language_model
from recjudge_tui.domain.run import Progress
from recjudge_tui.errors import JudgeError, RecjudgeError
from recjudge_tui.judges.base import LANE, WORKER, Judge, slots_of
from recjudge_tui.runs.control import retries
from recjudge_tui.runs.control.limits import BudgetLimitError, CallLimits, RunStopError
from recjudge_tui.runs.engine.bill import Bill
from recjudge_tui.runs.engine.call import ask
from recjudge_tui.runs.engine.call_queue import CallQueue
from recjudge_tui.runs.engine.held_run import NO_PROFILE, HeldRun, PreparedCall, prepare_call
from recjudge_tui.runs.engine.recorder import Recorder
from recjudge_tui.runs.prices import Price, cost_at
from recjudge_tui.store.calls import CallOutcome

if TYPE_CHECKING:
    from recjudge_tui.runs.engine.early_stopping import RunDecision

UNSAVED_A_WORKER = 2
USERS_UNTIL_DECIDED = 4
LOOK_AGAIN_S = 0.02


@dataclass
class Job:
    """A leased run while its calls are made. `work_with` changes `concurrency`.

    `failure` ends the run; the calls that were sent by then are still stored. `stopped_because` is the reason of a
    stop that no user requested.
    """

    run: HeldRun[Judge]
    recorder: Recorder
    limits: CallLimits
    price: Price | None
    progress: Progress
    concurrency: int
    decision: RunDecision | None = None
    failed_in_a_row: int = 0
    failure: RecjudgeError | None = None
    stopped_because: str = ""
    workers: int = 0
    resized: asyncio.Event = field(default_factory=asyncio.Event)
    # request hash -> set when the reply to this request is stored, or will not come
    in_flight: dict[str, asyncio.Event] = field(default_factory=dict)

    @property
    def stopping(self) -> asyncio.Event:
        """Set when no more calls are to be sent."""
        return self.limits.stopping

    @property
    def slots(self) -> int | None:
        """How many prompts the server remembers; None: unknown."""
        return slots_of(self.run.judge)

    def work_with(self, calls: int) -> None:
        """Make this many calls at once from now on. Calls in flight are neither dropped nor repeated."""
        self.concurrency = calls
        self.limits.allow(calls)
        self.resized.set()

    def cost_of(self, usage: Usage) -> float | None:
        """The cost of a reply in dollars; 0 if the judge is not a language model."""
        return cost_at(self.price, usage) if is_language_model(self.run.judge.rater_kind) else 0.0


class _Room:
    """Room for calls that are sent and not yet stored, in proportion to the number of workers."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._free = asyncio.Semaphore(workers * UNSAVED_A_WORKER)

    async def take(self) -> None:
        await self._free.acquire()

    def give_back(self) -> None:
        self._free.release()

    def widen(self, workers: int) -> None:
        for _ in range((workers - self._workers) * UNSAVED_A_WORKER):
            self._free.release()
        self._workers = max(self._workers, workers)


async def judge_outstanding(job: Job) -> None:
    """Make and store every planned call of the run, or as many as possible before `stopping` is set.

    Raises what makes further calls useless: JudgeError, StoreError, LeaseLostError.
    """
    prepare = partial(prepare_call, job.run)
    queue = CallQueue(job.run.db, job.run.id, job.stopping, prepare, _users_at_once(job))
    room = _Room(job.concurrency)
    recording = asyncio.create_task(_record(job, room))
    preparing = asyncio.create_task(queue.prepare_ahead())
    tasks: set[asyncio.Task[bool]] = set()
    resized = asyncio.create_task(job.resized.wait())
    try:
        none_left = False
        while tasks or not none_left:
            if not none_left:
                tasks |= {asyncio.create_task(_work(job, queue, room)) for _ in range(_missing(job))}
            if resized.done():
                room.widen(job.concurrency)
                job.resized.clear()
                resized = asyncio.create_task(job.resized.wait())
            done, _ = await asyncio.wait(
                {*tasks, resized, recording, preparing}, return_when=asyncio.FIRST_COMPLETED
            )
            if recording in done:  # only a failure ends it before the calls
                break
            if preparing in done:  # likewise
                preparing.result()
            none_left = True in [task.result() for task in done & tasks] or none_left
            tasks -= done
    finally:
        await _cancel({*tasks, resized, preparing})
        job.recorder.end()
        try:
            await asyncio.wait({recording})  # unlike a plain await it does not cancel the task with this one
        except asyncio.CancelledError:
            recording.cancel()
            await asyncio.wait({recording})
            raise
        recording.result()
    if job.failure is not None:
        raise job.failure


def _users_at_once(job: Job) -> int | None:
    """The limit on users started at once: calls about users still open when the run is decided are wasted, and each slot
    of a server remembers one user.
    """
    most = [] if job.decision is None else [USERS_UNTIL_DECIDED]
    most += [] if job.slots is None else [job.slots]
    return min(most, default=None)


async def _cancel(tasks: set[asyncio.Task[bool] | asyncio.Task[Literal[True]] | asyncio.Task[None]]) -> None:
    """Cancel the tasks and wait for their end. A judge of another package may swallow a cancellation: it is repeated."""
    while pending := {task for task in tasks if not task.done()}:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=LOOK_AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)


def _missing(job: Job) -> int:
    """How many workers to add. They are counted immediately."""
    missing = max(0, job.concurrency - job.workers)
    job.workers += missing
    return missing


async def _work(job: Job, queue: CallQueue[PreparedCall], room: _Room) -> bool:
    """Make calls until none is left (True) or there are more workers than wanted (False)."""
    worker = queue.join()
    while job.workers <= job.concurrency:
        call = await queue.next(worker)
        if call is None:
            return True
        call = await _after_equal_request(job, call)
        await room.take()
        WORKER.set(worker.lane)
        LANE.set(worker.lane if job.slots is not None and job.concurrency <= job.slots else None)
        try:
            result = call.result or await _ask(job, call)
        except RunStopError:
            _release(job, call)
            continue
        except BudgetLimitError as reached:
            job.stopped_because = f"{reached} To raise it: recjudge runs resume {job.run.id} --budget USD"
            job.stopping.set()
            _release(job, call)
            continue
        job.recorder.put(call.outcome(result))
    queue.leave(worker)
    job.workers -= 1
    return False


async def _after_equal_request(job: Job, call: PreparedCall) -> PreparedCall:
    """The call once no equal request is in flight, with the reply to that request if it was stored meanwhile."""
    request = call.request_hash
    if call.result is not None or request is None or not job.run.setup.settings.use_cache:
        return call
    while (ended := job.in_flight.get(request)) is not None:
        await ended.wait()
        call = prepare_call(job.run, call.key)
    if call.result is None:
        job.in_flight[request] = asyncio.Event()
    return call


def _release(job: Job, call: PreparedCall | CallOutcome) -> None:
    """Let equal requests go on: the reply to this one is stored, or will not come."""
    if call.request_hash is not None and (ended := job.in_flight.pop(call.request_hash, None)) is not None:
        ended.set()


async def _ask(job: Job, call: PreparedCall) -> CallResult:
    assert call.question is not None, "a call without a question has its result"
    call_id, budget = call.key.id, job.limits.budget
    bill = Bill(reserve=partial(job.recorder.reserve, call_id) if budget is not None else None)
    timeout_s = job.run.setup.settings.timeout_s
    try:
        return await ask(job.run.judge, call.question, timeout_s, job.limits, job.cost_of, bill)
    except (RunStopError, BudgetLimitError, RecjudgeError, asyncio.CancelledError):
        if not bill.was_cut:  # else it keeps its reservation, because it may be billed
            job.recorder.settle(call_id, bill.known, bill.unknown)
        raise


async def _record(job: Job, room: _Room) -> None:
    """Commit calls as they end. They are counted only when they are on disk."""
    while (outcomes := await job.recorder.commit_next(job.concurrency)) is not None:
        for outcome in outcomes:
            room.give_back()
            _release(job, outcome)
            _count(job, outcome)
            _stop_if_decided(job, outcome)


def _stop_if_decided(job: Job, outcome: CallOutcome) -> None:
    """Stop if this outcome decides a run that stops when it is decided."""
    try:
        if job.decision is not None and job.decision.call_ended(outcome.key.case_id):
            job.stopping.set()
    except RecjudgeError as failure:
        _fail(job, failure)


def _fail(job: Job, failure: RecjudgeError) -> None:
    job.failure = job.failure or failure
    job.stopping.set()


def _count(job: Job, outcome: CallOutcome) -> None:
    """Update the progress. The run fails when many calls in a row do, because then the cases are not at fault."""
    result, now = outcome.result, job.progress
    usage = result.reply.usage if result.reply and result.cached_from is None else Usage()
    cost = now.cost_usd
    if result.cost_usd is not None:
        cost = (cost or 0.0) + result.cost_usd
    job.progress = now.model_copy(
        update={
            "done": now.done + (result.parsed is not None),
            "failed": now.failed + (result.parsed is None),
            "cached": now.cached + (result.cached_from is not None),
            "tokens_in": now.tokens_in + (usage.input or 0),
            "tokens_out": now.tokens_out + (usage.output or 0),
            "tokens_reused": now.tokens_reused + (min(usage.cached_input or 0, usage.input or 0)),
            "tokens_counted": now.tokens_counted + (0 if usage.cached_input is None else usage.input or 0),
            "cost_usd": cost,
            "unknown_usd": now.unknown_usd + result.unknown_usd,
        }
    )
    if result.error_kind != NO_PROFILE:
        job.failed_in_a_row = 0 if result.parsed else job.failed_in_a_row + 1
    if job.failed_in_a_row >= retries.FAILURES_IN_A_ROW:
        failure = JudgeError(
            f"{retries.FAILURES_IN_A_ROW} calls in a row failed",
            f"The last error: {result.error}",
            f"The run has stopped. Fix the cause, then run “recjudge runs retry {job.run.id}”.",
        )
        _fail(job, failure)
