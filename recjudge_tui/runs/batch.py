"""A run's calls in batches: as files, or at a provider, which gets each exactly once; and their results. A batch is
another source of replies. Its calls are prepared, asked for once more, billed and stored as live ones are; only what a
live run would send at once waits for the next batch."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.calls import CallResult, Reply, Request
from recjudge_tui.domain.judge import Capabilities, Identity, JudgeSpec
from recjudge_tui.domain.run import Estimate
from recjudge_tui.errors import CallError, InputError, JudgeError, RunError, UsageError
from recjudge_tui.files import refuse_database, scratch_folder
from recjudge_tui.judges.batch import (
    BATCH_SERVERS,
    JSONL,
    BatchServer,
    LineFault,
    RemoteBatch,
    ResultLine,
    Shape,
    lines_of,
    read_result,
    was_refused,
)
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.judges.servers import BatchJudge
from recjudge_tui.runs.calls import Bill, Budget, Call, CallLimits, Question, budget_of
from recjudge_tui.runs.cases import setup_of
from recjudge_tui.runs.estimate import Price, cost_at, price_of
from recjudge_tui.runs.lease import acquire
from recjudge_tui.runs.record import HeldRun, prepare_call, store_outcomes
from recjudge_tui.store import calls as batch_store
from recjudge_tui.store import runs as run_store
from recjudge_tui.store.calls import CallKey, CallOutcome, outstanding
from recjudge_tui.store.database import Database, StoredRow, now

WINDOW = 256

Tell = Callable[[str], None]
Advance = Callable[[int], None]
BatchRun = HeldRun[BatchJudge]


# ---- one way -----------------------------------------------------------------------------------------------------


@contextmanager
def held_run(db: Database, run_id: int) -> Iterator[BatchRun]:
    """Lease the run, and release it in its former state, or done when nothing is outstanding. Raises UsageError for a
    judge that cannot be asked in batches, RunError when another process works on the run."""
    row = run_store.run_row(db, run_id)
    setup = setup_of(db, row)
    why = "It stops when it is decided, and a batch cannot be stopped." if setup.settings.until else ""
    if setup.settings.profile == "llm":
        why = "Its calls show user profiles that other calls of the run write first."
    if why:
        raise UsageError(f"run {run_id} cannot be sent in batches", why)
    judge = batch_judge(setup.spec)
    owner = acquire(db, run_id)
    try:
        # a batch cannot try parameters
        known = run_store.judge_capabilities(db, setup.spec) or Capabilities()
        refused = tuple(dict.fromkeys((*known.refused, *batch_store.refused_parameters(db, run_id))))
        identity = judge.batch_identity(known.model_copy(update={"refused": refused}))
        identity = identity.model_copy(update={"headers": setup.spec.headers})
        if row["identity"]:
            identity = Identity.model_validate_json(row["identity"])
        else:
            run_store.set_identity(db, run_id, owner, identity)
        yield HeldRun(db, run_id, row["rater_id"], owner, setup, judge, identity)
    finally:
        state, error = row["state"], row["error"]
        if not outstanding(db, run_id, 0, 1):
            state, error = "done", ""
        elif state in ("running", "done"):  # its process died; it repeats a failed call
            state, error = "stopped", ""
        run_store.release_lease(db, run_id, owner, state, 0.0, error)


def batch_judge(spec: JudgeSpec) -> BatchJudge:
    """The judge named by `spec`; no call is made. Raises UsageError for a judge that does not support batches."""
    judge = make_judge(spec)
    if not isinstance(judge, BatchJudge):
        raise UsageError(
            f"“{spec.spec}” cannot be asked in batches",
            "Batches are for openai:MODEL and anthropic:MODEL.",
            "Plan the run with openai:MODEL and the --base-url of a server that speaks its API (vLLM, llama.cpp, Ollama).",
        )
    return judge


def batch_price(spec: JudgeSpec) -> Price | None:
    """The price of the judge in a batch; None if unknown."""
    price = price_of(spec)
    return price and replace(price, factor=price.batch_discount)


@dataclass(frozen=True)
class _Arrived:
    """A judge whose one answer has arrived: the body of a batch's result."""

    judge: BatchJudge
    body: bytes

    @property
    def repetition_penalty(self) -> object:
        return getattr(self.judge, "repetition_penalty", None)

    async def ask(self, request: Request) -> Reply:
        try:
            return self.judge.read_batch(self.body, request)
        except (CallError, JudgeError) as problem:
            error = problem if isinstance(problem, CallError) else CallError("refused", problem.sentences)
            if not error.text and not error.thinking:
                error.text = self.body.decode("utf-8", "replace")
            raise error from None


def _call(
    run: BatchRun, price: Price | None, question: Question, earlier: Earlier, body: bytes = b""
) -> Call:
    """The call where the batches before have left it."""
    limits = CallLimits(asyncio.Event(), price=price)
    source, timeout_s = _Arrived(run.judge, body), run.setup.settings.timeout_s
    call = Call(source, question, timeout_s, limits, partial(cost_at, price), Bill())
    call.climb(earlier)
    return call


class Outgoing(NamedTuple):
    """A call to send: its name, the body of its request, and the most it can cost, if the run has a budget."""

    id: int
    custom_id: str
    body: bytes
    most: float = 0.0


def outgoing(
    run: BatchRun,
    cached: list[int],
    progress: Advance,
    budget: Budget | None = None,
    tell: Tell = print,
) -> Iterator[Outgoing]:
    """The calls to send, without those in a submitted batch, as many as the budget allows if each costs its maximum. A call
    with a stored reply is answered from it; its id is added to `cached`. Raises RunError when the budget covers none."""
    price, last, sent, spent = batch_price(run.setup.spec), 0, 0, False
    while not spent and (calls := batch_store.waiting_calls(run.db, run.id, last, WINDOW)):
        last = calls[-1][1].id
        earlier = batch_store.earlier_answers(run.db, [key.id for _, key in calls])
        outcomes = []
        for custom_id, key in calls:
            prepared = prepare_call(run, key)
            if prepared.result is not None:
                outcomes.append(prepared.outcome(prepared.result))
                continue
            assert prepared.question is not None, "a run in batches writes no profiles"
            call = _call(run, price, prepared.question, earlier.get(key.id, ()))
            most = call.limits.most_cost(call.request) if budget else 0.0
            if budget and not budget.take(most):
                if not sent:
                    raise RunError("the budget does not cover the next call", budget.refusal(most))
                tell(f"The other calls are left out. {budget.refusal(most)}")
                spent = True
                break
            yield Outgoing(key.id, custom_id, run.judge.batch_body(call.request), most)
            sent += 1
            progress(sent)
        cached += [outcome.key.id for outcome in store_outcomes(run.db, run, outcomes)]


def batch_estimate(db: Database, run_id: int) -> Estimate:
    """The estimate for the calls that a batch would contain, at the batch price."""
    row = run_store.run_row(db, run_id)
    whole = Estimate.model_validate_json(row["estimate"])
    calls = max(0, run_store.run_progress(db, run_id).outstanding - calls_away(db, run_id))
    share = calls / whole.calls if whole.calls else 0.0
    parts = {
        name: round(getattr(whole, name) * share)
        for name in ("cases", "images", "tokens_in_low", "tokens_in_high", "tokens_out")
    }
    price = batch_price(JudgeSpec.model_validate_json(row["judge"]))
    low, high, out = parts["tokens_in_low"], parts["tokens_in_high"], parts["tokens_out"]
    return whole.model_copy(
        update={
            **parts,
            "calls": calls,
            "tokens_reused": None,
            "cost_usd_low": price.of_calls(calls, low, out) if price else None,
            "cost_usd_high": price.of_calls(calls, high, out * 2, most=True) if price else None,
            "price_note": f"{price.source}, batch at {price.batch_discount:.0%} of the price"
            if price
            else whole.price_note,
            "left_out": {},
        }
    )


# ---- files -------------------------------------------------------------------------------------------------------


class Sent(NamedTuple):
    """The calls that went out: as `files`, or in new `batches` at a provider. `found_again` counts batches that an
    interrupted submit had sent, `from_cache` calls that had a stored reply. `away` calls are in a batch at a provider and
    were left out."""

    calls: int
    from_cache: int
    files: tuple[Path, ...] = ()
    away: int = 0
    batches: int = 0
    found_again: int = 0


def export_calls(
    db: Database, run_id: int, out: Path, progress: Advance = lambda _: None, shape: Shape = JSONL
) -> Sent:
    """Write the outstanding calls of a run to `out`, or to numbered parts beside it when one cannot hold them. The calls'
    names are committed before the first line is written; a call keeps its name until it is answered. Files appear complete
    or not at all. Raises UsageError for a judge whose calls cannot be written to a file, RunError while another process
    works on the run."""
    refuse_database(out)
    with held_run(db, run_id) as run:
        if run.setup.spec.provider != "openai":
            raise UsageError(
                f"a batch file cannot hold calls for “{run.setup.spec.spec}”",
                next_step=f"Send them with “recjudge batch submit {run_id}”.",
            )
        batch_store.name_calls(db, run_id)
        cached: list[int] = []
        try:
            parts = list(write_parts(run, outgoing(run, cached, progress), shape, out))
            width = max(2, len(str(len(parts))))
            files = [out.with_name(f"{out.stem}-{n:0{width}d}{out.suffix}") for n in range(1, len(parts) + 1)]
            files = [out] if len(parts) == 1 else files
            for (part, _), file in zip(parts, files, strict=True):
                refuse_database(file)
                part.replace(file)
        except OSError as error:
            raise RunError(f"{out} cannot be written", f"{error.strerror}.") from error
        return Sent(sum(len(sent) for _, sent in parts), len(cached), tuple(files), calls_away(db, run_id))


def write_parts(
    run: BatchRun, calls: Iterable[Outgoing], shape: Shape, out: Path
) -> Iterator[tuple[Path, list[Outgoing]]]:
    """Files beside `out` (`NAME.part1`, ...), each within the limits of `shape`, with the calls in it, in order. A part is
    yielded when it is closed. Raises RunError for a call that is too large for any part."""
    pending = iter(calls)
    call = next(pending, None)
    for number in count(1):
        if call is None:
            return
        path = out.with_name(f"{out.name}.part{number}")
        written: list[Outgoing] = []
        size = len(shape.head) + len(shape.tail)
        with path.open("wb") as file:
            file.write(shape.head)
            while call is not None and len(written) < shape.max_calls:
                line = (shape.between if written else b"") + shape.line(
                    call.custom_id, run.judge.batch_path, call.body
                )
                if size + len(line) > shape.max_bytes:
                    break
                size += file.write(line)
                written.append(call._replace(body=b""))
                call = next(pending, None)
            file.write(shape.tail)
        if not written:
            path.unlink()
            raise RunError("a call is too large for a batch", f"It has {size + len(line):,} bytes.")
        yield path, written


# ---- collect -----------------------------------------------------------------------------------------------------


LINES_A_TRANSACTION = 256
NOTED = 20
Earlier = Iterable[tuple[str, str]]
# where a result stands, and the result
Line = tuple[str, ResultLine]


@dataclass
class ImportTally:
    """Counts of result lines. `again`: answers after which the call stays outstanding. `notes` locate the first faults. Of
    batches at a provider, `over` have ended and `waiting` have not."""

    done: int = 0
    failed: int = 0
    again: int = 0
    already: int = 0
    unknown: int = 0
    broken: int = 0
    over: int = 0
    waiting: int = 0
    stopped: bool = False
    reasons: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        if len(self.notes) < NOTED:
            self.notes.append(text)


def import_results(
    db: Database, run_id: int, files: Sequence[Path], progress: Advance = lambda _: None
) -> ImportTally:
    """Store the results in result and error files of a run's calls; nothing is stored twice.

    A reply that cannot be used, or was cut, leaves its call outstanding: the next batch asks once more, as a live run does
    at once. So does an error by which the server did not process the call (rate limit, expired); any other makes a failed
    call. Replies are stored before errors, so the order of the files does not matter. Raises InputError for a file that
    cannot be read, RunError while another process works on the run."""
    for path in files:
        if not path.is_file():
            raise InputError(f"{path} does not exist")
    tally = ImportTally()
    with held_run(db, run_id) as run:
        _store_results(run, files, tally, progress)
    return tally


def _store_results(
    run: BatchRun, files: Sequence[Path], tally: ImportTally, progress: Advance = lambda _: None
) -> None:
    read, errors = 0, []

    def replies() -> Iterator[Line]:
        for line in _lines(files, tally):
            if line[1].body is None:
                errors.append(line)
            else:
                yield line

    for lines in (replies(), iter(errors)):
        while not tally.stopped and (chunk := list(islice(lines, LINES_A_TRANSACTION))):
            _store(run, chunk, tally)
            read += len(chunk)
            progress(read)


def _lines(files: Iterable[Path], tally: ImportTally) -> Iterator[Line]:
    def note(place: str, fault: LineFault) -> None:
        tally.broken += 1
        tally.note(f"{place}: {fault}")

    for path in files:
        yield from lines_of(path, read_result, note)


def _store(run: BatchRun, lines: list[Line], tally: ImportTally) -> None:
    calls = batch_store.find_calls(run.db, run.id, [result.custom_id for _, result in lines])
    answers: dict[int, tuple[CallKey, ResultLine]] = {}
    for place, result in lines:
        waits, key = calls.get(result.custom_id, (False, None))
        if key is None:
            tally.unknown += 1
            tally.note(f"{place}: {result.custom_id[:80]} is not a call of run {run.id}")
        elif not waits or key.id in answers:
            tally.already += 1
        elif result.again:
            tally.again += 1
        else:
            answers[key.id] = key, result
    outcomes = asyncio.run(_outcomes(run, answers))
    with run.db.transaction():
        stored = store_outcomes(run.db, run, outcomes)
        batch_store.mark_answered(run.db, [outcome.key.id for outcome in stored])
    tally.already += len(outcomes) - len(stored)
    for outcome in stored:
        if outcome.result.parsed:
            tally.done += 1
        elif (kind := outcome.result.error_kind) is None:
            tally.again += 1
        else:
            tally.failed += 1
            tally.reasons[kind] += 1
    tally.stopped = run_store.wanted(run.db, run.id) != "run"


async def _outcomes(run: BatchRun, answers: dict[int, tuple[CallKey, ResultLine]]) -> list[CallOutcome]:
    price, outcomes = batch_price(run.setup.spec), []
    earlier = batch_store.earlier_answers(run.db, list(answers))
    for key, line in answers.values():
        prepared = prepare_call(run, key, use_stored=False)
        if line.body is None or prepared.question is None:
            result = CallResult(1, error_kind=line.kind or "error", error=line.error)
        else:
            call = _call(run, price, prepared.question, earlier.get(key.id, ()), line.body)
            try:
                answer = await call.attempt()
            except CallError as error:
                answer = call.failed(error)
            call.latency_s = None
            result = call.counted(answer)
        outcomes.append(prepared.outcome(result))
    return outcomes


# ---- hosted ------------------------------------------------------------------------------------------------------


# a batch may appear at the server this long after its request was sent
SETTLE_S = 30.0
CLOCKS_APART_S = 600.0
LINES_LOOKED_AT = 50


def submit(
    db: Database,
    run_id: int,
    *,
    settle_s: float = SETTLE_S,
    tell: Tell = lambda _: None,
    progress: Advance = lambda _: None,
) -> Sent:
    """Send the outstanding calls of a run to its judge's provider, in as many batches as needed. Each batch is committed
    before it is sent, and its provider's id right after; after an interruption in between, the provider's list is searched
    first, so that no call is sent twice. Raises RunError when the list does not show whether the batch arrived, JudgeError
    and CallError when the provider refuses."""
    with _at_provider(db, run_id, tell) as provider:
        run, server = provider.run, provider.server
        found_again = sum(
            provider.resolve(row, settle_s) for row in batch_store.batches_of(db, run_id, "planned")
        )
        batch_store.name_calls(db, run_id)
        batches = calls = 0
        cached: list[int] = []
        spec, settings = run.setup.spec, run.setup.settings
        reserved = sum(
            row["reserved_usd"] or 0.0 for row in batch_store.batches_of(db, run_id, "planned", "submitted")
        )
        budget = budget_of(settings, spec, batch_price(spec), run_store.run_progress(db, run_id), reserved)
        affordable = outgoing(run, cached, progress, budget, tell)
        for path, sent in write_parts(run, affordable, server.shape, provider.folder / "calls.jsonl"):
            remote_id = provider.send(path, sent)
            path.unlink()
            batches, calls = batches + 1, calls + len(sent)
            tell(f"batch {remote_id}: {len(sent):,} calls submitted to {server.url}")
        return Sent(calls, len(cached), batches=batches, found_again=found_again)


def update_progress(db: Database, run_id: int, tell: Tell = lambda _: None) -> list[StoredRow]:
    """Update the progress of the submitted batches from the provider. Returns all batches of the run."""
    spec = JudgeSpec.model_validate_json(run_store.run_row(db, run_id)["judge"])
    judge = batch_judge(spec)
    submitted = batch_store.batches_of(db, run_id, "submitted")
    if submitted:
        with contextlib.closing(BATCH_SERVERS[spec.provider](judge)) as server:
            for row in submitted:
                _asked(db, server, row)
    if any(row["asked_at"] for row in batch_store.batches_of(db, run_id, "planned")):
        tell(
            f"a batch was sent but not confirmed: “recjudge batch submit {run_id}” checks whether it arrived"
        )
    return batch_store.batches_of(db, run_id)


def collect(db: Database, run_id: int, tell: Tell = lambda _: None) -> ImportTally:
    """Store the results of every batch of the run that has ended. Repeating it changes nothing. Calls that a batch left
    unanswered (expired, cancelled) can be sent again, live or in another batch."""
    tally = ImportTally()
    with _at_provider(db, run_id, tell) as provider:
        for row in batch_store.batches_of(db, run_id, "planned"):
            tally.waiting += bool(row["asked_at"]) and not provider.adopt(row)
        for row in batch_store.batches_of(db, run_id, "submitted"):
            remote = _asked(db, provider.server, row)
            if remote.over and not tally.stopped:
                tally.over += provider.store(row["id"], remote, tally)
            else:
                tally.waiting += 1
                done = f"{remote.done or 0:,} of {row['calls']:,} answered"
                tell(f"batch {remote.id} is {remote.status}: {done}")
    return tally


def _asked(db: Database, server: BatchServer, row: StoredRow) -> RemoteBatch:
    """The batch as the provider describes it now, which is stored."""
    remote = server.fetch(row["remote_id"])
    counts = {"done": remote.done, "failed": remote.failed}
    db.change("batches", row["id"], said=remote.status, looked_at=now(), **counts)
    return remote


def give_up(db: Database, run_id: int) -> int:
    """Stop waiting for the batches of a run, so that their calls can be sent again. Returns the number of batches."""
    with held_run(db, run_id):
        rows = batch_store.batches_of(db, run_id, "planned", "submitted")
        for row in rows:
            batch_store.end_batch(db, row["id"], "failed", "given up")
    return len(rows)


def calls_away(db: Database, run_id: int) -> int:
    """How many calls of the run are in a batch at a provider."""
    return sum(row["calls"] for row in batch_store.batches_of(db, run_id, "planned", "submitted"))


def refuse_when_away(db: Database, run_id: int) -> None:
    """Raise RunError when calls of the run are in a batch: sending them live would cost twice."""
    if away := calls_away(db, run_id):
        raise RunError(
            f"{away:,} calls of run {run_id} are waiting in a batch",
            "If they were sent live now, they would be paid for twice.",
            f"Collect the answers with “recjudge batch collect {run_id}”. To stop waiting for them, add --give-up.",
        )


@contextmanager
def _at_provider(db: Database, run_id: int, tell: Tell) -> Iterator[_Provider]:
    with held_run(db, run_id) as run:
        server = BATCH_SERVERS[run.setup.spec.provider](run.judge)
        try:
            with contextlib.closing(server), scratch_folder() as folder:
                yield _Provider(run, server, folder, tell)
        except OSError as error:
            raise RunError(
                f"the batch's files cannot be written to {tempfile.gettempdir()}",
                f"{error.strerror}.",
                "Free some space, or set TMPDIR to another folder, and run the same command again.",
            ) from error


@dataclass(frozen=True)
class _Provider:
    """The provider of a leased run, with a folder for files."""

    run: BatchRun
    server: BatchServer
    folder: Path
    tell: Tell

    def send(self, path: Path, calls: list[Outgoing]) -> str:
        """Submit one batch and return the provider's id. Each step is stored, so that an interruption can be resolved."""
        db, run_id = self.run.db, self.run.id
        most = sum(call.most for call in calls) or None
        batch_id = batch_store.plan_batch(db, run_id, self.server.url, tuple(call.id for call in calls), most)
        try:
            file_id = self.server.upload(path)
        except (CallError, JudgeError):
            batch_store.forget_batch(db, batch_id)
            raise
        # from now on the server may have it, even without an answer
        db.change("batches", batch_id, asked_at=now(), file_id=file_id)
        try:
            remote_id = self.server.create(path, file_id, batch_store.batch_row(db, batch_id)["mark"])
        except (CallError, JudgeError) as error:
            if was_refused(error):
                batch_store.forget_batch(db, batch_id)
                raise
            raise RunError(
                f"it is unknown whether {self.server.url} received the batch",
                error.sentences,
                f"Repeat “recjudge batch submit {run_id}”. It checks the provider's list before it sends anything.",
            ) from error
        batch_store.set_submitted(db, batch_id, remote_id)
        return remote_id

    def resolve(self, row: StoredRow, settle_s: float) -> bool:
        """Resolve a batch whose submission was interrupted: True if the provider has it, else it is forgotten and its
        calls are sent again. The second search comes after `settle_s` seconds, when a late request must have arrived, and
        after its file was withdrawn, so that it can no longer start a batch."""
        if row["asked_at"]:
            if (found := self.adopt(row)) is None:
                raise RunError(
                    f"it is unknown whether {self.server.url} received the batch",
                    "A batch of the same size runs there. Its results will show whether it is of this run.",
                    f"Repeat “recjudge batch submit {self.run.id}” when it has ended.",
                )
            if found:
                return True
            age = time.time() - datetime.fromisoformat(row["asked_at"]).timestamp()
            if age < settle_s:
                self.tell("an earlier submit was interrupted; waiting in case its batch still arrives")
                time.sleep(min(settle_s, settle_s - age))
            if row["file_id"]:
                with contextlib.suppress(CallError, JudgeError):
                    self.server.withdraw(row["file_id"])
            if self.adopt(row):
                return True
        batch_store.forget_batch(self.run.db, row["id"])
        return False

    def adopt(self, row: StoredRow) -> bool | None:
        """Look for a planned batch at the provider, by its file or mark, or by the call names in its results where the
        provider stores neither, and store its id. False if it is not there; None while a batch of its size runs that may
        be this one."""
        known, running = batch_store.known_remote_ids(self.run.db, row["server"]), False
        since = datetime.fromisoformat(row["created_at"]).timestamp() - CLOCKS_APART_S
        for remote in self.server.find(row["file_id"] or "", row["mark"], since):
            if remote.id in known or not (remote.ours or remote.calls in (None, row["calls"])):
                continue
            ended = not remote.ours and remote.over
            if remote.ours or (ended and self._is_ours(row["id"], self.server.download(remote, self.folder))):
                batch_store.set_submitted(self.run.db, row["id"], remote.id)
                self.tell(f"batch {remote.id} was already submitted: found again")
                return True
            running |= not ended
        return None if running else False

    def _is_ours(self, batch_id: int, files: list[Path]) -> bool:
        """Whether the first lines of the results contain call names of this batch."""
        read = (islice(_lines([path], ImportTally()), LINES_LOOKED_AT) for path in files)
        names = [result.custom_id for lines in read for _, result in lines]
        return batch_store.calls_in_batch(self.run.db, batch_id, names) > 0

    def store(self, batch_id: int, remote: RemoteBatch, tally: ImportTally) -> bool:
        """Store the results of a batch that has ended. False if storing was stopped."""
        run, files = self.run, self.server.download(remote, self.folder)
        _store_results(run, files, tally)
        for path in files:
            path.unlink()
        if tally.stopped:
            return False
        self.tell(f"batch {remote.id} is {remote.status}{f': {remote.error}' if remote.error else ''}")
        batch_store.end_batch(
            run.db, batch_id, "failed" if remote.status == "failed" else "collected", remote.error
        )
        return True
