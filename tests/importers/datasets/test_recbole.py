"""RecBole's atomic files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of
from tests.support.samples import INTER, ITEM


def test_interactions(load: Load, db: Database) -> None:
    text = "\ufeff" + INTER + "196\t0242\t3\t881250949\r\nu 2\t1234567890123456789\t4.5\t8.8125095e8\r\n"
    summary = load("events", text, "x.inter")
    assert (summary.files[0].layout, summary.stored) == ("recbole", 2)
    assert rows_of(db, "SELECT user_id, item_id, type, value, timestamp FROM events ORDER BY id") == [
        ("196", "0242", "rating", 3.0, "1997-12-04T15:55:49+00:00"),
        ("u 2", "1234567890123456789", "rating", 4.5, "1997-12-04T15:55:50+00:00"),
    ]


def test_items_with_sequences(load: Load, db: Database) -> None:
    text = (
        ITEM
        + '1\tToy Story\t1995\tAnimation Children\'s Comedy\t0.1 0.2\n2\tKimi "no" Na wa.\t\tDrama, School\t\n'
    )
    assert load("items", text, "x.item").stored == 2
    rows = db.rows("SELECT item_id, title, category, attributes FROM items ORDER BY item_id")
    assert [tuple(row)[:3] for row in rows] == [
        ("1", "Toy Story", "Animation|Children's|Comedy"),
        ("2", 'Kimi "no" Na wa.', "Drama|School"),
    ]
    assert [json.loads(row[3]) for row in rows] == [{"release_year": "1995"}, {}]


TOP_K = "user_id:token\titem_id:token\tscore:float\n7\t1\t0.25\n7\t2\t0.75\n8\t1\t0.5\n"


def test_a_table_with_scores_is_asked_about(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "bpr.inter"
    path.write_text(TOP_K)
    with pytest.raises(InputError, match=r"cannot tell what .*bpr\.inter contains") as raised:
        import_paths(db, "films", [path], None)
    assert [line.split(" --as ")[1].split("  ")[0] for line in raised.value.next_step.splitlines()[1:]] == [
        "lists --system NAME",
        "events",
    ]
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "bpr.inter").write_text(TOP_K)
    (folder / "films.inter").write_text("user_id:token\titem_id:token\trating:float\n7\t1\t4\n")
    [summary] = import_paths(db, "films", [folder], None)
    assert [file.path for file in summary.files] == [str(folder / "films.inter")]
    assert "bpr.inter was not imported, because it may contain one of several kinds" in summary.aside[0]


def test_the_top_k_of_a_model_as_lists(load: Load, db: Database) -> None:
    summary = load("lists", TOP_K, "bpr.inter")
    assert (summary.stored, summary.files[0].layout) == (3, "recbole")
    assert summary.files[0].remarks == (
        "the file does not name the system: it gets the file's name, “bpr”",
        "ranked by score, highest first; ties by item id in descending order, as in trec_eval",
    )
    load(
        "lists",
        TOP_K.replace("score", "rank").replace("0.25", "2").replace("0.75", "1").replace("0.5", "1"),
        "2.inter",
    )
    rows = db.rows(
        "SELECT system, user_id, item_id FROM slate_items i JOIN slates s ON s.id = slate_id ORDER BY s.id, rank"
    )
    lists = [("7", "2"), ("7", "1"), ("8", "1")]
    assert [tuple(row) for row in rows] == [(system, *row) for system in ("bpr", "2") for row in lists]
    assert load("events", TOP_K, "bpr.inter").stored == 3
