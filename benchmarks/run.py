"""Run the project's measurements and print one table: python benchmarks/run.py [NAME...] [--format text|json].

Each module beside this one has `measure() -> list[Row]`; a row is name, ours, comparison, ratio, bound,
holds, note. Figures are medians where that makes sense; machines are noisy, so look at ratios.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recjudge_tui.reports.common.table import Column, Table, write_table

MODULES = (
    "startup",
    "calls",
    "faults",
    "odd_answers",
    "replies",
    "billing",
    "reservations",
    "kills",
    "interrupts",
    "files",
    "random_keys",
    "imports",
    "occasions",
    "judging_memory",
    "app_verdicts",
    "rules_ml100k",
    "rules_heldout",
    "offline_metrics",
    "correlations",
    "leaderboard",
    "trend",
    "coverage",
    "claims",
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *MODULES], help=f"some of: {', '.join(MODULES)}")
    parser.add_argument("--format", default="text", choices=("text", "json"))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.names or MODULES:
        print(f"measuring {name} …", file=sys.stderr)
        rows += import_module(f"benchmarks.{name}").measure()
    cells = tuple({**row, "holds": _holds(row)} for row in rows)
    write_table(Table("Measurements", COLUMNS, cells), options.format)


def _holds(row: dict[str, Any]) -> str:
    """Empty if the figure has no bound."""
    if not row["bound"]:
        return ""
    return "yes" if row["holds"] else "NO"


if __name__ == "__main__":
    main()
