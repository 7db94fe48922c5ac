"""Projects: made, found, counted, and removed with everything in them and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import (
    create_project,
    delete_project,
    find_project,
    project_counts,
    project_id,
    project_overview,
)
from recjudge_tui.store.raters import delete_rater
from recjudge_tui.store.runs import delete_run
from recjudge_tui.store.schema import connect
from tests.support.runs import intact, load, make_project, planned, verdicts

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


def test_counts(project_db: Path) -> None:
    with connect(project_db) as db:
        project = make_project(db, users=3, strangers=1)
        work(project_db, planned(db))
        counts = dict(project_counts(db, project))
        assert (counts["slates"], counts["events"], counts["heldout"], counts["imports"]) == (8, 15, 4, 3)
        create_project(db, "empty")
        rows = [(row["name"], row["cases"], row["verdicts"], row["runs"], row["state"], row["running"])
                for row in project_overview(db)]  # fmt: skip
        assert rows == [("empty", 0, 0, 0, None, None), ("films", 6, 6, 1, "done", None)]


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
