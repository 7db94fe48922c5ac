"""Time of `recjudge --help`, compared with starting Python alone."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, run_command

ROUNDS = 15
RECJUDGE = (sys.executable, "-m", "recjudge_tui")


def measure(quick: bool = False) -> list[Row]:
    rounds = 1 if quick else ROUNDS
    help_s, help_cpu = _median([*RECJUDGE, "--help"], rounds)
    bare_s, bare_cpu = _median([sys.executable, "-c", "pass"], rounds)
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
    ]


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
