"""Figures that are kept until labels change: whatever changes them, by whatever way."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from recjudge_tui.store.verdicts.run_agreements import (
    RunToCompare,
    begin_agreement,
    keep_agreement,
    overlap_with_people,
    runs_to_compare,
    stored_agreements,
)
from tests.support.app.projects import make_project, start_run
from tests.support.older_files import file_before

RUN = 1
OLDER = Path(__file__).parents[1] / "older"


def kept(db: Database) -> None:
    token = begin_agreement(db, RUN)
    anna = db.value("SELECT id FROM raters WHERE name = 'anna'")
    assert keep_agreement(db, token, anna, "qwk", 0.5, 5)


def test_a_figure_is_kept_and_the_run_not_compared_again(project_db: Path) -> None:
    project = make_project(project_db)
    with connect(project_db) as db:
        assert runs_to_compare(db) == [RunToCompare(RUN, project, 1)]
        kept(db)
        assert runs_to_compare(db) == []
        assert [tuple(row) for row in stored_agreements(db)] == [
            (project, RUN, "pairwise", "qwen2.5:14b", "anna", "qwk", 0.5, 5)
        ]


def test_that_people_labelled_nothing_is_kept_too(project_db: Path) -> None:
    make_project(project_db)
    with connect(project_db) as db:
        assert keep_agreement(db, begin_agreement(db, RUN), None, "qwk", None, 0)
        assert runs_to_compare(db) == []
        assert stored_agreements(db) == []


CHANGES: dict[str, str] = {
    "a label": "UPDATE verdicts SET value = 0 WHERE id = (SELECT max(id) FROM verdicts WHERE run_id IS NULL)",
    "a label is gone": "DELETE FROM verdicts WHERE id = (SELECT max(id) FROM verdicts WHERE run_id IS NULL)",
    "a label is new": """INSERT INTO verdicts
          (rater_id, project_id, case_id, aspect, protocol, state, value, rule, created_at)
        SELECT rater_id, project_id, case_id, 'another', protocol, state, value, rule, created_at FROM verdicts
        WHERE run_id IS NULL LIMIT 1""",
    "the person": "DELETE FROM raters WHERE name = 'anna'",
    "the run goes on": "UPDATE runs SET state = 'running', finished_at = NULL",
    "the run has another end": "UPDATE runs SET finished_at = '2026-01-01T00:00:00.000+00:00'",
}


@pytest.mark.parametrize("sql", CHANGES.values(), ids=CHANGES)
def test_a_change_makes_the_stored_figure_outdated(project_db: Path, sql: str) -> None:
    make_project(project_db)
    with connect(project_db) as db:
        kept(db)
        db.execute(sql)
        assert stored_agreements(db) == []


def test_verdicts_of_runs_and_labels_of_other_projects_change_nothing(project_db: Path) -> None:
    first = make_project(project_db, "first")
    second = make_project(project_db, "second")
    with connect(project_db) as db:
        kept(db)
        db.execute(
            "UPDATE verdicts SET value = 0 WHERE run_id IS NOT NULL AND state = 'ok' AND project_id = ?",
            (first,),
        )
        db.execute("UPDATE verdicts SET value = 0 WHERE run_id IS NULL AND project_id = ?", (second,))
        db.execute("UPDATE verdicts SET note = 'seen' WHERE run_id IS NULL")
        assert len(stored_agreements(db)) == 1


def test_a_figure_outdated_by_new_labels_while_computed_is_not_stored(project_db: Path) -> None:
    make_project(project_db)
    with connect(project_db) as db:
        token = begin_agreement(db, RUN)
        db.execute("UPDATE verdicts SET value = 0 WHERE run_id IS NULL")
        assert not keep_agreement(db, token, None, "qwk", 0.5, 5)
        older, newer = begin_agreement(db, RUN), begin_agreement(db, RUN)
        assert not keep_agreement(db, older, None, "qwk", 0.5, 5)
        assert keep_agreement(db, newer, None, "qwk", 0.5, 5)
        db.execute("DELETE FROM runs")
        assert not keep_agreement(db, begin_agreement(db, RUN), None, "qwk", 0.5, 5)


def test_runs_that_are_worked_on_are_not_compared(project_db: Path) -> None:
    project = make_project(project_db)
    with connect(project_db) as db:
        live = start_run(project_db, project)
        assert [run.run_id for run in runs_to_compare(db)] == [RUN]
        db.execute("UPDATE runs SET state = 'stopped', finished_at = 'now' WHERE id = ?", (live,))
        assert [run.run_id for run in runs_to_compare(db)] == [live, RUN]


def test_a_consensus_comes_before_the_users_and_these_before_annotators(project_db: Path) -> None:
    project = make_project(project_db)

    def who(db: Database) -> int | None:
        return overlap_with_people(db, RunToCompare(RUN, project, 1)).truth_id

    with connect(project_db) as db:
        names = {row[1]: row[0] for row in db.rows("SELECT id, name FROM raters")}
        assert who(db) == names["anna"]
        db.execute("UPDATE raters SET kind = 'ground_truth' WHERE name = 'bert'")
        assert who(db) == names["bert"]
        db.execute("UPDATE raters SET kind = 'consensus' WHERE name = 'anna'")
        assert who(db) == names["anna"]
        db.execute("DELETE FROM verdicts WHERE run_id IS NULL")
        assert who(db) is None


def test_figures_of_an_older_file_are_computed_anew(tmp_path: Path) -> None:
    file = file_before("0013", OLDER / "project_0012.sql", tmp_path)
    with sqlite3.connect(file) as old:
        old.execute(
            """INSERT INTO run_agreements (run_id, project_id, run_finished_at, token, stat, value, n, computed_at)
               SELECT id, project_id, ifnull(finished_at, ''), 'token', 'qwk', 0.5, 5, 'then' FROM runs"""
        )
        assert old.execute("SELECT count(*) FROM run_agreements").fetchone()[0] > 0
    old.close()
    with connect(file) as db:
        assert db.value("SELECT count(*) FROM run_agreements") == 0
