"""Every fault of the wire ends its call by name: nothing hangs, no verdict comes of it, the key goes nowhere else."""

from __future__ import annotations

import pytest

from recjudge_tui.store.database import Database
from tests.support.runs import make_project
from tests.support.wire_faults import QUICK, SLOW, WireFault, judge_over_faults


@pytest.fixture(autouse=True)
def once_and_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recjudge_tui.runs.calls.MAX_ATTEMPTS", 1)
    monkeypatch.setattr("recjudge_tui.runs.calls.FAILURES_IN_A_ROW", 10**9)
    monkeypatch.setattr("recjudge_tui.judges.replies.LONGEST_DELAY_S", 0.002)
    monkeypatch.setattr("recjudge_tui.runs.calls.PATIENCE_S", {"rate_limit": 0.0})
    monkeypatch.setattr("recjudge_tui.judges.http.MAX_ANSWER", 1_000_000)


@pytest.mark.parametrize(("faults", "timeout_s"), [(SLOW, 0.3), (QUICK, 60.0)], ids=["slow", "quick"])
def test_each_fault_ends_its_call_by_name(
    db: Database, faults: tuple[WireFault, ...], timeout_s: float
) -> None:
    make_project(db, users=len(faults))
    run = judge_over_faults(db, faults, timeout_s=timeout_s)
    assert [outcome for outcome in run.outcomes if not outcome.holds] == []
    assert len(run.outcomes) == run.requests == len(faults)
    assert run.leaks == []
