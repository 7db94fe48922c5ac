from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.projects import (
    create_project,
    delete_filter,
    delete_project,
    save_filter,
    saved_filters,
)
from recjudge_tui.store.schema import connect


def test_a_filter_is_saved_replaced_and_deleted(project_db: Path) -> None:
    with connect(project_db) as db:
        first, second = create_project(db, "movies"), create_project(db, "books")
        assert not save_filter(db, first, " doubtful ", "WHY:swap   conf<.6")
        assert not save_filter(db, second, "doubtful", "why:flag")
        assert save_filter(db, first, "doubtful", 'why:swap "two words"')
        assert not save_filter(db, first, "All of it", "judge:qwen")
        assert [(s.name, s.filter) for s in saved_filters(db, first)] == [
            ("All of it", "judge:qwen"),
            ("doubtful", 'why:swap "two words"'),
        ]
        delete_filter(db, first, "doubtful")
        assert [s.name for s in saved_filters(db, first)] == ["All of it"]
        assert [s.filter for s in saved_filters(db, second)] == ["why:flag"]
        with pytest.raises(NotFoundError, match="All of it"):
            delete_filter(db, first, "doubtful")


@pytest.mark.parametrize(
    ("name", "text"),
    [("x", ""), ("x", "  "), ("x", "nokey:1"), ("", "why:swap"), ("a\nb", "why:swap"), ("n" * 61, "why:swap"),
     ("\x1b[31mred", "why:swap")],
)  # fmt: skip
def test_a_verdict_that_cannot_be_kept_is_refused(project_db: Path, name: str, text: str) -> None:
    with connect(project_db) as db:
        project = create_project(db, "movies")
        with pytest.raises(UsageError):
            save_filter(db, project, name, text)
        assert saved_filters(db, project) == []


def test_filters_go_with_their_project(project_db: Path) -> None:
    with connect(project_db) as db:
        project = create_project(db, "movies")
        save_filter(db, project, "doubtful", "why:swap")
        delete_project(db, "movies")
        assert db.value("SELECT count(*) FROM saved_filters") == 0
