"""How annotation stands, and how far people agree on what they share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.reports.annotation import annotation_table
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import skip_task
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from tests.support.annotators import PROJECT, assigned, films, judges, tasks
from tests.support.verdicts import Project, agreement


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with connect(tmp_path / "a.db") as database:
        films(database, 8)
        yield database


def test_a_row_each_and_nothing_undefined_is_a_number(db: Database) -> None:
    assigned(db)
    judges(db, "ana", count=3)
    skip_task(db, tasks(db, "ben")[0], "no", 4)
    rows = annotation_table(db, project_id(db, PROJECT)).rows
    assert [(r["annotator"], r["open"], r["done"], r["skipped"], r["median_seconds"]) for r in rows] == [
        ("ana", 5, 3, 0, 10.0), ("ben", 7, 0, 1, None),
    ]  # fmt: skip
    assert [(r["agreement"], r["n"], r["note"]) for r in rows] == [
        (None, 0, "no case that another annotator has also finished")
    ] * 2


def test_it_is_the_figure_of_the_agreement_report(db: Database) -> None:
    assigned(db, "pointwise")
    judges(db, "ana", "pointwise", choose=lambda options: options[len(options) - 1])
    turn = iter(range(1000))
    judges(db, "ben", "pointwise", choose=lambda options: options[next(turn) % 3])
    judges(db, "ana", "pointwise")
    turn = iter(range(1000))
    project = project_id(db, PROJECT)
    options = {"protocol": "pointwise", "raters": ("ana", "ben"), "stat": ("qwk",)}
    reported = agreement(Project(db, project), **options).rows[0]
    row = annotation_table(db, project).rows[0]
    assert row["n"] == reported["n"] == 16
    for name, same in (("agreement", "value"), ("ci_low", "ci_low"), ("ci_high", "ci_high")):
        assert row[name] == reported[same]
