from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from recjudge_tui.domain.calls import Answer, CallResult, ParsedReply, Reply
from recjudge_tui.domain.judge import Identity, JudgeSpec
from recjudge_tui.judges.base import Judge
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.runs.cases import setup_of
from recjudge_tui.runs.lease import acquire
from recjudge_tui.runs.record import HeldRun, Recorder
from recjudge_tui.store.calls import CallKey, CallOutcome, outstanding
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_progress, run_row
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
