"""Projects: their deletion, saved filters, experiments."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import (
    create_project,
    delete_filter,
    delete_project,
    project_id,
    save_filter,
    saved_filters,
)
from recjudge_tui.store.raters import delete_rater
from recjudge_tui.store.runs import delete_run
from recjudge_tui.store.schema import connect
from tests.support.runs import make_project, planned

# ---- test projects -----------------------------------------------------------------------------------------------


def test_a_name_is_used_once_and_an_unknown_one_names_the_known(project_db: Path) -> None:
    with connect(project_db) as db:
        with pytest.raises(NotFoundError, match=r"no project “a”.*an import creates one"):
            project_id(db, "a")
        assert create_project(db, "  films ") == project_id(db, "films")
        for name, says in (("films", "already"), ("  ", "needs a name")):
            with pytest.raises(UsageError, match=says):
                create_project(db, name)
        with pytest.raises(NotFoundError, match="Available: films"):
            project_id(db, "a")


def test_no_text_of_a_deleted_project_stays_in_the_file(db: Database) -> None:
    make_project(db)
    work(db.path, planned(db))
    db.execute("UPDATE answers SET reasoning = 'xylophones and ' || reasoning")
    texts = (b"film number", b"films like", b"xylophones")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert all(text in db.path.read_bytes().lower() for text in texts)
    delete_project(db, "films")
    assert not any(text in held_by(db) for text in texts)


def held_by(db: Database) -> bytes:
    """All that is in the file and in those beside it."""
    return b"".join(file.read_bytes().lower() for file in db.path.parent.glob(f"{db.path.name}*"))


@pytest.mark.parametrize("gone", ["run", "rater"])
def test_no_reply_of_a_deleted_run_or_rater_stays_in_the_file(db: Database, gone: str) -> None:
    project = make_project(db)
    kept, run = planned(db, rater="kept"), planned(db, rater="gone")
    for each in (kept, run):
        work(db.path, each)
    db.execute(
        """UPDATE answers SET reasoning = iif(call_id IN (SELECT id FROM calls WHERE run_id = ?), 'xylophones',
           'bassoons') || ' and ' || reasoning""",
        (run,),
    )
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"xylophones" in held_by(db)
    delete_run(db, run) if gone == "run" else delete_rater(db, project, "gone")
    assert b"xylophones" not in held_by(db)
    assert b"bassoons" in held_by(db)
    assert db.value("SELECT count(*) FROM reasoning_search WHERE reasoning_search MATCH 'bassoons'") == 8


# ---- test saved filters ------------------------------------------------------------------------------------------


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
