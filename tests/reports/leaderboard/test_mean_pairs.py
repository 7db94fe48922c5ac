"""Claims about means, in sentences and as a table: offline metrics and scores of texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from recjudge_tui.domain.records import Event, RankedItem, Slate
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.leaderboard.arena import arena_table
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.reports.leaderboard.metrics import metric_pairs_table, metrics_table
from recjudge_tui.store.imports.loading import add_events, add_slate
from tests.support.verdicts import Project, give, import_target, new_project, text_case


def with_hits(path: Path, hits: Mapping[str, Sequence[bool | None]]) -> Project:
    """A list of one item for every user and system: the one held out, or another; None: no list."""
    project = new_project(path)
    with project.db.transaction():
        target = import_target(project)
        users = range(max(map(len, hits.values())))
        add_events(target, [Event(user_id=f"u{n}", type="heldout_purchase", item_id="good") for n in users])
        for system, row in hits.items():
            for n, hit in enumerate(row):
                if hit is not None:
                    items = (RankedItem(item_id="good" if hit else "bad"),)
                    add_slate(target, Slate(user_id=f"u{n}", system=system, items=items))
    return project


@pytest.mark.parametrize("users", [1, 2, 5])
def test_few_users_show_nothing(project_db: Path, users: int) -> None:
    project = with_hits(project_db, {"als": [True] * users, "pop": [False] * users})
    note = metrics_table(project.db, project.id, 1, metrics=["ndcg"]).notes[0]
    assert note == f"ndcg: als and pop are not separable (p = {2 ** (1 - users):.2g})"


def test_systems_without_a_common_user_or_a_difference_say_so(project_db: Path) -> None:
    project = with_hits(project_db, {"als": [True, True, None], "pop": [None, None, False]})
    (row,) = metric_pairs_table(project.db, project.id, 1, metrics=["ndcg"]).rows
    assert (row["p"], row["p_holm"], row["separable"], row["note"]) == (
        None,
        None,
        None,
        "no user has a value for both",
    )
    note = metrics_table(project.db, project.id, 1, metrics=["ndcg"]).notes[0]
    assert note == "ndcg: als and pop cannot be compared, no user has a value for both"


def test_nothing_is_said_of_one_system(project_db: Path) -> None:
    project = with_hits(project_db, {"als": [True, False]})
    assert not any(
        "ndcg: " in note for note in metrics_table(project.db, project.id, 1, metrics=["ndcg"]).notes
    )
    assert metric_pairs_table(project.db, project.id, 1).rows == ()


def test_the_lower_of_two_may_be_above_among_the_users_of_both(project_db: Path) -> None:
    rare = [False] * 8 + [None] * 30
    often = [True] * 8 + [False] * 30
    project = with_hits(project_db, {"rare": [not hit for hit in rare[:8]] + rare[8:], "all": often})
    # equal where both have lists, so nothing differs
    assert "cannot be compared" in metrics_table(project.db, project.id, 1, metrics=["ndcg"]).notes[0]
    other = with_hits(
        project_db.with_name("other.db"), {"a": [False] * 8 + [True] * 30, "b": [True] * 8 + [None] * 30}
    )
    note = metrics_table(other.db, other.id, 1, metrics=["ndcg"]).notes[0]
    assert note == "ndcg: b above a (p = 0.0078)"


def scored(path: Path, scores: Mapping[str, Sequence[float]], aspects: Sequence[str]) -> Project:
    project = new_project(path)
    cases = {
        text_case(project, f"u{n}", "i", system): value
        for system, row in scores.items()
        for n, value in enumerate(row)
    }
    for aspect in aspects:
        give(project, "anna", cases, protocol_name="explanation", aspect=aspect)
    return project


def test_three_users_who_agree_are_no_claim(project_db: Path) -> None:
    project = scored(project_db, {"knn": [5, 5, 5], "pop": [1, 1, 1]}, ["accuracy"])
    notes = leaderboard_table(project.db, project.id, LeaderboardOptions("explanation")).notes
    assert notes[0] == "anna, accuracy: knn and pop are not separable (p = 0.25)"


def test_a_table_of_means_does_not_fit_protocols_of_pairs(project_db: Path) -> None:
    project = new_project(project_db)
    with pytest.raises(UsageError, match=re.escape("table “pairs” compares means")):
        arena_table(project.db, project.id, LeaderboardOptions("arena"), "pairs")
