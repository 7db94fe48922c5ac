"""What a budget costs: calls a second against a server that answers at once, with and without one, in pairs."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.projects import load, write_tables
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.runs.plan.plan import RunRequest, plan_run
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from recjudge_tui.store.projects.projects import project_id
from tests.support.servers.process import start

CALLS = 600
PAIRS = 5
CONCURRENCIES = (1, 8, 64)
PRICES = '["openai:hash-judge"]\ninput = 1.0\noutput = 1.0\n'


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name, start("openai_api") as server:
        folder = Path(name)
        (folder / "prices.toml").write_text(PRICES, encoding="utf-8")
        os.environ["RECJUDGE_CONFIG"] = name
        with connect(folder / "run.db") as db:
            load(db, "calls", write_tables(folder, users=CALLS, systems=1))
            return [_row(db, server.url, concurrency) for concurrency in CONCURRENCIES]


def _row(db: Database, url: str, concurrency: int) -> dict[str, Any]:
    pairs = []
    for turn in range(PAIRS):
        order = (None, 1000.0) if turn % 2 else (1000.0, None)
        rates = {budget: _rate(db, url, concurrency, budget) for budget in order}
        pairs.append((rates[1000.0], rates[None]))
    ratios = [ours / without for ours, without in pairs]
    return {
        "name": f"calls a second with a budget, concurrency {concurrency}, server without delay",
        "ours": statistics.median(ours for ours, _ in pairs),
        "comparison": statistics.median(without for _, without in pairs),
        "ratio": statistics.median(ratios),
        "bound": "",
        "holds": True,
        "note": f"comparison: without one; {PAIRS} pairs of {CALLS} calls, ratios {min(ratios):.2f} to {max(ratios):.2f}",
    }


def _rate(db: Database, url: str, concurrency: int, budget: float | None) -> float:
    settings = RunSettings(
        protocol="pointwise", concurrency=concurrency, use_cache=False, budget_usd=budget, max_tokens=200
    )
    judge = JudgeSpec(spec="openai:hash-judge", base_urls=(f"{url}/v1",))
    rater = f"rater {time.monotonic_ns()}"
    plan = plan_run(db, RunRequest(project_id(db, "calls"), judge, settings, rater=rater))
    assert plan.run_id is not None
    began = time.perf_counter()
    ended = work(db.path, plan.run_id)
    seconds = time.perf_counter() - began
    assert (ended.done, ended.failed) == (CALLS, 0), ended
    return CALLS / seconds
