"""Memory while many cases are judged, in a separate process."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.process import in_a_process, peak_mb
from benchmarks.projects import load, write_tables
from benchmarks.rows import Row, run_command
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from tests.support.runs import plan_run
from tests.support.servers.process import start

CASES, QUICK_CASES = 10_000, 100


def measure(quick: bool = False) -> list[Row]:
    cases = QUICK_CASES if quick else CASES
    with tempfile.TemporaryDirectory() as folder, start("openai_api") as server:
        path = Path(folder) / "memory.db"
        with connect(path) as db:
            load(db, "memory", write_tables(Path(folder), users=cases, systems=1))
        peak = in_a_process("judging_memory", "judge_all", str(path), server.url, cases)
    return [
        {
            "name": f"peak memory, planning and judging {cases:,} cases, MB",
            "ours": round(peak, 1),
            "comparison": None,
            "ratio": None,
            "bound": "<= 110 MB",
            "holds": peak <= 110,
            "note": "resident memory of the whole process, concurrency 32",
        }
    ]


def judge_all(path: str, url: str, cases: int) -> float:
    """Plan and judge everything in this process; returns its peak resident memory in MB."""
    judge = JudgeSpec(spec="openai:hash-judge", base_urls=(f"{url}/v1",))
    with connect(Path(path)) as db:
        plan = plan_run(
            db, RunRequest(project_id(db, "memory"), judge, RunSettings(protocol="pointwise", concurrency=32))
        )
    assert plan.run_id is not None
    ended = work(Path(path), plan.run_id)
    assert ended.done == cases, ended
    return peak_mb()


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
