"""Files of other people: our tables are exactly ours or the file is refused; what people add beside them may stay."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
import sqlite_utils

from recjudge_tui.errors import StoreError
from recjudge_tui.runs.engine import work
from recjudge_tui.store.schema import connect, inspect_file
from tests.support.fork_server import ForkedProcess
from tests.support.runs import RULES, make_project, planned, program, verdicts
from tests.support.servers.process import ROOT
from tests.support.waiting import HANG_S

DELETES_VERDICTS = "BEGIN DELETE FROM verdicts; END"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS project FROM n"


def altered(table: str, old: str, new: str) -> str:
    """SQL that makes a table anew with one thing changed."""
    quoted = f"replace(sql, '{old}', '{new}')"
    return f"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = {quoted} WHERE name = '{table}'"


UNIQUE = "UNIQUE (rater_id, case_id, aspect)"
# what is done to the file -> what the error names
HOSTILE = {
    altered("verdicts", UNIQUE, f"{UNIQUE} ON CONFLICT REPLACE"):
        f"table “verdicts” that is not recjudge's.*{re.escape(UNIQUE)} ON CONFLICT REPLACE",
    altered("calls", "CHECK ((state = ''failed'') = (error_kind IS NOT NULL))", "CHECK (1)"): "table “calls”",
    altered("projects", "NOT NULL UNIQUE", "NOT NULL COLLATE NOCASE UNIQUE"): "table “projects”",
    altered("answers_found", "new.reasoning", "upper(new.reasoning)"): "trigger “answers_found”",
    altered("reasoning_search_docsize", "sz BLOB", "sz BLOB CHECK (id < 9)"): "table “reasoning_search_docsize”",
    "ALTER TABLE verdicts ADD COLUMN mine TEXT": "table “verdicts”",
    "ALTER TABLE runs RENAME TO theirs": "view “v_flags”|index “runs_|table “runs”",
    "DROP TRIGGER answers_lost": "lacks recjudge's trigger “answers_lost”",
    "DROP INDEX batches_by_remote": "lacks recjudge's index “batches_by_remote”",
    "DROP VIEW v_calls": "lacks recjudge's view “v_calls”",
    "CREATE UNIQUE INDEX mine ON verdicts(case_id, rater_id, aspect)": "index “mine”.*changes “verdicts”",
    f"CREATE TRIGGER gone AFTER INSERT ON verdicts {DELETES_VERDICTS}": "trigger “gone”.*changes “verdicts”",
    f"CREATE TRIGGER gone AFTER UPDATE ON RUNS {DELETES_VERDICTS}": "trigger “gone”",
    f"CREATE TRIGGER gone BEFORE INSERT ON migrations {DELETES_VERDICTS}": "trigger “gone”",
    f"CREATE TRIGGER gone AFTER INSERT ON reasoning_search_data {DELETES_VERDICTS}": "trigger “gone”|shadow tables",
    f"CREATE TRIGGER gone INSTEAD OF DELETE ON v_runs {DELETES_VERDICTS}": "trigger “gone”",
    f"""CREATE TABLE mine (run INTEGER REFERENCES runs(id) ON DELETE CASCADE, id INTEGER PRIMARY KEY);
        CREATE TABLE more (mine INTEGER REFERENCES mine(id) ON DELETE CASCADE);
        CREATE TRIGGER gone AFTER DELETE ON more {DELETES_VERDICTS}""": "trigger “gone”",
    "DROP VIEW v_leaderboard; CREATE VIEW V_Leaderboard AS SELECT 1 AS wins": "view “V_Leaderboard”",
    f"DROP VIEW v_runs; CREATE VIEW v_runs AS {ENDLESS}": "view “v_runs”",
    "DROP VIEW v_calls; CREATE TABLE v_calls (project, reply)": "table “v_calls”",
    f"DROP TABLE saved_filters; CREATE VIEW saved_filters AS {ENDLESS}": "view “saved_filters”",
    f"""DROP TABLE reasoning_search; CREATE VIEW endless AS {ENDLESS};
        CREATE VIRTUAL TABLE reasoning_search USING fts5(reasoning, content = 'endless')""":
        "table “reasoning_search”",
    # a trigger that is filed as something else
    **{
        f"""CREATE TABLE harmless (a); CREATE TRIGGER gone AFTER INSERT ON verdicts {DELETES_VERDICTS};
            PRAGMA writable_schema = ON; UPDATE sqlite_master SET {lie} WHERE name = 'gone'""": "gone|answers_lost|malformed"
        for lie in ("type = 'index'", "tbl_name = 'harmless'", "name = 'answers_lost'")
    },
    "INSERT INTO migrations VALUES (2, '0002_batches', '', '')": "another version of recjudge",
    "DELETE FROM migrations": "contains tables that are not recjudge's",
}  # fmt: skip


@pytest.fixture
def judged(project_db: Path) -> Path:
    """A file with a run and its verdicts."""
    with connect(project_db) as db:
        make_project(db, users=2)
        work(project_db, planned(db, RULES))
    return project_db


def change(path: Path, sql: str) -> bytes:
    """Change the file as somebody else's tool would, and leave no log beside it; what the file then holds."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA journal_mode = DELETE; {sql};")
    return path.read_bytes()


@pytest.mark.parametrize("sql", HOSTILE)
def test_a_changed_schema_is_refused_by_name_and_the_file_stays(judged: Path, sql: str) -> None:
    before = change(judged, sql)
    for opened in (connect, inspect_file):
        with pytest.raises(StoreError, match=HOSTILE[sql]) as caught:
            opened(judged)
        assert caught.value.next_step
    assert judged.read_bytes() == before
    assert list(judged.parent.glob("*.db*")) == [judged]


def test_what_people_add_stays_and_works(judged: Path) -> None:
    with closing(sqlite3.connect(judged)) as connection:
        tables = sqlite_utils.Database(connection)
        notes = tables.table("my_notes")
        notes.insert(
            {"id": 1, "run_id": 1, "text": "the café run"}, pk="id", foreign_keys=[("run_id", "runs", "id")]
        )
        notes.create_index(["text"])
        notes.enable_fts(["text"], create_triggers=True)
        tables.create_view(
            "v_mine", "SELECT n.text, v.label FROM my_notes n JOIN v_verdicts v USING (run_id)"
        )
        connection.execute("ANALYZE")
        connection.commit()
    with connect(judged) as db:
        assert len(verdicts(db, 1)) == 4
        work(judged, again := planned(db, RULES, "pairwise"))
        assert len(verdicts(db, again)) == 2
        assert db.value("SELECT count(*) FROM v_mine") == 4
        db.execute("INSERT INTO my_notes VALUES (2, 1, 'searched')")
        assert db.value("SELECT count(*) FROM my_notes_fts WHERE my_notes_fts MATCH 'searched'") == 1


def test_spaces_and_comments_make_no_difference(judged: Path) -> None:
    change(judged, altered("projects", "CREATE TABLE projects (", "CREATE TABLE projects /* mine */  ("))
    with connect(judged) as db:
        assert len(verdicts(db, 1)) == 4


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE notes (text)",
        "CREATE TABLE migrations (id, applied)",
        "CREATE TABLE migrations (version, name, sha256); INSERT INTO migrations VALUES (1, '0001_users', '')",
        f"CREATE VIEW v_verdicts AS {ENDLESS}",
        f"CREATE VIEW migrations AS {ENDLESS}",
    ],
)
def test_somebody_elses_database_is_left_as_it_is(project_db: Path, schema: str) -> None:
    before = change(project_db, schema)
    with pytest.raises(StoreError, match="tables that are not recjudge's"):
        connect(project_db)
    assert project_db.read_bytes() == before
    assert list(project_db.parent.iterdir()) == [project_db]


def test_many_processes_may_make_the_file_at_the_same_moment(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from recjudge_tui.store.schema import connect\n"
        "print(flush=True); sys.stdin.readline()\n"
        "for n in range(12): connect(Path(sys.argv[1]) / f'{n}.db').close()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    processes = [ForkedProcess(program(), "-c", code, str(tmp_path), cwd=ROOT, **pipes) for _ in range(4)]
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
            assert db.value("SELECT count(*) FROM migrations") == 1
            assert (db.value("PRAGMA journal_mode"), db.value("PRAGMA foreign_keys")) == ("wal", 1)


def test_the_file_cannot_load_code_and_its_schema_is_not_trusted(judged: Path) -> None:
    with connect(judged) as db:
        with pytest.raises(StoreError, match="not authorized"):
            db.value("SELECT load_extension('libm.so.6')")
        assert db.value("PRAGMA trusted_schema") == (sqlite3.sqlite_version_info < (3, 44))


# ---- doctor --------------------------------------------------------------------------------


def test_inspecting_a_file_changes_nothing_and_finds_damage(project_db: Path) -> None:
    assert inspect_file(project_db) is None
    assert not project_db.exists()
    with connect(project_db) as db:
        db.execute_many(
            "INSERT INTO projects (name, created_at) VALUES (?, '')", [(f"{n:0200}",) for n in range(500)]
        )
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = db.value("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_projects_1'")
        size = db.value("PRAGMA page_size")
    content = bytearray(project_db.read_bytes())
    found = inspect_file(project_db)
    assert found is not None
    assert (found.journal, found.faults, found.size) == ("wal", (), project_db.stat().st_size)
    assert project_db.read_bytes() == content
    content[(page - 1) * size : page * size] = bytes(size)
    project_db.write_bytes(content)
    found = inspect_file(project_db)
    assert found is not None
    assert found.faults
