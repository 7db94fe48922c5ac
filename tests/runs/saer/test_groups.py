"""The two stages are recorded as one group: in new files, in files older than the record, and when one is deleted."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.runs.engine.engine import work
from recjudge_tui.runs.saer.plan import SaerPlan, plan_saer
from recjudge_tui.runs.saer.request import SaerRequest, saer_request, same_question, with_versions
from recjudge_tui.runs.saer.work import next_stage, result_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from recjudge_tui.store.projects.projects import project_id
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.runs.groups import group_by_id, other_stage
from recjudge_tui.store.runs.runs import delete_run, run_row
from tests.support.older_files import file_before
from tests.support.runs import RULES, intact, make_project, planned, ran

PROMPTS = ("pointwise-media@1", "pairwise-media@1")
HALF_DONE = Path(__file__).with_name("half_done_0011.sql")


def request(db: Database, **more: Any) -> SaerRequest:
    return saer_request(db, project_id(db, "films"), RULES, **{"top_k": 4, **more})


def plan(db: Database, **more: Any) -> SaerPlan:
    return plan_saer(db, project_id(db, "films"), request(db, **more))


def groups(db: Database) -> list[tuple[Any, ...]]:
    """(group, run, stage) of every run in a group."""
    return [tuple(row) for row in db.rows(
        "SELECT group_id, id, stage FROM runs WHERE group_id IS NOT NULL ORDER BY id"
    )]  # fmt: skip


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
    first, second = (with_versions(db, request(db, **options)) for options in ({}, {name: value}))
    assert same_question(first, second) == same


def test_runs_that_were_not_asked_for_together_are_no_group(db: Database) -> None:
    make_project(db)
    for protocol in ("pointwise", "pairwise"):
        planned(db, protocol=protocol)
    assert groups(db) == []
    assert other_stage(db, 1) is None


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
    for run, cases_a_user in ((1, 3), (2, 3)):
        stored = json.loads(run_row(db, run)["settings"])
        expected = {**options, "systems": ["als", "pop", "svd"], "sample": 4 * cases_a_user, "top_k": 4}
        assert {name: stored[name] for name in expected} == expected


def test_until_is_handed_on_to_the_pairs_alone(db: Database) -> None:
    make_project(db, users=5)
    plan(db, until="decided", margin=0.2, profile="none")
    first, second = (json.loads(run_row(db, run)["settings"]) for run in (1, 2))
    assert (first["until"], first["margin"], first["profile"]) == ("", None, "none")
    assert (second["until"], second["margin"], second["profile"]) == ("decided", 0.2, "none")


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


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A file of migration 0011 whose saer run was stopped in the middle of its first stage."""
    return file_before("0012", HALF_DONE, tmp_path)


def test_the_half_done_stages_of_an_older_file_are_a_group_and_are_resumed(old_file: Path) -> None:
    with connect(old_file) as db:
        assert intact(db)
        assert groups(db) == [(1, 1, "pointwise"), (1, 2, "pairwise")]
        assert db.value("SELECT request FROM run_groups") is None
        before = db.rows("SELECT call_id, aspect, value FROM answers ORDER BY 1, 2")
        found = plan(db, history=3, prompts=PROMPTS)
        assert found.group_id == 1
        assert [(stage.run_id, stage.existing) for stage in found.stages] == [(1, True), (2, True)]
        for run in (1, 2):
            stage = next_stage(db, 1)
            assert stage is not None
            assert stage.run_id == run
            work(old_file, run)
        assert next_stage(db, 1) is None
        assert result_of(db, 1)[1:4] == ("rules", 1, 2)
        assert [row["state"] for row in db.rows("SELECT state FROM runs ORDER BY id")] == ["done", "done"]
        assert db.rows("SELECT call_id, aspect, value FROM answers ORDER BY 1, 2")[: len(before)] == before
        assert db.value("SELECT count(*) FROM runs") == 2
        assert intact(db)


def test_the_same_command_resumes_an_older_file(old_file: Path) -> None:
    words = ("run", "saer", "-p", "films", "--judge", "rules", "--top", 4, "--history", 3,
             "--prompt", ",".join(PROMPTS), "--db", old_file)  # fmt: skip
    code, out, err = ran(*words)
    assert code == 0, err
    assert "pointwise: run 1 of rules exists (to be resumed), 2 of 4 calls ended, 0 failed" in err
    assert out.startswith("SAER: films, judged by rules\n")
    with connect(old_file) as db:
        assert db.value("SELECT count(*) FROM runs") == 2


def test_in_an_older_file_a_stage_that_was_never_planned_joins_the_first(old_file: Path) -> None:
    raw = sqlite3.connect(old_file)
    for table, column in (("calls", "run_id"), ("run_cases", "run_id"), ("runs", "id")):
        raw.execute(f"DELETE FROM {table} WHERE {column} = 2")
    raw.commit()
    raw.close()
    with connect(old_file) as db:
        assert groups(db) == [], "one run alone was not known to be SAER's"
        found = plan(db, history=3, prompts=PROMPTS, drop_poor_over=0.99)
        assert (found.first.run_id, found.first.existing, found.second.run_id) == (1, True, None)
        work(old_file, 1)
        assert found.group_id is not None
        stage = next_stage(db, found.group_id)
        assert stage is not None
        assert (stage.protocol, stage.existing) == ("pairwise", False)
        assert groups(db) == [(found.group_id, 1, "pointwise"), (found.group_id, stage.run_id, "pairwise")]
