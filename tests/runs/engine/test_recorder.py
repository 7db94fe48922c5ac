from __future__ import annotations

import asyncio
import gc
import threading
import time
from typing import Any

import pytest

from recjudge_tui.domain.calls import Answer, CallResult, ParsedReply, Reply
from recjudge_tui.domain.judge import Identity, JudgeSpec
from recjudge_tui.errors import LeaseLostError
from recjudge_tui.judges.base import Judge
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.runs.cases import setup_of
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.lease import acquire
from recjudge_tui.runs.record import HeldRun, Recorder
from recjudge_tui.store.calls import CallKey, CallOutcome, outstanding
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import Pulse, run_progress, run_row
from recjudge_tui.store.schema import connect
from tests.support.runs import make_project, planned
from tests.support.waiting import HANG_S


@pytest.fixture
def run(db: Database) -> int:
    make_project(db)
    return planned(db)


def held(db: Database, run: int) -> HeldRun[Judge]:
    row = run_row(db, run)
    judge = make_judge(JudgeSpec(spec="rules"))
    owner = acquire(db, run)
    return HeldRun(db, run, row["rater_id"], owner, setup_of(db, row), judge, Identity(name="rules"))


def outcome(key: CallKey) -> CallOutcome:
    answer = Answer(aspect="match", value=1.0, label="Good Match")
    parsed = ParsedReply(answers=(answer,), parsed_by="schema")
    return CallOutcome(key, "c", None, CallResult(1, Reply(text="{}"), parsed))


async def test_committed_outcomes_are_visible_to_others(db: Database, run: int) -> None:
    recorder = Recorder(db.path, held(db, run))
    keys = outstanding(db, run, 0, 100)
    for key in keys:
        recorder.put(outcome(key))
    committed = await recorder.commit_next()
    assert committed is not None
    assert [each.key for each in committed] == keys
    with connect(db.path) as other:
        assert run_progress(other, run).done == len(keys)
    recorder.close()


async def test_after_the_end_what_still_waits_is_committed(db: Database, run: int) -> None:
    recorder = Recorder(db.path, held(db, run))
    for key in outstanding(db, run, 0, 100):
        recorder.put(outcome(key))
    recorder.end()
    while await recorder.commit_next() is not None:
        pass
    recorder.close()
    assert run_progress(db, run).outstanding == 0


async def test_another_writer_is_waited_for_while_the_loop_goes_on(
    db: Database, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wait in SQLite itself would last, and the loop would stand still."""
    monkeypatch.setattr("recjudge_tui.store.database.BUSY_TIMEOUT_S", 600.0)
    recorder = Recorder(db.path, held(db, run))
    with connect(db.path) as other, other.transaction():
        recorder.put(outcome(outstanding(db, run, 0, 1)[0]))
        committing = asyncio.create_task(recorder.commit_next())
        for _ in range(20):
            await asyncio.sleep(0.01)
        assert not committing.done()
    assert len(await committing or ()) == 1
    recorder.close()


async def test_a_cancellation_waits_for_the_commit_that_is_in_its_thread(
    db: Database, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(db.path, held(db, run))
    begun, ended = threading.Event(), threading.Event()
    execute = Database.execute

    def slow(database: Database, sql: str, *values: Any) -> Any:
        if sql == "COMMIT":
            begun.set()
            time.sleep(0.2)
        done = execute(database, sql, *values)
        if sql == "COMMIT":
            ended.set()
        return done

    monkeypatch.setattr(Database, "execute", slow)
    recorder.put(outcome(outstanding(db, run, 0, 1)[0]))
    committing = asyncio.create_task(recorder.commit_next())
    await asyncio.to_thread(begun.wait, HANG_S)
    for _ in range(2):
        committing.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await committing
    assert ended.is_set()
    recorder.close()
    assert run_progress(db, run).done == 1


async def test_a_run_taken_over_by_another_process_writes_nothing_and_reports_it(
    db: Database, run: int
) -> None:
    recorder = Recorder(db.path, held(db, run))
    db.execute("UPDATE runs SET lease_owner = 'another' WHERE id = ?", (run,))
    recorder.put(outcome(outstanding(db, run, 0, 1)[0]))
    with pytest.raises(LeaseLostError):
        await recorder.commit_next()
    recorder.beat()
    with pytest.raises(LeaseLostError):
        await recorder.commit_next()
    recorder.close()
    assert run_progress(db, run).done == 0


async def test_a_heartbeat_alone_is_stored_and_the_end_is_reported(db: Database, run: int) -> None:
    recorder = Recorder(db.path, held(db, run))
    db.execute("UPDATE runs SET heartbeat_at = NULL WHERE id = ?", (run,))
    recorder.beat()
    assert await recorder.commit_next(lambda: Pulse(3, 2, 7, 4.5)) == []
    row = db.row("SELECT heartbeat_at, concurrency, in_flight, attempts, left_s FROM runs WHERE id = ?", (run,))
    assert row is not None
    assert row["heartbeat_at"] is not None
    assert tuple(row)[1:] == (3, 2, 7, 4.5)
    waiting = asyncio.create_task(recorder.commit_next())
    await asyncio.sleep(0)
    recorder.end()
    assert await waiting is None
    recorder.close()


def test_a_run_leaves_the_garbage_collector_as_it_was(db: Database, run: int) -> None:
    before = gc.get_threshold()
    work(db.path, run)
    assert gc.get_threshold() == before
