"""Writes a project with any number of verdicts directly into the database, and a process that keeps writing more."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

BATCH = 25


def generate(path: Path, verdicts: int) -> None:
    """A project `big` with one run of `verdicts` pairwise verdicts, both orders answered."""
    from recjudge_tui.store.database import now
    from recjudge_tui.store.projects import create_project
    from recjudge_tui.store.schema import connect

    with connect(path) as db, db.transaction():
        project = create_project(db, "big")
        db.execute(
            "INSERT INTO raters (project_id, name, kind, created_at) VALUES (?, 'judge', 'judge', ?)",
            (project, now()),
        )
        db.execute(
            "INSERT INTO prompts VALUES (1, 'pairwise', 1, 'pairwise', 'd', '{}', 'shipped', ?)", (now(),)
        )
        db.execute(
            """INSERT INTO runs (project_id, rater_id, prompt_id, protocol, judge, settings, state, created_at)
               VALUES (?, 1, 1, 'pairwise', '{"spec": "big"}', '{"protocol": "pairwise"}', 'done', ?)""",
            (project, now()),
        )
        db.execute(
            """INSERT INTO snapshots VALUES (1, 'u', 'user', '{"user_id": "u"}'), (2, 's', 'slate', '{"items": []}')"""
        )
        counted = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :n) "
        for sql in _FILL:
            db.execute(sql.replace("COUNTED", counted), {"n": verdicts, "p": project, "now": now()})


_FILL = (
    """INSERT INTO cases (id, project_id, kind, user_id, system_a, system_b)
       COUNTED SELECT i, :p, 'pair', 'u' || i, 'als', 'cooc' FROM n""",
    "INSERT INTO run_cases COUNTED SELECT 1, i, 1, 2, 2, NULL, NULL FROM n WHERE :p AND :now <> ''",
    """INSERT INTO calls (id, run_id, case_id, list_order, state, attempts)
       COUNTED SELECT 2 * i - o.j, 1, i, CASE o.j WHEN 0 THEN 'ab' ELSE 'ba' END, 'done', 1
       FROM n, (SELECT 0 AS j UNION ALL SELECT 1) o""",
    """INSERT INTO answers (call_id, aspect, value, label, reasoning)
       COUNTED SELECT 2 * i - o.j, 'overall', 1, 'A', 'List A repeats what this user has seen; B brings genre '
         || (i % 100) || ', which fits the evenings of the last months better and is not yet owned.'
       FROM n, (SELECT 0 AS j UNION ALL SELECT 1) o""",
    """INSERT INTO verdicts (rater_id, case_id, aspect, protocol, run_id, state, value, label, rule,
         order_consistent, confidence, flag_count, created_at, project_id)
       COUNTED SELECT 1, i, 'overall', 'pairwise', 1, CASE i % 50 WHEN 7 THEN 'failed' ELSE 'ok' END,
         CASE i % 50 WHEN 7 THEN NULL ELSE i % 3 - 1 END, CASE i % 3 WHEN 0 THEN 'B' WHEN 1 THEN 'Tie' ELSE 'A' END,
         'both_orders', i % 6 > 0, (i * 37 % 100) / 100.0, 0, :now, :p FROM n""",
)


def write_on(path: Path, per_second: int, seconds: float) -> int:
    """Write like a run, `per_second` verdicts a second: each call is committed with its answer and verdict.

    Returns how many were written. The run is leased by this process, so that the app treats it as active.
    """
    from recjudge_tui.runs.lease import acquire
    from recjudge_tui.store.database import now
    from recjudge_tui.store.schema import connect

    with connect(path) as db:
        db.execute("UPDATE runs SET state = 'running'")
        acquire(db, 1)
        last: int = db.value("SELECT max(id) FROM cases")
        calls: int = db.value("SELECT max(id) FROM calls")
        begun, written = time.monotonic(), 0
        while time.monotonic() - begun < seconds:
            for _ in range(BATCH):
                written += 1
                with db.transaction():
                    for sql in _ONE:
                        db.execute(sql, {"case": last + written, "call": calls + written, "now": now()})
            time.sleep(max(written / per_second - (time.monotonic() - begun), 0))
        db.execute("UPDATE runs SET state = 'done', lease_owner = NULL")
    return written


_ONE = (
    """INSERT INTO cases (id, project_id, kind, user_id, system_a, system_b)
       VALUES (:case, 1, 'pair', 'v' || :case, 'als', 'cooc')""",
    "INSERT INTO run_cases VALUES (1, :case, 1, 2, 2, NULL, NULL)",
    """INSERT INTO calls (id, run_id, case_id, list_order, state, attempts, finished_at)
       VALUES (:call, 1, :case, 'ab', 'done', 1, :now)""",
    """INSERT INTO answers (call_id, aspect, value, label, reasoning)
       VALUES (:call, 'overall', 1, 'A', 'List A repeats what this user has seen; B brings a genre not yet owned.')""",
    """INSERT INTO verdicts (rater_id, case_id, aspect, protocol, run_id, state, value, label, rule,
         order_consistent, confidence, flag_count, created_at, project_id)
       VALUES (1, :case, 'overall', 'pairwise', 1, 'ok', 1, 'A', 'both_orders', 1, 0.7, 0, :now, 1)""",
)


if __name__ == "__main__":
    print(write_on(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
