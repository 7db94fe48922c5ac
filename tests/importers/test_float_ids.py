"""Ids like `12.0`, as pandas writes whole numbers: joined with the known ids."""

from __future__ import annotations

from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of

ITEMS = "item_id,title\n12,Lamp\n13,Soap\n14,Book\n"
SCORES = "user_id,system,item_id,score\n"


def _items(db: Database) -> list[str]:
    return db.column("SELECT item_id FROM slate_items ORDER BY slate_id, rank")


def test_known_ids_are_joined_and_others_stay(load: Load, db: Database) -> None:
    load("items", ITEMS, "items.csv")
    summary = load("lists", SCORES + "u,s,12.0,0.5\nu,s,99.0,0.75\nu,s,14,0.25\nv,s,14.0,0.25\n")
    assert summary.warning_kinds == {"unknown item": 1}
    assert "item_ids such as “12.0” are read as the known ids such as “12”" in summary.files[0].remarks
    assert sorted(_items(db)) == ["12", "14", "14"]


def test_both_forms_are_known(load: Load, db: Database) -> None:
    load("items", ITEMS + "12.0,Another\n", "items.csv")
    summary = load("lists", SCORES + "u,s,12.0,0.5\n")
    assert summary.files[0].remarks == (
        "ranked by score, highest first; ties by item id in descending order, as in trec_eval",
    )
    assert _items(db) == ["12.0"]


def test_users_of_other_events_and_lists_are_known(load: Load, db: Database) -> None:
    load("events", "user_id,item_id,type\n7,12,click\n8,13,click\n", "e.csv")
    load("lists", SCORES + "7.0,s,12.0,0.5\n8.0,s,13.0,0.75\n")
    load("explanations", "user_id,item_id,system,text\n7.0,13.0,s,Because\n")
    load("labels", "rater,user_id,item_id,system,value\nann,7.0,13.0,s,4\n")
    assert rows_of(db, "SELECT user_id FROM slates ORDER BY id") == [("7",), ("8",)]
    assert tuple(db.rows("SELECT user_id, item_id FROM explanations")[0]) == ("7", "13")
    assert tuple(db.rows("SELECT user_id, item_id, explanation_id IS NULL FROM cases")[0]) == ("7", "13", 0)


def test_items_beside_lists_that_name_them(load: Load, db: Database) -> None:
    load("lists", SCORES + "u,s,12,0.5\nu,s,13,0.75\n")
    load("items", "item_id,title\n12.0,Lamp\n13.0,Soap\n", "items.csv")
    assert db.column("SELECT item_id FROM items ORDER BY item_id") == ["12", "13"]


def test_nothing_is_known_yet(load: Load, db: Database) -> None:
    summary = load("items", "item_id,title\n12.0,Lamp\n", "items.csv")
    assert (summary.warning_count, summary.files[0].remarks) == (0, ())
    assert db.value("SELECT item_id FROM items") == "12.0"


def test_lists_before_their_items(load: Load) -> None:
    summary = load("lists", SCORES + "u,s,12.0,0.5\nu,s,13.0,0.75\n")
    assert any("such as “12.0” end in “.0”" in remark for remark in summary.files[0].remarks)
