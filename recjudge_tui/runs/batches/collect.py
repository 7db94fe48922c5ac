"""Batch results, read into a run: in any order, in parts, any number of times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from recjudge_tui.domain.calls import CallResult, Reply, Usage
from recjudge_tui.errors import CallError, InputError, JudgeError, RecjudgeError, ReplyFault
from recjudge_tui.judges.batch.lines import LineFault, ResultLine, read_result
from recjudge_tui.runs.batches.context import BatchRun, batch_cost, held_run, most_of_batch_call
from recjudge_tui.runs.engine.bill import credible_usage
from recjudge_tui.runs.engine.call import Question, unforeseen, unusable
from recjudge_tui.runs.engine.held_run import prepare_call
from recjudge_tui.runs.engine.recorder import store_outcomes
from recjudge_tui.store.batches import find_calls, mark_answered
from recjudge_tui.store.calls import CallKey, CallOutcome
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import wanted

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
