"""Packed files: one table in gzip or zip is read as it is, several are not."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.store.database import Database
from tests.support.importing import Load

RATINGS = b"user_id,item_id,rating\nu1,i1,4\nu2,i2,5\n"
LINES = '{"item_id": 7, "title": "Glass"}\n{"item_id": 8, "title": "Stone"}\n'


def _zip(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _ratings_zip(*names: str) -> bytes:
    return _zip(**dict.fromkeys(names, RATINGS.decode()))


def _tar(mode: str, *names: str) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode=mode) as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(RATINGS)
            archive.addfile(info, io.BytesIO(RATINGS))
    return written.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("items.jsonl.gz", gzip.compress(LINES.encode())),
        ("items.json.gz", gzip.compress(b'[{"item_id": 7, "title": "Glass"}, {"item_id": 8, "title": "Stone"}]')),
        ("items.zip", _zip(**{"inside/items.csv": "item_id,title\n7,Glass\n8,Stone\n"})),
        ("items.csv", _zip(**{"items.csv": "item_id,title\n7,Glass\n8,Stone\n"})),
        ("items.jsonl.zip", _zip(**{"items.jsonl": LINES, "__MACOSX/._items.jsonl": "\0\0"})),
        ("items.json.zip", _zip(**{"items.json": f"[{LINES.strip().replace('}', '},', 1)}]"})),
    ],
)  # fmt: skip
def test_one_table_in_an_archive(load: Load, name: str, content: bytes) -> None:
    summary = load("items", content, name)
    assert (summary.stored, summary.warning_count) == (2, 0)


def test_a_damaged_workbook_is_to_be_exported_as_csv(load: Load) -> None:
    with pytest.raises(InputError, match=r"is a damaged Excel workbook .*Export the sheet as CSV"):
        load("lists", b"PK\x03\x04cut off", "lists.xlsx")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (_zip(a="x", b="y"), "zip archive of 2 files; it may only contain one It holds a, b. Unpack it"),
        (_zip(), "is not zip, though its name ends in .zip"),
        (_zip(**{"[Content_Types].xml": "x", "xl/workbook.xml": "x"}), "an Excel workbook Export the sheet as CSV"),
        (_zip(**{"a.csv": "item_id,title\n" + "7,Glass\n" * 5000})[:-40], "damaged zip archive"),
        (_zip(**{"a.csv": "item_id,title\n" + "7,Glass\n" * 5000}).replace(b"\x01", b"\x02"), "damaged zip archive|is zip"),
        (_zip(**{"b.zip": "PK\x03\x04more"}), "a zip archive in another archive"),
        (b"item_id,title\n1,a\n", "is not zip, though its name ends in .zip"),
    ],
)  # fmt: skip
def test_archives_that_cannot_be_read(load: Load, db: Database, content: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load("items", content, "in.zip")
    assert db.value("SELECT count(*) FROM projects") == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mac.zip", _ratings_zip("ratings.csv", "__MACOSX/._ratings.csv", ".DS_Store")),
        ("folder.zip", _ratings_zip("ml/ratings.csv", "ml/._ratings.csv", "Thumbs.db")),
        ("r.tar.gz", _tar("w:gz", "ratings.csv", "._ratings.csv")),
        ("r.tgz", _tar("w:gz", "ml/ratings.csv")),
        ("r.tar.xz", _tar("w:xz", "ratings.csv")),
        ("r.tar", _tar("w", "ratings.csv")),
        ("r.csv.xz", lzma.compress(RATINGS)),
    ],
)
def test_an_archive_of_one_table(load: Load, name: str, content: bytes) -> None:
    assert load("events", content, name).stored == 2


@pytest.mark.parametrize("content", [_ratings_zip("a.csv", "b.csv"), _tar("w:gz", "a.csv", "b.csv")])
def test_an_archive_of_several_tables_names_them(load: Load, content: bytes) -> None:
    with pytest.raises(InputError, match=r"(zip|tar) archive of 2 files.*It holds a.csv, b.csv"):
        load("events", content, "x.zip" if content[:2] == b"PK" else "x.tar.gz")
