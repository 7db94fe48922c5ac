"""The plain tables as people write them: every form gives the same records."""

from __future__ import annotations

import gzip

import pytest

from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of

ITEMS = "item_id,title,brand,category,colour\n1,Lamp,Lux,Home,red\n0012,Soap,,Bath,\n"

JSONL = (
    '{"item_id": 1, "title": "Lamp", "brand": "Lux", "category": "Home", "colour": "red"}\n'
    '{"item_id": "0012", "title": "Soap", "brand": null, "category": "Bath"}'
)


def _items(db: Database) -> list[tuple[str, ...]]:
    sql = "SELECT item_id, title, brand, category, attributes FROM v_current_items ORDER BY title"
    return rows_of(db, sql)


EXPECTED = [("1", "Lamp", "Lux", "Home", '{"colour": "red"}'), ("0012", "Soap", "", "Bath", "{}")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("comma.csv", ITEMS.encode()),
        ("bom.csv", b"\xef\xbb\xbf" + ITEMS.encode()),
        ("crlf.csv", ITEMS.replace("\n", "\r\n").encode()),
        ("oldmac.csv", ITEMS.replace("\n", "\r").encode()),
        ("semicolon.csv", ITEMS.replace(",", ";").encode()),
        ("bar.txt", ITEMS.replace(",", "|").encode()),
        ("tab.tsv", ITEMS.replace(",", "\t").encode()),
        ("packed.csv.gz", gzip.compress(ITEMS.encode(), mtime=0)),
        ("packed_but_not_named_so.csv", gzip.compress(ITEMS.encode(), mtime=0)),
        ("case.csv", ITEMS.replace("item_id,title", "Item_ID, TITLE ").encode()),
        ("blank.csv", ("\n\n" + ITEMS.replace("\n", "\n\n") + ",,,,\n").encode()),
        ("no_end.csv", ITEMS.rstrip("\n").encode()),
        (
            "lines.jsonl",
            JSONL.encode(),
        ),
        (
            "lines_called.csv",
            b"\xef\xbb\xbf"
            + JSONL.replace("item_id", "ITEM_ID")
            .replace('"Home"', '["Home"]')
            .replace("\n", "\n\n")
            .encode(),
        ),
    ],
)
def test_every_form_of_a_table(load: Load, db: Database, name: str, content: bytes) -> None:
    summary = load("items", content, name)
    assert (summary.read, summary.stored, summary.skipped, summary.warning_count) == (2, 2, 0, 0)
    assert _items(db) == EXPECTED


def test_ids_lose_no_digit(load: Load, db: Database) -> None:
    load("items", '{"item_id": 4376251640447208384, "title": "x", "price": 5.10}\n', "a.jsonl")
    load("events", "user_id,item_id,type\n00438,4376251640447208384,click\n", "e.csv")
    assert tuple(db.rows("SELECT item_id, attributes FROM items")[0]) == (
        "4376251640447208384",
        '{"price": "5.10"}',
    )
    assert tuple(db.rows("SELECT user_id, item_id FROM events")[0]) == ("00438", "4376251640447208384")


def test_events_of_every_kind(load: Load, db: Database) -> None:
    load(
        "events",
        "user_id,item_id,type,timestamp,value,text\n"
        "u,1,purchase,2024-05-01T12:00:00Z,,\n"
        "u,,search,2024-05-01,,red lamp\n"
        "u,2,heldout_rating,1714564800,4.5,\n",
    )
    assert rows_of(db, "SELECT type, item_id, text, timestamp, value FROM events ORDER BY id") == [
        ("purchase", "1", "", "2024-05-01T12:00:00+00:00", None),
        ("search", "", "red lamp", "2024-05-01T00:00:00+00:00", None),
        ("heldout_rating", "2", "", "2024-05-01T12:00:00+00:00", 4.5),
    ]


def test_same_file_again_is_a_no_op(load: Load, db: Database) -> None:
    first = load("items", ITEMS)
    again = load("items", ITEMS)
    assert again.files[0].earlier == first.files[0].import_id
    assert (again.files[0].import_id, again.read, again.new_project) == (None, 0, False)
    assert db.value("SELECT count(*) FROM imports") == 1
