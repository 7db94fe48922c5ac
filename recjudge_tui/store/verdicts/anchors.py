"""Anchor cases: cases on which a judge is asked again every night, to see whether the judge changes.

The answers are not about systems.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.store.database import Database


class AnchorNight(NamedTuple):
    """The answers of one night on one aspect, by case: `case` has ids, `user` codes, and `value` is NaN if the answer
    failed; `system_a` and `system_b` are the systems of each case, the second empty unless it is a pair.
    """

    run_id: int
    day: str
    case: IntArray
    user: IntArray
    value: FloatArray
    system_a: tuple[str, ...]
    system_b: tuple[str, ...]


class AnchorQuestion(NamedTuple):
    """A question that a judge is asked every night: `rater` is the judge that the cases belong to, `asks` the
    rater of the repeated runs.
    """

    rater: str
    asks: str
    protocol: str
    aspect: str


def anchor_name(rater: str) -> str:
    """The rater of the runs that ask a judge about its anchor cases."""
    return f"{rater} (anchor)"


def anchor_cases(db: Database, project_id: int, rater: str, protocol: str) -> list[int]:
    """The anchor cases of a judge, by id; empty before they are drawn."""
    rows = db.rows(
        "SELECT case_id FROM anchor_cases WHERE project_id = ? AND rater = ? AND protocol = ? ORDER BY case_id",
        (project_id, rater, protocol),
    )
    return [row[0] for row in rows]


def save_anchor_cases(
    db: Database, project_id: int, rater: str, protocol: str, cases: Collection[int]
) -> None:
    """Store the anchor cases of a judge."""
    with db.transaction():
        db.execute_many(
            "INSERT INTO anchor_cases (project_id, rater, protocol, case_id) VALUES (?, ?, ?, ?)",
            ((project_id, rater, protocol, case) for case in cases),
        )


def cases_of_rater(db: Database, rater_id: int, protocol: str) -> list[int]:
    """The cases on which a rater has a verdict under a protocol that did not fail, by id."""
    rows = db.rows(
        """SELECT DISTINCT case_id FROM verdicts WHERE rater_id = ? AND protocol = ? AND state = 'ok'
           ORDER BY case_id""",
        (rater_id, protocol),
    )
    return [row[0] for row in rows]


def move_anchor_verdicts(db: Database, rater_id: int) -> None:
    """Move the verdicts of an anchor rater's finished runs out of the verdicts on systems."""
    done = "SELECT id FROM runs WHERE rater_id = ? AND state = 'done'"
    with db.transaction():
        db.execute(
            f"""INSERT OR REPLACE INTO anchor_verdicts (run_id, case_id, aspect, value)
                SELECT run_id, case_id, aspect, value FROM verdicts WHERE run_id IN ({done})""",
            (rater_id,),
        )
        db.execute(f"DELETE FROM verdicts WHERE run_id IN ({done})", (rater_id,))


def last_anchor_run(db: Database, rater_id: int, protocol: str) -> str:
    """When the newest finished run of an anchor's rater ended; empty if there is none."""
    finished_at: str | None = db.value(
        "SELECT max(finished_at) FROM runs WHERE rater_id = ? AND protocol = ? AND state = 'done'",
        (rater_id, protocol),
    )
    return finished_at or ""


def anchor_questions(db: Database, project_id: int) -> list[AnchorQuestion]:
    """Every anchor question, by rater, protocol and aspect."""
    rows = db.rows(
        """SELECT DISTINCT r.name, ru.protocol, a.aspect FROM anchor_verdicts a JOIN runs ru ON ru.id = a.run_id
           JOIN raters r ON r.id = ru.rater_id WHERE ru.project_id = ? ORDER BY 1, 2, 3""",
        (project_id,),
    )
    return [AnchorQuestion(row[0].removesuffix(anchor_name("")), *row) for row in rows]


def anchor_nights(db: Database, project_id: int, question: AnchorQuestion) -> list[AnchorNight]:
    """The nights of a question, oldest first."""
    rows = db.rows(
        """SELECT a.run_id, substr(ru.finished_at, 1, 10), a.case_id, c.user_id, a.value,
             c.system_a, c.system_b
           FROM anchor_verdicts a JOIN runs ru ON ru.id = a.run_id JOIN raters r ON r.id = ru.rater_id
           JOIN cases c ON c.id = a.case_id
           WHERE ru.project_id = ? AND r.name = ? AND ru.protocol = ? AND a.aspect = ? ORDER BY a.run_id, a.case_id""",
        (project_id, *question[1:]),
    )
    users = {name: code for code, name in enumerate(sorted({row[3] for row in rows}))}
    nights = []
    for run_id, day in dict.fromkeys((row[0], row[1]) for row in rows):
        own = [row for row in rows if row[0] == run_id]
        nights.append(
            AnchorNight(
                run_id,
                day,
                np.array([row[2] for row in own], dtype=np.int64),
                np.array([users[row[3]] for row in own], dtype=np.int64),
                np.array([row[4] for row in own], dtype=np.float64),
                tuple(row[5] for row in own),
                tuple(row[6] for row in own),
            )
        )
    return nights
