"""Means of a scale with a lowest and a highest value: every report gives them the interval of the leaderboard."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.compare.changes import ChangeOptions, compare_raters
from recjudge_tui.reports.compare.tables import summary_table
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.reports.reliability.strictness import strictness_table
from recjudge_tui.reports.trend.trend import TrendOptions, trend_table
from recjudge_tui.stats.intervals import mean_estimate
from tests.support.verdicts import Project, cases_of, give, list_case, new_project

USERS = ("u 1", "u 2", "u 3")
ANNA, BEN = (0.2, 0.9, 0.5), (0.2, 0.6, 0.8)
DIFFERENCES: tuple[float, ...] = tuple(b - a for a, b in zip(ANNA, BEN, strict=True))


@pytest.fixture
def scored(tmp_path: Path) -> Project:
    project = new_project(tmp_path / "a.db")
    cases = [list_case(project, user, "x") for user in USERS]
    for name, values in (("anna", ANNA), ("ben", BEN)):
        give(project, name, cases_of(cases, values), protocol_name="absolute")
    project.db.execute("UPDATE cases SET served_at = '2026-05-01T08:00:00+00:00'")
    project.db.connection.commit()
    return project


def ends(rows: Iterable[Row], **cells: object) -> tuple[object, object]:
    (row,) = (row for row in rows if cells.items() <= row.items())
    return row["ci_low"], row["ci_high"]


def expected(values: tuple[float, ...], low: float, high: float) -> tuple[float | None, float | None]:
    estimate = mean_estimate(values, USERS, (low, high))
    assert estimate.ci_low is not None
    return estimate.ci_low, estimate.ci_high


def test_the_mean_of_three_users_has_one_interval(scored: Project) -> None:
    tables = (
        leaderboard_table(scored.db, scored.id, LeaderboardOptions("absolute")),
        trend_table(scored.db, scored.id, TrendOptions(over="day")),
    )
    for table in tables:
        assert ends(table.rows, system="x", rater="anna") == pytest.approx(expected(ANNA, 0, 1)), table.title


def test_the_difference_of_two_raters_has_one_interval(scored: Project) -> None:
    changes = compare_raters(scored.db, scored.id, ChangeOptions("anna", "ben"))
    assert ends(summary_table(changes).rows) == pytest.approx(expected(DIFFERENCES, -1, 1))
    rows = strictness_table(scored.db, scored.id, ["ben"], ["anna"], ["absolute"]).rows
    assert ends(rows, rater="ben", figure="bias") == pytest.approx(expected(DIFFERENCES, -1, 1))
