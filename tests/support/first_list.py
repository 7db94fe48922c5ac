"""A judge with the strongest position bias there is: it always prefers the list that it is shown first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.store.database import Database
from tests.support.requests import sent_request
from tests.support.runs import calls, plan_run


def judged_by_position(db: Database, project_id: int, protocol: str, rater: str, **settings: Any) -> int:
    """The id of a finished run in which every answer is that the first list is better."""
    path = Path(db.path).with_name(f"{rater}.jsonl")
    chosen = RunSettings.model_validate({"protocol": protocol, **settings})
    request = RunRequest(project_id, JudgeSpec(spec=f"replay:{path}"), chosen, rater=rater)
    run_id = plan_run(db, request).run_id
    assert run_id is not None
    lines = []
    for call in calls(db, run_id):
        sent = sent_request(db, call["id"])
        schema = sent.reply_schema["properties"]
        reply = {name: field["enum"][0] if "enum" in field else "." for name, field in schema.items()}
        lines.append(json.dumps({"content_hash": sent.content_hash(), "reply": {"text": json.dumps(reply)}}))
    path.write_text("\n".join(lines), encoding="utf-8")
    work(db.path, run_id)
    return run_id
