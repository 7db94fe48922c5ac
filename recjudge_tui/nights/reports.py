"""The reports of a night: the trend as a file, and whether the gate is met."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from recjudge_tui.nights.watch_file import GateEntry, TrendEntry, Watch
from recjudge_tui.reports.common.stream import save_table
from recjudge_tui.reports.common.table import Table, format_of_file
from recjudge_tui.reports.reliability.gate import gate_table
from recjudge_tui.reports.reliability.gate_exit import gate_exit
from recjudge_tui.reports.reliability.gate_options import Bound, GateOptions
from recjudge_tui.reports.reliability.gate_sides import NoEarlierError
from recjudge_tui.reports.trend.trend import TrendOptions, trend_table
from recjudge_tui.store.database import Database

FIRST_NIGHT = "there is no earlier night to compare with"


def write_trend(db: Database, project_id: int, watch: Watch, entry: TrendEntry) -> Path:
    """Write the file of the trend, all or nothing."""
    options = TrendOptions(entry.over, entry.protocol, metrics=entry.metrics)
    return _write(trend_table(db, project_id, options), watch.path(entry.file))


def gate_report(
    db: Database, project_id: int, watch: Watch, entry: GateEntry
) -> tuple[int, str, Table | None]:
    """Exit code and message of the gate, and its table if it is not written to a file.

    A night without a night before checks only the bounds.
    """
    bounds = [Bound(name, x, True) for name, x in entry.at_least.items()]
    bounds += [Bound(name, x, False) for name, x in entry.at_most.items()]
    options = GateOptions(
        rater=entry.rater or watch.judges[0].name,
        bounds=tuple(bounds),
        against=entry.against,
        stats=entry.stats,
        truth=entry.truth,
        systems=entry.systems,
        protocol=entry.protocol,
        aspect=entry.aspect,
        certain=entry.certain,
    )
    first = ""
    try:
        table = gate_table(db, project_id, options)
    except NoEarlierError:
        if not bounds:
            return 0, f"gate: {FIRST_NIGHT}", None
        table, first = (
            gate_table(db, project_id, replace(options, against=None, stats=())),
            f"; {FIRST_NIGHT}",
        )
    if entry.file:
        _write(table, watch.path(entry.file))
    exit_code, message = gate_exit(table)
    return exit_code, message + first, None if entry.file else table


def _write(table: Table, path: Path) -> Path:
    save_table(table, format_of_file(path) if path.suffix else "text", path)
    return path
