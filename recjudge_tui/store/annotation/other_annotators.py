"""The other verdicts on cases that people judge blind: for revealing, agreement and adjudication."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from recjudge_tui.domain.annotation import AGREED, THIRD_PERSON, AspectAnswer
from recjudge_tui.domain.protocols import same_question
from recjudge_tui.domain.roles import PEOPLE
from recjudge_tui.errors import UsageError
from recjudge_tui.store.annotation.tasks import Task, task_of
from recjudge_tui.store.database import Database, now
from recjudge_tui.store.facts import sql_list


class OtherVerdict(NamedTuple):
    """Another rater's verdict on one aspect of a case. `label` is empty for numbers and failed verdicts."""

    rater: str
    rater_kind: str
    aspect: str
    value: float | None
    label: str
    reasoning: str


class Vote(NamedTuple):
    """One annotator's finished verdict on an aspect of a case."""

    case_id: int
    user_id: str
    rater_id: int
    aspect: str
    value: float
    label: str
    note: str
    system_a: str
    system_b: str


def other_verdicts(db: Database, task_id: int) -> list[OtherVerdict]:
    """Everybody else's verdicts on the case, people first. Raises UsageError before the task is revealed."""
    task = task_of(db, task_id)
    if not task.revealed:
        raise UsageError("other verdicts are shown after your own is final")
    rows = db.rows(
        f"""SELECT rater, rater_kind, aspect, value, label, reasoning FROM v_verdicts v
            WHERE v.case_id = ? AND v.protocol IN (SELECT value FROM json_each(?)) AND rater <> ?
            ORDER BY rater_kind NOT IN {sql_list(PEOPLE)}, rater, verdict_id""",
        (task.case_id, json.dumps(same_question(task.protocol)), task.rater),
    )
    return [OtherVerdict(*row) for row in rows]


def votes(db: Database, project_id: int, protocol: str) -> list[Vote]:
    """All verdicts of annotators on finished tasks of the protocol, by case, aspect and rater."""
    rows = db.rows(
        """SELECT t.case_id, c.user_id, t.rater_id, v.aspect, v.value, v.label, v.note,
             c.system_a, c.system_b
           FROM annotation_tasks t JOIN raters r ON r.id = t.rater_id AND r.kind = 'annotator'
           JOIN cases c ON c.id = t.case_id
           JOIN verdicts v ON v.rater_id = t.rater_id AND v.case_id = t.case_id AND v.protocol = t.protocol
           WHERE t.project_id = ? AND t.protocol = ? AND t.state = 'done' AND v.state = 'ok'
           ORDER BY t.case_id, v.aspect, t.rater_id""",
        (project_id, protocol),
    )
    return [Vote(*row) for row in rows]


def done_seconds(db: Database, rater_id: int, protocol: str) -> list[float]:
    """The active time in seconds of each of the annotator's finished tasks, in ascending order."""
    rows = db.rows(
        "SELECT seconds FROM annotation_tasks WHERE rater_id = ? AND protocol = ? AND state = 'done' ORDER BY seconds",
        (rater_id, protocol),
    )
    return [row[0] for row in rows]


def settled_cases(db: Database, rater_id: int, protocol: str) -> set[int]:
    """The cases that a third person has judged or skipped."""
    rows = db.rows(
        "SELECT case_id FROM annotation_tasks WHERE rater_id = ? AND protocol = ? AND state <> 'open'",
        (rater_id, protocol),
    )
    return {row[0] for row in rows}


def finished_task(db: Database, project_id: int, protocol: str, case_id: int) -> Task:
    """An annotator's finished task on the case. Raises UsageError when there is none."""
    identity = db.value(
        """SELECT t.id FROM annotation_tasks t JOIN raters r ON r.id = t.rater_id
           WHERE t.project_id = ? AND t.protocol = ? AND t.case_id = ? AND t.state = 'done' AND r.kind = 'annotator'
           ORDER BY t.id LIMIT 1""",
        (project_id, protocol, case_id),
    )
    if identity is None:
        raise UsageError("this case has no finished task")
    return task_of(db, identity)


def save_agreed(
    db: Database, project_id: int, rater_id: int, protocol: str, agreed: Sequence[tuple[int, AspectAnswer]]
) -> None:
    """Store the consensus: the verdicts on which all annotators agree, and those of a third person.

    Call inside a transaction.
    """
    kept = json.dumps([[case_id, answer.aspect] for case_id, answer in agreed])
    db.execute(
        """DELETE FROM verdicts WHERE rater_id = ? AND protocol = ? AND rule = ? AND (case_id, aspect) NOT IN (
             SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))""",
        (rater_id, protocol, AGREED, kept),
    )
    db.execute_many(
        """INSERT INTO verdicts (project_id, rater_id, case_id, aspect, protocol, state, value, label, rule, created_at)
           VALUES (?, ?, ?, ?, ?, 'ok', ?, ?, ?, ?)
           ON CONFLICT (rater_id, case_id, aspect) DO UPDATE SET value = excluded.value, label = excluded.label,
             created_at = excluded.created_at WHERE rule <> ? AND value <> excluded.value""",
        [
            (
                project_id,
                rater_id,
                case,
                answer.aspect,
                protocol,
                answer.value,
                answer.label,
                AGREED,
                now(),
                THIRD_PERSON,
            )
            for case, answer in agreed
        ],
    )
