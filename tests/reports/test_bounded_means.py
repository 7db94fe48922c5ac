"""Means of a scale with a lowest and a highest value: every report gives them the interval of the leaderboard."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.calibration import strictness_table
from recjudge_tui.reports.common.table import Row
from recjudge_tui.stats.intervals import mean_estimate
from tests.support.verdicts import Project, cases_of, give, list_case, new_project, table

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
    tables = (table(scored, "leaderboard", protocol="absolute"), table(scored, "trend"))
    for made in tables:
        assert ends(made.rows, system="x", rater="anna") == pytest.approx(expected(ANNA, 0, 1)), made.title


def test_the_difference_of_two_raters_has_one_interval(scored: Project) -> None:
    assert ends(table(scored, "compare", first="anna", second="ben").rows) == pytest.approx(
        expected(DIFFERENCES, -1, 1)
    )
    rows = strictness_table(Opened(scored.db, scored.id, "films"), ["ben"], ["anna"], ["absolute"]).rows
    assert ends(rows, rater="ben", figure="bias") == pytest.approx(expected(DIFFERENCES, -1, 1))


def test_values_outside_the_scale_have_no_bounds(scored: Project) -> None:
    scored.db.execute("UPDATE verdicts SET value = 7 WHERE value = 0.9")
    scored.db.connection.commit()
    rows = table(scored, "compare", first="anna", second="ben").rows
    low, high = ends(rows)
    assert low is not None
    assert high is not None
    assert low < -1 or high > 1
