"""The cost of a budget: calls per second to a server that answers at once, with and without a budget, in pairs."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.projects import load, write_tables
from benchmarks.rows import Row, run_command
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from tests.support.runs import plan_run
from tests.support.servers.process import start

CALLS, QUICK_CALLS = 600, 40
PAIRS = 5
CONCURRENCIES = (1, 8, 64)
PRICES = '["openai:hash-judge"]\ninput = 1.0\noutput = 1.0\n'


def measure(quick: bool = False) -> list[Row]:
    calls, pairs = (QUICK_CALLS, 1) if quick else (CALLS, PAIRS)
    with tempfile.TemporaryDirectory() as name, start("openai_api") as server:
        folder = Path(name)
        (folder / "prices.toml").write_text(PRICES, encoding="utf-8")
        os.environ["RECJUDGE_CONFIG"] = name
        with connect(folder / "run.db") as db:
            load(db, "calls", write_tables(folder, users=calls, systems=1))
            return [_row(db, server.url, concurrency, calls, pairs) for concurrency in CONCURRENCIES]


def _row(db: Database, url: str, concurrency: int, calls: int, turns: int) -> Row:
    pairs = []
    for turn in range(turns):
        order = (None, 1000.0) if turn % 2 else (1000.0, None)
        rates = {budget: _rate(db, url, concurrency, calls, budget) for budget in order}
        pairs.append((rates[1000.0], rates[None]))
    ratios = [ours / without for ours, without in pairs]
    return {
        "name": f"calls a second with a budget, concurrency {concurrency}, server without delay",
        "ours": statistics.median(ours for ours, _ in pairs),
        "comparison": statistics.median(without for _, without in pairs),
        "ratio": statistics.median(ratios),
        "bound": "",
        "holds": True,
        "note": f"without a budget; {turns} pairs of {calls} calls, ratios {min(ratios):.2f} to {max(ratios):.2f}",
    }


def _rate(db: Database, url: str, concurrency: int, calls: int, budget: float | None) -> float:
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
    assert (ended.done, ended.failed) == (calls, 0), ended
    return calls / seconds


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
