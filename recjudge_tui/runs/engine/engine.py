"""Work on a run: send its outstanding calls, many at once. An answer counts when it is stored."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from recjudge_tui.domain.judge import Workload
from recjudge_tui.domain.roles import is_language_model
from recjudge_tui.domain.run import Estimate, Progress, RunSettings, RunState
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import RecjudgeError, RunError
from recjudge_tui.judges.base import Judge, slots_of
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.runs.control.lease import acquire
from recjudge_tui.runs.control.limits import Budget, CallLimits, RateLimit, Retry
from recjudge_tui.runs.engine.held_run import HeldRun
from recjudge_tui.runs.engine.pipeline import Job, judge_outstanding
from recjudge_tui.runs.engine.recorder import Recorder
from recjudge_tui.runs.garbage import few_collections
from recjudge_tui.runs.plan.requests import Setup, setup_of
from recjudge_tui.runs.prices import UNKNOWN_PRICE, Price, price_of
from recjudge_tui.store.calls import outstanding
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
    from recjudge_tui.runs.engine.early_stopping import RunDecision

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
            return asyncio.run(_work(path, run_id, on_progress))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _work(path: Path, run_id: int, on_progress: OnProgress | None) -> Progress:
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
    from recjudge_tui.runs.engine.early_stopping import decision_of

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
