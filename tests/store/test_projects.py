"""Projects: their deletion, saved filters, experiments."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import ConstraintError, NotFoundError, UsageError
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import (
    Outcome,
    add_outcome,
    create_project,
    delete_filter,
    delete_project,
    find_project,
    list_outcomes,
    project_id,
    save_filter,
    saved_filters,
)
from recjudge_tui.store.raters import delete_rater
from recjudge_tui.store.runs import delete_run
from recjudge_tui.store.schema import connect
from tests.support.runs import intact, load, make_project, planned, verdicts
from tests.support.verdicts import Project, new_project

# ---- test projects -----------------------------------------------------------------------------------------------


KEPT = ("projects", "migrations", "prompts", "run_numbers", "sqlite_stat1")


def test_a_name_is_used_once_and_an_unknown_one_names_the_known(project_db: Path) -> None:
    with connect(project_db) as db:
        with pytest.raises(NotFoundError, match=r"no project “a”.*recjudge import"):
            project_id(db, "a")
        assert create_project(db, "  films ") == project_id(db, "films")
        for name, says in (("films", "already"), ("  ", "needs a name")):
            with pytest.raises(UsageError, match=says):
                create_project(db, name)
        with pytest.raises(NotFoundError, match="Available: films"):
            project_id(db, "a")


def test_deleting_a_project_leaves_nothing_of_it_and_all_of_the_others(project_db: Path) -> None:
    with connect(project_db) as db:
        make_project(db, users=3)
        other = planned(db, protocol="pairwise")
        work(project_db, other)
        before = verdicts(db, other)
        db.execute("UPDATE projects SET name = 'kept'")
        make_project(db, users=3)
        run = planned(db, protocol="pairwise")
        work(project_db, run)
        labels = [
            ("rater", "user_id", "system", "value", "protocol"),
            ("anna", "u00", "als", "Good", "pointwise"),
        ]
        load(db, "labels", labels)
        shared = db.value("SELECT count(*) FROM snapshots")
        delete_project(db, "films")
        assert (find_project(db, "films"), verdicts(db, run), verdicts(db, other)) == (None, [], before)
        assert db.value("SELECT count(*) FROM snapshots") == shared, "both projects had shown the same"
        assert intact(db)
        delete_project(db, "kept")
        tables = [r[0] for r in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        ours = [t for t in tables if t not in KEPT and not t.startswith("reasoning_search_")]
        left = {t: db.value(f"SELECT count(*) FROM {t}") for t in ours}
        assert {t: n for t, n in left.items() if n} == {}
        db.execute("INSERT INTO reasoning_search(reasoning_search) VALUES ('integrity-check')")


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


# ---- test experiments --------------------------------------------------------------------------------------------


JUNE = Outcome("june", "new", "old", 200, 100, 30, 10)


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


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
