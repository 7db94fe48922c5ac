"""The two stages are recorded as one group: in new files, in files older than the record, and when one is deleted."""

from __future__ import annotations

from typing import Any

import pytest

from recjudge_tui.runs.groups import (
    SaerPlan,
    SaerRequest,
    plan_saer,
    saer_request,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.runs import delete_run, group_by_id, other_stage
from tests.support.runs import RULES, intact, make_project, ran


def request(db: Database, **more: Any) -> SaerRequest:
    return saer_request(db, project_id(db, "films"), RULES, **{"top_k": 4, **more})


def plan(db: Database, **more: Any) -> SaerPlan:
    return plan_saer(db, project_id(db, "films"), request(db, **more))


def test_both_stages_are_one_group_of_one_rater(db: Database) -> None:
    make_project(db)
    made = plan(db)
    assert made.group_id is not None
    group = group_by_id(db, made.group_id)
    assert (group.rater, group.runs) == ("rules", {"pointwise": 1, "pairwise": 2})
    other = other_stage(db, 1)
    assert other is not None
    assert (other.run_id, other.protocol) == (2, "pairwise")
    assert plan(db).group_id == made.group_id
    assert plan(db, history=3).group_id == made.group_id + 1


@pytest.mark.parametrize(
    ("name", "value", "same"),
    [("profile", "none", False), ("until", "decided", False), ("no_history", True, False), ("swap", False, False),
     ("concurrency", 7, True), ("budget_usd", 1.0, True)],
)  # fmt: skip
def test_another_question_is_another_group(db: Database, name: str, value: Any, same: bool) -> None:
    """What a run asks tells two groups apart; how it is worked on does not."""
    make_project(db)
    assert (plan(db).group_id == plan(db, **{name: value}).group_id) == same


@pytest.mark.parametrize("stage", ["pointwise", "pairwise"])
def test_one_stage_can_be_deleted_and_is_planned_again_in_its_group(db: Database, stage: str) -> None:
    make_project(db)
    made = plan(db)
    assert made.group_id is not None
    run = group_by_id(db, made.group_id).runs[stage]
    delete_run(db, run)
    (left,) = group_by_id(db, made.group_id).runs.values()
    assert other_stage(db, left) is None
    again = plan(db)
    assert again.group_id == made.group_id
    assert [s.existing for s in again.stages] == [stage != "pointwise", stage != "pairwise"]
    assert again.first.rater == again.second.rater == "rules"
    assert intact(db)


def test_a_group_goes_with_its_last_run_its_rater_or_its_project(db: Database) -> None:
    make_project(db)
    plan(db)
    for run in (1, 2):
        delete_run(db, run)
    assert db.value("SELECT count(*) FROM run_groups") == 0
    plan(db)
    db.execute("DELETE FROM raters WHERE id = ?", (rater_row(db, project_id(db, "films"), "rules")["id"],))
    assert [db.value(f"SELECT count(*) FROM {table}") for table in ("run_groups", "runs")] == [0, 0]
    plan(db)
    assert ran("project", "delete", "films", "--yes", "--db", db.path)[0] == 0
    assert [db.value(f"SELECT count(*) FROM {table}") for table in ("run_groups", "runs")] == [0, 0]
    assert intact(db)
