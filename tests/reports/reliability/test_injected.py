"""Detection and false alarms on planted faults, for judges whose flags are known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.material import SlateView
from recjudge_tui.domain.planted import FAULT_KINDS
from recjudge_tui.errors import NotFoundError
from recjudge_tui.judges.rules.faults import ISSUE_OF
from recjudge_tui.project import Project
from recjudge_tui.raters.metrics import make_metric_raters
from recjudge_tui.reports.agreement.agreement import agreement_table
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.declare import make
from recjudge_tui.reports.reliability.injected import NOTHING, InjectedOptions, injected_table
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.cases.planted import PlantedFault
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from recjudge_tui.store.projects.projects import project_overview
from recjudge_tui.store.verdicts.attention import queue
from recjudge_tui.store.verdicts.listing import filtered_ids
from tests.support.planted_project import flagging_judge, judged_faults_run, make_shop
from tests.support.runs import planned


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    with connect(project_db) as database:
        yield database


def row_of(table: Table, rater: str, fault: str, outcome: str, system: str | None = None) -> dict[str, Any]:
    (row,) = (
        row
        for row in table.rows
        if (row["rater"], row["fault"], row["outcome"], row["system"]) == (rater, fault, outcome, system)
    )
    return dict(row)


def the_fault(fault: PlantedFault, _: SlateView) -> list[tuple[int, str]]:
    return [(fault.rank, ISSUE_OF[fault.kind])]


def everything_owned(_: PlantedFault, slate: SlateView) -> list[tuple[int, str]]:
    return [(place, "already owned") for place in range(1, len(slate.items) + 1)]


def nothing(_: PlantedFault, __: SlateView) -> list[tuple[int, str]]:
    return []


def test_a_judge_that_flags_each_fault_detects_all_without_a_false_alarm(
    db: Database, tmp_path: Path
) -> None:
    project = make_shop(db)
    judged_faults_run(db, flagging_judge(db, tmp_path / "oracle.jsonl", the_fault))
    table = injected_table(db, project, InjectedOptions(by_system=True))
    rater = str(table.rows[0]["rater"])
    for kind in FAULT_KINDS:
        detected = row_of(table, rater, kind, "detected")
        assert (detected["count"], detected["n"], detected["share"]) == (4, 4, 1.0)
        assert row_of(table, rater, kind, "false alarm")["count"] == 0
    assert row_of(table, rater, "all", "detected")["n"] == 20
    assert row_of(table, rater, "all", "detected", "als")["n"] == 10


def test_a_judge_that_calls_everything_owned_is_right_once_and_raises_false_alarms(
    db: Database, tmp_path: Path
) -> None:
    project = make_shop(db)
    judged_faults_run(db, flagging_judge(db, tmp_path / "owned.jsonl", everything_owned))
    table = injected_table(db, project)
    rater = str(table.rows[0]["rater"])
    assert row_of(table, rater, "owned", "detected")["share"] == 1
    assert row_of(table, rater, "durable", "other issue")["share"] == 1
    assert row_of(table, rater, "all", "missed")["count"] == 0
    # of the five items of each of twenty lists four are as they were, and none of these is like what the user has
    alarm = row_of(table, rater, "owned", "false alarm")
    assert (alarm["count"], alarm["n"]) == (80, 80)
    assert row_of(table, rater, "refill", "false alarm")["count"] == 0


def test_the_baseline_is_shown_beside_a_judge_on_the_same_lists(db: Database, tmp_path: Path) -> None:
    project = make_shop(db)
    judge = flagging_judge(db, tmp_path / "silent.jsonl", nothing, sample=2)
    judged_faults_run(db, judge, sample=2)
    judged_faults_run(db)
    table = injected_table(db, project)
    silent = next(str(row["rater"]) for row in table.rows if row["rater"] != "rules")
    assert row_of(table, silent, "all", "missed")["share"] == 1
    assert row_of(table, "rules", "all", "missed")["n"] == 20
    assert any("--rater R" in note for note in table.notes)
    same = injected_table(db, project, InjectedOptions(rater=silent))
    assert row_of(same, "rules", "all", "missed")["n"] == row_of(same, silent, "all", "missed")["n"] == 10
    assert row_of(same, "rules", "owned", "detected")["share"] == 1


def test_made_lists_stay_out_of_everything_about_the_real_data(db: Database, tmp_path: Path) -> None:
    project = make_shop(db)
    for judge in ("rules", "random"):
        run_id = planned(db, JudgeSpec(spec=judge), top_k=5)
        assert work(db.path, run_id).state == "done"

    def reports() -> list[Any]:
        tables = (
            make(Project.numbered(db, project), "leaderboard", protocol="pointwise"),
            agreement_table(db, project),
            make(Project.numbered(db, project), "flags"),
        )
        (overview,) = project_overview(db)
        marked = [len(filtered_ids(db, project, parse_filter(text))) for text in ("flag:any", "why:flag")]
        waiting = queue(db, project, parse_filter(""))
        return [*(table.rows for table in tables), overview["flagged"], marked, list(waiting.ids)]

    before = reports()
    judged_faults_run(db)
    judged_faults_run(db, flagging_judge(db, tmp_path / "owned.jsonl", everything_owned))
    assert reports() == before
    assert len(filtered_ids(db, project, parse_filter("protocol:planted flag:any"))) > 20
    make_metric_raters(db, project, ["popularity@5"])
    about = db.rows(
        """SELECT DISTINCT c.system_a FROM verdicts v JOIN raters r ON r.id = v.rater_id JOIN cases c ON c.id = v.case_id
           WHERE r.kind = 'metric' ORDER BY 1"""
    )
    assert [row[0] for row in about] == ["als", "pop"]


def test_lists_made_from_lists_that_were_imported_again_are_left_out(db: Database) -> None:
    project = make_shop(db)
    judged_faults_run(db)
    before = injected_table(db, project).rows
    make_shop(db, length=4)
    assert injected_table(db, project).rows == before
    judged_faults_run(db, rater="later")
    table = injected_table(db, project)
    assert {row["rater"] for row in table.rows} == {"later"}
    assert "20 lists made from earlier lists left out" in table.notes


def test_nothing_judged_and_nobody(db: Database) -> None:
    project = make_shop(db)
    assert injected_table(db, project).notes == (NOTHING,)
    with pytest.raises(NotFoundError):
        injected_table(db, project, InjectedOptions(rater="nobody"))
