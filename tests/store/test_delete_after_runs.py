"""Deleting after every kind of run there is: the project goes whole, and the other project of the file stays whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from recjudge_tui.cli.app import recjudge
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id, save_filter, snapshot_references
from recjudge_tui.store.triage import record
from tests.support.annotators import judges
from tests.support.images import illustrated
from tests.support.runs import intact, load, make_project
from tests.support.servers.process import ServerProcess, start

ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction")
SYSTEMS = ("als", "pop")
WITHOUT_PROJECT = {"migrations", "prompts", "capabilities", "run_numbers", "sqlite_stat1"}

RULES_RUNS = """
run pointwise
run pointwise --again
run pairwise --name pairs
run arena
run absolute
run explanation --shots none --name none
run explanation --shots one --name one
run explanation --shots personal --name personal
run explanation --shots personal --aspects single --examples-from ben --name single
run saer
run pairwise --sample 4 --stratify activity --name stratified
run pointwise --until decided --name decided
run pairwise --until decided --name decided-pairs
robustness adversarial --sample 4 --top 4
robustness injected --sample 4 --top 4
robustness ablation --sample 4
robustness position --sample 4
""".strip().splitlines()
OTHERS = """
rater combine people --rule strict anna ben
rater combine jury --rule mean none one
rater metric bleu-1 ndcg
annotate plan --protocol pairwise --annotators ana,bob --sample 3
outcome add --systems als,pop --impressions 5000,5000 --clicks 30,26
""".strip().splitlines()


@pytest.fixture(scope="module")
def batch_server() -> Iterator[ServerProcess]:
    with start("batch_api", "--looks", 1) as server:
        yield server


@pytest.fixture(autouse=True)
def _named_by_the_environment(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECJUDGE_DB", str(db.path))


def recjudge_says(*words: str) -> str:
    result = CliRunner().invoke(recjudge, words, catch_exceptions=False)
    assert result.exit_code == 0, (words, result.output)
    return result.stdout


def make_films(db: Database, users: int = 6) -> int:
    """Lists and texts of two systems, scored by their users, and labels of two people on lists and on texts."""
    project = make_project(db, users)
    illustrated(db, db.path.parent / f"illustrated-{project}")
    names = [f"u{n:02d}" for n in range(users)]
    clicks = [("u00", "i7", "click", "later"), ("u00", "i7", "heldout_click", "later")]
    load(db, "events", [("user_id", "item_id", "type", "context"), *clicks])
    load(db, "users", [("user_id", "age"), *((user, 30 + n) for n, user in enumerate(names))])
    texts = [(user, item, system) for user in names for item in ("i0", "i1", "i2") for system in SYSTEMS]
    load(
        db,
        "explanations",
        [("user_id", "item_id", "system", "text"), *((*t, f"Try {' '.join(t)}") for t in texts)],
    )
    header = ("rater", "user_id", "item_id", "system", "aspect", "value", "protocol", "rater_kind")
    load(db, "labels", [header, *(
        (rater, *text, aspect, 1 + (n + len(aspect)) % 5, "explanation", kind)
        for rater, kind in (("user", "ground_truth"), ("ben", "annotator"))
        for n, text in enumerate(texts) for aspect in ASPECTS
    )])  # fmt: skip
    load(db, "labels", [("rater", "user_id", "system", "value", "protocol"), *(
        (rater, user, "als", label, "pointwise")
        for user in names for rater, label in (("anna", "Good"), ("ben", "Poor"))
    )])  # fmt: skip
    load(db, "labels", [
        ("rater", "user_id", "system_a", "system_b", "shown_first", "winner"),
        *(("gpt-4", user, *SYSTEMS, first, "als") for user in names for first in SYSTEMS),
    ])  # fmt: skip
    load(db, "labels", [
        ("rater", *header[1:6], "protocol", "scale"), ("cy", *texts[0], "useful", 7, "explanation", "0 to 10")
    ])  # fmt: skip
    return project


def live_in(db: Database, llm: ServerProcess, batches: ServerProcess) -> None:
    """Do in the project `films` everything that stores something."""
    project = project_id(db, "films")
    for line in RULES_RUNS:
        recjudge_says(*line.split(), "--judge", "rules", "-p", "films")
    recjudge_says(*"run arena --profile llm -p films --judge openai:hash-judge --base-url".split(), llm.url)
    planned = recjudge_says(
        *"run pairwise -p films --judge anthropic:hash-judge --no-cache --plan-only --base-url".split(), batches.url
    )  # fmt: skip
    run = planned.split()[1]
    for verb in ("submit", "status", "collect"):
        recjudge_says("batch", verb, run)
    for line in OTHERS:
        recjudge_says(*line.split(), "-p", "films")
    assert judges(db, "ana", count=2) + judges(db, "bob", count=2) > 2
    recjudge_says(*"annotate adjudicate --protocol pairwise --rule conservative --name both -p films".split())
    pair = db.value(
        "SELECT v.id FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE r.name = 'pairs' AND v.project_id = ?",
        (project,),
    )
    record(db, pair, "reader", "tag", text="odd")
    record(db, pair, "reader", "override", label="Tie", value=0.0)
    record(db, pair, "reader", "note", text="Look again.")
    save_filter(db, project, "odd ones", "tag:odd")


def views_of(db: Database, project: str) -> bytes:
    """Every row that any public view has of a project, and what its runs showed."""
    views = db.column("SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY 1")
    export: dict[str, Any] = {}
    for view in views:
        named = "project" in {row[1] for row in db.rows(f"PRAGMA table_info({view})")}
        where = "project = ?" if named else "project_id = (SELECT id FROM projects WHERE name = ?)"
        export[view] = list(db.tuples(f"SELECT * FROM {view} WHERE {where}", (project,)))
    for table, column in snapshot_references(db):
        export[column] = list(db.tuples(
            f"""SELECT t.run_id, t.case_id, s.digest, s.content FROM {table} t JOIN snapshots s ON s.id = t.{column}
                JOIN runs r ON r.id = t.run_id JOIN projects p ON p.id = r.project_id
                WHERE p.name = ? ORDER BY 1, 2""",
            (project,),
        ))  # fmt: skip
    assert all(export.values()), [name for name, rows in export.items() if not rows]
    return json.dumps(export).encode()


def row_counts(db: Database) -> dict[str, int]:
    """Rows by table, of the tables that belong to projects."""
    tables = db.column("SELECT name FROM sqlite_master WHERE type = 'table'")
    ours = [t for t in tables if t not in WITHOUT_PROJECT and not t.startswith("reasoning_search")]
    return {table: db.value(f"SELECT count(*) FROM {table}") for table in ours}


def unused_snapshots(db: Database) -> int:
    used = " UNION ".join(
        f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"
        for table, column in snapshot_references(db)
    )
    count: int = db.value(f"SELECT count(*) FROM snapshots WHERE id NOT IN ({used})")
    return count


def test_a_project_goes_whole_after_every_kind_of_run_and_the_other_stays(
    db: Database, openai_server: ServerProcess, batch_server: ServerProcess
) -> None:
    make_films(db)
    live_in(db, openai_server, batch_server)
    assert [table for table, count in row_counts(db).items() if not count] == [], (
        "something stores rows nowhere here"
    )
    assert len(snapshot_references(db)) == 5
    db.execute("UPDATE projects SET name = 'kept'")
    shared = db.value("SELECT count(*) FROM snapshots")
    make_films(db)
    live_in(db, openai_server, batch_server)
    assert db.value("SELECT count(*) FROM snapshots") < 2 * shared, "the projects share what they showed"
    before = views_of(db, "kept")
    recjudge_says("project", "delete", "films", "--yes")
    assert views_of(db, "kept") == before
    assert unused_snapshots(db) == 0
    assert intact(db)
    recjudge_says("project", "delete", "kept", "--yes")
    assert {table: count for table, count in row_counts(db).items() if count} == {}
    assert intact(db)
    db.execute("INSERT INTO reasoning_search(reasoning_search) VALUES ('integrity-check')")


def test_the_other_deletions_after_runs_with_examples(db: Database) -> None:
    make_films(db, users=3)
    for shots in ("one", "personal"):
        recjudge_says(*f"run explanation --shots {shots} --name {shots} --judge rules -p films".split())
    kept = list(db.tuples("SELECT * FROM v_calls WHERE run_id = 2 ORDER BY call_id"))
    recjudge_says("runs", "delete", "1", "--yes")
    assert db.value("SELECT count(*) FROM runs") == 1
    assert intact(db)
    for row in db.rows("SELECT id FROM imports"):
        recjudge_says("imports", "undo", str(row[0]))
    assert list(db.tuples("SELECT * FROM v_calls WHERE run_id = 2 ORDER BY call_id")) == kept
    assert intact(db)
    recjudge_says(*"rater delete personal -p films --yes".split())
    assert db.value("SELECT count(*) FROM run_cases") == 0
    assert intact(db)
    recjudge_says(*"project delete films --yes".split())
    assert db.value("SELECT count(*) FROM snapshots") == 0


def test_a_snapshot_that_a_readers_own_table_refers_to_stays(db: Database) -> None:
    """Also under names that need quotes."""
    make_films(db, users=3)
    recjudge_says(*"run pairwise --judge rules -p films".split())
    db.execute('CREATE TABLE "my ""notes""" ("of what" INTEGER REFERENCES Snapshots(id), note TEXT)')
    pinned = db.value("SELECT slate_a_snapshot FROM run_cases")
    db.execute('INSERT INTO "my ""notes""" VALUES (?, ?), (NULL, ?)', (pinned, "good", "no list"))
    assert len(snapshot_references(db)) == 6
    recjudge_says(*"project delete films --yes".split())
    assert db.column("SELECT id FROM snapshots") == [pinned]
    assert intact(db)
