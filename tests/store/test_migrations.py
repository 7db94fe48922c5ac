"""Bringing a file up to date: once, whole or not at all, and never somebody else's file."""

from __future__ import annotations

import sqlite3
import subprocess
from pathlib import Path

import pytest

from recjudge_tui.errors import ConstraintError, StoreError
from recjudge_tui.settings import data_dir
from recjudge_tui.store.database import Database
from recjudge_tui.store.migrations import known_migrations, migrate
from recjudge_tui.store.opening import connect
from recjudge_tui.store.projects.projects import create_project, project_id
from tests.support.fork_server import ForkedProcess
from tests.support.runs import program
from tests.support.servers.process import ROOT
from tests.support.waiting import HANG_S

THEIRS = "CREATE TABLE migrations (version INTEGER, name TEXT, sha256 TEXT);"
NEXT = "9001"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The shipped migrations, to which a test adds one."""
    copied = tmp_path / "migrations"
    copied.mkdir()
    for path in data_dir("migrations").glob("*.sql"):
        (copied / path.name).write_bytes(path.read_bytes())
    return copied


def plain(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path)


def dump(path: Path) -> list[str]:
    connection = plain(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_a_new_file_records_what_was_applied(project_db: Path) -> None:
    with connect(project_db) as db:
        rows = db.rows("SELECT version, name, length(sha256) FROM migrations ORDER BY version")
        assert [tuple(r) for r in rows] == [(m.version, m.name, 64) for m in known_migrations()]
        assert db.value("PRAGMA journal_mode") == "wal"
        assert db.value("PRAGMA foreign_keys") == 1
        loose = "SELECT name FROM pragma_table_list WHERE type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'"
        assert [row[0] for row in db.rows(loose)] == []
    before = dump(project_db)
    connect(project_db).close()
    assert dump(project_db) == before
    assert [p.name for p in project_db.parent.iterdir()] == [project_db.name], "no copy for nothing"


def test_a_file_of_a_newer_version_is_left_as_it_is(project_db: Path) -> None:
    with connect(project_db) as db:
        create_project(db, "kept")
        db.execute("INSERT INTO migrations VALUES (9999, '9999_later', 'x', 'y')")
    before = project_db.read_bytes()
    with pytest.raises(StoreError, match=r"newer recjudge.*9999"):
        connect(project_db)
    assert project_db.read_bytes() == before
    assert list(project_db.parent.iterdir()) == [project_db]


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE notes (text)",
        "CREATE TABLE migrations (id, applied)",
        f"{THEIRS} INSERT INTO migrations VALUES (1, '0001_users', '')",
        f"{THEIRS} INSERT INTO migrations VALUES (20240101, 'users', '')",
    ],
)
def test_somebody_elses_database_is_left_as_it_is(project_db: Path, schema: str) -> None:
    foreign = plain(project_db)
    foreign.executescript(schema)
    foreign.close()
    before = project_db.read_bytes()
    with pytest.raises(StoreError, match="tables that are not recjudge's"):
        connect(project_db)
    assert project_db.read_bytes() == before
    assert list(project_db.parent.iterdir()) == [project_db]


def test_a_migration_that_fails_leaves_the_file_as_it_was(project_db: Path, folder: Path) -> None:
    with connect(project_db) as db:
        create_project(db, "kept")
    before = dump(project_db)
    (folder / f"{NEXT}_broken.sql").write_text(
        "CREATE TABLE half (a);\nALTER TABLE projects ADD COLUMN more TEXT;\nINSERT INTO nowhere VALUES (1);\n",
        encoding="utf-8",
    )
    with connect(project_db) as db:
        with pytest.raises(StoreError, match="nowhere"):
            migrate(db, folder)
        assert db.value("PRAGMA foreign_keys") == 1
    assert dump(project_db) == before


def test_before_a_file_is_changed_it_is_copied(project_db: Path, folder: Path) -> None:
    with connect(project_db) as db:
        create_project(db, "kept")
    before = dump(project_db)
    (folder / f"{NEXT}_more.sql").write_text(
        "-- a comment; with a semicolon\nCREATE TABLE more (a TEXT DEFAULT ';') STRICT;\n"
        "CREATE TRIGGER t AFTER INSERT ON more BEGIN SELECT 1; SELECT 2; END;\n",
        encoding="utf-8",
    )
    with connect(project_db) as db:
        migrate(db, folder)
        assert db.value("SELECT count(*) FROM more") == 0
        migrate(db, folder)
    copies = list(project_db.parent.glob(f"{project_db.name}.before-*.bak"))
    assert [dump(copy) for copy in copies] == [before]


def test_a_table_can_be_made_anew_without_losing_what_refers_to_it(project_db: Path, folder: Path) -> None:
    with connect(project_db) as db:
        project = create_project(db, "kept")
        db.execute(
            "INSERT INTO raters (project_id, name, kind, created_at) VALUES (?, 'anna', 'annotator', 'now')",
            (project,),
        )
    columns = (
        "id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, note TEXT NOT NULL, created_at TEXT NOT NULL"
    )
    again = (
        f"CREATE TABLE fresh ({columns}) STRICT;\nINSERT INTO fresh SELECT * FROM projects;\n"
        "DROP TABLE projects;\nPRAGMA legacy_alter_table = ON;\nALTER TABLE fresh RENAME TO projects;\n"
        "PRAGMA legacy_alter_table = OFF;\n"
    )
    views = "".join(f"DROP VIEW {view};\n" for view in views_of(project_db))
    (folder / f"{NEXT}_again.sql").write_text(views + again, encoding="utf-8")
    with connect(project_db) as db:
        migrate(db, folder)
        assert db.value("SELECT count(*) FROM raters") == 1
    (folder / "9998_lose.sql").write_text("DELETE FROM projects;\n", encoding="utf-8")
    with Database(_rows(project_db), project_db) as db:
        with pytest.raises(StoreError, match="cannot be brought up to date"):
            migrate(db, folder)
        assert project_id(db, "kept")


def test_a_slow_migration_is_announced_once_and_a_quick_one_not_at_all(
    project_db: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(project_db).close()
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) SELECT count(*) FROM n;"
    (folder / f"{NEXT}_slow.sql").write_text(
        f"CREATE TABLE slow (a INTEGER) STRICT;\nINSERT INTO slow {count}\n"
    )
    told: list[str] = []
    with connect(project_db) as db:
        monkeypatch.setattr("recjudge_tui.store.migrations.SLOW_AFTER_S", 3600.0)
        migrate(db, folder, told.append)
        assert told == []
        (folder / "9002_slow.sql").write_text(f"INSERT INTO slow {count}\n")
        monkeypatch.setattr("recjudge_tui.store.migrations.SLOW_AFTER_S", 0.0)
        migrate(db, folder, told.append)
        db.rows(count)
    assert told == [f"updating {project_db} for this version; a large file takes a while"]


def _rows(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def views_of(path: Path) -> list[str]:
    connection = plain(path)
    try:
        return [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    finally:
        connection.close()


def test_many_processes_may_make_the_file_at_the_same_moment(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from recjudge_tui.store.opening import connect\n"
        "import recjudge_tui.store.migrations\n"
        "print(flush=True); sys.stdin.readline()\n"
        "for n in range(12): connect(Path(sys.argv[1]) / f'{n}.db').close()"
    )
    processes = [
        ForkedProcess(
            program(),
            "-c",
            code,
            str(tmp_path),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout
        process.stdout.readline()
    for process in processes:
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in processes:
        _, err = process.communicate(timeout=HANG_S)
        assert (process.returncode, err) == (0, b"")
    for path in tmp_path.glob("*.db"):
        with connect(path) as db:
            assert db.value("SELECT count(*) FROM migrations") == len(known_migrations())


def test_an_older_file_gets_its_verdicts_by_project_and_its_reasoning_searchable(
    tmp_path: Path, folder: Path
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    for path in folder.glob("*.sql"):
        if path.name < "0007":
            (old / path.name).write_bytes(path.read_bytes())
    file = tmp_path / "old.db"
    connection = sqlite3.connect(file, isolation_level=None)
    connection.row_factory = sqlite3.Row
    with Database(connection, file) as db:
        migrate(db, old)
        connection.executescript(
            """INSERT INTO projects VALUES (1, 'one', '', ''), (2, 'two', '', '');
            INSERT INTO raters VALUES (1, 1, 'a', 'judge', '{}', ''), (2, 2, 'b', 'judge', '{}', '');
            INSERT INTO prompts VALUES (1, 'p', 1, 'pointwise', 'd', '{}', 'user', '');
            INSERT INTO runs (id, project_id, rater_id, prompt_id, protocol, judge, settings, state, created_at)
              VALUES (1, 2, 2, 1, 'pointwise', '{}', '{}', 'done', '');
            INSERT INTO cases (id, project_id, kind, user_id) VALUES (1, 1, 'list', 'u'), (2, 2, 'list', 'u');
            INSERT INTO calls (id, run_id, case_id, state) VALUES (7, 1, 2, 'done');
            INSERT INTO answers VALUES (7, 'overall', 2, 'Good Match', 'Fits the café evenings.', 0.5);
            INSERT INTO verdicts (rater_id, case_id, aspect, protocol, run_id, state, value, label, rule, created_at)
              VALUES (1, 1, 'overall', 'pointwise', NULL, 'ok', 2, 'Good Match', 'as given', ''),
                     (2, 2, 'overall', 'pointwise', 1, 'ok', 2, 'Good Match', 'as is', '')"""
        )
    with connect(file) as db:
        assert [tuple(r) for r in db.rows("SELECT id, project_id FROM verdicts")] == [(1, 1), (2, 2)]
        found = """SELECT a.call_id, a.reasoning FROM reasoning_search s JOIN answers a ON a.id = s.rowid
                   WHERE s.reasoning_search MATCH 'cafe'"""
        assert [tuple(r) for r in db.rows(found)] == [(7, "Fits the café evenings.")]
        said = "SELECT reasoning FROM v_verdicts WHERE run_id = 1"
        assert db.value(said) == "Fits the café evenings."
        with pytest.raises(ConstraintError):
            db.execute(
                """INSERT INTO verdicts (rater_id, case_id, aspect, protocol, state, value, rule, created_at)
                   VALUES (1, 1, 'other', 'pointwise', 'ok', 2, 'as given', '')"""
            )
        db.execute("DELETE FROM runs WHERE id = 1")
        assert db.rows(found) == []
