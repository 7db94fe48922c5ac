"""The one writer of a run: a thread that commits finished calls, many in one transaction when many wait."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.errors import RecjudgeError, RunError, StoreBusyError, StoreError
from recjudge_tui.model.calls import Answer, Order, VerdictDraft
from recjudge_tui.model.prompt import Prompt
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.repeats import voted
from recjudge_tui.store.calls import CallOutcome, CaseCall, case_calls, save_outcome, save_verdicts
from recjudge_tui.store.database import Database, connect
from recjudge_tui.store.runs import beat

BATCH = 256

# how long a commit waits for another writer, such as a large import: answers are worth more than minutes
PATIENCE_S = 3600.0

Saved = asyncio.Future[None]
Entry = tuple[CallOutcome | None, Saved]


class RunTarget(NamedTuple):
    """Where verdicts go and by which rule they are made."""

    run_id: int
    rater_id: int
    owner: str
    protocol: Protocol
    prompt: Prompt


class Recorder:
    """Calls are done when `save` returns: then they are committed, and so are the verdicts they complete."""

    def __init__(self, path: Path, target: RunTarget, loop: asyncio.AbstractEventLoop) -> None:
        self._path = path
        self._target = target
        self._loop = loop
        self._waiting: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    async def save(self, outcome: CallOutcome) -> None:
        """Commit one outcome. Raises StoreError (disk full, damaged file) or LeaseLostError."""
        await self._commit_soon(outcome)

    async def beat(self) -> None:
        """Say that the run is alive. Raises like `save`."""
        await self._commit_soon(None)

    async def _commit_soon(self, outcome: CallOutcome | None) -> None:
        saved: Saved = self._loop.create_future()
        self._waiting.put((outcome, saved))
        await saved

    async def close(self) -> None:
        """Commit what still waits, and end the thread."""
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        failure: RecjudgeError = RunError("the run's writer has ended unexpectedly")
        ended = False
        try:
            with connect(self._path) as db:
                while (batch := self._next_batch()) is not None:
                    self._commit(db, batch)
            ended = True
        except RecjudgeError as error:
            failure = error
        finally:
            if not ended:
                self._refuse_everything(failure)

    def _next_batch(self) -> list[Entry] | None:
        first = self._waiting.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < BATCH and not self._waiting.empty():
            entry = self._waiting.get()
            if entry is None:
                self._waiting.put(None)
                break
            batch.append(entry)
        return batch

    def _commit(self, db: Database, batch: list[Entry]) -> None:
        """All of the batch in one transaction, or every one of its futures raises why not."""
        failure: RecjudgeError | None = RunError("the run's writer has ended unexpectedly")
        try:
            self._write(db, [outcome for outcome, _ in batch if outcome is not None])
            failure = None
        except RecjudgeError as error:
            failure = error
        except sqlite3.IntegrityError as error:
            failure = StoreError("an answer does not fit the database", f"SQLite says: {error}.")
        finally:
            self._loop.call_soon_threadsafe(_settle, [saved for _, saved in batch], failure)

    def _write(self, db: Database, outcomes: list[CallOutcome]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                write_outcomes(db, self._target, outcomes)
                return
            except StoreBusyError:
                if time.monotonic() > deadline:
                    raise

    def _refuse_everything(self, error: RecjudgeError) -> None:
        while (entry := self._waiting.get()) is not None:
            self._loop.call_soon_threadsafe(_settle, [entry[1]], error)


def write_outcomes(db: Database, target: RunTarget, outcomes: Sequence[CallOutcome]) -> list[CallOutcome]:
    """Commit finished calls, and the verdicts they complete, in one transaction; says the run is alive.

    Returns those that were written: a call that had been finished before stays as it is. Raises
    LeaseLostError when the run belongs to somebody else by now.
    """
    with db.transaction():
        beat(db, target.run_id, target.owner)
        written = [outcome for outcome in outcomes if save_outcome(db, outcome)]
        for case_id in dict.fromkeys(outcome.key.case_id for outcome in written):
            _adjudicate(db, target, case_id)
    return written


def _adjudicate(db: Database, target: RunTarget, case_id: int) -> None:
    calls = case_calls(db, target.run_id, case_id)
    if any(call.state == "planned" for call in calls):
        return
    drafts = verdicts_of(target.protocol.verdict, target.prompt, calls)
    save_verdicts(db, target.rater_id, case_id, target.run_id, target.protocol.name, drafts)


def verdicts_of(
    rule: Callable[[Prompt, str, dict[Order, Answer | None]], VerdictDraft],
    prompt: Prompt,
    calls: list[CaseCall],
) -> list[VerdictDraft]:
    """One verdict for each aspect of the prompt, from all calls of a case."""
    drafts = []
    for aspect in prompt.aspects:
        relevant = [call for call in calls if call.aspect in ("", aspect.name)]
        asked: dict[Order, list[Answer | None]] = {}
        for call in relevant:
            asked.setdefault(call.order, []).append(call.answers.get(aspect.name))
        if not asked:
            continue
        draft = rule(
            prompt, aspect.name, {o: voted(prompt, aspect.name, given) for o, given in asked.items()}
        )
        repeats = max(len(given) for given in asked.values())
        if repeats > 1:
            draft = draft.model_copy(update={"rule": f"{draft.rule}, vote of {repeats}"})
        drafts.append(draft)
    return drafts


def _settle(waiting: list[Saved], failure: RecjudgeError | None) -> None:
    for saved in waiting:
        if saved.done():
            continue
        if failure is None:
            saved.set_result(None)
        else:
            saved.set_exception(failure)
