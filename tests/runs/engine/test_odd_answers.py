"""No answer of a server ends a run but by what it says of key, model, credit or address: here all of them are odd."""

from __future__ import annotations

import pytest

from recjudge_tui.store.database import Database
from tests.support.odd_answers import JUDGES, judge_oddly
from tests.support.runs import calls, intact, make_project


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recjudge_tui.runs.calls.FIRST_WAIT_S", 0.001)
    monkeypatch.setattr("recjudge_tui.judges.replies.LONGEST_DELAY_S", 0.002)
    monkeypatch.setattr("recjudge_tui.runs.calls.PATIENCE_S", {"rate_limit": 0.0})
    monkeypatch.setattr("recjudge_tui.runs.calls.FAILURES_IN_A_ROW", 10**9)


@pytest.mark.parametrize("judge", JUDGES)
def test_a_run_of_odd_answers_ends_with_every_call_done_or_failed_by_name(db: Database, judge: str) -> None:
    make_project(db, users=30)
    ended = judge_oddly(db, judge, seed=18)
    assert ended.state == "done"
    assert ended.answers > 100
    assert ended.ends[""] > 0
    assert len(ended.ends) > 1, "which calls fail, and of what, is chance; that none of 60 does is not"
    assert "unforeseen" not in ended.ends, "what these answers hold is foreseen"
    rows = calls(db, 1)
    assert all(bool(row["error"]) == (row["state"] == "failed") for row in rows)
    assert intact(db)
