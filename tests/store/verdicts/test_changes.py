"""Two raters side by side by SQL: which cases changed, those of a cell, of a run, and in windows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import ensure_rater
from recjudge_tui.store.verdicts.changes import (
    Cell,
    ComparedQuestions,
    cases_by_run,
    changed_cases,
    changed_ids,
    run_configurations,
)
from tests.support.verdicts import Project, give, judge_lists, list_case, new_project, pair_case

Result = TypeVar("Result")
BEFORE = (2.0, 2.0, 1.0, 0.0, None, 1.0, 1.0)
AFTER = (2.0, 0.0, 2.0, 1.0, 1.0, None)


@pytest.fixture
def project(project_db: Path) -> Project:
    project = new_project(project_db)
    cases = [list_case(project, f"u{at}", "als") for at in range(7)]
    give(project, "anna", dict(zip(cases, BEFORE, strict=True)))
    give(project, "ben", dict(zip(cases, AFTER, strict=False)))
    give(project, "ben", {cases[6]: 0.0}, aspect="other")
    return project


def asked(project: Project, first: str, second: str, **other: object) -> ComparedQuestions:
    a, b = (ensure_rater(project.db, project.id, name, "annotator") for name in (first, second))
    return ComparedQuestions(a, "pointwise", "overall", None, b, "pointwise", "overall", None)._replace(
        **other
    )  # type: ignore[arg-type]


def test_changed_cases_are_those_with_different_values_on_both_sides(project: Project) -> None:
    found = changed_cases(project.db, asked(project, "anna", "ben"))
    assert [(case.user_id, case.value_a, case.value_b) for case in found] == [
        ("u1", 2.0, 0.0), ("u2", 1.0, 2.0), ("u3", 0.0, 1.0),
    ]  # fmt: skip
    assert [case.labels for case in found] == [("Good", "Poor"), ("Partial", "Good"), ("Poor", "Partial")]
    assert list(changed_ids(project.db, asked(project, "anna", "ben"))) == [case.case_id for case in found]
    for case in found:
        for verdict, rater in ((case.verdict_a, "anna"), (case.verdict_b, "ben")):
            row = project.db.row(
                "SELECT r.name, v.case_id FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE v.id = ?",
                (verdict,),
            )
            assert row is not None
            assert tuple(row) == (rater, case.case_id)


def test_the_other_way_round_is_the_mirror_image(project: Project) -> None:
    there = changed_cases(project.db, asked(project, "anna", "ben"))
    back = changed_cases(project.db, asked(project, "ben", "anna"))
    assert [(c.case_id, c.value_b, c.value_a, c.verdict_b, c.verdict_a) for c in back] == [
        (c.case_id, c.value_a, c.value_b, c.verdict_a, c.verdict_b) for c in there
    ]


def test_a_cell_includes_its_bounds_and_unchanged_cases(project: Project) -> None:
    compared = asked(project, "anna", "ben")
    stayed = changed_cases(project.db, compared, Cell(2.0, 2.0, 2.0, 2.0))
    assert [case.user_id for case in stayed] == ["u0"]
    rose = changed_cases(project.db, compared, Cell(0.0, 1.0, 1.0, 2.0))
    assert [case.user_id for case in rose] == ["u2", "u3"]
    assert list(changed_ids(project.db, compared, Cell(0.0, 1.0, 1.0, 2.0))) == [c.case_id for c in rose]
    assert changed_cases(project.db, compared, Cell(5.0, 6.0, 0.0, 2.0)) == []


def test_windows_and_the_first_few(project: Project) -> None:
    compared = asked(project, "anna", "ben")
    ids = changed_ids(project.db, compared)
    assert [c.case_id for c in changed_cases(project.db, compared, among=ids[1:])] == list(ids[1:])
    assert changed_cases(project.db, compared, among=[]) == []
    assert [c.case_id for c in changed_cases(project.db, compared, limit=2)] == list(ids[:2])


def test_a_run_alone_and_what_it_was_asked_by(project: Project) -> None:
    old = [list_case(project, f"u{at}", "als") for at in range(3)]
    more = [list_case(project, f"v{at}", "als") for at in range(2)]
    first = judge_lists(project, "llm", dict.fromkeys(old, 0.0))
    second = judge_lists(project, "llm", dict.fromkeys(more, 0.0))
    give(project, "anna", dict.fromkeys(more, 2.0))
    llm = project.db.value("SELECT id FROM raters WHERE name = 'llm'")
    everything = asked(project, "anna", "ben", rater_b=llm)
    assert len(changed_ids(project.db, everything)) == 5
    assert [c.user_id for c in changed_cases(project.db, everything._replace(run_b=second))] == ["v0", "v1"]
    by_run = cases_by_run(project.db, project.id, "pointwise", "overall")
    assert [(run.id, list(run.cases)) for run in by_run] == [(first, old), (second, more)]
    assert cases_by_run(project.db, project.id, "pointwise", "accuracy") == []
    behind = run_configurations(project.db, llm, "pointwise")
    assert [run.run_id for run in behind] == [first, second]
    assert behind[0].prompt == "pointwise-media@1"
    assert (behind[0].judge["spec"], behind[0].settings["protocol"]) == ("rules", "pointwise")
    assert [run.run_id for run in run_configurations(project.db, llm, "pointwise", second)] == [second]
    assert run_configurations(project.db, llm, "pairwise") == []


def test_systems_and_values_without_labels(project: Project) -> None:
    pair = pair_case(project, "u", "als", "bpr")
    give(project, "anna", {pair: 0.25}, aspect="x", protocol_name="absolute")
    give(project, "ben", {pair: 0.5}, aspect="x", protocol_name="absolute")
    words = {"protocol_a": "absolute", "protocol_b": "absolute", "aspect_a": "x", "aspect_b": "x"}
    (found,) = changed_cases(project.db, asked(project, "anna", "ben", **words))
    assert (found.systems, found.labels) == ("als vs bpr", ("0.25", "0.5"))
    assert found._replace(label_a="", value_a=2 / 3).labels == ("0.667", "0.5")
    assert found._replace(system_b="").systems == "als"


def test_many_cases_are_read_from_their_indexes(project: Project) -> None:
    """The list in one query, each window of it at once: SQLite takes steps for the cases asked for, not for all by all."""
    db, many = project.db, 5_000
    with db.transaction():
        db.execute_many(
            "INSERT INTO cases (id, project_id, kind, user_id, system_a) VALUES (?, ?, 'list', ?, 'als')",
            ((1000 + at, project.id, f"m{at}") for at in range(many)),
        )
    values = {1000 + at: float(at % 3) for at in range(many)}
    give(project, "first", dict(values))
    give(project, "second", {case: float(case % 2) for case in values})
    compared = asked(project, "first", "second")
    found, whole = with_steps(db, lambda: changed_cases(db, compared))
    assert len(found) == sum(value != case % 2 for case, value in values.items())
    ids = changed_ids(db, compared)
    some, window = with_steps(db, lambda: changed_cases(db, compared, among=ids[2_000:2_128]))
    assert len(some) == 128
    # 61 and 92 a case; each would need thousands if it looked at all others
    assert whole < 200 * many
    assert window < 200 * 128


def with_steps(db: Database, work: Callable[[], Result]) -> tuple[Result, int]:
    """The result, and the number of instructions that SQLite needed for it, to the nearest hundred."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 100

    db.connection.set_progress_handler(step, 100)
    result = work()
    db.connection.set_progress_handler(None, 0)
    return result, count
