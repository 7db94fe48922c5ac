"""Judging against a server that answers in 50 ms, everything stored, beside the time the server alone would need."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.projects import load, write_tables
from recjudge_tui.model.judge import JudgeSpec
from recjudge_tui.model.run import RunSettings
from recjudge_tui.running.engine import work
from recjudge_tui.running.plan import plan_run
from recjudge_tui.store.database import connect
from recjudge_tui.store.projects import project_id
from tests.servers.process import start

CALLS = 1000
DELAY_S = 0.05
ROUNDS = 3


def measure() -> list[dict[str, Any]]:
    ideal = CALLS * DELAY_S / 32
    with tempfile.TemporaryDirectory() as folder:
        seconds = statistics.median(
            _seconds(Path(folder) / str(n), CALLS, 32, DELAY_S) for n in range(ROUNDS)
        )
        plain = statistics.median(_seconds(Path(folder) / f"plain{n}", CALLS, 1, 0.0) for n in range(ROUNDS))
    return [
        {
            "name": "1,000 calls of 50 ms, concurrency 32, stored, seconds",
            "ours": round(seconds, 3),
            "comparison": round(ideal, 3),
            "ratio": round(seconds / ideal, 2),
            "bound": "<= 1.6 x ideal",
            "holds": seconds <= 1.6 * ideal,
            "note": "comparison: the server's own time; median of 3",
        },
        {
            "name": "one call end to end, server without delay, milliseconds",
            "ours": round(plain / CALLS * 1000, 2),
            "comparison": None,
            "ratio": None,
            "bound": "",
            "holds": True,
            "note": "concurrency 1, each answer committed with a sync to disk",
        },
    ]


def _seconds(folder: Path, calls: int, concurrency: int, delay_s: float) -> float:
    """Seconds from the first look at the plan to the last committed answer."""
    path = folder / "run.db"
    tables = write_tables(folder, users=calls, systems=1)
    with start("openai_api", "--delay-ms", int(delay_s * 1000)) as server, connect(path) as db:
        load(db, "calls", tables)
        settings = RunSettings(protocol="pointwise", concurrency=concurrency)
        judge = JudgeSpec(spec="openai:hash-judge", base_urls=(f"{server.url}/v1",))
        plan = plan_run(db, project_id(db, "calls"), judge, settings)
        assert plan.run_id is not None
        started = time.perf_counter()
        ended = work(path, plan.run_id)
        seconds = time.perf_counter() - started
    assert (ended.done, ended.failed) == (calls, 0), ended
    return seconds
