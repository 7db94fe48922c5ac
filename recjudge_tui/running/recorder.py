"""The one writer of a run: a thread that commits finished calls, many in one transaction when many wait."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.model.calls import Answer, Order, VerdictDraft
from recjudge_tui.model.prompt import Prompt
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.store.calls import CallOutcome, CaseCall, case_calls, save_outcome, save_verdicts
from recjudge_tui.store.database import Database, connect
from recjudge_tui.store.runs import beat

BATCH = 256

Saved = asyncio.Future[None]


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
        self._waiting: queue.SimpleQueue[tuple[CallOutcome, Saved] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    async def save(self, outcome: CallOutcome) -> None:
        """Commit one outcome. Raises StoreError (disk full, damaged file) or LeaseLostError."""
        saved: Saved = self._loop.create_future()
        self._waiting.put((outcome, saved))
        await saved

    async def close(self) -> None:
        """Commit what still waits, and end the thread."""
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        try:
            db = connect(self._path)
        except RecjudgeError as error:
            self._refuse_everything(error)
            return
        with db:
            while (batch := self._next_batch()) is not None:
                failure = self._commit(db, batch)
                self._loop.call_soon_threadsafe(_settle, [saved for _, saved in batch], failure)

    def _next_batch(self) -> list[tuple[CallOutcome, Saved]] | None:
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

    def _commit(self, db: Database, batch: list[tuple[CallOutcome, Saved]]) -> RecjudgeError | None:
        try:
            with db.transaction():
                beat(db, self._target.run_id, self._target.owner)
                for outcome, _ in batch:
                    if save_outcome(db, outcome):
                        self._adjudicate(db, outcome.key.case_id)
        except RecjudgeError as error:
            return error
        return None

    def _adjudicate(self, db: Database, case_id: int) -> None:
        target = self._target
        calls = case_calls(db, target.run_id, case_id)
        if any(call.state == "planned" for call in calls):
            return
        drafts = verdicts_of(target.protocol.verdict, target.prompt, calls)
        save_verdicts(db, target.rater_id, case_id, target.run_id, target.protocol.name, drafts)

    def _refuse_everything(self, error: RecjudgeError) -> None:
        while (entry := self._waiting.get()) is not None:
            self._loop.call_soon_threadsafe(_settle, [entry[1]], error)


def verdicts_of(
    rule: Callable[[Prompt, str, dict[Order, Answer | None]], VerdictDraft],
    prompt: Prompt,
    calls: list[CaseCall],
) -> list[VerdictDraft]:
    """One verdict for each aspect of the prompt, from all calls of a case."""
    drafts = []
    for aspect in prompt.aspects:
        relevant = [call for call in calls if call.aspect in ("", aspect.name)]
        answers: dict[Order, Answer | None] = {call.order: call.answers.get(aspect.name) for call in relevant}
        if answers:
            drafts.append(rule(prompt, aspect.name, answers))
    return drafts


def _settle(waiting: list[Saved], failure: RecjudgeError | None) -> None:
    for saved in waiting:
        if saved.done():
            continue
        if failure is None:
            saved.set_result(None)
        else:
            saved.set_exception(failure)
