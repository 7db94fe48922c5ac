"""Bad files: a located, counted warning with the rest imported, or one clear error with nothing imported."""

from __future__ import annotations

import gzip
import io
import os
import sqlite3
import zipfile
from pathlib import Path

import pytest

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import InputError
from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.reader import contents_of
from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of

ITEMS = "item_id,title\n1,a\n2,b\n3,c\n4,d\n5,e\n"
LISTS = "user_id,system,item_id,rank\n"
EVENTS = "user_id,item_id,type,timestamp,value\nu,1,click,,\n"


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    return buffer.getvalue()


def _sqlite(folder: Path) -> bytes:
    connection = sqlite3.connect(folder / "other.sqlite")
    connection.execute("CREATE TABLE items (item_id, title)")
    connection.commit()
    connection.close()
    return (folder / "other.sqlite").read_bytes()


@pytest.mark.parametrize(
    ("kind", "content", "says"),
    [
        ("items", b"", "is empty"),
        ("items", b"item_id,title\n", "in.csv has no rows"),
        ("lists", b"user,item,score,system\r\n\r\n", "in.csv has no rows"),
        ("items", b"\xef\xbb\xbf \r\n\n", "is empty"),
        ("items", b"item_id,words\n1,a\n", "no column title.*Found: item_id, words.*items need: item_id, title"),
        ("events", b"user_id,type\nu,click\n", "no column item_id"),
        ("items", b'{"number": 1}\n', "no columns item_id, title.*Found: number"),
        ("items", b"item_id,title,title\n1,a,b\n", "in.csv:1: column “title” occurs more than once"),
        ("items", b"item_id,title,Title,TITLE\n1,a,b,c\n", None),
        ("items", b"item_id,Title,TITLE\n1,a,b\n", "more than once"),
        ("events", b"user_id,item_id,rating,rating\nu,i,1,2\n", "in.csv:1: column “rating” occurs more than once"),
        ("events", b"user_id,item_id,rating,clicked\nu,i,3,1\nu,j,2,0\n", "in.csv:3: “clicked” is “0”.*--where clicked=1"),
        ("labels", b"user_id,system_a,system_b,preference\nu,x,y,A\n", "labels need a rater.*rater = { value ="),
        ("lists", b'{"user": {"id": "u"}, "recs": [{"item": {"id": "a"}}]}\n' * 2, "user.id”; .* each = “recs.*@.item.id"),
        ("items", ITEMS.encode("utf-16"), "UTF-16"),
        ("items", ITEMS.encode("utf-16-le"), "is UTF-16"),
        ("items", b"item_id,title\n" + b"1,a\n" * 3000 + b"2,caf\xe9\n", "in.csv:3002: not UTF-8 .byte 0xe9"),
        ("items", b"item_id,title\n1,a\n2,b\0b\n", "in.csv:3: a NUL"),
        ("items", bytes(range(256)) * 40, "is binary"),
        ("items", bytes(5000), "only zero bytes"),
        ("items", _zip(), "is an Excel workbook.*Export the sheet as CSV"),
        ("items", b"PAR1" + b"\0" * 20, "is a damaged Parquet file"),
        ("items", b"<!DOCTYPE html><html><body>Sign in</body></html>", "web page"),
        ("items", b'[{"item_id": 1, "title": "a"}', "in.csv:record 2: broken JSON"),
        ("items", b'[{"item_id": 1, "title": "a"}]\n[{"item_id": 2, "title": "b"}]', "Something follows the array"),
        ("items", b'[{"item_id": 1, "title": "a", "title": "b"}]', "record 1: “title” occurs more than once"),
        ("events", b'[{"user_id": "u", "item_id": {"id": 1}, "type": "a"}]', "object where the id of the item"),
        ("items", b"item_id,title" + b"0" * 5000 + b"\n1,a\n", "no column title"),
        ("items", b"[]", "no line with a JSON object"),
        ("items", b"[1, 2]", "no line with a JSON object .*in.csv:record 1: not a JSON object"),
        ("items", b'{\n  "item_id": 1,\n  "title": "a"\n}\n', "no line with a JSON object"),
        ("items", gzip.compress(ITEMS.encode() * 99, mtime=0)[:-20], "damaged gzip"),
        ("items", b'item_id,title\n1,a\n2,"b\n3,c\n', "in.csv:3: a quotation mark in this row is not closed"),
        (
            "items",
            b'item_id,title\n1,"a\n' + b"2,x\n" * 30 + b'3,"c"\n',
            "in.csv:2: a quotation mark in this row is not closed.*continues to line 33",
        ),
        ("lists", b'"user"s,"item"\n"1","2"\n', 'header cannot be read It is: "user"s,"item".*Write quotation marks'),
        ("lists", b'[{"user": {"id": 1}, "recs": [2]}]', 'an object where the id .*{"id": "1"}'),
        ("lists", b'{"user": {"0": "a"}, "recs": {"0": [2]}}', "holds its rows column by column"),
        ("labels", b"rater,user_id,method_1,method_2,preference\nr,q,gpt,llama,1\n", "no column item_id, system or"),
        ("labels", b"rater,user_id,system_a,system_b,winner,rating\nr,u,a,b,b,1\n", "several columns that may hold"),
        ("labels", b"rater,user_id,system_a,system_b,value\nr,u,a,b,none\nr,v,a,b,A\n", "“none” \\(1 row\\) do not fit"),
        ("items", b"item_id,title\n,a\n", "nothing in .* could be imported as items .*in.csv:2: item_id is empty"),
    ],
)  # fmt: skip
def test_one_error_and_nothing_imported(
    load: Load, db: Database, kind: ImportKind, content: bytes, says: str | None
) -> None:
    if says is None:
        assert load(kind, content).stored == 1
        return
    with pytest.raises(InputError, match=says):
        load(kind, content)
    for table in ("projects", "imports", "items", "events"):
        assert db.value(f"SELECT count(*) FROM {table}") == 0


def test_fields_and_lines_without_end(load: Load) -> None:
    with pytest.raises(InputError, match=r"in.csv:2: a quotation mark in this row is not closed"):
        load("items", b'item_id,title\n1,"' + b"x\n" * 6_000_000)
    with pytest.raises(InputError, match=r"in.csv:2: a line of more than 10,000,000"):
        load("items", b"item_id,title\n1," + b"x" * 10_000_100)


def test_files_that_cannot_be_opened(db: Database, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_bytes(_sqlite(tmp_path))
    for path, says in (
        (tmp_path / "none.csv", "cannot be read No such file"),
        (tmp_path, "cannot be read Is a directory"),
        (tmp_path / "other.csv", "is an SQLite database"),
    ):
        with pytest.raises(InputError, match=says):
            import_files(db, "p", [path], "items")


@pytest.mark.parametrize(
    ("kind", "content", "warnings", "stored"),
    [
        ("items", "item_id,title\n1,a\n2,b,c\n3\n4,d,\n", ["3: 3 fields, but the header has 2", "4: 1 fields"], 2),
        ("items", 'item_id,title\n1,a\n2,"b" c\n3,d\n', ["3: unbalanced quotation marks; the row left out"], 2),
        (
            "items",
            'item_id,title\n1,"a\n2,"b"\n3,c\n',
            ["2: unbalanced quotation marks; lines 2 to 3 left out"],
            1,
        ),
        (
            "items",
            '{"item_id": 1, "title": "a"}\n{"item_id": 2, "ti\n7\n{"item_id": 3, "title": "c"}',
            ["2: not a complete JSON object: “{\"item_id\": 2, \"ti”", "3: not a JSON object"],
            2,
        ),
        ("items", '{"item_id": 1, "title": "a"}\n' + "[" * 100_000 + "\n", ["2: not a complete JSON object"], 1),
        (
            "items",
            '{"item_id": 1, "title": "a"}\n{"item_id": 2, "title": "\\ud800"}\n{"item_id": 3, "title": "\\u0000"}',
            ["2: a lone surrogate or a NUL character", "3: a lone surrogate or a NUL character"],
            1,
        ),
        ("items", "item_id,title\n1,nan\n2,None\n3,c\n", ["2: title is “nan”", "3: title is “None”"], 1),
        ("items", "item_id,title\n 1 ,a\n", ["2: spaces around item_id “1” were removed"], 1),
        ("items", "item_id,title\n1,a\n1,b\n1,a\n", ["3: item “1” occurs above with other content"], 1),
        ("users", "user_id,age\n1,30\n1,31\n", ["3: user “1” occurs above with other content"], 1),
        ("events", EVENTS + "u,1,click,yesterday,\n", ["3: timestamp “yesterday” is not a time (write 2024-05-31"], 1),
        ("events", EVENTS + "u,1,click,NA,NA\nNA,1,click,,\nu,NA,click,,\n", ["4: user_id is “NA”", "5: neither"], 2),
        (
            "events",
            "\n".join(f'{{"user_id": {u}, "item_id": {i}, "type": "click"}}' for u, i in (
                ('"u"', '["i", "j"]'), ("true", "1"), ('"u"', '["i"]')
            )),
            ["2: user_id “true” is not one id", '1: item_id “["i", "j"]” is not one id'],
            1,
        ),
        ("events", EVENTS + "u,1,rating,,NaN\nu,1,rating,,inf\n", ["4: value “inf”"], 2),
        ("events", EVENTS + "u,,click,,\n,1,click,,\nu,1,,,\n", ["3: neither", "4: user_id is", "5: type is"], 1),
        ("lists", LISTS + "u,s,1,1\nu,s,2,-1\n", ["3: rank -1 is below 0; row left out"], 1),
        ("lists", LISTS + "u,s,1,1\nu,s,2,x\nu,s,3,1.5\nu,s,4,\n", ["3: rank “x”", "4: rank “1.5”", "5: rank “”"], 1),
        ("lists", f"{LISTS}u,s,1,1\n{LISTS}v,s,2,1\n", ["3: the header again, as in files that were joined"], 2),
        ("lists", LISTS + "u,s,1,1\nu,s,2,1\nu,s,3,2\n", ["3: rank 1 occurs twice"], 2),
        ("lists", LISTS + "u,s,1,1\nu,s,1,2\nu,s,3,3\n", ["3: item “1” occurs twice"], 2),
        ("lists", LISTS + "u,s,1,1\n,s,5,1\nu,s,2,2\n", ["3: user_id is empty"], 2),
        ("lists", LISTS + "u,s,1,1\nu,s,2,4\n", ["3: a gap in the ranks before 4"], 2),
        ("lists", LISTS + "u,s,1,1\nv,s,,\n", ["3: item_id is empty", "3: the list of user “v” by “s” is empty"], 1),
        (
            "lists",
            LISTS + "u,s,1,1\nv,s,99,1\n",
            ["3: item “99” is unknown; removed", "3: the list of user “v” by “s” contains no known"],
            1,
        ),
        ("lists", LISTS.strip() + ",score\nu,s,1,1,inf\n", ["2: score “inf” is not a finite number; the item is kept"], 1),
        (
            "explanations",
            "user_id,item_id,system,text\nu,1,s,a\nu,1,s,b\nu,1,t, \n",
            ["3: the explanation of", "4: text is empty"],
            1,
        ),
    ],
)  # fmt: skip
def test_located_warnings_and_the_rest_imported(
    load: Load, tmp_path: Path, kind: ImportKind, content: str, warnings: list[str], stored: int
) -> None:
    if kind == "lists":
        load("items", ITEMS, "items.csv")
    summary = load(kind, content)
    assert summary.stored == stored
    assert summary.warning_count == len(warnings) == len(summary.warnings)
    for expected in warnings:
        assert any(text.startswith(f"{tmp_path / 'in.csv'}:{expected}") for text in summary.warnings)


def test_unknown_items_leave_a_list_that_closes_up(load: Load, db: Database) -> None:
    load("items", ITEMS, "items.csv")
    summary = load("lists", LISTS + "u,s,1,1\nu,s,99,2\nu,s,2,3\n")
    assert (summary.stored, summary.skipped) == (2, 1)
    assert rows_of(db, "SELECT rank, item_id FROM slate_items") == [(1, "1"), (2, "2")]


def test_unknown_users_and_items_are_counted_once_they_can_be(load: Load, db: Database) -> None:
    assert load("events", EVENTS, "before.csv").warning_count == 0
    load("items", ITEMS, "items.csv")
    load("users", "user_id\nv\n", "users.csv")
    events = load("events", EVENTS + "v,77,click,,\n", "after.csv")
    assert events.stored == 2
    assert events.warning_kinds == {"unknown user": 1, "unknown item": 1}
    assert load("lists", LISTS + "u,s,1,1\n").warning_kinds == {"unknown user": 1}
    text = "user_id,item_id,system,text\nu,77,s,x\n"
    assert load("explanations", text).warning_kinds == {"unknown user": 1, "unknown item": 1}


def test_only_the_first_twenty_are_shown_but_all_counted(load: Load, db: Database) -> None:
    summary = load("items", ITEMS + "7,\n" * 50)
    assert summary.warning_kinds == {"no title": 50}
    assert (len(summary.warnings), summary.skipped) == (20, 50)
    kept = db.value("SELECT warnings FROM imports")
    assert "50 in all: no title" in kept


def test_lists_that_disagree(load: Load, db: Database, tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text(LISTS + "u,s,1,1\nu,s,2,2\n")
    second.write_text(LISTS + "u,s,2,1\nv,s,1,1\n")
    load("items", ITEMS, "items.csv")
    summary = import_files(db, "p", [first, second], "lists")
    assert summary.warning_kinds == {"disagrees with earlier content": 1}
    assert (summary.stored, summary.skipped) == (3, 1)
    newer = load("lists", LISTS + "v,s,1,1\nu,s,2,1\n", "3.csv")
    assert (newer.stored, newer.unchanged) == (1, 1)
    assert newer.warning_kinds == {"replaces an earlier import": 1}
    current = "SELECT length FROM v_current_slates WHERE user_id = 'u'"
    assert db.value(current) == 1


def test_warnings_cannot_drive_the_terminal(load: Load) -> None:
    summary = load("items", "item_id,title\n1,a\n1,b\n\x1b[31m9\x07,\n")
    assert not any("\x1b" in text or "\x07" in text for text in summary.warnings)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="is a pipe, not a file"):
        contents_of(tmp_path / "pipe.csv")


@pytest.mark.parametrize("first", ["\n", "  \n", ",\n", ",,\r\n;\n", "\t\n \n"])
def test_blank_lines_before_the_header_are_skipped(first: str, load: Load) -> None:
    assert load("items", first + ITEMS).files[0].stored == 5
