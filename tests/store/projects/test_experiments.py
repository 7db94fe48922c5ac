"""Live experiments in the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import ConstraintError, NotFoundError, UsageError
from recjudge_tui.store.data import known_systems
from recjudge_tui.store.projects import (
    Outcome,
    add_outcome,
    delete_outcome,
    delete_project,
    list_outcomes,
)
from tests.support.verdicts import Project, list_case, new_project, pair_case

JUNE = Outcome("june", "new", "old", 200, 100, 30, 10)


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def test_kept_in_the_order_they_came_and_removed(project: Project) -> None:
    july = JUNE._replace(name="july", system_a="old", system_b="new")
    add_outcome(project.db, project.id, JUNE)
    add_outcome(project.db, project.id, july)
    assert list_outcomes(project.db, project.id) == [JUNE, july]
    delete_outcome(project.db, project.id, "june")
    assert list_outcomes(project.db, project.id) == [july]
    with pytest.raises(NotFoundError, match="june"):
        delete_outcome(project.db, project.id, "june")


def test_a_name_is_unique_in_a_project(project: Project) -> None:
    add_outcome(project.db, project.id, JUNE)
    with pytest.raises(UsageError, match="exists already"):
        add_outcome(project.db, project.id, JUNE)
    assert list_outcomes(project.db, project.id) == [JUNE]


def test_the_view(project: Project) -> None:
    add_outcome(project.db, project.id, JUNE)
    add_outcome(project.db, project.id, JUNE._replace(name="none", clicks_b=0))
    first, second = project.db.rows("SELECT * FROM v_outcomes ORDER BY experiment")
    assert (first["project"], first["rate_a"], first["rate_b"]) == ("films", 0.15, 0.1)
    assert first["lift"] == pytest.approx(0.5)
    assert second["lift"] is None


@pytest.mark.parametrize(
    "wrong", [{"clicks_a": 201}, {"impressions_b": 0}, {"clicks_b": -1}, {"system_b": "new"}, {"name": ""}]
)
def test_the_table_refuses_what_cannot_be(project: Project, wrong: dict[str, str | int]) -> None:
    with pytest.raises(ConstraintError):
        add_outcome(project.db, project.id, Outcome(**{**JUNE._asdict(), **wrong}))


def test_they_go_with_the_project(project: Project) -> None:
    add_outcome(project.db, project.id, JUNE)
    delete_project(project.db, "films")
    assert project.db.value("SELECT count(*) FROM outcomes") == 0


def test_known_systems(project: Project) -> None:
    list_case(project, "u1", "solo")
    pair_case(project, "u1", "a", "b")
    assert known_systems(project.db, project.id) == {"solo", "a", "b"}
