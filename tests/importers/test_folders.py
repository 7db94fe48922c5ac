"""Whole folders, and files without a word about what they hold: one command, one transaction."""

from __future__ import annotations

import gzip
import signal
from pathlib import Path

import pytest

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import
from recjudge_tui.store.schema import connect
from tests.support import samples
from tests.support.fork_server import ForkedProcess
from tests.support.runs import program
from tests.support.waiting import HANG_S


@pytest.fixture
def ml100k(tmp_path: Path) -> Path:
    """As the archive unpacks: the splits say the same again, and must not be counted twice."""
    folder = tmp_path / "ml-100k"
    folder.mkdir()
    for name, content in {
        "u.data": samples.U_DATA.encode(),
        "u.item": samples.U_ITEM,
        "u.user": samples.U_USER.encode(),
        "u.genre": b"unknown|0\nAction|1\n",
        "u.info": b"2 users\n3 items\n3 ratings\n",
        "u.occupation": b"librarian\nstudent\n",
        "u1.base": samples.U_DATA.encode(),
        "u1.test": samples.U_DATA.encode(),
        "README": b"Words about the data.\n",
        "mku.sh": b"#!/bin/sh\n",
        "empty": b"",
        "cover.png": b"\x89PNG\r\n",
        ".hidden": b"userId,movieId,rating,timestamp\n",
    }.items():
        (folder / name).write_bytes(content)
    return folder


def test_a_folder_as_all_that_it_holds(db: Database, ml100k: Path) -> None:
    summaries = import_paths(db, "p", [ml100k], None)
    assert [(s.kind, s.stored, [Path(f.path).name for f in s.files]) for s in summaries] == [
        ("items", 3, ["u.item"]),
        ("users", 2, ["u.user"]),
        ("events", 3, ["u.data"]),
    ]
    assert sum(s.warning_count for s in summaries) == 0
    for summary in summaries:
        import_id = summary.files[0].import_id
        assert import_id is not None
        undo_import(db, import_id)
    assert [db.value(f"SELECT count(*) FROM {table}") for table in ("items", "users", "events")] == [0, 0, 0]


def test_a_folder_as_one_kind(db: Database, ml100k: Path) -> None:
    [summary] = import_paths(db, "p", [ml100k], "users")
    assert (summary.kind, summary.stored) == ("users", 2)
    with pytest.raises(InputError, match=r"no file in .*ml-100k is recognised as lists"):
        import_paths(db, "p", [ml100k], "lists")


def test_files_of_a_folder_that_are_not_imported_are_reported(db: Database, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "items.csv").write_text(samples.ITEMS)
    (folder / "empty.csv").write_text("user_id,age\n")
    (folder / "pairs.csv").write_text("user,item\nu,7\n")
    (folder / "weights.tsv").write_text("7\t0.25\t-0.5\n8\t0.75\t0.1\n")
    (folder / "README").write_text("Words.\n")
    (folder / "u1.base").write_text(samples.U_DATA)
    [summary] = import_paths(db, "my films", [folder], None)
    start = f"  recjudge import {folder / 'pairs.csv'} -p 'my films' --as"
    assert summary.aside == (
        f"{folder / 'empty.csv'} was not imported, because it has a header and no rows",
        (
            f"{folder / 'pairs.csv'} was not imported, because it may contain one of several kinds of data. Say which:\n"
            f"{start} lists --system NAME   lists, ranked in the order of the rows\n"
            f"{start} events --type TYPE    events of a type that you name"
        ),
        f"not imported from {folder}, because nothing in them is recognised: README, weights.tsv",
        f"not imported from {folder} unless they are named: u1.base",
    )


def test_the_kind_decides_what_a_folder_leaves_open(db: Database, tmp_path: Path) -> None:
    folder = tmp_path / "recs"
    folder.mkdir()
    (folder / "als.csv").write_text("user,item\nu,7\nu,8\n")
    (folder / "knn.csv").write_text("user,item,score\nu,7,2\nu,8,1\n")
    with pytest.raises(InputError, match=r"no file in .* is recognised as anything .*als.csv.*Say which"):
        import_paths(db, "p", [folder], None)
    [summary] = import_paths(db, "p", [folder], "lists")
    assert (summary.stored, summary.aside) == (4, ())
    assert db.column("SELECT system FROM slates ORDER BY id") == ["als", "knn"]


def test_no_file_of_a_folder_displaces_another(db: Database, tmp_path: Path) -> None:
    """Ratings are no users, and lists without a system are named after their files."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a_ratings.csv").write_text("user_id,movie_id,rating\nu,7,4\nu,8,5\n")
    (folder / "users.csv").write_text("user_id,age\nu,33\n")
    for system in ("als", "knn", "zero"):
        (folder / f"{system}.csv").write_text("user_id,movie_id,prediction\nu,7,0.5\nu,8,0.75\n")
    found = {summary.kind: summary for summary in import_paths(db, "p", [folder], None)}
    assert {kind: s.stored for kind, s in found.items()} == {"users": 1, "events": 2, "lists": 6}
    assert db.value("SELECT attributes FROM v_current_users") == '{"age": "33"}'
    assert db.column("SELECT system FROM v_current_slates ORDER BY system") == [
        "als",
        "knn",
        "zero",
    ]
    assert "no column for the system: it gets the file's name, “knn”" in found["lists"].files[1].remarks
    again = {s.kind: [f.earlier is not None for f in s.files] for s in import_paths(db, "p", [folder], None)}
    assert again == {"users": [True], "events": [True], "lists": [True, True, True]}


def test_files_and_their_kinds(db: Database, ml100k: Path) -> None:
    summaries = import_paths(db, "p", [ml100k / "u1.test", ml100k / "u.item"], None)
    assert [s.kind for s in summaries] == ["items", "events"]
    assert db.value("SELECT DISTINCT type FROM events") == "heldout_rating"


def test_folders_that_hold_nothing(db: Database, tmp_path: Path, ml100k: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"no file in .* is recognised as anything Nothing was imported. Name one of the folders in it",
    ):
        import_paths(db, "p", [tmp_path], None)
    with pytest.raises(InputError, match="cannot be read No such file"):
        import_paths(db, "p", [tmp_path / "none"], None)
    with pytest.raises(UsageError, match=r"--system does not apply to items"):
        import_paths(db, "p", [ml100k / "u.item"], None, system="x")
    with pytest.raises(UsageError, match=r"no layout “movielens” Known: .*movielens-1m"):
        import_paths(db, "p", [ml100k], None, layout="movielens")
    with pytest.raises(UsageError, match="--mapping needs files and --as"):
        import_paths(db, "p", [ml100k], "items", mapping=tmp_path / "m.toml")


def test_an_error_in_one_kind_undoes_the_others(db: Database, tmp_path: Path) -> None:
    folder = tmp_path / "MIND_dev"
    folder.mkdir()
    for name, content in {
        "news.tsv": samples.NEWS,
        "behaviors.tsv": samples.BEHAVIORS,
        "prediction_x.txt": samples.PREDICTION.replace("[1,2]", "[2,2]"),
    }.items():
        (folder / name).write_text(content)
    with pytest.raises(InputError, match=r"prediction_x.txt:2: rank 2 occurs twice"):
        import_paths(db, "p", [folder], None)
    assert [db.value(f"SELECT count(*) FROM {t}") for t in ("projects", "imports", "items", "events")] == [
        0
    ] * 4


KILLED = """
import os, signal, sys
from pathlib import Path
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.store.schema import connect

def progress(rows, share):
    if rows >= 10_000:
        os.kill(os.getpid(), signal.SIGKILL)

import_paths(connect(Path(sys.argv[1])), "p", [Path(sys.argv[2])], None, progress=progress)
"""


def test_kill_in_the_middle_of_a_folder(tmp_path: Path) -> None:
    folder, database = tmp_path / "ml-1m", tmp_path / "a.db"
    folder.mkdir()
    (folder / "movies.dat").write_bytes(samples.MOVIES_DAT)
    (folder / "users.dat").write_text(samples.USERS_DAT)
    (folder / "ratings.dat").write_text(samples.RATINGS_DAT * 10_000)
    process = ForkedProcess(program(), "-c", KILLED, str(database), str(folder))
    assert process.wait(HANG_S) == -signal.SIGKILL
    with connect(database) as db:
        assert [db.value(f"SELECT count(*) FROM {t}") for t in ("projects", "items", "users", "events")] == [
            0
        ] * 4
        assert db.value("PRAGMA integrity_check") == "ok"
        assert sum(s.stored for s in import_paths(db, "p", [folder], None)) == 30_006


def test_one_table_in_several_formats_counts_once(db: Database, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "ratings.csv").write_text("user_id,movie_id,rating\nu,7,4\nu,8,5\n")
    (folder / "Ratings.jsonl").write_text(
        '{"user_id": "u", "movie_id": "7", "rating": 4}\n{"user_id": "u", "movie_id": "8", "rating": 5}\n'
    )
    with gzip.open(folder / "ratings.tsv.gz", "wt") as file:
        file.write("user_id\tmovie_id\trating\nu\t7\t4\nu\t8\t5\n")
    (folder / "ratings.old.csv").write_text("user_id,movie_id,rating\nv,7,4\n")
    for paths in ([folder], sorted(folder.iterdir())):
        (summary,) = import_paths(db, f"p{len(paths)}", paths, None)
        assert (summary.stored, len(summary.files), len(summary.aside)) == (3, 2, 2)
        assert "beside it has the same name and would count twice" in summary.aside[0]


@pytest.mark.parametrize(
    ("kind", "a", "b", "current"),
    [
        (
            "items",
            "item_id,title\n1,a\n2,same\n",
            "item_id,title\n1,b\n2,same\n",
            "SELECT title FROM v_current_items",
        ),
        (
            "users",
            "user_id,plan\n1,a\n",
            "user_id,plan\n1,b\n",
            "SELECT attributes ->> 'plan' FROM v_current_users",
        ),
        (
            "lists",
            "user_id,system,item_id,rank\nu,s,a,1\n",
            "user_id,system,item_id,rank\nu,s,b,1\n",
            "SELECT item_id FROM v_current_slates s JOIN slate_items i USING (slate_id)",
        ),
        (
            "explanations",
            "user_id,system,item_id,text\nu,s,1,a\n",
            "user_id,system,item_id,text\nu,s,1,b\n",
            "SELECT text FROM v_current_explanations",
        ),
    ],
)
def test_the_file_imported_last_counts_be_it_an_earlier_one(
    db: Database, tmp_path: Path, kind: ImportKind, a: str, b: str, current: str
) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text(a)
    second.write_text(b)
    for path, expected in ((first, "a"), (second, "b"), (first, "a"), (first, "a"), (second, "b")):
        before = db.value("SELECT count(*) FROM imports")
        (summary,) = import_paths(db, "p", [path], kind)
        assert db.value(current) == expected
        again = db.value("SELECT count(*) FROM imports") == before
        assert (summary.files[0].earlier is not None) == again
    assert db.value("SELECT count(*) FROM imports") == 4
