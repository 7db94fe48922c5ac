"""Tasks of annotators, and what the other annotators said."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from recjudge_tui.domain.annotation import AS_GIVEN, AspectAnswer, CaseAnswers, ItemFlag
from recjudge_tui.domain.protocols import same_question
from recjudge_tui.domain.roles import PEOPLE
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.steps import Step
from recjudge_tui.store.database import Database, StoredRow, now
from recjudge_tui.store.facts import sql_list
from recjudge_tui.store.raters import put_verdict

_TASK = """SELECT t.id, t.project_id, t.rater_id, r.name AS rater, t.case_id, t.protocol, t.prompt_id, t.run_id,
             t.position, t.first, t.state, t.reason, t.seconds, t.revealed_at IS NOT NULL AS revealed
           FROM annotation_tasks t JOIN raters r ON r.id = t.rater_id """


class Task(NamedTuple):
    """One case for one annotator. `first`: the list shown first, empty unless there are two."""

    id: int
    project_id: int
    rater_id: int
    rater: str
    case_id: int
    protocol: str
    prompt_id: int
    run_id: int | None
    position: int
    first: str
    state: str
    reason: str
    seconds: float
    revealed: bool


class Assignment(NamedTuple):
    """One annotator's tasks of one protocol, counted by state."""

    rater_id: int
    rater: str
    protocol: str
    open: int
    done: int
    skipped: int
    revealed: int

    @property
    def all(self) -> int:
        return self.open + self.done + self.skipped


# ---- planning


def task_annotators(
    db: Database, project_id: int, protocol: str, named: Iterable[int]
) -> dict[int, set[int]]:
    """case id -> the annotators with a task of the protocol on it, and those of `named` who judged it without a task."""
    annotators: dict[int, set[int]] = {}
    sql = """SELECT t.case_id, t.rater_id FROM annotation_tasks t JOIN raters r ON r.id = t.rater_id
               WHERE t.project_id = ?1 AND t.protocol = ?2 AND r.kind = 'annotator'
             UNION SELECT case_id, rater_id FROM verdicts
               WHERE rater_id IN (SELECT value FROM json_each(?3)) AND protocol = ?2"""
    for case_id, rater_id in db.rows(sql, (project_id, protocol, json.dumps(list(named)))):
        annotators.setdefault(case_id, set()).add(rater_id)
    return annotators


def excluded_cases(db: Database, rater_id: int, protocol: str) -> set[int]:
    """The cases that the annotator has under another protocol: each rater gives one verdict per aspect."""
    sql = """SELECT case_id FROM annotation_tasks WHERE rater_id = ?1 AND protocol <> ?2
             UNION SELECT case_id FROM verdicts WHERE rater_id = ?1 AND protocol <> ?2"""
    return set(db.column(sql, (rater_id, protocol)))


def newest_run(
    db: Database, project_id: int, protocol: str, prompt_id: int | None = None
) -> StoredRow | None:
    """`id` and `prompt` (NAME@VERSION) of the project's newest run of the protocol (and prompt, if given)."""
    sql = """SELECT ru.id, p.name || '@' || p.version AS prompt FROM runs ru JOIN prompts p ON p.id = ru.prompt_id
             WHERE ru.project_id = ?1 AND ru.protocol = ?2 AND (?3 IS NULL OR ru.prompt_id = ?3)
             ORDER BY ru.id DESC LIMIT 1"""
    return db.row(sql, (project_id, protocol, prompt_id))


def run_shows(db: Database, run_id: int, case_id: int) -> bool:
    """Whether the run contains the case, with snapshots of what was shown."""
    return db.any("SELECT 1 FROM run_cases WHERE run_id = ? AND case_id = ?", (run_id, case_id))


def add_tasks(
    db: Database,
    project_id: int,
    protocol: str,
    prompt_id: int,
    run_id: int | None,
    tasks: Iterable[tuple[int, int, int, str]],
) -> None:
    """Store tasks: (rater, case, position, list shown first). Call inside a transaction."""
    sql = """INSERT INTO annotation_tasks (project_id, protocol, prompt_id, run_id, rater_id, case_id, position, first)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
    db.execute_many(sql, [(project_id, protocol, prompt_id, run_id, *task) for task in tasks])


# ---- a person's own tasks


def task_of(db: Database, task_id: int) -> Task:
    """The task with this id. Raises NotFoundError when it no longer exists."""
    gone = NotFoundError("this task no longer exists", "Its rater was deleted in the meantime.")
    return _task(db.only(_TASK + "WHERE t.id = ?", (task_id,), gone))


def rater_assignment(db: Database, rater_id: int, protocol: str) -> Assignment:
    """The annotator's tasks of the protocol. Raises NotFoundError when there are none."""
    assignments = _assignments(db, "t.rater_id = ? AND t.protocol = ?", (rater_id, protocol))
    if not assignments:
        raise NotFoundError("nothing is assigned here", step=Step("label"))
    return assignments[0]


def project_assignments(db: Database, project_id: int) -> list[Assignment]:
    """The tasks of every annotator, one entry per annotator and protocol, by name."""
    return _assignments(db, "t.project_id = ? AND r.kind = 'annotator'", (project_id,))


def chosen_assignment(db: Database, project_id: int, annotator: str, protocol: str | None) -> Assignment:
    """The tasks of one annotator. Raises NotFoundError without tasks, UsageError if the protocol is ambiguous."""
    known = project_assignments(db, project_id)
    own = [each for each in known if each.rater == annotator and protocol in (None, each.protocol)]
    if len(own) == 1:
        return own[0]
    if own:
        raise UsageError(
            f"{annotator} has tasks of several protocols",
            f"Available: {', '.join(assignment.protocol for assignment in own)}.",
            "Choose one protocol.",
        )
    names = ", ".join(f"{assignment.rater} ({assignment.protocol})" for assignment in known)
    raise NotFoundError(
        f"nothing is assigned to “{annotator}”", f"Available: {names or 'no annotators'}.", step=Step("label")
    )


def mark_opened(db: Database, task_id: int) -> None:
    """Record when the case was first shown."""
    with db.transaction():
        sql = "UPDATE annotation_tasks SET opened_at = ? WHERE id = ? AND opened_at IS NULL"
        db.execute(sql, (now(), task_id))


def own_verdict(db: Database, task: Task) -> CaseAnswers:
    """The annotator's own answers, flags and note on the case."""
    sql = """SELECT id, aspect, value, label, note FROM verdicts
             WHERE rater_id = ? AND case_id = ? AND protocol = ? AND state = 'ok' ORDER BY id"""
    rows = db.rows(sql, (task.rater_id, task.case_id, task.protocol))
    flags = db.rows(
        """SELECT item_id, issue, reason FROM flags WHERE verdict_id IN (SELECT value FROM json_each(?)) ORDER BY id""",
        (json.dumps([row["id"] for row in rows]),),
    )
    return CaseAnswers(
        tuple(AspectAnswer(row["aspect"], row["value"], row["label"]) for row in rows),
        tuple(ItemFlag(*row) for row in flags),
        next((row["note"] for row in rows if row["note"]), ""),
    )


def submit_verdict(
    db: Database, task_id: int, judged: CaseAnswers, seconds: float, rule: str = AS_GIVEN
) -> None:
    """Store an annotator's verdict in place of an earlier one and close the task, in one transaction; note and flags go
    with the first answer, `seconds` is added. Raises UsageError after other verdicts were revealed, without an answer, or
    when a verdict came from an import or a run; NotFoundError when the task no longer exists."""
    if not judged.answers:
        raise UsageError("a verdict needs an answer", next_step="Skip the case if you cannot judge it.")
    with db.transaction():
        task = _changeable(db, task_id)
        for place, answer in enumerate(judged.answers):
            flags = judged.flags if place == 0 else ()
            about = (task.rater_id, task.case_id, answer.aspect, task.protocol)
            note = judged.note if place == 0 else ""
            verdict = put_verdict(
                db, about, (answer.value, answer.label), rule, note=note, flags=len(flags), own_only=True
            )
            if verdict is None:
                raise UsageError(
                    f"{task.rater}'s verdict on {answer.aspect} of this case came from elsewhere",
                    "An import or a run created it.",
                    "Skip the case, or undo that import.",
                )
            db.execute("DELETE FROM flags WHERE verdict_id = ?", (verdict,))
            sql = "INSERT INTO flags (verdict_id, item_id, issue, reason) VALUES (?, ?, ?, ?)"
            db.execute_many(sql, [(verdict, *flag) for flag in flags])
        _close(db, task_id, "done", "", seconds)


def close_answered(db: Database, task_id: int) -> None:
    """Mark a task as done if a verdict of the annotator on it came from a file. Call inside a transaction."""
    sql = """UPDATE annotation_tasks AS t SET state = 'done', reason = '', done_at = ? WHERE id = ? AND state <> 'done'
             AND EXISTS (SELECT 1 FROM verdicts v WHERE v.rater_id = t.rater_id AND v.case_id = t.case_id
                         AND v.protocol = t.protocol)"""
    db.execute(sql, (now(), task_id))


def reopen_unanswered(db: Database) -> None:
    """Reopen the tasks that are done but have no verdict because the import that answered them was undone."""
    sql = """UPDATE annotation_tasks AS t SET state = 'open', done_at = NULL WHERE state = 'done'
             AND NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.rater_id = t.rater_id AND v.case_id = t.case_id
                             AND v.protocol = t.protocol)"""
    db.execute(sql)


def skip_task(db: Database, task_id: int, reason: str, seconds: float) -> None:
    """Close the task without a verdict and delete an earlier one. Raises the errors of `submit_verdict`."""
    with db.transaction():
        task = _changeable(db, task_id)
        sql = """DELETE FROM verdicts WHERE rater_id = ? AND case_id = ? AND protocol = ?
                 AND run_id IS NULL AND import_id IS NULL"""
        db.execute(sql, (task.rater_id, task.case_id, task.protocol))
        _close(db, task_id, "skipped", reason, seconds)


def reveal_tasks(db: Database, task_ids: Iterable[int]) -> None:
    """Mark tasks as revealed: their own verdicts can no longer change. Raises UsageError for an open task."""
    wanted = json.dumps(list(task_ids))
    with db.transaction():
        these = "id IN (SELECT value FROM json_each(?))"
        if db.any(f"SELECT 1 FROM annotation_tasks WHERE {these} AND state = 'open'", (wanted,)):
            raise UsageError("other verdicts are shown after you have given your own")
        sql = f"UPDATE annotation_tasks SET revealed_at = ? WHERE {these} AND revealed_at IS NULL"
        db.execute(sql, (now(), wanted))


def own_tasks(db: Database, rater_id: int, protocol: str) -> list[Task]:
    """The annotator's tasks of a protocol, in order."""
    sql = f"{_TASK} WHERE t.rater_id = ? AND t.protocol = ? ORDER BY t.position"
    return list(map(_task, db.rows(sql, (rater_id, protocol))))


def next_open(db: Database, rater_id: int, protocol: str) -> int | None:
    """The id of the annotator's first open task."""
    return next((task.id for task in own_tasks(db, rater_id, protocol) if task.state == "open"), None)


def _changeable(db: Database, task_id: int) -> Task:
    task = task_of(db, task_id)
    if task.revealed:
        raise UsageError(
            "this verdict is final", "You were shown the other verdicts on this case after you gave yours."
        )
    return task


def _close(db: Database, task_id: int, state: str, reason: str, seconds: float) -> None:
    sql = "UPDATE annotation_tasks SET state = ?, reason = ?, seconds = seconds + ?, done_at = ? WHERE id = ?"
    db.execute(sql, (state, reason, max(seconds, 0.0), now(), task_id))


def _task(row: StoredRow) -> Task:
    return Task(*row)._replace(revealed=bool(row["revealed"]))


def _assignments(db: Database, where: str, parameters: tuple[object, ...]) -> list[Assignment]:
    sql = f"""SELECT t.rater_id, r.name, t.protocol, sum(t.state = 'open'), sum(t.state = 'done'),
                sum(t.state = 'skipped'), sum(t.revealed_at IS NOT NULL)
              FROM annotation_tasks t JOIN raters r ON r.id = t.rater_id WHERE {where}
              GROUP BY t.rater_id, t.protocol ORDER BY r.name, t.protocol"""
    return db.records(Assignment, sql, parameters)


# ---- other annotators --------------------------------------------------------------------------------------------


def other_verdicts(db: Database, task_id: int) -> list[StoredRow]:
    """Everybody else's verdicts on the case, people first: rater, rater_kind, aspect, value, label (empty for numbers and
    failed verdicts) and reasoning. Raises UsageError before the task is revealed."""
    task = task_of(db, task_id)
    if not task.revealed:
        raise UsageError("other verdicts are shown after your own is final")
    sql = f"""SELECT rater, rater_kind, aspect, value, label, reasoning FROM v_verdicts v
              WHERE v.case_id = ? AND v.protocol IN (SELECT value FROM json_each(?)) AND rater <> ?
              ORDER BY rater_kind NOT IN {sql_list(PEOPLE)}, rater, verdict_id"""
    return db.rows(sql, (task.case_id, json.dumps(same_question(task.protocol)), task.rater))


def votes(db: Database, project_id: int, protocol: str) -> list[StoredRow]:
    """All verdicts of annotators on finished tasks of the protocol, by case, aspect and rater."""
    sql = """SELECT t.case_id, c.user_id, t.rater_id, v.aspect, v.value, v.label, v.note,
               c.system_a, c.system_b
             FROM annotation_tasks t JOIN raters r ON r.id = t.rater_id AND r.kind = 'annotator'
             JOIN cases c ON c.id = t.case_id
             JOIN verdicts v ON v.rater_id = t.rater_id AND v.case_id = t.case_id AND v.protocol = t.protocol
             WHERE t.project_id = ? AND t.protocol = ? AND t.state = 'done' AND v.state = 'ok'
             ORDER BY t.case_id, v.aspect, t.rater_id"""
    return db.rows(sql, (project_id, protocol))


def finished_task(db: Database, project_id: int, protocol: str, case_id: int) -> Task:
    """An annotator's finished task on the case. Raises UsageError when there is none."""
    sql = """SELECT t.id FROM annotation_tasks t JOIN raters r ON r.id = t.rater_id
             WHERE t.project_id = ? AND t.protocol = ? AND t.case_id = ? AND t.state = 'done' AND r.kind = 'annotator'
             ORDER BY t.id LIMIT 1"""
    identity = db.found(sql, (project_id, protocol, case_id))
    if identity is None:
        raise UsageError("this case has no finished task")
    return task_of(db, identity)


# ---- tokens ------------------------------------------------------------------------------------------------------


_TOKEN = re.compile(r"t(\d{1,18})-([0-9a-f]{8})", re.ASCII)


def task_token(db: Database, task: Task) -> str:
    """`t12-3f9a01c7`: the task's id, and a digest that differs for tasks of other projects and databases."""
    sql = """SELECT p.name, c.user_id, c.item_id, c.system_a, c.system_b FROM cases c
             JOIN projects p ON p.id = c.project_id WHERE c.id = ?"""
    row = db.row(sql, (task.case_id,))
    about = (*(row or ()), task.rater, task.protocol, task.first)
    digest = hashlib.sha256("\0".join(map(str, about)).encode()).hexdigest()
    return f"t{task.id}-{digest[:8]}"


def is_task_token(text: str) -> bool:
    return _TOKEN.fullmatch(text) is not None


def task_by_token(db: Database, project_id: int, token: str) -> Task | None:
    """The task of this project with this name; None if there is none."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        return None
    try:
        task = task_of(db, int(match[1]))
    except NotFoundError:
        return None
    return task if task.project_id == project_id and task_token(db, task) == token else None
