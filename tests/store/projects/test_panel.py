from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.projects import create_project, project_name, project_names, project_panel
from recjudge_tui.store.runs import active_runs
from recjudge_tui.store.schema import connect
from tests.support.app.projects import make_absolute, make_project, start_run


def test_panel_counts_judges_only(project_db: Path) -> None:
    project = make_project(project_db)
    with connect(project_db) as db:
        panel = project_panel(db, project)
    assert panel.judges == ("qwen2.5:14b",)
    assert panel.others == ("anna", "bert")
    assert (panel.protocol, panel.aspect, panel.prompt) == ("pairwise", "overall", "pairwise@3")
    assert [(s.label, s.verdicts, s.share) for s in panel.shares] == [
        ("A", 2, 0.4),
        ("Tie", 2, 0.4),
        ("B", 1, 0.2),
    ]
    assert (panel.failed_calls, panel.finished_calls, panel.flips) == (1, 12, 1)
    assert panel.disagreements == 0


def test_two_judges_disagree(project_db: Path) -> None:
    project = make_project(project_db)
    with connect(project_db) as db:
        db.execute("UPDATE raters SET kind = 'judge' WHERE name = 'anna'")
        assert project_panel(db, project).disagreements == 4


def test_an_empty_project_has_nothing(project_db: Path) -> None:
    with connect(project_db) as db:
        panel = project_panel(db, create_project(db, "empty"))
    assert panel.shares == ()
    assert panel.protocol == ""
    assert (panel.runs, panel.finished_calls) == (0, 0)


def test_active_runs_and_names(project_db: Path) -> None:
    project = make_project(project_db)
    with connect(project_db) as db:
        assert active_runs(db) == []
        run = start_run(project_db, project)
        assert [tuple(found) for found in active_runs(db)] == [(run, project, 4, 0)]
        assert project_names(db) == [(project, "movies")]
        assert project_name(db, project) == "movies"
        with pytest.raises(NotFoundError):
            project_name(db, 99)


def test_numbers_without_labels_have_no_shares_of_labels(project_db: Path) -> None:
    project = make_project(project_db)
    make_absolute(project_db, project)
    with connect(project_db) as db:
        panel = project_panel(db, project)
    assert (panel.protocol, panel.shares) == ("absolute", ())
