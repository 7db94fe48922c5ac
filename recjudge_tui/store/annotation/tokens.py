"""Names of annotation tasks for files that leave the program: they say nothing about the case, and are checked on return."""

from __future__ import annotations

import hashlib
import re

from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.annotation.tasks import Task, task_of
from recjudge_tui.store.database import Database

_TOKEN = re.compile(r"t(\d{1,18})-([0-9a-f]{8})", re.ASCII)


def task_token(db: Database, task: Task) -> str:
    """`t12-3f9a01c7`: the task's id, and a digest that differs for tasks of other projects and databases."""
    row = db.row(
        """SELECT p.name, c.user_id, c.item_id, c.system_a, c.system_b FROM cases c
           JOIN projects p ON p.id = c.project_id WHERE c.id = ?""",
        (task.case_id,),
    )
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
