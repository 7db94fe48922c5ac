"""Files of other people: their triggers and views never act on us, what people add beside our tables may stay."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlite_utils

from recjudge_tui.errors import StoreError
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.inspection import inspect_file
from recjudge_tui.store.migrations import known_migrations, migrate
from recjudge_tui.store.opening import connect
from tests.support.runs import RULES, make_project, planned, ran, verdicts

DELETES_VERDICTS = "BEGIN DELETE FROM verdicts; END"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS project FROM n"
# what the file holds beside ours -> what the error names
HOSTILE = {
    f"CREATE TRIGGER gone AFTER INSERT ON verdicts {DELETES_VERDICTS}": "trigger “gone”",
    f"CREATE TRIGGER gone AFTER UPDATE ON RUNS {DELETES_VERDICTS}": "trigger “gone”",
    f"CREATE TRIGGER gone BEFORE INSERT ON migrations {DELETES_VERDICTS}": "trigger “gone”",
    f"CREATE TRIGGER gone AFTER INSERT ON reasoning_search_data {DELETES_VERDICTS}": "trigger “gone”",
    f"CREATE TRIGGER gone INSTEAD OF DELETE ON v_runs {DELETES_VERDICTS}": "trigger “gone”",
    f"DROP TRIGGER answers_found; CREATE TRIGGER answers_found AFTER INSERT ON answers {DELETES_VERDICTS}":
        "trigger “answers_found”",
    f"""CREATE TABLE mine (run INTEGER REFERENCES runs(id) ON DELETE CASCADE, id INTEGER PRIMARY KEY);
        CREATE TABLE more (mine INTEGER REFERENCES mine(id) ON DELETE CASCADE);
        CREATE TRIGGER gone AFTER DELETE ON more {DELETES_VERDICTS}""": "trigger “gone”",
    "DROP VIEW v_verdicts; CREATE VIEW v_verdicts AS SELECT 'films' AS project, 'Good' AS label":
        "view “v_verdicts”",
    "DROP VIEW v_leaderboard; CREATE VIEW V_Leaderboard AS SELECT 1 AS wins": "view “V_Leaderboard”",
    f"DROP VIEW v_runs; CREATE VIEW v_runs AS {ENDLESS}": "view “v_runs”",
    "DROP VIEW v_calls; CREATE TABLE v_calls (project, reply)": "table “v_calls”",
    f"DROP TABLE saved_filters; CREATE VIEW saved_filters AS {ENDLESS}": "view “saved_filters”",
    f"""DROP TABLE reasoning_search; CREATE VIEW endless AS {ENDLESS};
        CREATE VIRTUAL TABLE reasoning_search USING fts5(reasoning, content = 'endless')""":
        "virtual table “reasoning_search”",
}  # fmt: skip
# written behind SQLite's back: a trigger that says of itself that it is something else
LIES = ("type = 'index'", "tbl_name = 'harmless'", "name = 'answers_lost'")


@pytest.fixture
def judged(project_db: Path) -> Path:
    """A file with a run and its verdicts."""
    with connect(project_db) as db:
        make_project(db, users=2)
        work(project_db, planned(db, RULES))
    return project_db


def change(path: Path, sql: str) -> bytes:
    """Change the file as somebody else's tool would, and leave no WAL beside it; what the file then holds."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA journal_mode = DELETE; {sql};")
    return path.read_bytes()


@pytest.mark.parametrize("sql", HOSTILE)
def test_foreign_triggers_and_views_are_refused_by_name(judged: Path, sql: str) -> None:
    before = change(judged, sql)
    with pytest.raises(StoreError, match=f"{HOSTILE[sql]} that is not recjudge's") as caught:
        connect(judged)
    assert caught.value.next_step
    with pytest.raises(StoreError, match="is not recjudge's"):
        inspect_file(judged)
    assert judged.read_bytes() == before
    assert list(judged.parent.glob("*.db*")) == [judged]


@pytest.mark.parametrize("lie", LIES)
def test_a_trigger_that_is_filed_as_something_else_never_runs(judged: Path, lie: str) -> None:
    trigger = f"CREATE TRIGGER gone AFTER INSERT ON verdicts {DELETES_VERDICTS}"
    filed = f"PRAGMA writable_schema = ON; UPDATE sqlite_master SET {lie} WHERE name = 'gone'"
    before = change(judged, f"CREATE TABLE harmless (a); {trigger}; {filed}")
    with pytest.raises(StoreError):
        connect(judged)
    assert judged.read_bytes() == before


@pytest.mark.parametrize("words", [("runs", "list"), ("project", "delete", "films", "--yes"), ("doctor",)])
def test_the_command_line_reports_it_once_and_leaves_the_file_alone(
    judged: Path, words: tuple[str, ...]
) -> None:
    before = change(judged, f"CREATE TRIGGER gone AFTER INSERT ON verdicts {DELETES_VERDICTS}")
    code, out, err = ran(*words, "--db", judged)
    assert (code, judged.read_bytes()) == (1, before)
    assert (out + err).count("“gone”") == 1, err
    if words != ("doctor",):
        assert out == ""
        assert [line.strip() for line in err.splitlines()] == [
            f"error: {judged} holds a trigger “gone” that is not recjudge's",
            "It would act whenever recjudge changes “verdicts”.",
            "If it is yours, drop it with an SQLite tool; else choose another file with --db. This one is unchanged.",
        ]


def test_tables_that_people_add_stay_and_work(judged: Path) -> None:
    with closing(sqlite3.connect(judged)) as connection:
        tables = sqlite_utils.Database(connection)
        notes = tables["my_notes"]
        notes.insert(
            {"id": 1, "run_id": 1, "text": "the café run"}, pk="id", foreign_keys=[("run_id", "runs", "id")]
        )
        notes.enable_fts(["text"], create_triggers=True)
        tables.create_view(
            "v_mine", "SELECT n.text, v.label FROM my_notes n JOIN v_verdicts v USING (run_id)"
        )
        tables["verdicts"].create_index(["note"])
        connection.commit()
    with connect(judged) as db:
        assert len(verdicts(db, 1)) == 4
        again = planned(db, RULES, "pairwise")
        work(judged, again)
        assert len(verdicts(db, again)) == 2
        assert db.value("SELECT count(*) FROM v_mine") == 4
        db.execute("INSERT INTO my_notes VALUES (2, 1, 'searched')")
        assert db.value("SELECT count(*) FROM my_notes_fts WHERE my_notes_fts MATCH 'searched'") == 1


def at_version(path: Path, version: int, folder: Path) -> None:
    """A file as an older recjudge left it, with one verdict's worth of rows to migrate."""
    folder.mkdir()
    for migration in known_migrations()[:version]:
        (folder / f"{migration.name}.sql").write_text(migration.sql, encoding="utf-8")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        migrate(Database(connection, path), folder)
        connection.execute("INSERT INTO projects VALUES (1, 'one', '', '')")
        connection.execute("INSERT INTO raters VALUES (1, 1, 'ann', 'annotator', '{}', '')")
        connection.execute("INSERT INTO cases (id, project_id, kind, user_id) VALUES (1, 1, 'list', 'u')")
        column, value = (", project_id", ", 1") if version >= 7 else ("", "")
        connection.execute(
            f"""INSERT INTO verdicts (rater_id, case_id, aspect, protocol, state, value, rule, created_at{column})
                VALUES (1, 1, 'overall', 'pointwise', 'ok', 2, 'as given', ''{value})"""
        )


@pytest.mark.parametrize("version", range(1, len(known_migrations())))
def test_an_older_file_opens_and_one_whose_trigger_would_fire_on_the_way_does_not(
    tmp_path: Path, version: int
) -> None:
    clean, planted = tmp_path / "clean.db", tmp_path / "planted.db"
    at_version(clean, version, tmp_path / "clean")
    shutil.copy(clean, planted)
    before = change(planted, f"CREATE TRIGGER gone AFTER UPDATE ON verdicts {DELETES_VERDICTS}")
    with pytest.raises(StoreError, match="trigger “gone”"):
        connect(planted)
    assert planted.read_bytes() == before
    assert not list(tmp_path.glob("planted.db*.bak"))
    with connect(clean) as db:
        assert db.value("SELECT count(*) FROM v_verdicts") == 1


def test_a_file_of_views_alone_is_somebody_elses(project_db: Path) -> None:
    before = change(project_db, f"CREATE VIEW v_verdicts AS {ENDLESS}")
    with pytest.raises(StoreError, match="not recjudge's"):
        connect(project_db)
    assert project_db.read_bytes() == before


def test_the_file_cannot_load_code_and_its_schema_is_not_trusted(judged: Path) -> None:
    with connect(judged) as db:
        with pytest.raises(StoreError, match="not authorized"):
            db.value("SELECT load_extension('libm.so.6')")
        trusted = sqlite3.sqlite_version_info < (3, 44)
        assert db.value("PRAGMA trusted_schema") == trusted
