"""A run's calls in batches: as files, or at a provider, which gets each exactly once; and their results."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from recjudge_tui.domain.calls import MOST_OF_AN_IMAGE, CallResult, Reply, Request, Usage
from recjudge_tui.domain.judge import Capabilities, Identity, JudgeSpec
from recjudge_tui.domain.run import Estimate, RunState
from recjudge_tui.domain.text import money
from recjudge_tui.errors import (
    CallError,
    InputError,
    JudgeError,
    RecjudgeError,
    ReplyFault,
    RunError,
    UsageError,
)
from recjudge_tui.files import refuse_database, scratch_folder
from recjudge_tui.judges.batch.lines import JSONL, LineFault, ResultLine, Shape, read_result
from recjudge_tui.judges.batch.provider_api import BatchServer, RemoteBatch, batch_server, was_refused
from recjudge_tui.judges.providers.images import without_images
from recjudge_tui.judges.providers.vendor import BatchAccess, BatchJudge
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.runs.calls import CostOf, Question, credible_usage, unforeseen, unusable
from recjudge_tui.runs.cases import setup_of
from recjudge_tui.runs.lease import acquire
from recjudge_tui.runs.limits import most_tokens
from recjudge_tui.runs.prices import cost_at, price_of, unknown_price
from recjudge_tui.runs.record import HeldRun, prepare_call, store_outcomes
from recjudge_tui.store.batches import (
    NamedCall,
    batch_row,
    batches_of,
    calls_in_batch,
    detach_batch,
    end_batch,
    find_calls,
    forget_batch,
    known_remote_ids,
    mark_answered,
    mark_requested,
    name_calls,
    plan_batch,
    refused_parameters,
    set_batch_progress,
    set_submitted,
    waiting_calls,
)
from recjudge_tui.store.calls import CallKey, CallOutcome, outstanding
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.runs import (
    judge_capabilities,
    release_lease,
    run_progress,
    run_row,
    set_identity,
    wanted,
)

# ---- context -----------------------------------------------------------------------------------------------------


WINDOW = 256

Tell = Callable[[str], None]


BatchRun = HeldRun[BatchJudge[Any]]


@contextmanager
def held_run(db: Database, run_id: int) -> Iterator[BatchRun]:
    """Lease the run, and release it in its former state, or done when nothing is outstanding.

    Raises UsageError for a judge that cannot be asked in batches, RunError when another process works on the run.
    """
    row = run_row(db, run_id)
    setup = setup_of(db, row)
    spec, settings, _, _ = setup
    if settings.profile == "llm":
        raise UsageError(
            f"run {run_id} cannot be sent in batches",
            "Its calls show user profiles that other calls of the run write first.",
        )
    if settings.until:
        raise UsageError(
            f"run {run_id} cannot be sent in batches",
            "It stops when it is decided, and a batch cannot be stopped.",
        )
    judge = batch_judge(spec)
    owner = acquire(db, run_id)
    try:
        identity = judge.batch_identity(_known(db, run_id, spec))
        identity = identity.model_copy(update={"headers": spec.headers})
        if row["identity"]:
            identity = Identity.model_validate_json(row["identity"])
        else:
            set_identity(db, run_id, owner, identity)
        yield HeldRun(db, run_id, row["rater_id"], owner, setup, judge, identity)
    finally:
        state, error = _state_after(db, run_id, row["state"], row["error"])
        release_lease(db, run_id, owner, state, 0.0, error)


def batch_judge(spec: JudgeSpec) -> BatchJudge[Any]:
    """The judge named by `spec`; no call is made. Raises UsageError for a judge that does not support batches."""
    judge = make_judge(spec)
    if not isinstance(judge, BatchJudge):
        raise UsageError(
            f"“{spec.spec}” cannot be asked in batches",
            "Batches are for openai:MODEL and anthropic:MODEL.",
            "Plan the run with openai:MODEL and the --base-url of a server that speaks its API (vLLM, llama.cpp, Ollama).",
        )
    return judge


def _known(db: Database, run_id: int, spec: JudgeSpec) -> Capabilities:
    """The parameters that the server refused in a probe and in earlier calls. A batch cannot try parameters."""
    known = judge_capabilities(db, spec) or Capabilities()
    refused = dict.fromkeys((*known.refused, *refused_parameters(db, run_id)))
    return known.model_copy(update={"refused": tuple(refused)})


def _state_after(db: Database, run_id: int, before: RunState, error: str) -> tuple[RunState, str]:
    if not outstanding(db, run_id, 0, 1):
        return "done", ""
    # a running run's process died; a done run repeats a failed call
    return ("stopped", "") if before in ("running", "done") else (before, error)


def outgoing(run: BatchRun, cached: list[int]) -> Iterator[tuple[NamedCall, bytes]]:
    """The calls to send, without those in a submitted batch, and the bodies of their requests.

    A call with a stored reply is answered from it; its id is added to `cached`.
    """
    last = 0
    while calls := waiting_calls(run.db, run.id, last, WINDOW):
        last = calls[-1].key.id
        outcomes = []
        for call in calls:
            prepared = prepare_call(run, call.key)
            if prepared.result is None:
                assert prepared.question is not None, "a run in batches writes no profiles"
                yield call, run.judge.batch_body(prepared.question.request)
            else:
                outcomes.append(prepared.outcome(prepared.result))
        cached += [outcome.key.id for outcome in store_outcomes(run.db, run, outcomes)]


def batch_cost(run: BatchRun) -> CostOf:
    """The cost of a reply in a batch."""
    price = price_of(run.setup.spec)
    return partial(cost_at, price and price.in_batch())


def most_of_batch_call(run: BatchRun, request: Request) -> float:
    """The most dollars that a call in a batch can have cost; 0 where the price is not known."""
    price = price_of(run.setup.spec)
    return 0.0 if price is None else price.in_batch().most(most_tokens(request), request.sampling.max_tokens)


# ---- cost --------------------------------------------------------------------------------------------------------


def batch_estimate(db: Database, run_id: int) -> Estimate:
    """The estimate for the calls that a batch would contain, at the batch price."""
    row = run_row(db, run_id)
    whole = Estimate.model_validate_json(row["estimate"])
    away = sum(batch["calls"] for batch in batches_of(db, run_id, "planned", "submitted"))
    calls = max(0, run_progress(db, run_id).outstanding - away)
    share = calls / whole.calls if whole.calls else 0.0
    price = price_of(JudgeSpec.model_validate_json(row["judge"]))
    low, high, out = (round(n * share) for n in (whole.tokens_in_low, whole.tokens_in_high, whole.tokens_out))
    return whole.model_copy(
        update={
            "calls": calls,
            "cases": round(whole.cases * share),
            "images": round(whole.images * share),
            "tokens_in_low": low,
            "tokens_in_high": high,
            "tokens_out": out,
            "tokens_reused": None,
            "cost_usd_low": price.in_batch().of_calls(calls, low, out) if price else None,
            "cost_usd_high": price.in_batch().of_calls(calls, high, out * 2, most=True) if price else None,
            "price_note": f"{price.source}, batch at {price.batch_discount:.0%} of the price"
            if price
            else whole.price_note,
            "left_out": {},
        }
    )


def within_budget(
    run: BatchRun, calls: Iterable[tuple[NamedCall, bytes]], costs: dict[int, float], tell: Tell
) -> Iterator[tuple[NamedCall, bytes]]:
    """As many calls as the run's budget allows if each costs its maximum; all calls without a budget.

    Past spending and the maximum cost of batches at the provider are subtracted first. `costs` receives the cost of each
    call by id. Raises RunError when the price is unknown or not a single call fits.
    """
    limit = run.setup.settings.budget_usd
    if limit is None:
        yield from calls
        return
    price = price_of(run.setup.spec)
    if price is None:
        raise unknown_price(run.setup.spec)
    under_way = batches_of(run.db, run.id, "planned", "submitted")
    left = limit - run_progress(run.db, run.id).spent_usd
    left -= sum(row["reserved_usd"] or 0.0 for row in under_way)
    for call, body in calls:
        text, images = without_images(body)
        tokens = len(text) + images * MOST_OF_AN_IMAGE  # no tokenizer makes more than one token of a byte
        cost = price.in_batch().most(tokens, run.setup.settings.max_tokens)
        if cost > left:
            message = f"the budget of {money(limit)} does not cover the next call, which may cost up to {money(cost)}"
            if not costs:
                raise RunError(message, f"{money(max(left, 0.0))} of it is left.")
            tell(message)
            return
        left -= cost
        costs[call.key.id] = cost
        yield call, body


# ---- files -------------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """One file of calls, whole."""

    path: Path
    call_ids: tuple[int, ...]


class ExportSummary(NamedTuple):
    """The exported calls. `away` calls are in a batch at a provider and were left out."""

    files: tuple[Path, ...]
    calls: int
    from_cache: int
    away: int


def export_calls(
    db: Database, run_id: int, out: Path, progress: Callable[[int], None] | None = None, shape: Shape = JSONL
) -> ExportSummary:
    """Write the outstanding calls of a run to `out`, or to numbered parts beside it when one cannot hold them.

    The calls' names are committed before the first line is written, and a call without an answer keeps its name when
    it is exported again. A call with a stored reply is answered and not exported. Files appear complete or
    not at all. Raises UsageError for a judge whose calls cannot be written to a file, RunError while another process
    works on the run.
    """
    refuse_database(out)
    with held_run(db, run_id) as run:
        if run.setup.spec.provider != "openai":
            raise UsageError(
                f"a batch file cannot hold calls for “{run.setup.spec.spec}”",
                next_step=f"Send them with “recjudge batch submit {run_id}”.",
            )
        name_calls(db, run_id)
        away = sum(row["calls"] for row in batches_of(db, run_id, "planned", "submitted"))
        cached: list[int] = []
        try:
            parts = list(write_parts(run, counted(outgoing(run, cached), progress), shape, out))
            files = _named(parts, out)
        except OSError as error:
            raise RunError(f"{out} cannot be written", f"{error.strerror}.") from error
        return ExportSummary(files, sum(len(part.call_ids) for part in parts), len(cached), away)


def write_parts(
    run: BatchRun, calls: Iterable[tuple[NamedCall, bytes]], shape: Shape, out: Path
) -> Iterator[Part]:
    """Files beside `out` (`NAME.part1`, ...) that hold the calls in order, each within the limits of `shape`.

    A part is yielded when it is closed. Raises RunError for a call that is too large for any part.
    """
    number, pending = 0, iter(calls)
    first = next(pending, None)
    while first is not None:
        number += 1
        path = out.with_name(f"{out.name}.part{number}")
        call_ids: list[int] = []
        size = len(shape.head) + len(shape.tail)
        with path.open("wb") as file:
            file.write(shape.head)
            while first is not None:
                call, body = first
                line = shape.line(call.custom_id, run.judge.batch_path, body)
                line = (shape.between if call_ids else b"") + line
                if size + len(line) > shape.max_bytes or len(call_ids) == shape.max_calls:
                    break
                size += file.write(line)
                call_ids.append(call.key.id)
                first = next(pending, None)
            file.write(shape.tail)
        if not call_ids:
            path.unlink()
            raise RunError("a call is too large for a batch", f"It has {size + len(line):,} bytes.")
        yield Part(path, tuple(call_ids))


def _named(parts: list[Part], out: Path) -> tuple[Path, ...]:
    """Give the parts their names: `out` for a single one, else `out` with a number before its suffix."""
    width = max(2, len(str(len(parts))))
    names = [
        out.with_name(f"{out.stem}-{number:0{width}d}{out.suffix}") for number in range(1, len(parts) + 1)
    ]
    chosen = [out] if len(parts) == 1 else names
    for name in chosen:
        refuse_database(name)
    return tuple(part.path.replace(name) for part, name in zip(parts, chosen, strict=True))


def counted(
    calls: Iterable[tuple[NamedCall, bytes]], progress: Callable[[int], None] | None
) -> Iterator[tuple[NamedCall, bytes]]:
    for number, call in enumerate(calls, 1):
        yield call
        if progress:
            progress(number)


# ---- collect -----------------------------------------------------------------------------------------------------


LINES_A_TRANSACTION = 256
NOTED = 20
T = TypeVar("T")


@dataclass
class ImportTally:
    """Counts of result lines. `again`: errors after which the call stays outstanding. `notes` locate the first faults."""

    done: int = 0
    failed: int = 0
    again: int = 0
    already: int = 0
    unknown: int = 0
    broken: int = 0
    stopped: bool = False
    reasons: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        if len(self.notes) < NOTED:
            self.notes.append(text)

    def lines(self) -> list[str]:
        """The counts and notes, one per line."""
        counts = [
            (self.done, "answered"),
            (self.failed, "failed" + self._why()),
            (self.again, "not processed by the server, still outstanding"),
            (self.already, "already answered"),
            (self.unknown, "not of this run"),
            (self.broken, "broken lines"),
        ]
        first = ", ".join(f"{count:,} {what}" for count, what in counts if count) or "no lines"
        return [
            first,
            *self.notes,
            *(["stopped before the end; import the files again"] if self.stopped else []),
        ]

    def _why(self) -> str:
        return (
            f" ({', '.join(f'{n:,} × {kind}' for kind, n in self.reasons.items())})" if self.reasons else ""
        )


class Line(NamedTuple):
    place: str
    result: ResultLine


def import_results(
    db: Database, run_id: int, files: Sequence[Path], progress: Callable[[int], None] | None = None
) -> ImportTally:
    """Store the results in result and error files of a run's calls.

    Each reply is read, priced and adjudicated like a live one. A reply that cannot be read makes a failed call, and is
    kept. An error makes a failed call too, unless the server did not process the call (rate limit, expired): then it
    stays outstanding. Nothing is stored twice. Replies are stored before errors, so the order of the files does not
    matter. Raises InputError for a file that cannot be read, RunError while another process works on the run.
    """
    for path in files:
        if not path.is_file():
            raise InputError(f"{path} does not exist")
    tally = ImportTally()
    with held_run(db, run_id) as run:
        store_results(run, files, tally, progress)
    return tally


def store_results(
    run: BatchRun, files: Sequence[Path], tally: ImportTally, progress: Callable[[int], None] | None = None
) -> None:
    """`import_results` for a run that is already leased. Adds to `tally`."""
    errors: list[Line] = []
    read = 0
    for chunk in _chunks(_answers(_lines(files, tally), errors)):
        _store(run, chunk, tally)
        read += len(chunk)
        if progress:
            progress(read)
        if tally.stopped:
            return
    for chunk in _chunks(errors):
        _store(run, chunk, tally)


def _lines(files: Sequence[Path], tally: ImportTally) -> Iterator[Line]:
    for path in files:
        try:
            with path.open("rb") as file:
                for number, raw in enumerate(file, 1):
                    if not raw.strip():
                        continue
                    try:
                        yield Line(f"{path}:{number}", read_result(raw))
                    except LineFault as fault:
                        tally.broken += 1
                        tally.note(f"{path}:{number}: {fault}")
        except OSError as error:
            raise InputError(f"{path} cannot be read", f"{error.strerror}.") from error


def _answers(lines: Iterable[Line], errors: list[Line]) -> Iterator[Line]:
    """The lines that hold a reply. Those that hold an error are added to `errors`."""
    for line in lines:
        if line.result.body is None:
            errors.append(line)
        else:
            yield line


def _store(run: BatchRun, lines: list[Line], tally: ImportTally) -> None:
    calls = find_calls(run.db, run.id, [line.result.custom_id for line in lines])
    outcomes: dict[int, CallOutcome] = {}
    for place, result in lines:
        call = calls.get(result.custom_id)
        if call is None:
            tally.unknown += 1
            tally.note(f"{place}: {result.custom_id[:80]} is not a call of run {run.id}")
        elif not call.open or call.key.id in outcomes:
            tally.already += 1
        elif result.again:
            tally.again += 1
        else:
            outcomes[call.key.id] = _outcome(run, call.key, result)
    _commit(run, list(outcomes.values()), tally)
    tally.stopped = wanted(run.db, run.id) != "run"


def _commit(run: BatchRun, outcomes: list[CallOutcome], tally: ImportTally) -> None:
    with run.db.transaction():
        stored = store_outcomes(run.db, run, outcomes)
        mark_answered(run.db, [outcome.key.id for outcome in stored])
    tally.already += len(outcomes) - len(stored)
    for outcome in stored:
        if outcome.result.parsed:
            tally.done += 1
        else:
            tally.failed += 1
            kind = outcome.result.error_kind or ""
            tally.reasons[kind] = tally.reasons.get(kind, 0) + 1


def _outcome(run: BatchRun, key: CallKey, line: ResultLine) -> CallOutcome:
    call = prepare_call(run, key, use_stored=False)
    if line.body is None or call.question is None:
        return call.outcome(CallResult(1, error_kind=line.kind or "error", error=line.error))
    result = _read(run, call.question, line.body)
    request, reply = call.question.request, result.reply or Reply(text="")
    cost = batch_cost(run)(credible_usage(reply.usage, request, reply.text if result.parsed else ""))
    unknown = 0.0 if cost is not None else most_of_batch_call(run, request)
    return call.outcome(result._replace(cost_usd=cost, unknown_usd=unknown))


def _read(run: BatchRun, question: Question, body: bytes) -> CallResult:
    """The result in a body. A batch cannot repeat a request, so an unusable reply is stored as it is."""
    try:
        reply = run.judge.read_batch(body, question.request)
    except Exception as problem:
        if isinstance(problem, RecjudgeError) and not isinstance(problem, CallError | JudgeError):
            raise
        error = problem if isinstance(problem, RecjudgeError) else unforeseen(problem)
        kind = error.kind if isinstance(error, CallError) else "refused"
        usage = error.usage if isinstance(error, CallError) else None
        raw = Reply(
            text=body.decode("utf-8", "replace"), usage=usage if isinstance(usage, Usage) else Usage()
        )
        return CallResult(1, raw, error_kind=kind, error=str(error))
    try:
        return CallResult(1, reply, question.read(reply))
    except ReplyFault as fault:
        return unusable(1, reply, fault)


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    pending = iter(items)
    while chunk := list(islice(pending, LINES_A_TRANSACTION)):
        yield chunk


# ---- hosted ------------------------------------------------------------------------------------------------------


# a batch may appear at the server this long after its request was sent
SETTLE_S = 30.0
CLOCKS_APART_S = 600.0
LINES_LOOKED_AT = 50


class SubmitSummary(NamedTuple):
    """The number of new `batches` and `calls` in them. `found_again` counts batches that an interrupted submit had sent."""

    batches: int
    calls: int
    found_again: int
    from_cache: int


class CollectSummary(NamedTuple):
    """The results of the batches that ended (`over`), and the number still `waiting`."""

    results: ImportTally
    over: int
    waiting: int


def submit(
    db: Database,
    run_id: int,
    *,
    settle_s: float = SETTLE_S,
    tell: Tell = lambda _: None,
    progress: Callable[[int], None] | None = None,
) -> SubmitSummary:
    """Send the outstanding calls of a run to its judge's provider, in as many batches as needed.

    Each batch is committed before it is sent, and its provider's id right after. If an earlier submit was interrupted in
    between, the provider's list is searched first, so that no call is sent twice. Raises RunError when the list does
    not show whether the batch arrived, JudgeError and CallError when the provider refuses.
    """
    with _at_provider(db, run_id) as (run, server, access, folder):
        found_again = sum(
            _resolve_interrupted(run, server, row, folder, settle_s, tell)
            for row in batches_of(db, run_id, "planned")
        )
        name_calls(db, run_id)
        batches = calls = 0
        costs: dict[int, float] = {}
        cached: list[int] = []
        affordable = counted(within_budget(run, outgoing(run, cached), costs, tell), progress)
        for part in write_parts(run, affordable, server.shape, folder / "calls.jsonl"):
            reserved = sum(costs[call_id] for call_id in part.call_ids) if costs else None
            remote_id = _send(run, server, access.url, part, reserved)
            part.path.unlink()
            batches, calls = batches + 1, calls + len(part.call_ids)
            tell(f"batch {remote_id}: {len(part.call_ids):,} calls submitted to {access.url}")
        return SubmitSummary(batches, calls, found_again, len(cached))


def update_progress(db: Database, run_id: int, tell: Tell = lambda _: None) -> list[StoredRow]:
    """Update the progress of the submitted batches from the provider. Returns all batches of the run."""
    spec = JudgeSpec.model_validate_json(run_row(db, run_id)["judge"])
    judge = batch_judge(spec)
    submitted = batches_of(db, run_id, "submitted")
    if submitted:
        with contextlib.closing(batch_server(spec.provider, judge.batch_access())) as server:
            for row in submitted:
                remote = server.fetch(row["remote_id"])
                set_batch_progress(db, row["id"], remote.status, remote.done, remote.failed)
    if any(row["asked_at"] for row in batches_of(db, run_id, "planned")):
        tell(
            f"a batch was sent but not confirmed: “recjudge batch submit {run_id}” checks whether it arrived"
        )
    return batches_of(db, run_id)


def collect(db: Database, run_id: int, tell: Tell = lambda _: None) -> CollectSummary:
    """Store the results of every batch of the run that has ended. Repeating it changes nothing.

    Calls that a batch left unanswered (expired, cancelled) can be sent again, live or in another batch.
    """
    tally, over, waiting = ImportTally(), 0, 0
    with _at_provider(db, run_id) as (run, server, _, folder):
        for row in batches_of(db, run_id, "planned"):
            if row["asked_at"] and not _adopt(run, server, row, folder, tell):
                waiting += 1
        for row in batches_of(db, run_id, "submitted"):
            remote = server.fetch(row["remote_id"])
            set_batch_progress(db, row["id"], remote.status, remote.done, remote.failed)
            if remote.over and not tally.stopped:
                over += _store_batch(run, server, row["id"], remote, folder, tally, tell)
            else:
                waiting += 1
                tell(
                    f"batch {remote.id} is {remote.status}: {remote.done or 0:,} of {row['calls']:,} answered"
                )
    return CollectSummary(tally, over, waiting)


def give_up(db: Database, run_id: int) -> int:
    """Stop waiting for the batches of a run, so that their calls can be sent again. Returns the number of batches."""
    with held_run(db, run_id):
        rows = batches_of(db, run_id, "planned", "submitted")
        for row in rows:
            end_batch(db, row["id"], "failed", "given up")
    return len(rows)


def refuse_when_away(db: Database, run_id: int) -> None:
    """Raise RunError when calls of the run are in a batch: sending them live would cost twice."""
    rows = batches_of(db, run_id, "planned", "submitted")
    if rows:
        raise RunError(
            f"{sum(row['calls'] for row in rows):,} calls of run {run_id} are waiting in a batch",
            "If they were sent live now, they would be paid for twice.",
            f"Collect the answers with “recjudge batch collect {run_id}”. To stop waiting for them, add --give-up.",
        )


@contextmanager
def _at_provider(db: Database, run_id: int) -> Iterator[tuple[BatchRun, BatchServer, BatchAccess, Path]]:
    with held_run(db, run_id) as run:
        access = run.judge.batch_access()
        try:
            with (
                contextlib.closing(batch_server(run.setup.spec.provider, access)) as server,
                scratch_folder() as folder,
            ):
                yield run, server, access, folder
        except OSError as error:
            raise RunError(
                f"the batch's files cannot be written to {tempfile.gettempdir()}",
                f"{error.strerror}.",
                "Free some space, or set TMPDIR to another folder, and run the same command again.",
            ) from error


def _send(run: BatchRun, server: BatchServer, url: str, part: Part, reserved: float | None) -> str:
    """Submit one batch and return the provider's id. Each step is stored, so that an interruption can be resolved."""
    batch_id = plan_batch(run.db, run.id, url, part.call_ids, reserved)
    try:
        file_id = server.upload(part.path)
    except (CallError, JudgeError):
        forget_batch(run.db, batch_id)
        raise
    mark_requested(run.db, batch_id, file_id)
    try:
        remote_id = server.create(part.path, file_id, batch_row(run.db, batch_id)["mark"])
    except (CallError, JudgeError) as error:
        if was_refused(error):
            forget_batch(run.db, batch_id)
            raise
        raise RunError(
            f"it is unknown whether {url} received the batch",
            str(error),
            f"Repeat “recjudge batch submit {run.id}”. It checks the provider's list before it sends anything.",
        ) from error
    set_submitted(run.db, batch_id, remote_id)
    return remote_id


def _resolve_interrupted(
    run: BatchRun, server: BatchServer, row: StoredRow, folder: Path, settle_s: float, tell: Tell
) -> bool:
    """Resolve a batch whose submission was interrupted. True if the provider has it.

    Otherwise forget the batch, so that its calls are sent again. The second search comes after `settle_s` seconds, when
    a late request must have arrived, and after its file was withdrawn, so that it can no longer start a batch.
    """
    if not row["asked_at"]:
        forget_batch(run.db, row["id"])
        return False
    if _adopt(run, server, row, folder, tell):
        return True
    age = time.time() - datetime.fromisoformat(row["asked_at"]).timestamp()
    if age < settle_s:
        tell("an earlier submit was interrupted; waiting in case its batch still arrives")
        time.sleep(min(settle_s, settle_s - age))
    if row["file_id"]:
        with contextlib.suppress(CallError, JudgeError):
            server.withdraw(row["file_id"])
    if _adopt(run, server, row, folder, tell):
        return True
    forget_batch(run.db, row["id"])
    return False


def _adopt(run: BatchRun, server: BatchServer, row: StoredRow, folder: Path, tell: Tell) -> bool:
    """Look for a planned batch at the provider and store its id. False if it is not there."""
    remote = _matching_batch(run, server, row, folder)
    if remote is None:
        return False
    set_submitted(run.db, row["id"], remote.id)
    tell(f"batch {remote.id} was already submitted: found again")
    return True


def _matching_batch(run: BatchRun, server: BatchServer, row: StoredRow, folder: Path) -> RemoteBatch | None:
    """The provider's batch that corresponds to a stored one, by its file, its mark or the call names in its results.

    If the provider keeps neither file nor mark and has no results yet, the only unknown batch of the same size since
    then is assumed to match; `collect` verifies it. Raises RunError when there are several.
    """
    known = known_remote_ids(run.db, row["server"])
    since = datetime.fromisoformat(row["created_at"]).timestamp() - CLOCKS_APART_S
    candidates = []
    for remote in server.find(row["file_id"] or "", row["mark"], since):
        if remote.id in known:
            continue
        if remote.ours:
            return remote
        if remote.calls not in (None, row["calls"]):
            continue
        if not remote.over:
            candidates.append(remote)
        elif _is_ours(run.db, row["id"], server.download(remote, folder)):
            return remote
    if len(candidates) > 1:
        raise RunError(
            f"several batches at {row['server']} may belong to run {run.id}",
            f"{', '.join(remote.id for remote in candidates)} have the same size.",
            "Try again when one of them has ended. Its results show which run it belongs to.",
        )
    return candidates[0] if candidates else None


def _is_ours(db: Database, batch_id: int, files: list[Path]) -> bool:
    """Whether the first lines of the results contain call names of this batch."""
    names: list[str] = []
    for path in files:
        with path.open("rb") as file:
            for raw in islice(file, LINES_LOOKED_AT):
                with contextlib.suppress(LineFault):
                    names.append(read_result(raw).custom_id)
    return calls_in_batch(db, batch_id, names) > 0


def _store_batch(
    run: BatchRun,
    server: BatchServer,
    batch_id: int,
    remote: RemoteBatch,
    folder: Path,
    tally: ImportTally,
    tell: Tell,
) -> bool:
    """Store the results of a batch that has ended. False if it belongs to another run, or if storing was stopped."""
    files = server.download(remote, folder)
    if not remote.ours and not _is_ours(run.db, batch_id, files):
        detach_batch(run.db, batch_id)
        tell(
            f"batch {remote.id} does not belong to run {run.id}; “recjudge batch submit {run.id}” continues the search"
        )
        return False
    store_results(run, files, tally)
    for path in files:
        path.unlink()
    if tally.stopped:
        return False
    tell(f"batch {remote.id} is {remote.status}{f': {remote.error}' if remote.error else ''}")
    end_batch(run.db, batch_id, "failed" if remote.status == "failed" else "collected", remote.error)
    return True
