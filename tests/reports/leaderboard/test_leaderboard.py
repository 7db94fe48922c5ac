"""Wins and shares of systems, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.reports.reliability.position import position_table
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    judge_pairs,
    list_case,
    new_project,
    pair_case,
    text_case,
)

KEYS = {
    "system", "opponent", "rater", "aspect", "wins", "ties", "losses", "position_ties", "failed", "n", "users", "q",
    "win_rate",
    "score", "ci_low", "ci_high", "rank", "note",
}  # fmt: skip


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def three_systems(project: Project) -> None:
    """x beats y 3:1, x beats z 4:0 in sum 7:1; y and z tie twice, y wins twice."""
    votes = {("x", "y"): (1.0, 1.0, 1.0, -1.0), ("x", "z"): (1.0,) * 4, ("y", "z"): (0.0, 0.0, 1.0, 1.0)}
    for (first, second), values in votes.items():
        cases = [pair_case(project, f"u{i}", first, second) for i in range(4)]
        give(project, "anna", dict(zip(cases, values, strict=True)), protocol_name="pairwise")


def test_ranking_and_matrix(project: Project) -> None:
    three_systems(project)
    table = leaderboard_table(project.db, project.id, LeaderboardOptions("pairwise"))
    assert all(set(row) == KEYS for row in table.rows)
    ranking = [row for row in table.rows if row["opponent"] is None]
    assert [
        (row["system"], row["rank"], row["wins"], row["ties"], row["losses"], row["n"]) for row in ranking
    ] == [
        ("x", 1, 7, 0, 1, 8),
        ("y", 2, 3, 2, 3, 8),
        ("z", 3, 0, 2, 6, 8),
    ]
    assert [row["q"] for row in ranking] == [7.0, 1.0, 0.25]
    assert [row["score"] for row in ranking] == [7.0, 1.0, 0.25]
    between = {(row["system"], row["opponent"]): row for row in table.rows if row["opponent"]}
    assert len(between) == 6
    assert (between["z", "y"]["wins"], between["z", "y"]["ties"], between["z", "y"]["losses"]) == (0, 2, 2)
    assert between["x", "z"]["q"] is None
    assert "never lost" in str(between["x", "z"]["note"])


def test_win_rate_counts_half_for_a_tie(project: Project) -> None:
    three_systems(project)
    table = leaderboard_table(project.db, project.id, LeaderboardOptions("pairwise", method="winrate"))
    ranking = {row["system"]: row for row in table.rows if row["opponent"] is None}
    assert [ranking[name]["score"] for name in "xyz"] == [7 / 8, 4 / 8, 1 / 8]
    low, high = ranking["y"]["ci_low"], ranking["y"]["ci_high"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert 0 <= low < 0.5 < high <= 1


def test_two_systems_have_no_matrix(project: Project) -> None:
    judge_pairs(project, "llm", {pair_case(project, f"u{i}"): (1.0, -1.0) for i in range(3)})
    give(project, "anna", {pair_case(project, "u0"): 1.0}, protocol_name="pairwise")
    table = leaderboard_table(project.db, project.id, LeaderboardOptions("pairwise"))
    assert [(row["rater"], row["system"], row["opponent"]) for row in table.rows] == [
        ("llm", "a", None), ("llm", "b", None), ("anna", "a", None), ("anna", "b", None),
    ]  # fmt: skip
    assert [row["rank"] for row in table.rows[2:]] == [1, 2]
    assert table.rows[2]["q"] is None
    assert (table.rows[0]["ties"], table.rows[0]["position_ties"]) == (3, 3)
    (position,) = position_table(project.db, project.id).rows
    assert (position["set_1"], position["set_1_share"]) == (6, 1.0)


def test_shares_by_system_and_rater(project: Project) -> None:
    for system, values in (("x", (2.0, 2.0, 1.0, None)), ("y", (0.0, 0.0, 0.0, 0.0))):
        judge_lists(
            project,
            "llm",
            {list_case(project, f"u{i}", system): value for i, value in enumerate(values)},
        )
    table = leaderboard_table(project.db, project.id, LeaderboardOptions("pointwise"))
    assert [(row["system"], row["label"], row["count"]) for row in table.rows] == [
        ("x", "Good", 2), ("x", "Partial", 1), ("x", "Poor", 0), ("y", "Good", 0), ("y", "Partial", 0), ("y", "Poor", 4),
    ]  # fmt: skip
    first = table.rows[0]
    assert (first["share"], first["n"]) == (2 / 3, 3)
    assert first["ci_low"] == pytest.approx(0.0943, abs=1e-4)  # Clopper and Pearson, 2 of 3
    assert "interval over users: jackknife on the logit scale, Korn and Graubard's where rare" in table.notes
    assert "llm, x, overall: 1 of 4 failed and are not in n" in table.notes


def test_invalid_options(project: Project) -> None:
    three_systems(project)
    for options in (
        LeaderboardOptions("duel"),
        LeaderboardOptions("pairwise", method="chess"),
        LeaderboardOptions("pairwise", method="share"),
        LeaderboardOptions("pointwise", method="q"),
    ):
        with pytest.raises(UsageError):
            leaderboard_table(project.db, project.id, options)
    with pytest.raises(NotFoundError):
        leaderboard_table(project.db, project.id, LeaderboardOptions("pairwise", raters=("dora",)))
    with pytest.raises(UsageError, match="two lists"):
        position_table(project.db, project.id, "pointwise")


def test_nothing_yet(project: Project) -> None:
    notes = {"pairwise": "no pair of lists has been judged yet", "pointwise": "there are no verdicts yet"}
    for protocol, note in notes.items():
        table = leaderboard_table(project.db, project.id, LeaderboardOptions(protocol))
        assert table.rows == ()
        assert note in table.notes[0]
    assert position_table(project.db, project.id).rows == ()


def test_scores_between_the_labels_are_not_counted_as_labels(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [text_case(project, f"u{at}", "i", "x") for at in range(30)]
    give(
        project,
        "anna",
        {case: float(at % 5 + 1) for at, case in enumerate(cases)},
        protocol_name="explanation",
    )
    give(
        project,
        "bleu",
        {case: at / 30 for at, case in enumerate(cases)},
        protocol_name="explanation",
        kind="metric",
    )
    give(
        project, "mean", {case: 1 + at / 10 for at, case in enumerate(cases)}, protocol_name="explanation",
        kind="ensemble",
    )  # fmt: skip
    table = leaderboard_table(project.db, project.id, LeaderboardOptions("explanation", method="share"))
    assert {row["rater"] for row in table.rows} == {"anna"}
    assert "bleu, overall: scores lie between the labels, so there is nothing to count" in table.notes
    assert "mean, overall: scores lie between the labels, so there is nothing to count" in table.notes
