"""Runs: who works on one, and what becomes of it."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.judge import Identity
from recjudge_tui.errors import LeaseLostError, NotFoundError
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import (
    heartbeat,
    mark_ended,
    release_lease,
    run_progress,
    run_row,
    set_identity,
    take_lease,
    wanted,
)
from tests.support.runs import make_project, planned


@pytest.fixture
def db(db: Database) -> Database:
    make_project(db, users=2)
    return db


def test_who_holds_the_run_decides_what_happens_to_it(db: Database) -> None:
    run = planned(db)
    db.change("runs", run, wanted="stop")
    assert take_lease(db, run, "me", None)
    assert (wanted(db, run), run_row(db, run)["state"]) == ("run", "running")
    with pytest.raises(LeaseLostError, match=f"run {run} was taken over"):
        heartbeat(db, run, "you")
    with pytest.raises(LeaseLostError):
        set_identity(db, run, "you", Identity(name="x"))
    release_lease(db, run, "you", "done", 5.0)
    mark_ended(db, run, "you", "stopped")
    assert (run_row(db, run)["state"], run_row(db, run)["lease_owner"]) == ("running", "me")
    assert run_row(db, run)["identity"] is None
    release_lease(db, run, "me", "paused", 5.0, "")
    release_lease(db, run, "me", "done", 5.0)
    row = run_row(db, run)
    assert (row["state"], row["lease_owner"], row["seconds"]) == ("paused", None, 5.0)
    assert wanted(db, 99) is None
    assert not take_lease(db, 99, "me", None)
    for look in (run_row, run_progress):
        with pytest.raises(NotFoundError, match="no run 99"):
            look(db, 99)
