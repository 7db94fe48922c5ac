"""The figures of a project that scripts rely on, as plain rows: equal where nothing that counts was changed."""

from __future__ import annotations

from collections.abc import Mapping

from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.store.database import Database

_KEYS = (
    "system", "opponent", "rater", "rater_a", "rater_b", "aspect", "label", "stat", "level", "metric", "wins", "ties",
    "losses", "position_ties", "failed", "count", "q", "share", "score", "value", "ci_low", "ci_high", "n",
)  # fmt: skip


def figures(db: Database, project: int, *, intervals: bool = True) -> dict[str, list[list[object]]]:
    """Report -> its rows: leaderboards, agreement on lists, pairs and texts, offline metrics."""
    opened = Project.numbered(db, project)
    reports: dict[str, Table] = {"metrics": table_of(opened, "metrics", k=3)}
    for protocol in ("pairwise", "pointwise"):
        reports[f"leaderboard {protocol}"] = table_of(opened, "leaderboard", protocol=protocol)
    for protocol in ("pairwise", "pointwise", "explanation"):
        reports[f"agreement {protocol}"] = table_of(opened, "agreement", protocol=protocol)
    keys = [key for key in _KEYS if intervals or not key.startswith("ci_")]
    return {name: [_plain(row, keys) for row in table.rows] for name, table in reports.items()}


def _plain(row: Mapping[str, object], keys: list[str]) -> list[object]:
    return [round(v, 9) if isinstance(v, float) else v for v in (row[k] for k in keys if k in row)]
