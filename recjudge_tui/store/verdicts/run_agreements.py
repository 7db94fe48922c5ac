"""The agreement of each finished run with people, computed once and stored until labels change.

Triggers on `verdicts` delete the figures of a project when a label, an override or a consensus changes. The figure of a
resumed run is ignored, because its end time differs.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import uuid4

from recjudge_tui.domain.roles import RUN_REFERENCES
from recjudge_tui.store.clock import now
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import about_systems, rank_in, same_question, sql_list

# older runs of a project are not compared
NEWEST_RUNS = 30


class StoredAgreement(NamedTuple):
    """One stored figure. `value` is None if undefined; `n` is the number of questions that both answered."""

    project_id: int
    run_id: int
    protocol: str
    judge: str
    truth: str
    stat: str
    value: float | None
    n: int


class RunToCompare(NamedTuple):
    run_id: int
    project_id: int
    rater_id: int


class Overlap(NamedTuple):
    """The values of a run and of the rater `truth_id` on the same questions, in the same order, with the systems of each
    (the second is empty unless it is a pair); None and empty without labels."""

    truth_id: int | None
    judged: tuple[float, ...] = ()
    given: tuple[float, ...] = ()
    system_a: tuple[str, ...] = ()
    system_b: tuple[str, ...] = ()


def stored_agreements(db: Database) -> list[StoredAgreement]:
    """The valid figures, by project and run; without runs that have no labels."""
    rows = db.rows(
        f"""SELECT a.project_id, a.run_id, ru.protocol, j.name, t.name, a.stat, a.value, a.n FROM run_agreements a
            JOIN runs ru ON ru.id = a.run_id AND ifnull(ru.finished_at, '') = a.run_finished_at AND {_at_rest()}
            JOIN raters j ON j.id = ru.rater_id JOIN raters t ON t.id = a.truth_id
            WHERE a.computed_at IS NOT NULL ORDER BY a.project_id, a.run_id"""
    )
    return [StoredAgreement(*row) for row in rows]


def runs_to_compare(db: Database) -> list[RunToCompare]:
    """Runs that are not active and have no valid figure, newest first; per project only the newest ones."""
    rows = db.rows(
        f"""SELECT id, project_id, rater_id FROM (
              SELECT ru.id, ru.project_id, ru.rater_id, ifnull(ru.finished_at, '') AS ended,
                row_number() OVER (PARTITION BY ru.project_id ORDER BY ru.id DESC) AS place
              FROM runs ru WHERE {_at_rest()}) ru
            WHERE place <= ? AND NOT EXISTS (
              SELECT 1 FROM run_agreements a
              WHERE a.run_id = ru.id AND a.run_finished_at = ru.ended AND a.computed_at IS NOT NULL)
            ORDER BY place, id DESC""",
        (NEWEST_RUNS,),
    )
    return [RunToCompare(*row) for row in rows]


def begin_agreement(db: Database, run_id: int) -> str:
    """Start the comparison of a run; returns the token for `keep_agreement`."""
    token = uuid4().hex
    with db.transaction():
        db.execute(
            """INSERT OR REPLACE INTO run_agreements (run_id, project_id, run_finished_at, token)
               SELECT id, project_id, ifnull(finished_at, ''), ? FROM runs WHERE id = ?""",
            (token, run_id),
        )
    return token


def keep_agreement(
    db: Database, token: str, truth_id: int | None, stat: str, value: float | None, n: int
) -> bool:
    """Store a figure. False if labels changed since `begin_agreement`, or if another process has started."""
    with db.transaction():
        cursor = db.execute(
            "UPDATE run_agreements SET truth_id = ?, stat = ?, value = ?, n = ?, computed_at = ? WHERE token = ?",
            (truth_id, stat, value, n, now(), token),
        )
    return cursor.rowcount == 1


def overlap_with_people(db: Database, run: RunToCompare) -> Overlap:
    """Compare the run with the first rater that labelled any of its cases, in the order of RUN_REFERENCES.

    Within a kind, the rater with most labels comes first.
    """
    people = db.rows(
        f"""SELECT id FROM raters WHERE project_id = ? AND kind IN {sql_list(RUN_REFERENCES)}
           ORDER BY {rank_in("kind", RUN_REFERENCES)},
             (SELECT count(*) FROM verdicts v WHERE v.rater_id = raters.id) DESC, name LIMIT 10""",
        (run.project_id,),
    )
    for (truth_id,) in people:
        pairs = [tuple(row) for row in db.rows(_both(), (run.rater_id, run.run_id, truth_id))]
        if pairs:
            return Overlap(truth_id, *zip(*pairs, strict=True))
    return Overlap(None)


def _at_rest() -> str:
    """SQL for inactive runs of protocols that judge systems."""
    return f"ru.state NOT IN ('running', 'planned') AND {about_systems('ru.protocol')}"


def _both() -> str:
    return f"""SELECT v.value, o.value, c.system_a, c.system_b FROM verdicts o
  JOIN verdicts v ON v.rater_id = ?1 AND v.case_id = o.case_id AND v.aspect = o.aspect AND v.run_id = ?2
  JOIN cases c ON c.id = o.case_id
  WHERE o.rater_id = ?3 AND v.state = 'ok' AND o.state = 'ok'
    AND {same_question()}"""
