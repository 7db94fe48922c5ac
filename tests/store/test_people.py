"""Tasks of annotators: kept with their verdicts, changed while blind, and not afterwards."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.annotation import AspectAnswer, CaseAnswers, ItemFlag
from recjudge_tui.errors import UsageError
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import
from recjudge_tui.store.people import (
    other_verdicts,
    own_verdict,
    reveal_tasks,
    skip_task,
    submit_verdict,
    task_of,
)
from recjudge_tui.store.raters import find_rater
from tests.support.annotators import assigned, films, judges, tasks, verdicts
from tests.support.runs import load

ONE = CaseAnswers((AspectAnswer("overall", 1.0, "A"),), (ItemFlag("i1", "redundancy", "twice"),), "because")


@pytest.fixture
def db(db: Database) -> Database:
    films(db)
    return db


def test_a_verdict_appears_in_the_table_and_in_the_view(db: Database) -> None:
    assigned(db)
    task = tasks(db, "ana")[0]
    submit_verdict(db, task, ONE, 12.5)
    columns = "protocol, value, label, rule, flag_count, reasoning, run_id, rater_kind"
    assert list(db.tuples(f"SELECT {columns} FROM v_verdicts WHERE rater = 'ana'")) == [
        ("pairwise", 1.0, "A", "as given", 1, "because", None, "annotator")
    ]
    flags = db.tuples("SELECT item_id, issue, reason FROM v_flags WHERE rater = 'ana'")
    assert list(flags) == [("i1", "redundancy", "twice")]
    columns = "annotator, state, seconds, revealed_at, first IN ('a', 'b'), done_at IS NOT NULL"
    (kept,) = db.tuples(f"SELECT {columns} FROM v_annotations WHERE task_id = ?", (task,))
    assert kept == ("ana", "done", 12.5, None, 1, 1)
    assert own_verdict(db, task_of(db, task)) == ONE


def test_a_revision_replaces_ones_own_verdict_and_adds_the_time(db: Database) -> None:
    assigned(db)
    task = tasks(db, "ana")[0]
    submit_verdict(db, task, ONE, 10)
    identity = db.value("SELECT id FROM verdicts v WHERE v.rule = 'as given'")
    submit_verdict(db, task, CaseAnswers((AspectAnswer("overall", 0.0, "Tie"),)), 5)
    assert [row[2:] for row in verdicts(db, "ana")] == [(0.0, "Tie", "as given", "", 0)]
    assert db.value("SELECT count(*) FROM flags") == 0
    assert db.value("SELECT id FROM verdicts") == identity, "what refers to the verdict goes on to"
    assert task_of(db, task).seconds == 15


def test_skipping_keeps_the_reason_and_takes_a_verdict_back(db: Database) -> None:
    assigned(db)
    task = tasks(db, "ana")[0]
    submit_verdict(db, task, ONE, 10)
    skip_task(db, task, "the list is empty", 2)
    assert verdicts(db, "ana") == []
    found = task_of(db, task)
    assert (found.state, found.reason, found.seconds) == ("skipped", "the list is empty", 12)
    submit_verdict(db, task, ONE, 1)
    assert (task_of(db, task).state, task_of(db, task).reason) == ("done", "")


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


def test_others_verdicts_after_the_reveal(db: Database) -> None:
    assigned(db)
    judges(db, "ben", note="a word of ben")
    judges(db, "ana")
    task = tasks(db, "ana")[0]
    reveal_tasks(db, tasks(db, "ana"))
    said = other_verdicts(db, task)
    assert [(s.rater, s.rater_kind, s.reasoning) for s in said] == [("ben", "annotator", "a word of ben")]


def test_undoing_an_import_keeps_its_annotators(db: Database) -> None:
    header = ("rater", "user_id", "system", "value", "protocol")
    load(db, "labels", [header, ("ana", "u00", "als", "Good", "pointwise")])
    assigned(db)
    undo_import(db, db.value("SELECT max(id) FROM imports"))
    assert find_rater(db, 1, "ana") is not None
    assert len(tasks(db, "ana")) == 6
