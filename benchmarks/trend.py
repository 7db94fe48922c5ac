"""The trend of a year: a list of five systems for each of a thousand users on every day, each judged once."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, run_command

SYSTEMS = 5
# days, users, rounds of each measurement
FULL, QUICK = (365, 1000, 3), (5, 20, 1)


def measure(quick: bool = False) -> list[Row]:
    days, users, rounds = QUICK if quick else FULL
    from recjudge_tui.project import Project
    from recjudge_tui.reports.declare import table_of
    from recjudge_tui.store.schema import connect

    size = f"{days} days x {SYSTEMS} systems x {users:,} users"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "year.db"
        generate(path, days, users)
        with connect(path) as db:
            project = Project.numbered(db, 1)
            whole, used = _median(lambda: table_of(project, "trend"), rounds)
    statistic, statistic_used = _median(_intervals(days, users), rounds)
    return [
        {
            "name": f"trend, {size}", "ours": round(whole, 2), "comparison": None,
            "ratio": None, "bound": "<= 2 s", "holds": whole <= 2,
            "note": f"s, {days * SYSTEMS * users:,} verdicts from SQLite; median of {rounds};"
            f" processor time {used:.2f} s",
        },
        {
            "name": f"means and intervals, {size}", "ours": round(statistic, 2), "comparison": None, "ratio": None,
            "bound": "<= 2 s", "holds": statistic <= 2,
            "note": f"s, from arrays; median of {rounds}; processor time {statistic_used:.2f} s",
        },
    ]  # fmt: skip


def _intervals(days: int, users: int) -> Callable[[], object]:
    from recjudge_tui.stats.intervals import group_means

    groups = days * SYSTEMS
    user, group = np.tile(np.arange(users), groups), np.repeat(np.arange(groups), users)
    value = np.random.default_rng(0).integers(0, 2, users * groups).astype(np.float64)
    return lambda: group_means(value, user, group, groups)


def _median(function: Callable[[], object], rounds: int) -> tuple[float, float]:
    """The median seconds on the clock and of processor time, after one warm-up round."""
    clock, processor = [], []
    for at in range(rounds + 1):
        started, used = time.perf_counter(), time.process_time()
        function()
        if at:
            clock.append(time.perf_counter() - started)
            processor.append(time.process_time() - used)
    return statistics.median(clock), statistics.median(processor)


def generate(path: Path, days: int, users: int) -> None:
    """A project with one rater's verdict on every list."""
    from recjudge_tui.store.database import now
    from recjudge_tui.store.projects import create_project
    from recjudge_tui.store.schema import connect

    times = [f"{date(2025, 1, 1) + timedelta(day)}T08:00:00+00:00" for day in range(days)]
    lists = [
        (f"u{user:04d}", f"s{system}", served_at)
        for served_at in times
        for user in range(users)
        for system in range(SYSTEMS)
    ]
    with connect(path) as db, db.transaction():
        project = create_project(db, "year")
        db.execute(
            "INSERT INTO raters (project_id, name, kind, created_at) VALUES (?, 'judge', 'judge', ?)",
            (project, now()),
        )
        db.execute_many(
            "INSERT INTO cases (id, project_id, kind, user_id, system_a, served_at) VALUES (?, ?, 'list', ?, ?, ?)",
            ((at, project, *owner) for at, owner in enumerate(lists, 1)),
        )
        db.execute_many(
            """INSERT INTO verdicts (rater_id, case_id, aspect, protocol, state, value, label, rule, flag_count, created_at,
                 project_id) VALUES (1, ?, 'overall', 'pointwise', 'ok', ?, '', 'as_given', 0, 'now', ?)""",
            ((at, at * 7 % 11 % 3, project) for at in range(1, len(lists) + 1)),
        )


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
