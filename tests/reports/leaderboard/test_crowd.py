"""Many raters as one board."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.leaderboard.arena import arena_table
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from tests.support.verdicts import Project, give, list_case, new_project, pair_case, text_case

ALL = ("all",)
WORKERS, USERS = 6, 12


def _frame() -> pd.DataFrame:
    """Every user is judged by three of six workers, who lean to one system or the other."""
    rng = np.random.default_rng(3)
    lean = rng.normal(0.4, 0.8, WORKERS)
    rows = [
        (f"w{worker}", f"u{user}", float(np.sign(lean[worker] + rng.normal())))
        for user in range(USERS)
        for worker in rng.choice(WORKERS, 3, replace=False)
    ]
    return pd.DataFrame(rows, columns=["worker", "user", "value"])


@pytest.fixture
def frame() -> pd.DataFrame:
    return _frame()


@pytest.fixture
def project(project_db: Path, frame: pd.DataFrame) -> Project:
    project = new_project(project_db)
    cases = {user: pair_case(project, str(user), "new", "old") for user in frame["user"].unique()}
    for worker, part in frame.groupby("worker"):
        given = {cases[user]: value for user, value in zip(part["user"], part["value"], strict=True)}
        give(project, str(worker), given, protocol_name="pairwise")
    return project


def test_one_set_of_rows_from_all_workers(project: Project, frame: pd.DataFrame) -> None:
    options = LeaderboardOptions("pairwise", method="winrate", crowd=ALL)
    table = leaderboard_table(project.db, project.id, options)
    new = next(row for row in table.rows if row["system"] == "new")
    assert len(table.rows) == 2
    assert [new[name] for name in ("rater", "n", "users", "wins")] == [
        "crowd of 6", len(frame), USERS, int((frame["value"] > 0).sum()),
    ]  # fmt: skip
    assert any(note.startswith("crowd of 6, overall: 36 verdicts of w0, w1, w2") for note in table.notes)
    assert any("intervals and tests are over users" in note for note in table.notes)
    some = leaderboard_table(project.db, project.id, LeaderboardOptions("pairwise", crowd=("w1", "w4")))
    assert {row["rater"] for row in some.rows} == {"crowd of 2"}


@pytest.mark.parametrize("method", ["q", "bt"])
def test_other_methods_and_the_matrix(project: Project, method: str) -> None:
    options = LeaderboardOptions("pairwise", method=method, crowd=ALL)
    row = leaderboard_table(project.db, project.id, options).rows[0]
    low, score, high = (float(str(row[name])) for name in ("ci_low", "score", "ci_high"))
    assert low < score < high
    matrix = arena_table(project.db, project.id, options, "matrix")
    assert {entry["rater"] for entry in matrix.rows} == {"crowd of 6"}


def test_scores_and_labels_of_a_crowd(project: Project) -> None:
    rng = np.random.default_rng(1)
    texts = [text_case(project, f"u{at}", "i", "x") for at in range(8)]
    lists = [list_case(project, f"u{at}", "x") for at in range(8)]
    scores = rng.integers(1, 6, (6, 8)).astype(float)
    for worker, row in enumerate(scores):
        give(
            project,
            f"w{worker}",
            dict(zip(texts, row, strict=True)),
            protocol_name="explanation",
            aspect="fit",
        )
        give(project, f"w{worker}", dict(zip(lists, np.minimum(row, 3) - 1, strict=True)))
    means = leaderboard_table(project.db, project.id, LeaderboardOptions("explanation", crowd=ALL))
    assert [(row["rater"], row["n"], row["users"]) for row in means.rows] == [("crowd of 6", 48, 8)]
    assert means.rows[0]["score"] == pytest.approx(scores.mean())
    assert (
        1 <= float(str(means.rows[0]["ci_low"])) < scores.mean() < float(str(means.rows[0]["ci_high"])) <= 5
    )
    shares = leaderboard_table(project.db, project.id, LeaderboardOptions("pointwise", crowd=ALL))
    count = {row["label"]: row["count"] for row in shares.rows}
    assert count == {
        "Good": int((scores >= 3).sum()),
        "Partial": int((scores == 2).sum()),
        "Poor": int((scores == 1).sum()),
    }


def test_crowds_that_are_refused(project: Project) -> None:
    def board(table: str = "ranking", **options: object) -> None:
        arena_table(project.db, project.id, LeaderboardOptions("pairwise", **options), table)  # type: ignore[arg-type]

    with pytest.raises(UsageError, match="at least two raters"):
        board(crowd=("w1", "w1"))
    with pytest.raises(NotFoundError, match="no rater “w9”"):
        board(crowd=("w1", "w9"))
    with pytest.raises(UsageError, match="single raters or a crowd, not both"):
        board(crowd=ALL, raters=("w1",))
    with pytest.raises(UsageError, match="is not available for a crowd"):
        board("side-by-side", crowd=ALL)
