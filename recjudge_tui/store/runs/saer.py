"""Queries for SAER: runs that a repeated command resumes, and the labels of its first stage."""

from __future__ import annotations

import sqlite3

from recjudge_tui.store.database import Database


def runs_by_prompt(db: Database, rater_id: int, prompt_id: int) -> list[sqlite3.Row]:
    """A rater's runs with a prompt, oldest first: id, group_id, protocol, judge, settings."""
    return db.rows(
        """SELECT id, group_id, protocol, judge, settings FROM runs WHERE rater_id = ? AND prompt_id = ?
           ORDER BY id""",
        (rater_id, prompt_id),
    )


def changed_since(db: Database, project_id: int, time: str) -> bool:
    """Whether lists, items, users or events were imported after a time, or an import of them was undone."""
    return bool(
        db.value(
            """SELECT count(*) FROM imports WHERE project_id = ?1 AND kind IN ('items', 'users', 'events', 'lists')
                 AND (created_at > ?2 OR ifnull(undone_at, '') > ?2)""",
            (project_id, time),
        )
    )


def label_counts(db: Database, run_id: int, aspect: str) -> list[tuple[str, float, int]]:
    """(system, value, verdicts) of a run on single lists, failed ones left out."""
    return [
        (row[0], row[1], row[2])
        for row in db.rows(
            """SELECT c.system_a, v.value, count(*) FROM verdicts v JOIN cases c ON c.id = v.case_id
               WHERE v.run_id = ? AND v.aspect = ? AND v.state = 'ok' GROUP BY 1, 2 ORDER BY 1, 2""",
            (run_id, aspect),
        )
    ]


def run_systems(db: Database, run_id: int) -> list[str]:
    """The systems whose lists a run contains, by name."""
    return [
        row[0]
        for row in db.rows(
            """SELECT DISTINCT system FROM (
                 SELECT c.system_a AS system FROM run_cases rc JOIN cases c ON c.id = rc.case_id WHERE rc.run_id = ?1
                 UNION SELECT c.system_b FROM run_cases rc JOIN cases c ON c.id = rc.case_id WHERE rc.run_id = ?1)
               WHERE system <> '' ORDER BY system""",
            (run_id,),
        )
    ]
