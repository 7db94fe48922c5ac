"""Work on a run: send its outstanding calls, many at once. An answer counts when it is stored."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from recjudge_tui.domain.calls import PROFILE, CallResult, Usage
from recjudge_tui.domain.judge import Workload
from recjudge_tui.domain.run import Estimate, Progress, RunSettings, RunState
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import JudgeError, RecjudgeError
from recjudge_tui.judges.registry import Judge, make_judge
from recjudge_tui.runs import calls as retries
from recjudge_tui.runs.calls import (
    Bill,
    BudgetLimitError,
    Call,
    CallLimits,
    RateLimit,
    Retry,
    RunStopError,
    budget_of,
)
from recjudge_tui.runs.cases import setup_of
from recjudge_tui.runs.estimate import LOCAL, Price, cost_at, price_of
from recjudge_tui.runs.lease import acquire
from recjudge_tui.runs.record import NO_PROFILE, HeldRun, PreparedCall, Recorder, prepare_call
from recjudge_tui.store import runs as run_store
from recjudge_tui.store.calls import CallKey, outstanding, profiles_outstanding
from recjudge_tui.store.database import Database, now
from recjudge_tui.store.schema import connect
from recjudge_tui.system import few_collections

if TYPE_CHECKING:
    from recjudge_tui.protocols.early_stopping import RunDecision


WINDOW = 256
MOST_READ_AHEAD = 4096
LOOK_AGAIN_S = 0.02
LOOK_EVERY_S = 0.5
SHOWN_FROM_S = 5.0  # a shorter pause of the server is not reported
UNSAVED_A_WORKER = 2
USERS_UNTIL_DECIDED = 4

OnProgress = Callable[[Progress], None]


# ---- the queue ---------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Seat:
    """A worker's place in the queue: the lowest number that no other has, the user of its calls, and whether another
    worker began with that user."""

    number: int
    user: int = 0
    helps: bool = False


class CallQueue:
    """The planned calls of a run by user, in the order of the plan, read in windows so that memory does not grow with the
    run.

    A worker makes the calls about one user one after the other, so that a server finds in its memory what it just read
    about this user; then those about the user who has waited longest. When no user is left to begin with, it takes the
    last calls of the user who has most, so that nobody is idle while a call waits. No more than `users_at_once` users
    (None: any number) are begun as long as they have calls waiting."""

    def __init__(
        self, db: Database, run_id: int, stopping: asyncio.Event, users_at_once: int | None = None
    ) -> None:
        self._db, self._run_id, self._stopping = db, run_id, stopping
        self._users_at_once = users_at_once
        self._waiting: dict[int, deque[CallKey]] = {}
        self._begun: set[int] = set()
        self._seats: set[int] = set()
        self._last = 0
        self._read_all = self._has_profiles = False

    def join(self) -> Seat:
        """A place for another worker."""
        seat = Seat(next(number for number in count() if number not in self._seats))
        self._seats.add(seat.number)
        return seat

    def leave(self, seat: Seat) -> None:
        """Let another worker begin with this worker's user."""
        self._seats.discard(seat.number)
        if not seat.helps:
            self._begun.discard(seat.user)

    async def next(self, seat: Seat) -> CallKey | None:
        """The worker's next call; None when none is left or the run is to stop."""
        while not self._stopping.is_set():
            if seat.user not in self._waiting:
                self._sit(seat)
            if (calls := self._waiting.get(seat.user)) is not None:
                call = calls.pop() if seat.helps else calls.popleft()
                if not calls:
                    del self._waiting[seat.user]
                return call
            if self._read_all:
                return None
            await asyncio.sleep(LOOK_AGAIN_S)
        return None

    def _sit(self, seat: Seat) -> None:
        """Give the worker another user."""
        if not seat.helps:
            self._begun.discard(seat.user)
        self._read_ahead()
        begun = self._begun & self._waiting.keys()
        if self._users_at_once is None or len(begun) < self._users_at_once:
            for user in self._waiting:
                if user not in begun:
                    seat.user, seat.helps = user, False
                    self._begun.add(user)
                    return
        if begun:
            seat.user, seat.helps = max(begun, key=lambda user: len(self._waiting[user])), True

    def _read_ahead(self) -> None:
        """Read on until two users wait to be begun, because the calls of the last one may not all be read. The plan begins
        with profiles; what shows them is read when they are written."""
        while not self._read_all:
            fresh = (user for user in self._waiting if user not in self._begun)
            if len(list(islice(fresh, 2))) > 1 or sum(map(len, self._waiting.values())) >= MOST_READ_AHEAD:
                return
            calls = outstanding(self._db, self._run_id, self._last, WINDOW)
            profiles = list(takewhile(lambda call: call.key.aspect == PROFILE, calls))
            has_profiles = self._has_profiles and profiles_outstanding(self._db, self._run_id)
            self._has_profiles = has_profiles or bool(profiles)
            if has_profiles and not profiles:
                return
            self._read_all = not calls
            for user, key in profiles or calls:
                self._waiting.setdefault(user, deque()).append(key)
                self._last = key.id


# ---- the calls ---------------------------------------------------------------------------------------------------


@dataclass
class Job:
    """A leased run while its calls are made; `concurrency` may change meanwhile. `failure` ends the run; the calls that
    were sent by then are still stored. `stopped_because` is the reason of a stop that no user requested. `unsaved` calls
    are asked or wait to be stored. `outage`: what is stored of a server that cannot be reached."""

    run: HeldRun[Judge]
    recorder: Recorder
    limits: CallLimits
    price: Price | None
    before: Progress
    progress: Progress
    concurrency: int
    decision: RunDecision | None = None
    failed_in_a_row: int = 0
    failure: RecjudgeError | None = None
    stopped_because: str = ""
    workers: int = 0
    unsaved: int = 0
    outage: Retry | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    saved: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def seen(self) -> Progress:
        """The progress with the calls in flight. The time left is the time that attempts took so far, those in flight
        among them, for each call that ended, times the calls that are left."""
        limits, now = self.limits, self.progress
        counts = (one.done + one.failed - one.cached for one in (now, self.before))
        ended = next(counts) - next(counts)
        busy = limits.busy(time.monotonic())
        together = max(min(self.concurrency, now.outstanding), 1)
        retry = min(limits.retries.values(), key=lambda retry: retry.due, default=None)
        left = limits.pause_left()
        return now.model_copy(
            update={
                "in_flight": limits.in_flight,
                "attempts": self.before.attempts + limits.attempts,
                "left_s": busy / ended * now.outstanding / together if ended > 0 and busy else None,
                "waiting_s": left if left > SHOWN_FROM_S else 0.0,
                "unreachable": retry.title if retry else "",
                "retry_s": max(retry.due - time.monotonic(), 0.0) if retry else 0.0,
            }
        )

    def fail(self, failure: RecjudgeError) -> None:
        """End the run with this failure, after the calls in flight."""
        self.failure = self.failure or failure
        self.limits.stopping.set()


async def judge_outstanding(job: Job) -> None:
    """Make and store every planned call of the run, or as many as possible before `stopping` is set. A call that is asked
    and not yet stored takes room, so that memory is limited. Raises JudgeError, StoreError or LeaseLostError."""
    # calls about users still open when the run is decided are wasted, and each slot of a server remembers one user
    most = [] if job.decision is None else [USERS_UNTIL_DECIDED]
    most += [] if (slots := slots_of(job.run.judge)) is None else [slots]
    queue = CallQueue(job.run.db, job.run.id, job.limits.stopping, min(most, default=None))
    recording = asyncio.create_task(_record(job))
    changed = asyncio.create_task(job.changed.wait())
    workers: set[asyncio.Task[bool]] = set()
    try:
        none_left = False
        while workers or not none_left:
            while not none_left and job.workers < job.concurrency:
                job.workers += 1
                workers.add(asyncio.create_task(_work_through(job, queue)))
            if changed.done():
                job.changed.clear()
                changed = asyncio.create_task(job.changed.wait())
            done, _ = await asyncio.wait({*workers, changed, recording}, return_when=asyncio.FIRST_COMPLETED)
            if recording in done:  # only a failure ends it before the calls
                break
            none_left = True in [task.result() for task in done & workers] or none_left
            workers -= done
    finally:
        changed.cancel()
        # a judge of another package may swallow a cancellation: it is repeated
        while pending := {task for task in workers if not task.done()}:
            for task in pending:
                task.cancel()
            await asyncio.wait(pending, timeout=LOOK_AGAIN_S)
        # several may have failed at once; the first failure is raised
        await asyncio.gather(*workers, return_exceptions=True)
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


async def _work_through(job: Job, queue: CallQueue) -> bool:
    """Make calls until none is left (True) or there are more workers than wanted (False)."""
    seat = queue.join()
    while job.workers <= job.concurrency:
        key = await queue.next(seat)
        if key is None:
            return True
        call = prepare_call(job.run, key)
        # no call is sent, and no deadline starts, before all workers have prepared theirs
        await asyncio.sleep(0)
        while job.unsaved >= job.concurrency * UNSAVED_A_WORKER:
            job.saved.clear()
            await job.saved.wait()
        job.unsaved += 1
        try:
            result = call.result or await _ask(job, call, seat.number)
        except (RunStopError, BudgetLimitError) as stopped:
            if isinstance(stopped, BudgetLimitError):
                job.stopped_because = str(stopped)
                job.limits.stopping.set()
            job.unsaved -= 1
            continue
        job.recorder.put(call.outcome(result))
    queue.leave(seat)
    job.workers -= 1
    return False


async def _ask(job: Job, call: PreparedCall, seat: int) -> CallResult:
    assert call.question is not None, "a call without a question has its result"
    question = call.question
    if job.concurrency <= (slots_of(job.run.judge) or job.concurrency):
        question = question._replace(request=question.request.model_copy(update={"seat": seat}))
    call_id, budget = call.key.id, job.limits.budget
    bill = Bill(reserve=partial(job.recorder.reserve, call_id) if budget is not None else None)
    timeout_s, cost_of = job.run.setup.settings.timeout_s, partial(cost_at, job.price)
    try:
        return await Call(job.run.judge, question, timeout_s, job.limits, cost_of, bill).result()
    except (RunStopError, BudgetLimitError, RecjudgeError, asyncio.CancelledError):
        if not bill.was_cut:  # else it keeps its reservation, because it may be billed
            job.recorder.settle(call_id, bill.known, bill.unknown)
        raise


async def _record(job: Job) -> None:
    """Commit calls as they end. They are counted only when they are on disk. A run that is decided stops."""

    def pulse() -> run_store.Pulse:
        now = job.seen
        return run_store.Pulse(job.concurrency, now.in_flight, now.attempts, now.left_s)

    while (outcomes := await job.recorder.commit_next(pulse)) is not None:
        for outcome in outcomes:
            job.unsaved -= 1
            try:
                if job.decision is not None and job.decision.call_ended(outcome.key.case_id):
                    job.limits.stopping.set()
            except RecjudgeError as failure:
                job.fail(failure)
        _count(job, [outcome.result for outcome in outcomes])
        job.saved.set()


def _count(job: Job, results: list[CallResult]) -> None:
    """Update the progress. The run fails when many calls in a row do, because then the cases are not at fault."""
    added: dict[str, float] = defaultdict(int)
    for result in results:
        usage = result.reply.usage if result.reply and result.cached_from is None else Usage()
        read = usage.input or 0
        added["done" if result.parsed else "failed"] += 1
        added["cached"] += result.cached_from is not None
        added["tokens_in"] += read
        added["tokens_out"] += usage.output or 0
        added["tokens_reused"] += min(usage.cached_input or 0, read)
        added["tokens_counted"] += 0 if usage.cached_input is None else read
        added["unknown_usd"] += result.unknown_usd
        if result.cost_usd is not None:
            added["cost_usd"] += result.cost_usd
        if result.error_kind != NO_PROFILE:
            job.failed_in_a_row = 0 if result.parsed else job.failed_in_a_row + 1
        if job.failed_in_a_row >= retries.FAILURES_IN_A_ROW:
            job.fail(
                JudgeError(
                    f"{retries.FAILURES_IN_A_ROW} calls in a row failed",
                    f"The last error: {result.error}",
                    f"The run has stopped. Fix the cause, then run “recjudge runs retry {job.run.id}”.",
                )
            )
    now = job.progress
    job.progress = now.model_copy(update={name: (getattr(now, name) or 0) + n for name, n in added.items()})


# ---- engine ------------------------------------------------------------------------------------------------------


def work(path: Path, run_id: int, on_progress: OnProgress | None = None) -> Progress:
    """Make the outstanding calls of a run in this process, until it is done, is stopped or fails.

    A run that was started before is resumed: answered calls are not sent again. Raises RunError when another process works
    on the run. JudgeError and StoreError are raised after the run is released, and it can be resumed. SIGINT and SIGTERM
    stop it like `runs stop`, after the calls in flight; a second one drops these and raises KeyboardInterrupt. A closed
    terminal (SIGHUP) does not end it."""
    try:
        with few_collections():
            return asyncio.run(_work(path, run_id, on_progress))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _work(path: Path, run_id: int, on_progress: OnProgress | None) -> Progress:
    with connect(path, must_exist=True) as db:
        owner = acquire(db, run_id)
        state: RunState = "failed"
        started, error = time.monotonic(), ""
        try:
            state, error = await _judge_all(db, run_id, owner, on_progress, _stop_on_signal())
        except RecjudgeError as problem:
            error = str(problem)
            raise
        except asyncio.CancelledError:
            state = "stopped"
            raise
        finally:
            run_store.release_lease(db, run_id, owner, state, time.monotonic() - started, error)
        ended = run_store.run_progress(db, run_id)
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
    run_id: int,
    owner: str,
    on_progress: OnProgress | None,
    stopping: asyncio.Event,
) -> tuple[RunState, str]:
    """The final state of the run, and the reason unless a user requested it."""
    row = run_store.run_row(db, run_id)
    setup = setup_of(db, row)
    spec, settings, protocol, prompt = setup
    decision = None
    if settings.until:
        # imported here because it imports numpy, which other runs do not need
        from recjudge_tui.protocols.early_stopping import deciding_aspect, run_decision

        aspect = deciding_aspect(prompt)
        cases = run_store.case_statuses(db, run_id, aspect)
        values = partial(run_store.case_values, db, run_id, aspect)
        decision = run_decision(protocol, prompt, settings, cases, values)
    if decision is not None and decision.decided:
        return "done", decision.status.sentence()
    estimate = Estimate.model_validate_json(row["estimate"])
    judge, before = make_judge(spec), run_store.run_progress(db, run_id)
    price = price_of(spec, judge.rater_kind)
    concurrency = row["wanted_concurrency"] or planned_concurrency(settings, judge)
    try:
        workload = workload_of(judge, settings, estimate, concurrency)
        update = {"calls": before.outstanding, "known": run_store.judge_capabilities(db, spec)}
        identity = await judge.prepare(workload.model_copy(update=update))
        identity = identity.model_copy(update={"headers": spec.headers})
        run_store.set_identity(db, run_id, owner, identity)
        # the judge now knows its servers
        concurrency = row["wanted_concurrency"] or planned_concurrency(settings, judge)
        requests, tokens = settings.requests_per_minute, settings.tokens_per_minute
        limits = CallLimits(
            stopping,
            RateLimit(requests) if requests else None,
            RateLimit(tokens) if tokens else None,
            budget_of(settings, spec, price, before),
            price,
            is_local=price == LOCAL,
            context=getattr(judge, "window", None) or identity.context_length,
        )
        run = HeldRun(db, run_id, row["rater_id"], owner, setup, judge, identity)
        with contextlib.closing(Recorder(run)) as recorder:
            job = Job(run, recorder, limits, price, before, before, concurrency, decision)
            await _judge_and_watch(job, on_progress)
    finally:
        await judge.close()
    if (decision and decision.decided) or not stopping.is_set() or not outstanding(db, run_id, 0, 1):
        return "done", decision.status.sentence() if decision else ""
    return ("paused" if run_store.wanted(db, run_id) == "pause" else "stopped"), job.stopped_because


def workload_of(
    judge: Judge, settings: RunSettings, estimate: Estimate, concurrency: int | None = None
) -> Workload:
    """What a run asks of its judge."""
    return Workload(
        calls=estimate.calls,
        longest_prompt_tokens=estimate.longest_prompt_tokens,
        max_tokens=settings.max_tokens,
        images=settings.images,
        concurrency=concurrency or settings.concurrency or judge.concurrency,
        timeout_s=settings.timeout_s,
    )


def planned_concurrency(settings: RunSettings, judge: Judge) -> int:
    """The calls at once unless others are requested: more than the server has slots would make it forget prompts."""
    return settings.concurrency or min(judge.concurrency, slots_of(judge) or judge.concurrency)


def slots_of(judge: Judge) -> int | None:
    """How many prompts the judge's servers remember, each in a slot that answers one request at a time, as the judge has
    learnt in `prepare`; None: unknown."""
    slots: int | None = getattr(judge, "slots", None)
    return slots


async def _judge_and_watch(job: Job, on_progress: OnProgress | None) -> None:
    judging = asyncio.create_task(judge_outstanding(job))
    watching = asyncio.create_task(_watch(job, on_progress))
    try:
        # watching never ends by itself: if it does, the run was deleted or its file is gone
        await asyncio.wait({judging, watching}, return_when=asyncio.FIRST_COMPLETED)
        await (watching if watching.done() else judging)
    finally:
        judging.cancel()
        watching.cancel()
        await asyncio.gather(judging, watching, return_exceptions=True)


def _note_outage(job: Job) -> None:
    """Store that the server cannot be reached, how many calls wait and when the next one tries again; or that it answers."""
    run, noted, retries = job.run, job.outage, list(job.limits.retries.values())
    if retries:
        first = min(retries, key=lambda retry: retry.due)
        outage = Retry(f"{first.title}, {quantity(len(retries), 'call')}", first.due)
        # not every retry of many calls is worth a write
        if noted is None or outage.title != noted.title or abs(outage.due - noted.due) > LOOK_EVERY_S:
            why = outage.title[:1].lower() + outage.title[1:]
            again = now(max(outage.due - time.monotonic(), 0.0))
            run.db.change("runs", run.id, retry_why=why, retry_at=again)
            job.outage = outage
    elif noted is not None and job.limits.trouble_since is None:
        run.db.change("runs", run.id, retry_why=None, retry_at=None)
        job.outage = None


async def _watch(job: Job, on_progress: OnProgress | None) -> None:
    """Twice a second: keep the lease, read requests to the run, report progress."""
    run = job.run
    planned = planned_concurrency(run.setup.settings, run.judge)
    announced = 0.0
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        job.recorder.beat()
        control = run_store.run_control(run.db, run.id)
        if control is None or control.wanted != "run":
            job.limits.stopping.set()
        concurrency = (control and control.wanted_concurrency) or planned
        if concurrency != job.concurrency:
            # calls in flight are neither dropped nor repeated
            job.concurrency = job.limits.at_once = concurrency
            job.limits.freed.set()
            job.changed.set()
        left = job.limits.pause_left()
        if job.limits.until != announced and left > SHOWN_FROM_S:
            announced = job.limits.until
            run.db.change("runs", run.id, waiting_until=now(left))
        _note_outage(job)
        if on_progress:
            on_progress(job.seen)
