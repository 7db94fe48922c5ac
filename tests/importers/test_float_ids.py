"""Ids like `12.0`, as pandas writes whole numbers: joined with the known ids."""

from __future__ import annotations

from recjudge_tui.store.database import Database
from tests.support.importing import Load

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


def test_lists_before_their_items(load: Load) -> None:
    summary = load("lists", SCORES + "u,s,12.0,0.5\nu,s,13.0,0.75\n")
    assert any("such as “12.0” end in “.0”" in remark for remark in summary.files[0].remarks)
