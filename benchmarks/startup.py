"""Time of `--help` of some commands, compared with starting Python alone."""

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
RECJUDGE = (sys.executable, "-c", "from recjudge_tui.cli.app import main; main()")
COMMANDS = ((), ("leaderboard",), ("run",), ("export",), ("import",), ("rater",))


def measure(quick: bool = False) -> list[Row]:
    rounds = 1 if quick else ROUNDS
    bare_s, bare_cpu = _median([sys.executable, "-c", "pass"], rounds)
    click_cpu = _median([sys.executable, "-c", "import click"], rounds)[1]
    rows: list[Row] = []
    for words in COMMANDS:
        help_s, help_cpu = _median([*RECJUDGE, *words, "--help"], rounds)
        rows.append({
            "name": f"{' '.join(('recjudge', *words))} --help, seconds of processor time",
            "ours": round(help_cpu, 4), "comparison": round(bare_cpu, 4), "ratio": round(help_cpu / bare_cpu, 2),
            "bound": "<= 4 x", "holds": help_cpu <= 4 * bare_cpu,
            "note": f"comparison: an empty Python; click alone is {click_cpu / bare_cpu:.2f} of it; median of {rounds}; on"
            f" the clock {help_s:.3f} s and {bare_s:.3f} s",
        })  # fmt: skip
    return rows


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
