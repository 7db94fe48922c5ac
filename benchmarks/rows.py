"""Rows of the table of measurements, and the command line that all benchmarks share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Row = dict[str, Any]


def bounded_row(name: str, ours: float, bound: float, least: bool, note: str) -> Row:
    """A figure that must be at least `bound`, or at most if not `least`."""
    return {
        "name": name, "ours": round(ours, 3), "comparison": None, "ratio": None, "bound": round(bound, 3),
        "holds": ours >= bound if least else ours <= bound, "note": note,
    }  # fmt: skip


def command_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser that shows the module's docstring and knows --quick."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="the smallest size: shows that the benchmark runs; its figures mean little",
    )
    return parser


def run_command(
    description: str | None, measure: Callable[[bool], Iterable[Row]], words: Sequence[str] | None
) -> None:
    """Parse the command line of a benchmark that has no options of its own, and print its rows as they come."""
    options = command_parser(description).parse_args(words)
    print_rows(measure(options.quick))


def print_rows(rows: Iterable[Row]) -> None:
    for row in rows:
        print(f"{row['name']}: {_cell(row['ours'])}", flush=True)
        if row["comparison"] is not None:
            print(f"    comparison {_cell(row['comparison'])}, ratio {_cell(row['ratio'])}")
        if row["bound"]:
            print(f"    bound {row['bound']}: {'holds' if row['holds'] else 'DOES NOT HOLD'}")
        print(f"    {row['note']}", flush=True)


def _cell(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
