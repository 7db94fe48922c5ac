"""Time of `recjudge --help` and of `recjudge watch` with nothing new, compared with starting Python alone."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.projects import write_tables
from benchmarks.rows import Row, run_command

ROUNDS = 15
USERS = 500
RECJUDGE = (sys.executable, "-m", "recjudge_tui")
WATCH = """
project = "shop"
[[import]]
paths = ["lists.csv"]
as = "lists"
[[judge]]
spec = "rules"
name = "nightly"
protocols = ["pointwise"]
settings = { limit = 10 }
[trend]
file = "trend.csv"
"""


def measure(quick: bool = False) -> list[Row]:
    rounds, users = (1, 20) if quick else (ROUNDS, USERS)
    help_s, help_cpu = _median([*RECJUDGE, "--help"], rounds)
    bare_s, bare_cpu = _median([sys.executable, "-c", "pass"], rounds)
    watch_s, watch_cpu = _watch(users, rounds)
    return [
        {
            "name": "recjudge --help, seconds of processor time",
            "ours": round(help_cpu, 4),
            "comparison": round(bare_cpu, 4),
            "ratio": round(help_cpu / bare_cpu, 2),
            "bound": "<= 6 x",
            "holds": help_cpu <= 6 * bare_cpu,
            "note": f"comparison: an empty Python; median of {rounds}; on the clock {help_s:.3f} s and {bare_s:.3f} s",
        },
        {
            "name": "recjudge watch with nothing new, seconds",
            "ours": round(watch_s, 3),
            "comparison": round(bare_s, 3),
            "ratio": round(watch_s / bare_s, 2),
            "bound": "<= 1 s",
            "holds": watch_s <= 1,
            "note": f"{users * 20:,} list rows, a judge and a trend; median of {rounds}; processor time {watch_cpu:.2f} s",
        },
    ]


def _watch(users: int, rounds: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        described, db = Path(folder) / "shop.toml", str(Path(folder) / "shop.db")
        described.write_text(WATCH, encoding="utf-8")
        tables = write_tables(Path(folder), users=users, systems=2)
        for kind in ("items", "events"):
            command = [*RECJUDGE, "import", str(tables[kind]), "-p", "shop", "--as", kind, "--db", db]
            subprocess.run(command, check=True, capture_output=True)
        command = [*RECJUDGE, "watch", str(described), "--db", db]
        subprocess.run(command, check=True, capture_output=True)
        assert b"nothing new" in subprocess.run(command, check=True, capture_output=True).stderr
        return _median(command, rounds)


def _median(command: list[str], rounds: int) -> tuple[float, float]:
    """Seconds on the clock, and of processor time."""
    clock, processor = [], []
    for _ in range(rounds):
        started, used = time.perf_counter(), _processor_time()
        subprocess.run(command, check=True, capture_output=True)
        clock.append(time.perf_counter() - started)
        processor.append(_processor_time() - used)
    return statistics.median(clock), statistics.median(processor)


def _processor_time() -> float:
    """The processor time of all ended child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
