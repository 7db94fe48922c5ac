from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.stats.resampling.intervals import mean_estimate
from tests.support.verdicts import Project, give, new_project, text_case


def rated(path: Path, values: Mapping[str, Sequence[float | None]], method: str = "") -> Table:
    """The board of what anna gave: a score a user, by system."""
    project: Project = new_project(path)
    scores = {
        text_case(project, f"u{n}", "i", system): value
        for system, given in values.items()
        for n, value in enumerate(given)
    }
    give(project, "anna", scores, protocol_name="explanation", aspect="accuracy")
    return leaderboard_table(project.db, project.id, LeaderboardOptions("explanation", method=method))


def test_systems_are_ranked_by_the_mean_and_failures_stand_outside_n(project_db: Path) -> None:
    values: dict[str, list[float | None]] = {"pop": [1, 2, 3, 3, None], "knn": [5, 4, 4, 2, 4]}
    table = rated(project_db, values)
    assert [(r["system"], r["rank"], r["score"], r["n"], r["failed"]) for r in table.rows] == [
        ("knn", 1, 3.8, 5, 0), ("pop", 2, 2.25, 4, 1),
    ]  # fmt: skip
    for row in table.rows:
        given = [value for value in values[str(row["system"])] if value is not None]
        usual = mean_estimate(given, range(len(given)), (1.0, 5.0))
        assert (row["ci_low"], row["ci_high"]) == (usual.ci_low, usual.ci_high)


def test_equal_means_share_a_place(project_db: Path) -> None:
    assert [row["rank"] for row in rated(project_db, {name: [3, 2] for name in "abc"}).rows] == [1, 1, 1]


def test_a_system_whose_verdicts_all_failed_has_no_rank(project_db: Path) -> None:
    first, last = rated(project_db, {"a": [None, None], "b": [1, 2]}).rows
    assert (first["system"], first["rank"]) == ("b", 1)
    assert (last["rank"], last["score"], last["n"], last["failed"]) == (None, None, 0, 2)
    assert last["note"]


def test_a_mean_does_not_fit_pairs(project_db: Path) -> None:
    project = new_project(project_db)
    with pytest.raises(UsageError, match="does not fit pairwise"):
        leaderboard_table(project.db, project.id, LeaderboardOptions("pairwise", method="mean"))


def test_an_aspect_without_verdicts_is_reported(project_db: Path) -> None:
    project = new_project(project_db)
    give(
        project,
        "anna",
        {text_case(project, "u", "i", "pop"): 3.0},
        protocol_name="explanation",
        aspect="accuracy",
    )
    assert leaderboard_table(
        project.db, project.id, LeaderboardOptions("explanation", aspect="accuracy")
    ).rows
    with pytest.raises(UsageError, match="there are no verdicts on an aspect “acuracy”") as error:
        leaderboard_table(project.db, project.id, LeaderboardOptions("explanation", aspect="acuracy"))
    assert error.value.cause == "Available: accuracy."
