"""Tables shaped like the predictions released with RecSys Arena."""

from __future__ import annotations

import json

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of
from tests.support.samples import ARENA_TABLE


def _lists(db: Database) -> list[tuple[str, str, int, str, float]]:
    return rows_of(
        db,
        "SELECT user_id, system, rank, item_id, score FROM slates JOIN slate_items ON slate_id = slates.id"
        " ORDER BY user_id, system, rank",
    )


def test_lists_by_prediction_with_repeated_items_left_out(load: Load, db: Database) -> None:
    summary = load("lists", ARENA_TABLE, "nrms-ml-1m.csv")
    assert (summary.files[0].layout, summary.stored, summary.skipped) == ("recsys-arena", 4, 1)
    assert summary.warning_kinds["duplicated item"] == 1
    assert ":4: item “12” occurs twice" in " ".join(summary.warnings)
    assert _lists(db) == [
        ("7", "nrms", 1, "12", 0.9),
        ("7", "nrms", 2, "5", 0.5),
        ("7", "nrms", 3, "31", 0.25),
        ("8", "nrms", 1, "31", 0.4),
    ]


@pytest.mark.parametrize(
    ("name", "system"),
    [("deepfm-ml-1m-features.csv", "deepfm-features"), ("fm.csv", "fm"), ("sasrec-mind.csv", "sasrec")],
)
def test_the_files_name_is_the_system(load: Load, db: Database, name: str, system: str) -> None:
    load("lists", ARENA_TABLE, name)
    assert db.value("SELECT DISTINCT system FROM slates") == system
    load("lists", ARENA_TABLE, name, system="mine")
    assert db.value("SELECT count(*) FROM slates WHERE system = 'mine'") == 2


def test_whole_lists_in_one_cell(load: Load, db: Database) -> None:
    rows = ('u,"[3, 12345678901234567890]",0,"[0.1, 0.7]"', "v,\"['a', 'b']\",0,[0.1]", "w,1,0,nan")
    text = "\n".join(("user_id,item_id,label,predict", *rows, ""))
    summary = load("lists", text, "x.csv")
    assert [row[3] for row in _lists(db)] == ["12345678901234567890", "3"]
    assert summary.warning_kinds["items without a score"] == summary.warning_kinds["not a finite number"] == 1


def test_users_with_their_codes_in_words(load: Load, db: Database) -> None:
    assert load("users", ARENA_TABLE, "nrms-ml-1m.csv").stored == 2
    assert {
        row[0]: json.loads(row[1])
        for row in db.rows("SELECT user_id, attributes FROM users ORDER BY user_id")
    } == {
        "7": {"gender": "female", "age": "56+", "occupation": "writer"},
        "8": {"gender": "male", "age": "under 18", "occupation": "99"},
    }


def test_items_only_when_asked_for_by_name(load: Load, db: Database) -> None:
    with pytest.raises(InputError, match="contains users and lists, not items"):
        load("items", ARENA_TABLE, "nrms-ml-1m.csv")
    summary = load("items", ARENA_TABLE, "nrms-ml-1m.csv", layout="recsys-arena")
    assert summary.stored == 3
    assert rows_of(db, "SELECT item_id, title, category FROM items ORDER BY item_id") == [
        ("12", "12", "13"), ("31", "31", "2|3"), ("5", "5", "8|4|3"),
    ]  # fmt: skip
