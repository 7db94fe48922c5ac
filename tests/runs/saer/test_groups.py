"""The two stages are recorded as one group: in new files, in files older than the record, and when one is deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recjudge_tui.runs.saer import (
    SaerPlan,
    SaerRequest,
    plan_saer,
    saer_request,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.runs import delete_run, group_by_id, other_stage, run_row
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


def test_the_settings_that_are_handed_on_reach_both_stages(db: Database) -> None:
    """Each option of the request that a stage has is stored with it."""
    make_project(db, users=5, systems=("als", "pop", "svd"))
    options: dict[str, Any] = {
        "systems": ("als", "pop", "svd"), "history": 3, "history_days": 90, "as_of": "2024-05-04",
        "no_history": True, "sample": 4, "stratify": "activity", "seed": 11, "swap": False, "profile": "none",
        "concurrency": 3, "timeout_s": 9.0, "repeats": 2, "temperature": 0.4, "requests_per_minute": 60.0,
        "tokens_per_minute": 9e6, "use_cache": False,
    }  # fmt: skip
    plan(db, **options)
    for run in (1, 2):
        stored = json.loads(run_row(db, run)["settings"])
        expected = {**options, "systems": ["als", "pop", "svd"], "top_k": 4}
        assert {name: stored[name] for name in expected} == expected


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
