"""A fatal error ends a run, whatever its other calls do at that moment."""

from __future__ import annotations

import threading

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import JudgeError
from recjudge_tui.judges import registry
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.runs import run_progress, run_row
from tests.support.runs import make_project, planned
from tests.support.stubborn_judge import PROVIDER


def test_calls_that_swallow_cancellations_do_not_keep_a_run_alive(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry._BUILT_IN, "stubborn", PROVIDER)
    make_project(db, users=8)
    run = planned(db, JudgeSpec(spec="stubborn"), concurrency=8)
    ends: list[BaseException] = []

    def judge() -> None:
        try:
            work(db.path, run)
        except JudgeError as error:
            ends.append(error)

    worker = threading.Thread(target=judge, daemon=True)
    worker.start()
    worker.join(10)
    assert not worker.is_alive(), "the run hangs"
    assert [str(end) for end in ends] == ["The model is gone"]
    assert run_row(db, run)["lease_owner"] is None
    assert run_progress(db, run).state == "failed"
