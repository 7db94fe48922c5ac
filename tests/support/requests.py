"""The requests that a run sent, and judges that answer those of a plan as a test says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from recjudge_tui.domain.calls import Request
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.runs.cases import build_request, setup_of
from recjudge_tui.runs.plan import Plan
from recjudge_tui.store.calls import CallKey, outstanding
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_row


def sent_request(db: Database, call_id: int) -> Request:
    """The request of a call exactly as it was built: its content hash equals the stored one."""
    call = db.row("SELECT * FROM calls WHERE id = ?", (call_id,))
    run = run_row(db, call["run_id"])
    key = CallKey(call["id"], call["case_id"], call["list_order"], call["aspect"], call["sample"])
    return build_request(db, run["id"], setup_of(db, run), key)[1]


def sent_texts(db: Database, run: int) -> list[str]:
    """All that each call of a run says, in the order of the plan."""
    ids = db.column("SELECT id FROM calls WHERE run_id = ? ORDER BY id", (run,))
    return ["\n".join(message.content for message in sent_request(db, call).messages) for call in ids]


def recording(db: Database, plan: Plan, path: Path, reply: Callable[[CallKey, Request], object]) -> JudgeSpec:
    """A judge that answers each call of the planned run with what `reply` says, as JSON. The plan's rater goes."""
    assert plan.run_id is not None
    setup = setup_of(db, run_row(db, plan.run_id))
    lines = []
    for _, key in outstanding(db, plan.run_id, 0, 10**6):
        _, request = build_request(db, plan.run_id, setup, key)
        text = json.dumps(reply(key, request))
        lines.append(json.dumps({"content_hash": request.content_hash(), "reply": {"text": text}}) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    db.execute("DELETE FROM raters WHERE name = ?", (plan.rater,))
    db.connection.commit()
    return JudgeSpec(spec=f"replay:{path}")
