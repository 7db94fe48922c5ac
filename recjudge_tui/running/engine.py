"""Work through the outstanding calls of a run: many at once, every answer stored before it counts."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recjudge_tui.errors import JudgeError, RecjudgeError, ReplyFault
from recjudge_tui.judges.base import Judge
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.model.calls import ParsedReply, Reply, Sampling, Usage
from recjudge_tui.model.judge import Identity, JudgeSpec, Workload
from recjudge_tui.model.prompt import Prompt
from recjudge_tui.model.run import Estimate, Progress, RunSettings, RunState
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.running.asking import Asked, Pause, Question, ask
from recjudge_tui.running.lease import acquire
from recjudge_tui.running.prices import cost_of
from recjudge_tui.running.recorder import Recorder, RunTarget
from recjudge_tui.store.calls import CallKey, CallOutcome, outstanding, stored_reply
from recjudge_tui.store.database import Database, connect
from recjudge_tui.store.prompts import prompt_by_id
from recjudge_tui.store.runs import beat, release, run_progress, run_row, set_identity, wanted
from recjudge_tui.store.snapshots import load_material

FAILURES_IN_A_ROW = 25
LOOK_EVERY_S = 0.5

OnProgress = Callable[[Progress], None]


@dataclass
class _Work:
    """What the workers of one run share."""

    db: Database
    judge: Judge
    spec: JudgeSpec
    settings: RunSettings
    protocol: Protocol
    prompt: Prompt
    run_id: int
    owner: str
    identity: Identity
    recorder: Recorder
    pause: Pause
    stopping: asyncio.Event
    progress: Progress
    failed_in_a_row: int = 0


def work(path: Path, run_id: int, on_progress: OnProgress | None = None) -> Progress:
    """Judge what is outstanding in run `run_id`, in this process, until done, stopped or broken.

    Resumes where the run stands: no stored answer is asked for again. Raises RunError when another
    process works on it; JudgeError and StoreError end it resumable and are raised after the run is
    given up. SIGINT and SIGTERM stop it like `runs stop`, after the calls in flight; a second one drops
    these. A terminal that goes away (SIGHUP) does not end it.
    """
    return asyncio.run(_work(path, run_id, on_progress))


async def _work(path: Path, run_id: int, on_progress: OnProgress | None) -> Progress:
    with connect(path, must_exist=True) as db:
        owner = acquire(db, run_id)
        state: RunState = "failed"
        started, error = time.monotonic(), ""
        try:
            state = await _judge_all(db, path, run_id, owner, on_progress, _stop_on_signal())
        except RecjudgeError as problem:
            error = str(problem)
            raise
        except asyncio.CancelledError:
            state = "stopped"
            raise
        finally:
            release(db, run_id, owner, state, time.monotonic() - started, error)
            if on_progress:
                on_progress(run_progress(db, run_id))
        return run_progress(db, run_id)


def _stop_on_signal() -> asyncio.Event:
    """An event that the first SIGINT or SIGTERM sets; the second one cancels the run at once."""
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
) -> RunState:
    row = run_row(db, run_id)
    spec = JudgeSpec.model_validate_json(row["judge"])
    settings = RunSettings.model_validate_json(row["settings"])
    estimate = Estimate.model_validate_json(row["estimate"])
    chosen, prompt = protocol_named(row["protocol"]), prompt_by_id(db, row["prompt_id"])
    judge = make_judge(spec)
    concurrency = settings.concurrency or judge.concurrency
    recorder = Recorder(
        path, RunTarget(run_id, row["rater_id"], owner, chosen, prompt), asyncio.get_running_loop()
    )
    try:
        identity = await judge.prepare(
            Workload(
                calls=run_progress(db, run_id).outstanding,
                longest_prompt_tokens=estimate.longest_prompt_tokens,
                max_tokens=settings.max_tokens,
                concurrency=concurrency,
                timeout_s=settings.timeout_s,
            )
        )
        set_identity(db, run_id, identity)
        begun = run_progress(db, run_id)
        shared = _Work(
            db, judge, spec, settings, chosen, prompt, run_id, owner, identity, recorder, Pause(), stopping, begun
        )  # fmt: skip
        return await _run_workers(shared, concurrency, on_progress)
    finally:
        await recorder.close()
        await judge.close()


async def _run_workers(shared: _Work, concurrency: int, on_progress: OnProgress | None) -> RunState:
    calls = _outstanding(shared, concurrency)
    lock = asyncio.Lock()
    watcher = asyncio.create_task(_watch(shared, on_progress))
    workers = [asyncio.create_task(_worker(shared, calls, lock)) for _ in range(concurrency)]
    everybody = asyncio.gather(*workers)
    try:
        # the watcher never ends by itself: when it does, it has found the run taken away or the file gone
        first: set[asyncio.Future[Any]] = {watcher, everybody}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        await (watcher if watcher.done() else everybody)
    finally:
        for task in (watcher, *workers):
            task.cancel()
        await asyncio.gather(watcher, *workers, return_exceptions=True)
        await calls.aclose()
    if not shared.stopping.is_set() or not outstanding(shared.db, shared.run_id, 0, 1):
        return "done"
    return "paused" if wanted(shared.db, shared.run_id) == "pause" else "stopped"


async def _outstanding(shared: _Work, concurrency: int) -> AsyncGenerator[CallKey, None]:
    """The planned calls in order, read in windows so that memory does not grow with the run."""
    last, window = 0, max(64, concurrency * 4)
    while keys := outstanding(shared.db, shared.run_id, last, window):
        for key in keys:
            yield key
        last = keys[-1].id


async def _worker(shared: _Work, calls: AsyncIterator[CallKey], lock: asyncio.Lock) -> None:
    while not shared.stopping.is_set():
        async with lock:
            key = await _next(calls)
        if key is None:
            return
        outcome = await _answered(shared, key)
        await shared.recorder.save(outcome)
        _count(shared, outcome)


async def _next(calls: AsyncIterator[CallKey]) -> CallKey | None:
    try:
        return await calls.__anext__()
    except StopAsyncIteration:
        return None


async def _answered(shared: _Work, key: CallKey) -> CallOutcome:
    """Build the request, look whether its reply is stored already, else ask."""
    material = load_material(shared.db, shared.run_id, key.case_id, shared.settings.top_k)
    sampling = Sampling(max_tokens=shared.settings.max_tokens, seed=shared.settings.seed)
    request = shared.protocol.request(shared.prompt, material, key.order, key.aspect, sampling)
    request = request.model_copy(update={"sample": key.sample})
    content_hash = request.content_hash()
    question = Question(request, shared.protocol, shared.prompt, material, key.order, key.aspect)
    request_hash = request.request_hash(shared.identity.cache_key()) if shared.judge.cacheable else None
    if request_hash and shared.settings.use_cache:
        stored = stored_reply(shared.db, request_hash)
        if stored is not None and (parsed := _readable(question, stored[1])):
            asked = Asked(0, stored[1], parsed)
            return _outcome(shared, key, content_hash, request_hash, asked, cached_from=stored[0])
    asked = await ask(shared.judge, question, shared.settings.timeout_s, shared.pause)
    return _outcome(shared, key, content_hash, request_hash, asked)


def _readable(question: Question, reply: Reply) -> ParsedReply | None:
    """A stored reply is used only when it reads as a fresh one would; another version may have stored it."""
    try:
        return question.read(reply)
    except ReplyFault:
        return None


def _outcome(
    shared: _Work,
    key: CallKey,
    content_hash: str,
    request_hash: str | None,
    asked: Asked,
    cached_from: int | None = None,
) -> CallOutcome:
    reply: Reply | None = asked.reply
    cost = None
    if reply is not None and cached_from is None:
        cost = cost_of(shared.spec, reply.usage) if shared.judge.rater_kind == "judge" else 0.0
    return CallOutcome(
        key=key,
        attempts=asked.attempts,
        content_hash=content_hash,
        request_hash=request_hash,
        reply=reply,
        parsed=asked.parsed,
        error_kind=asked.error_kind,
        error=asked.error,
        cost_usd=cost,
        cached_from=cached_from,
    )


def _count(shared: _Work, outcome: CallOutcome) -> None:
    """Bring the counts up to date, and break off when call after call fails: then it is not the cases."""
    usage = outcome.reply.usage if outcome.reply and outcome.cached_from is None else Usage()
    now = shared.progress
    shared.progress = now.model_copy(
        update={
            "done": now.done + (outcome.parsed is not None),
            "failed": now.failed + (outcome.parsed is None),
            "cached": now.cached + (outcome.cached_from is not None),
            "tokens_in": now.tokens_in + (usage.input or 0),
            "tokens_out": now.tokens_out + (usage.output or 0),
            "cost_usd": (now.cost_usd or 0.0) + outcome.cost_usd
            if outcome.cost_usd is not None
            else now.cost_usd,
        }
    )
    shared.failed_in_a_row = 0 if outcome.parsed else shared.failed_in_a_row + 1
    if shared.failed_in_a_row >= FAILURES_IN_A_ROW:
        raise JudgeError(
            f"{FAILURES_IN_A_ROW} calls in a row failed",
            f"The last one: {outcome.error}",
            f"The run stops here. Mend the cause, then “recjudge runs retry {shared.run_id}”.",
        )


async def _watch(shared: _Work, on_progress: OnProgress | None) -> None:
    """Twice a second: keep the lease, see whether somebody asks to pause or stop, tell how far it is."""
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        with shared.db.transaction():
            beat(shared.db, shared.run_id, shared.owner)
        if wanted(shared.db, shared.run_id) != "run":
            shared.stopping.set()
        if on_progress:
            on_progress(shared.progress)
