"""Tasks of annotators: kept with their verdicts, changed while blind, and not afterwards."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.annotation import AspectAnswer, CaseAnswers, ItemFlag
from recjudge_tui.errors import UsageError
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import
from recjudge_tui.store.people import (
    other_verdicts,
    reveal_tasks,
    skip_task,
    submit_verdict,
    task_of,
)
from recjudge_tui.store.raters import find_rater
from tests.support.annotators import assigned, films, tasks, verdicts
from tests.support.runs import load

ONE = CaseAnswers((AspectAnswer("overall", 1.0, "A"),), (ItemFlag("i1", "redundancy", "twice"),), "because")


@pytest.fixture
def db(db: Database) -> Database:
    films(db)
    return db


def test_nothing_half_stored_where_one_answer_cannot_be(db: Database) -> None:
    assigned(db, "arena", "ana")
    task = tasks(db, "ana", "arena")[0]
    user = db.value("SELECT user_id FROM cases WHERE id = ?", (task_of(db, task).case_id,))
    header = ("rater", "user_id", "system_a", "system_b", "aspect", "value")
    load(db, "labels", [header, ("ana", user, "als", "pop", "overall", "A")])
    answers = (AspectAnswer("accuracy", 1.0, "A"), AspectAnswer("overall", 1.0, "A"))
    with pytest.raises(UsageError, match="came from elsewhere"):
        submit_verdict(db, task, CaseAnswers(answers), 1)
    assert task_of(db, task).state == "open"
    assert [row[1] for row in verdicts(db, "ana")] == ["overall"]


def test_after_the_reveal_a_verdict_is_final(db: Database) -> None:
    assigned(db)
    task = tasks(db, "ana")[0]
    with pytest.raises(UsageError, match="after you have given your own"):
        reveal_tasks(db, [task])
    with pytest.raises(UsageError, match="after your own is final"):
        other_verdicts(db, task)
    submit_verdict(db, task, ONE, 1)
    with pytest.raises(UsageError):
        other_verdicts(db, task)
    reveal_tasks(db, [task])
    assert other_verdicts(db, task) == []
    with pytest.raises(UsageError, match="this verdict is final"):
        submit_verdict(db, task, ONE, 1)
    with pytest.raises(UsageError, match="this verdict is final"):
        skip_task(db, task, "no", 1)
    assert len(verdicts(db, "ana")) == 1


def test_undoing_an_import_keeps_its_annotators(db: Database) -> None:
    header = ("rater", "user_id", "system", "value", "protocol")
    load(db, "labels", [header, ("ana", "u00", "als", "Good", "pointwise")])
    assigned(db)
    undo_import(db, db.value("SELECT max(id) FROM imports"))
    assert find_rater(db, 1, "ana") is not None
    assert len(tasks(db, "ana")) == 6
