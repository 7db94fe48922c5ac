"""The plain tables as people write them: every form gives the same records."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.summary import ImportSummary
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


def _slates(db: Database) -> dict[tuple[str, str], list[tuple[str, float | None]]]:
    found: dict[tuple[str, str], list[tuple[str, float | None]]] = {}
    for row in db.rows(
        """SELECT c.user_id, c.system, i.item_id, i.score FROM v_current_slates c
           JOIN slate_items i ON i.slate_id = c.slate_id ORDER BY c.slate_id, i.rank"""
    ):
        found.setdefault((row[0], row[1]), []).append((row[2], row[3]))
    return found


def test_lists_in_any_order_of_rows(load: Load, db: Database) -> None:
    summary = load(
        "lists", "user_id,system,item_id,rank,score\nu,s,b,2,0.5\nv,s,x,0,\nu,s,a,1,0.75\nv,s,y,1,\n"
    )
    assert summary.stored == 4
    assert set(summary.warning_kinds) == {"no items yet"}
    assert _slates(db) == {("u", "s"): [("a", 0.75), ("b", 0.5)], ("v", "s"): [("x", None), ("y", None)]}


def test_system_comes_from_the_command(load: Load, db: Database) -> None:
    with pytest.raises(InputError, match="--system NAME"):
        load("lists", "user_id,item_id,rank\nu,a,1\n")
    assert db.rows("SELECT * FROM projects") == []
    load("lists", "user_id,item_id,rank\nu,a,1\n", system="mine")
    load("lists", "user_id,item_id,rank\nu,a,1\n", system="yours")
    load("lists", "user_id,system,item_id,rank\nu,file,b,1\n", system="over")
    assert list(_slates(db)) == [("u", "mine"), ("u", "yours"), ("u", "over")]
    with pytest.raises(UsageError, match="does not apply to items"):
        load("items", ITEMS, system="x")


def test_explanations_keep_text_and_attributes(load: Load, db: Database) -> None:
    load(
        "explanations",
        'user_id,item_id,system,text,reference,tone\nu,1,s," Two lines,\n""quoted"" ",because,warm\n',
    )
    row = db.rows("SELECT text, reference, attributes FROM v_current_explanations")[0]
    assert tuple(row) == (' Two lines,\n"quoted" ', "because", '{"tone": "warm"}')


def test_import_row_tells_what_was_read(load: Load, db: Database, tmp_path: Path) -> None:
    summary = load("items", "item_id,title\n1,a\n2,\n")
    row = db.rows("SELECT * FROM imports")[0]
    assert (row["kind"], row["layout"], row["path"]) == ("items", "plain", str(tmp_path / "in.csv"))
    assert (row["rows_read"], row["rows_stored"], row["rows_skipped"]) == (2, 1, 1)
    assert json.loads(row["warnings"]) == [f"{tmp_path / 'in.csv'}:3: title is empty; row left out"]
    assert [file.import_id for file in summary.files] == [row["id"]]
    assert summary.new_project


def test_same_file_again_is_a_no_op(load: Load, db: Database) -> None:
    first = load("items", ITEMS)
    again = load("items", ITEMS)
    assert again.files[0].earlier == first.files[0].import_id
    assert (again.files[0].import_id, again.read, again.new_project) == (None, 0, False)
    assert db.value("SELECT count(*) FROM imports") == 1


def test_progress_counts_rows(load: Load) -> None:
    told: list[tuple[int, float]] = []
    content = "user_id,item_id,type\n" + "u,1,click\n" * 2499
    load("events", content, progress=lambda rows, share: told.append((rows, round(share, 2))))
    assert told == [(1000, 0.4), (2000, 0.8), (2499, 1.0)]


def test_several_files_are_one_transaction(db: Database, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(ITEMS)
    bad.write_text("number,words\n1,x\n")
    with pytest.raises(InputError, match=r"bad.csv has no columns item_id, title"):
        import_files(db, "p", [good, bad], "items")
    for table in ("projects", "imports", "items"):
        assert db.value(f"SELECT count(*) FROM {table}") == 0


def test_summary_adds_up(load: Load) -> None:
    summary: ImportSummary = load("items", "item_id,title\n1,a\n1,a\n1,b\n,c\n")
    assert (summary.read, summary.stored, summary.unchanged, summary.skipped) == (4, 1, 1, 2)
    assert summary.warning_kinds == {"disagrees with earlier content": 1, "no item_id": 1}
