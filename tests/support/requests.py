"""The requests that a run sent."""

from __future__ import annotations

from recjudge_tui.domain.calls import Request
from recjudge_tui.runs.cases import build_request, setup_of
from recjudge_tui.store.calls import CallKey
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_row


def sent_request(db: Database, call_id: int) -> Request:
    """The request of a call exactly as it was built: its content hash equals the stored one."""
    call = db.row("SELECT * FROM calls WHERE id = ?", (call_id,))
    assert call is not None
    run = run_row(db, call["run_id"])
    setup = setup_of(db, run)
    key = CallKey(call["id"], call["case_id"], call["list_order"], call["aspect"], call["sample"])
    return build_request(db, run["id"], setup, key)[1]
