"""Work on a run: send its outstanding calls, many at once. An answer counts when it is stored."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from recjudge_tui.domain.calls import PROFILE, CallResult, Usage
from recjudge_tui.domain.judge import Workload
from recjudge_tui.domain.roles import is_language_model
from recjudge_tui.domain.run import Estimate, Progress, RunSettings, RunState
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import JudgeError, RecjudgeError, RunError
from recjudge_tui.judges.base import LANE, WORKER, Judge, slots_of
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.runs import calls as retries
from recjudge_tui.runs.calls import Bill, ask
from recjudge_tui.runs.cases import Setup, setup_of
from recjudge_tui.runs.garbage import few_collections
from recjudge_tui.runs.lease import acquire
from recjudge_tui.runs.limits import Budget, BudgetLimitError, CallLimits, RateLimit, Retry, RunStopError
from recjudge_tui.runs.prices import UNKNOWN_PRICE, Price, cost_at, price_of
from recjudge_tui.runs.record import NO_PROFILE, HeldRun, PreparedCall, Recorder, prepare_call
from recjudge_tui.store.calls import (
    CallKey,
    CallOutcome,
    outstanding,
    outstanding_by_user,
    profiles_outstanding,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import (
    judge_capabilities,
    release_lease,
    run_control,
    run_progress,
    run_row,
    set_identity,
    set_retry,
    set_waiting,
    wanted,
)
from recjudge_tui.store.schema import connect

if TYPE_CHECKING:
    from recjudge_tui.runs.stopping import RunDecision


# ---- call queue --------------------------------------------------------------------------------------------------


WINDOW = 256
# a user with more calls is shared among workers
MOST_READ_AHEAD = 4096

Call = TypeVar("Call")


@dataclass(eq=False)
class WorkerCalls(Generic[Call]):
    """The waiting calls of one worker, all about `user`; `ready` is its next one, if that is prepared already. `lane` is
    the lowest number that no other worker had when it joined.
    """

    lane: int
    user: int = 0
    calls: deque[CallKey] = field(default_factory=deque)
    ready: tuple[CallKey, Call] | None = None

    def has_calls(self) -> bool:
        return bool(self.calls) or self.ready is not None


class CallQueue(Generic[Call]):
    """The planned calls of a run by user, in the order of the plan, read in windows so that memory does not grow with
    the run. `prepare` makes what a worker gets.

    A worker takes the next call of its user; else all calls of the user who has waited longest; else half of another
    worker's, so that none is idle while a call waits. No more than `users_at_once` users (None: any number) are started
    as long as those who are started have calls waiting.
    """

    def __init__(
        self,
        db: Database,
        run_id: int,
        stopping: asyncio.Event,
        prepare: Callable[[CallKey], Call],
        users_at_once: int | None = None,
    ) -> None:
        self._db = db
        self._run_id = run_id
        self._stopping = stopping
        self._prepare = prepare
        self._users_at_once = users_at_once
        self._waiting: OrderedDict[int, deque[CallKey]] = OrderedDict()
        self._workers: dict[WorkerCalls[Call], None] = {}
        self._taken = asyncio.Event()
        self._last = 0
        self._read_all = False
        # the plan begins with profiles; the next calls show them
        self._has_profiles = False
        self._before_profiles = False

    def join(self) -> WorkerCalls[Call]:
        """Add a worker, which has no calls yet."""
        lanes = {worker.lane for worker in self._workers}
        worker: WorkerCalls[Call] = WorkerCalls(next(lane for lane in count() if lane not in lanes))
        self._workers[worker] = None
        return worker

    def leave(self, worker: WorkerCalls[Call]) -> None:
        """Take a worker's calls back; they are next in the queue."""
        del self._workers[worker]
        if worker.ready is not None:
            worker.calls.appendleft(worker.ready[0])
        if worker.calls:
            worker.calls.extend(self._waiting.pop(worker.user, ()))
            self._waiting[worker.user] = worker.calls
            self._waiting.move_to_end(worker.user, last=False)

    async def next(self, worker: WorkerCalls[Call]) -> Call | None:
        """The worker's next call; None when none is left or the run is to stop."""
        while not self._stopping.is_set():
            if worker.ready is not None:
                _, call = worker.ready
                worker.ready = None
                self._taken.set()
                return call
            if not worker.calls and not self._take_user(worker):
                self._take_from_others(worker)
            if worker.calls:
                self._make_ready(worker)
                # no call is sent, and no deadline starts, before all workers have prepared theirs
                await asyncio.sleep(0)
            elif worker.ready is None:
                if self._read_all:
                    return None
                await self._profiles_stored()
        return None

    async def prepare_ahead(self) -> None:
        """Prepare the next call of every worker while it waits for the judge, one at a time; runs until cancelled."""
        while True:
            self._taken.clear()
            for worker in list(self._workers):
                if (
                    worker.ready is None
                    and worker in self._workers
                    and (worker.calls or self._take_user(worker))
                ):
                    self._make_ready(worker)
                    await asyncio.sleep(0)
            await self._taken.wait()

    def _make_ready(self, worker: WorkerCalls[Call]) -> None:
        if worker.ready is None and worker.calls:
            key = worker.calls.popleft()
            worker.ready = key, self._prepare(key)

    def _take_user(self, worker: WorkerCalls[Call]) -> bool:
        """Give the worker all calls of one user, its own if that one has more. False if no user may be started."""
        self._read_ahead()
        if not self._waiting or self._has_started_enough():
            return False
        worker.user = worker.user if worker.user in self._waiting else next(iter(self._waiting))
        worker.calls = self._waiting.pop(worker.user)
        return True

    def _has_started_enough(self) -> bool:
        most = self._users_at_once
        return most is not None and sum(worker.has_calls() for worker in self._workers) >= most

    def _take_from_others(self, worker: WorkerCalls[Call]) -> None:
        """Give the worker half of the calls of the one that has most, or its only call."""
        largest = max(self._workers, key=lambda other: (len(other.calls), other.ready is not None))
        worker.user = largest.user
        if not largest.calls:
            worker.ready, largest.ready = largest.ready, None
        for _ in range((len(largest.calls) + 1) // 2):
            worker.calls.appendleft(largest.calls.pop())

    def _read_ahead(self) -> None:
        """Read on until two users wait, because the calls of the last one may not all be read."""
        while not self._read_all and not self._before_profiles and len(self._waiting) < 2:
            if sum(map(len, self._waiting.values())) >= MOST_READ_AHEAD:
                return
            calls = outstanding_by_user(self._db, self._run_id, self._last, WINDOW)
            if profiles := list(takewhile(lambda call: call.key.aspect == PROFILE, calls)):
                self._has_profiles, calls = True, profiles
            elif calls and self._has_profiles:
                self._before_profiles = True
                return
            self._read_all = not calls
            for user, key in calls:
                self._waiting.setdefault(user, deque()).append(key)
                self._last = key.id

    async def _profiles_stored(self) -> None:
        """Wait until all profiles are stored, because the other calls show them."""
        while not self._stopping.is_set() and profiles_outstanding(self._db, self._run_id):
            await asyncio.sleep(LOOK_AGAIN_S)
        if self._before_profiles:
            for worker in self._workers:
                # the calls about the first user come next, not those about the user of the last profile
                worker.user = 0
        self._has_profiles = self._before_profiles = False


# ---- pipeline ----------------------------------------------------------------------------------------------------


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


# ---- engine ------------------------------------------------------------------------------------------------------


LOOK_EVERY_S = 0.5
SHOWN_FROM_S = 5.0  # a shorter pause of the server is not reported

OnProgress = Callable[[Progress], None]


def work(path: Path, run_id: int, on_progress: OnProgress | None = None) -> Progress:
    """Make the outstanding calls of a run in this process, until it is done, is stopped or fails.

    A run that was started before is resumed: answered calls are not sent again. Raises RunError when another process
    works on the run. JudgeError and StoreError are raised after the run is released, and it can be resumed. SIGINT
    and SIGTERM stop it like `runs stop`, after the calls in flight; a second one drops these and raises
    KeyboardInterrupt. A closed terminal (SIGHUP) does not end it.
    """
    try:
        with few_collections():
            return asyncio.run(_work_of_engine(path, run_id, on_progress))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _work_of_engine(path: Path, run_id: int, on_progress: OnProgress | None) -> Progress:
    with connect(path, must_exist=True) as db:
        owner = acquire(db, run_id)
        state: RunState = "failed"
        started, error = time.monotonic(), ""
        try:
            state, error = await _judge_all(db, path, run_id, owner, on_progress, _stop_on_signal())
        except RecjudgeError as problem:
            error = str(problem)
            raise
        except asyncio.CancelledError:
            state = "stopped"
            raise
        finally:
            release_lease(db, run_id, owner, state, time.monotonic() - started, error)
        ended = run_progress(db, run_id)
        if on_progress:
            on_progress(ended)
        return ended


def _stop_on_signal() -> asyncio.Event:
    """An event that the first SIGINT or SIGTERM sets. The second one cancels the run at once."""
    stopping = asyncio.Event()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        if stopping.is_set():
            task.cancel()
        stopping.set()

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)
    return stopping


async def _judge_all(
    db: Database,
    path: Path,
    run_id: int,
    owner: str,
    on_progress: OnProgress | None,
    stopping: asyncio.Event,
) -> tuple[RunState, str]:
    """The final state of the run, and the reason unless a user requested it."""
    row = run_row(db, run_id)
    setup = setup_of(db, row)
    spec, settings, _, _ = setup
    decision = _decision_of(db, run_id, setup)
    if decision is not None and decision.decided:
        return "done", decision.sentence()
    estimate = Estimate.model_validate_json(row["estimate"])
    judge, price, before = make_judge(spec), price_of(spec), run_progress(db, run_id)
    concurrency = row["wanted_concurrency"] or planned_concurrency(settings, judge)
    try:
        identity = await judge.prepare(
            Workload(
                calls=before.outstanding,
                longest_prompt_tokens=estimate.longest_prompt_tokens,
                max_tokens=settings.max_tokens,
                images=settings.images,
                concurrency=concurrency,
                timeout_s=settings.timeout_s,
                known=judge_capabilities(db, spec),
            )
        )
        identity = identity.model_copy(update={"headers": spec.headers})
        set_identity(db, run_id, owner, identity)
        # the judge now knows its servers
        concurrency = row["wanted_concurrency"] or planned_concurrency(settings, judge)
        limits = _limits(price, is_language_model(judge.rater_kind), settings, stopping, before)
        run = HeldRun(db, run_id, row["rater_id"], owner, setup, judge, identity)
        with contextlib.closing(Recorder(path, run)) as recorder:
            job = Job(run, recorder, limits, price, before, concurrency, decision)
            await _judge_and_watch(job, on_progress)
    finally:
        await judge.close()
    if (decision and decision.decided) or not stopping.is_set() or not outstanding(db, run_id, 0, 1):
        return "done", decision.sentence() if decision else ""
    return ("paused" if wanted(db, run_id) == "pause" else "stopped"), job.stopped_because


def planned_concurrency(settings: RunSettings, judge: Judge) -> int:
    """The calls at once unless others are requested: more than the server has slots would make it forget prompts."""
    return settings.concurrency or min(judge.concurrency, slots_of(judge) or judge.concurrency)


def _decision_of(db: Database, run_id: int, setup: Setup) -> RunDecision | None:
    if setup.settings.until != "decided":
        return None
    # imported here because it imports numpy, which other runs do not need
    from recjudge_tui.runs.stopping import decision_of

    return decision_of(db, run_id, setup.settings, setup.protocol, setup.prompt)


def _limits(
    price: Price | None, is_model: bool, settings: RunSettings, stopping: asyncio.Event, before: Progress
) -> CallLimits:
    requests, tokens = settings.requests_per_minute, settings.tokens_per_minute
    if settings.budget_usd is not None and price is None and is_model:
        raise RunError(*UNKNOWN_PRICE)
    if settings.budget_usd is not None and before.impossible_costs:
        raise RunError(
            "the budget of this run cannot be enforced",
            f"An impossible cost is stored for {quantity(before.impossible_costs, 'call')}.",
            "Start a new run; the stored replies are used again.",
        )
    return CallLimits(
        stopping,
        RateLimit(requests) if requests else None,
        RateLimit(tokens) if tokens else None,
        Budget(settings.budget_usd, price, before.spent_usd)
        if settings.budget_usd is not None and price
        else None,
        price if is_model else None,
    )


async def _judge_and_watch(job: Job, on_progress: OnProgress | None) -> None:
    judging = asyncio.create_task(judge_outstanding(job))
    watching = asyncio.create_task(_watch(job, on_progress))
    tasks: set[asyncio.Task[None]] = {judging, watching}
    try:
        # watching never ends by itself: if it does, the run was deleted or its file is gone
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        await (watching if watching.done() else judging)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _note_outage(job: Job, noted: Retry | None) -> Retry | None:
    """Store that the server cannot be reached, with how many calls wait and when the next one tries again; and that it
    is reached again. Returns what is noted now."""
    run, retries = job.run, list(job.limits.retries.values())
    if not retries:
        if noted is not None and job.limits.trouble_since is None:
            set_retry(run.db, run.id, None)
            return None
        return noted
    first = min(retries, key=lambda retry: retry.due)
    outage = Retry(f"{first.title}, {quantity(len(retries), 'call')}", first.due)
    # not every retry of many calls is worth a write
    if noted is None or outage.title != noted.title or abs(outage.due - noted.due) > LOOK_EVERY_S:
        why = outage.title[:1].lower() + outage.title[1:]
        set_retry(run.db, run.id, why, max(outage.due - time.monotonic(), 0.0))
        return outage
    return noted


async def _watch(job: Job, on_progress: OnProgress | None) -> None:
    """Twice a second: keep the lease, read requests to the run, report progress."""
    run = job.run
    planned = planned_concurrency(run.setup.settings, run.judge)
    announced = 0.0
    outage: Retry | None = None
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        job.limits.check_for_sleep()
        job.recorder.beat()
        control = run_control(run.db, run.id)
        if control is None or control.wanted != "run":
            job.stopping.set()
        concurrency = (control and control.concurrency) or planned
        if concurrency != job.concurrency:
            job.work_with(concurrency)
        left = job.limits.pause_left()
        if job.limits.until != announced and left > SHOWN_FROM_S:
            announced = job.limits.until
            set_waiting(run.db, run.id, left)
        outage = _note_outage(job, outage)
        if on_progress:
            on_progress(job.progress.model_copy(update={"waiting_s": left if left > SHOWN_FROM_S else 0.0}))
