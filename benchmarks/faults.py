"""Calls to a server that fails three requests in ten, compared with the same run on a server without failures."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

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

CALLS, QUICK_CALLS = 1000, 60
SHARE = 0.5
KINDS = (
    "429", "500", "503", "529", "reset", "hang", "cut", "html", "garbage", "wrong_enum", "refusal", "empty_choices",
)  # fmt: skip


class RunOutcome(NamedTuple):
    """A run's seconds, its calls by state, its verdicts by case, and how many calls were sent or ended wrongly."""

    seconds: float
    done: int
    failed: int
    verdicts: dict[tuple[str, str], tuple[str, float | None]]
    wrong: int


def measure(quick: bool = False) -> list[Row]:
    calls = QUICK_CALLS if quick else CALLS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with connect(folder / "run.db") as db:
            load(db, "calls", write_tables(folder, users=calls, systems=1))
            quiet = _run(db, "quiet")
            faulty = _run(
                db, "faulty", "--faults", ",".join(f"{kind}:{SHARE / len(KINDS):.4f}" for kind in KINDS)
            )
    changed = sum(
        verdict != quiet.verdicts[case] for case, verdict in faulty.verdicts.items() if verdict[0] == "ok"
    )
    complete = faulty.verdicts.keys() == quiet.verdicts.keys()
    return [
        {
            "name": f"{calls:,} calls, {len(KINDS)} kinds of faults on {SHARE:.0%} of them, wrong ends",
            "ours": faulty.wrong + changed,
            "comparison": None,
            "ratio": None,
            "bound": "none",
            "holds": complete and faulty.done + faulty.failed == calls and not faulty.wrong and not changed,
            "note": f"{faulty.done} done, {faulty.failed} failed with their reason, {changed} other verdicts, "
            f"{faulty.seconds:.1f} s against {quiet.seconds:.1f} s without faults",
        }
    ]


def _run(db: Database, rater: str, *faults: str) -> RunOutcome:
    with start("openai_api", "--delay-ms", 20, "--steady", "--retry-after", "1", *faults) as server:
        settings = RunSettings(protocol="pointwise", concurrency=32, timeout_s=2.0, use_cache=False)
        judge = JudgeSpec(spec="openai:hash-judge", base_urls=(f"{server.url}/v1",))
        plan = plan_run(db, RunRequest(project_id(db, "calls"), judge, settings, rater=rater))
        assert plan.run_id is not None
        started = time.perf_counter()
        ended = work(db.path, plan.run_id)
        seconds = time.perf_counter() - started
    return RunOutcome(seconds, ended.done, ended.failed, _verdicts(db, plan.run_id), _wrong(db, plan.run_id))


def _verdicts(db: Database, run_id: int) -> dict[tuple[str, str], tuple[str, float | None]]:
    rows = db.rows(
        """SELECT c.user_id, c.system_a, v.state, v.value FROM verdicts v JOIN cases c ON c.id = v.case_id
           WHERE v.run_id = ?""",
        (run_id,),
    )
    return {(row[0], row[1]): (row[2], row[3]) for row in rows}


def _wrong(db: Database, run_id: int) -> int:
    """Calls that are neither done with one answer nor failed with a reason and none."""
    wrong: int = db.value(
        """SELECT count(*) FROM calls k WHERE run_id = ? AND NOT (
             (state = 'done' AND (SELECT count(*) FROM answers WHERE call_id = k.id) = 1)
             OR (state = 'failed' AND ifnull(error, '') <> ''
                 AND NOT EXISTS (SELECT 1 FROM answers WHERE call_id = k.id)))""",
        (run_id,),
    )
    return wrong


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
