"""Sends a run's calls to a provider as batches, exactly once, and collects the results when they are ready."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import CallError, JudgeError, RunError
from recjudge_tui.files import scratch_folder
from recjudge_tui.judges.batch.lines import LineFault, read_result
from recjudge_tui.judges.batch.provider_api import BatchServer, RemoteBatch, batch_server, was_refused
from recjudge_tui.judges.providers.vendor import BatchAccess
from recjudge_tui.runs.batches.collect import ImportTally, store_results
from recjudge_tui.runs.batches.context import BatchRun, Tell, batch_judge, held_run, outgoing
from recjudge_tui.runs.batches.cost import within_budget
from recjudge_tui.runs.batches.files import Part, counted, write_parts
from recjudge_tui.store.batches import (
    batch_row,
    batches_of,
    calls_in_batch,
    detach_batch,
    end_batch,
    forget_batch,
    known_remote_ids,
    mark_requested,
    name_calls,
    plan_batch,
    set_batch_progress,
    set_submitted,
)
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.runs import run_row

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
