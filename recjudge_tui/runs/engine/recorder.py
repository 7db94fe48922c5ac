"""The only writer of a run: it commits calls that ended, many in one transaction when many wait."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.errors import ConstraintError, StoreBusyError, StoreError
from recjudge_tui.judges.base import Judge
from recjudge_tui.runs.engine.adjudication import adjudicate
from recjudge_tui.runs.engine.held_run import HeldRun
from recjudge_tui.store.calls import CallOutcome, reserve_call, save_outcome, settle_call
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import heartbeat
from recjudge_tui.store.schema import connect

MOST_IN_ONE_TRANSACTION = 256
TRY_AGAIN_S = 0.01
# how long a commit waits for another writer, such as a large import: a long wait is better than lost answers
PATIENCE_S = 3600.0


class _PendingReservation(NamedTuple):
    """A reservation or settlement that waits to be committed, and who waits for it."""

    write: Callable[[], None]
    on_disk: asyncio.Future[None] | None = None

    def stored(self) -> None:
        if self.on_disk is not None and not self.on_disk.done():
            self.on_disk.set_result(None)


class Recorder:
    """Outcomes that wait to be committed. `commit_next` belongs to one task; the other methods may be called anywhere.

    The statements run in the event loop, where they cost least. Only the sync to disk runs in a thread. While another
    process writes, the commit is retried.
    """

    def __init__(self, path: Path, run: HeldRun[Judge]) -> None:
        """Raises StoreError when the database cannot be opened."""
        self._run = run
        self._db = connect(path, one_thread=False)
        self._db.execute("PRAGMA busy_timeout = 0")
        self._waiting: deque[CallOutcome] = deque()
        self._reservations: deque[_PendingReservation] = deque()
        self._beat_due = False
        self._ended = False
        self._wake = asyncio.Event()

    def put(self, outcome: CallOutcome) -> None:
        """Queue an outcome for the next commit."""
        self._waiting.append(outcome)
        self._wake.set()

    async def reserve(self, call_id: int, dollars: float) -> None:
        """Store what the call can have cost, and return when that is on disk."""
        on_disk: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reservations.append(
            _PendingReservation(partial(reserve_call, self._db, call_id, dollars), on_disk)
        )
        self._wake.set()
        await on_disk

    def settle(self, call_id: int, cost: float | None, unknown: float) -> None:
        """Queue what the attempts of a call that stays planned have cost."""
        self._reservations.append(_PendingReservation(partial(settle_call, self._db, call_id, cost, unknown)))
        self._wake.set()

    def beat(self) -> None:
        """Queue a heartbeat for the next commit."""
        self._beat_due = True
        self._wake.set()

    def end(self) -> None:
        """Declare that no more outcomes will be put."""
        self._ended = True
        self._wake.set()

    async def commit_next(self, concurrency: int | None = None) -> list[CallOutcome] | None:
        """Wait for outcomes, commit them with the verdicts they complete, and return them when they are on disk.

        None after `end`, when all are committed. `concurrency`, the run's calls at once, is stored with them. Raises
        StoreError (disk full, damaged file), LeaseLostError.
        """
        while not self._waiting and not self._reservations and not self._beat_due:
            if self._ended:
                return None
            self._wake.clear()
            await self._wake.wait()
        self._beat_due = False
        reservations = list(self._reservations)
        self._reservations.clear()
        outcomes = [self._waiting.popleft() for _ in range(min(MOST_IN_ONE_TRANSACTION, len(self._waiting)))]
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                await self._commit(reservations, outcomes, concurrency)
                for reservation in reservations:
                    reservation.stored()
                return outcomes
            except StoreBusyError:
                if time.monotonic() > deadline:
                    raise
            except ConstraintError as error:
                raise StoreError("the database refused an answer", error.cause) from error
            await asyncio.sleep(TRY_AGAIN_S)

    async def _commit(
        self, reservations: list[_PendingReservation], outcomes: list[CallOutcome], concurrency: int | None
    ) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for reservation in reservations:
                reservation.write()
            store_outcomes(self._db, self._run, outcomes, concurrency)
            await self._synced()
        except BaseException:
            # does nothing if the COMMIT has ended, with or without success
            self._db.connection.rollback()
            raise

    async def _synced(self) -> None:
        """Commit in a thread. A cancelled caller waits until the thread is done: closing the connection while it is in use
        crashes Python.
        """
        commit = asyncio.get_running_loop().run_in_executor(None, self._db.execute, "COMMIT")
        try:
            await asyncio.shield(commit)
        except asyncio.CancelledError:
            while not commit.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({commit})
            commit.exception()  # retrieved, so that nothing is logged; the cancellation comes first
            raise

    def close(self) -> None:
        """Close the database. What still waits is lost."""
        self._db.close()


def store_outcomes(
    db: Database, run: HeldRun[Judge], outcomes: Sequence[CallOutcome], concurrency: int | None = None
) -> list[CallOutcome]:
    """Store calls that ended, the verdicts they complete, and a heartbeat of the run, in one transaction.

    Returns the calls that were stored; a call that had ended before stays as it is. Raises LeaseLostError if another
    process has taken over the run.
    """
    with db.transaction():
        heartbeat(db, run.id, run.owner, concurrency)
        stored = [outcome for outcome in outcomes if save_outcome(db, outcome)]
        for case_id in dict.fromkeys(outcome.key.case_id for outcome in stored):
            adjudicate(db, run, case_id)
    return stored
