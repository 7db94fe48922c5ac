"""The log of triage: only added to, undone row by row, and the reader's verdicts it leads to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.errors import ConstraintError, UsageError
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import delete_project
from recjudge_tui.store.runs import delete_run
from recjudge_tui.store.schema import connect
from recjudge_tui.store.triage import count_triaged, record, triage_states, undo_last
from recjudge_tui.store.verdicts import filtered_ids, keep_as_label, queue
from tests.support.app.projects import make_project

EVERYTHING = parse_filter("")


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    make_project(project_db, "movies", cases=6)
    with connect(project_db) as opened:
        yield opened


def own(db: Database, reader: str = "reader") -> list[tuple[int, str, float]]:
    """The reader's verdicts: (case, label, value)."""
    sql = "SELECT case_id, label, value FROM v_verdicts WHERE rater_kind = 'reader' AND rater = ? ORDER BY 1"
    return list(db.tuples(sql, (reader,)))


def test_the_log_cannot_be_changed_and_outlives_a_run(db: Database) -> None:
    record(db, 1, "ana", "override", label="B", value=-1.0)
    for sql in ("UPDATE triage_log SET reader = 'eve'", "DELETE FROM triage_log"):
        with pytest.raises(ConstraintError, match="only added to"):
            db.execute(sql)
    delete_run(db, 1)
    (row,) = db.tuples("SELECT verdict_id, rater, aspect, standing FROM v_triage")
    assert row == (None, "qwen2.5:14b", "overall", 1)
    assert own(db, "ana") == [(1, "B", -1.0)]
    assert filtered_ids(db, 1, parse_filter("triaged:no")).tolist() == filtered_ids(db, 1).tolist()
    delete_project(db, "movies")
    assert db.value("SELECT count(*) FROM triage_log") == 0


def test_filters_know_what_was_decided_tagged_and_noted(db: Database) -> None:
    record(db, 1, "ana", "dismiss")
    record(db, 4, "ana", "accept")
    record(db, 7, "ana", "override", label="Tie", value=0.0)
    record(db, 10, "ana", "tag", text="to discuss")
    record(db, 13, "ana", "note", text="The zebra of all cases.")

    def found(text: str) -> list[int]:
        return filtered_ids(db, 1, parse_filter(text)).tolist()

    assert found("triaged:yes judge:qwen") == [1, 4, 7]
    assert found("triaged:no judge:qwen") == [10, 13, 16]
    assert (found("triaged:dismissed"), found("triaged:accepted")) == ([1], [4])
    assert found("triaged:overridden") == [7]
    assert found("tag:discuss") == [10]
    assert found("zebra") == [13]
    assert count_triaged(db, 1, EVERYTHING) == 3
    assert count_triaged(db, 1, parse_filter("why:swap")) == 1
    assert count_triaged(db, 1, EVERYTHING, only=[1]) == 1
    undo_last(db, 1, "ana")
    undo_last(db, 1, "ana")
    assert (found("tag:discuss"), found("zebra")) == ([], [])


def test_the_queue_puts_judges_against_people_first_and_each_verdict_once(db: Database) -> None:
    # the judge says A, Tie, B, nothing, A, Tie; anna and bert say B, A, B, A, B, A
    found = queue(db, 1, EVERYTHING, suspects=[6])
    reasons = [found.reason(place) for place in range(len(found.ids))]
    assert found.ids.tolist() == [1, 13, 4, 16, 10, 17, 18]
    assert reasons == ["judge against people"] * 4 + ["failed"] + ["gives orders"] * 2
    record(db, 13, "ana", "accept")
    assert 13 not in queue(db, 1, EVERYTHING).ids
    assert queue(db, 1, parse_filter("why:failed")).ids.tolist() == [10]


def test_own_verdicts_become_labels_of_an_annotator(db: Database) -> None:
    with pytest.raises(UsageError, match="not decided on this verdict yet"):
        keep_as_label(db, 1, "ana")
    record(db, 1, "ana", "override", label="B", value=-1.0)
    assert keep_as_label(db, 1, "ana") == 1
    undo_last(db, 1, "ana")
    record(db, 1, "ana", "override", label="Tie", value=0.0)
    record(db, 4, "ana", "override", label="A", value=1.0)
    assert (keep_as_label(db, 1, "ana"), keep_as_label(db, 4, "ana")) == (1, 2)
    rows = db.tuples("SELECT case_id, label, rater_kind FROM v_verdicts WHERE rater = 'labelled' ORDER BY 1")
    assert list(rows) == [(1, "Tie", "annotator"), (2, "A", "annotator")]
    record(db, 7, "ana", "accept")
    assert keep_as_label(db, 7, "ana") == 3, "who accepts a verdict says the same"
    assert db.value("SELECT label FROM v_verdicts WHERE rater = 'labelled' AND case_id = 3") == "B"
    record(db, 13, "ana", "dismiss")
    with pytest.raises(UsageError, match="not decided on this verdict yet"):
        keep_as_label(db, 13, "ana")


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([1, 4, 7]), st.sampled_from(["accept", "dismiss"])),
        st.tuples(st.sampled_from([1, 4, 7]), st.sampled_from([("A", 1.0), ("Tie", 0.0), ("B", -1.0)])),
        st.just("undo"),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_the_log_folds_to_what_a_stack_of_actions_would_hold(db: Database, steps: list[object]) -> None:
    db.execute("SAVEPOINT before")
    stack: list[tuple[int, object]] = []
    for step in steps:
        if step == "undo":
            undo_last(db, 1, "ana")
            stack = stack[:-1]
        else:
            verdict, what = step  # type: ignore[misc]
            stack.append((verdict, what))
            if isinstance(what, tuple):
                record(db, verdict, "ana", "override", label=what[0], value=what[1])
            else:
                record(db, verdict, "ana", what)
    last = dict(stack)
    kinds = {v: "override" if isinstance(what, tuple) else what for v, what in last.items()}
    assert {v: t.decision for v, t in triage_states(db, [1, 4, 7]).items()} == kinds
    said = {v: what for v, what in stack if isinstance(what, tuple)}
    cases = {1: 1, 4: 2, 7: 3}
    assert own(db, "ana") == sorted((cases[v], *what) for v, what in said.items())
    db.execute("ROLLBACK TO before")
    db.execute("RELEASE before")
