"""A run ends at a fatal error, whatever its other calls do at that moment, and says so when it waits for its server."""

from __future__ import annotations

import threading

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import Progress
from recjudge_tui.errors import JudgeError
from recjudge_tui.judges import registry
from recjudge_tui.reports.runs import seconds_until
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_progress, run_row
from tests.support.runs import make_project, planned, server_judge
from tests.support.stub_server import answer, serving
from tests.support.stubborn_judge import PROVIDER
from tests.support.waiting import HANG_S


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
    worker.join(HANG_S)
    assert not worker.is_alive(), "the run hangs"
    assert [str(end) for end in ends] == ["The model is gone"]
    assert run_row(db, run)["lease_owner"] is None
    assert run_progress(db, run).state == "failed"


def test_a_pause_that_the_server_asks_for_is_shown(db: Database) -> None:
    make_project(db, users=2)
    seen: list[Progress] = []
    slow_down = answer(429, {"error": {"message": "slow down"}}, "Retry-After: 999999")

    def follow(progress: Progress) -> None:
        seen.append(progress)
        if progress.waiting_s:
            db.change("runs", run, wanted="stop")

    with serving(lambda line, n: answer(200, {"data": []}) if line.startswith("GET") else slow_down) as stub:
        run = planned(db, server_judge(stub.url))
        ended = work(db.path, run, follow)
    assert (ended.state, ended.failed) == ("stopped", 0)
    assert 3500 < max(progress.waiting_s for progress in seen) <= 3600, "an hour at most"
    assert seconds_until(run_row(db, run)["waiting_until"]) > 3500
