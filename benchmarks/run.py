"""Runs benchmarks, each in a separate process, and prints one table.

    python benchmarks/run.py [NAME...] [--quick] [--format text|json]

Each module has `measure(quick)`, which returns rows of name, ours, comparison, ratio, bound, holds, note. Figures are
medians where that makes sense; machines are noisy, so look at ratios. A benchmark that fails is named at the end.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.process import in_a_process
from benchmarks.rows import Row, command_parser
from recjudge_tui.reports.common.table import Column, Table, write

MODULES = (
    "startup",
    "calls",
    "faults",
    "odd_answers",
    "wire_faults",
    "replies",
    "billing",
    "reservations",
    "kills",
    "interrupts",
    "files",
    "random_keys",
    "imports",
    "growth",
    "occasions",
    "judging_memory",
    "prefix_reuse",
    "app_verdicts",
    "rules_ml100k",
    "rules_heldout",
    "offline_metrics",
    "correlations",
    "leaderboard",
    "coverage",
)
COLUMNS = (
    Column("name", "name"),
    Column("ours", "ours", "float"),
    Column("comparison", "comparison", "float"),
    Column("ratio", "ratio", "float"),
    Column("bound", "bound"),
    Column("holds", "holds"),
    Column("note", "note"),
)


def main(words: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *MODULES], help=f"some of: {', '.join(MODULES)}")
    parser.add_argument("--format", default="text", choices=("text", "json"))
    options = parser.parse_args(words)
    rows: list[Row] = []
    failed = []
    for name in options.names or MODULES:
        print(f"measuring {name} …", end=" ", file=sys.stderr, flush=True)
        started = time.perf_counter()
        try:
            rows += in_a_process("run", "rows_of", name, options.quick)
        except subprocess.CalledProcessError:
            failed.append(name)
        print(f"{time.perf_counter() - started:.1f} s", file=sys.stderr)
    cells = tuple({**row, "holds": _holds(row)} for row in rows)
    write(Table("Measurements", COLUMNS, cells), options.format)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def rows_of(name: str, quick: bool) -> list[Row]:
    return list(import_module(f"benchmarks.{name}").measure(quick))


def _holds(row: Row) -> str:
    """Empty if the figure has no bound."""
    if not row["bound"]:
        return ""
    return "yes" if row["holds"] else "NO"


if __name__ == "__main__":
    main()
