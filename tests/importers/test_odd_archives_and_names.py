"""Archives as people make them, titles with quotation marks, lists that were cut: siblings of files from the field."""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.store.database import Database
from tests.support.importing import Load

RATINGS = b"user_id,item_id,rating\nu1,i1,4\nu2,i2,5\n"


def _zip(*names: str) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name in names:
            archive.writestr(name, RATINGS)
    return written.getvalue()


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
        ("mac.zip", _zip("ratings.csv", "__MACOSX/._ratings.csv", ".DS_Store")),
        ("folder.zip", _zip("ml/ratings.csv", "ml/._ratings.csv", "Thumbs.db")),
        ("r.tar.gz", _tar("w:gz", "ratings.csv", "._ratings.csv")),
        ("r.tgz", _tar("w:gz", "ml/ratings.csv")),
        ("r.tar.xz", _tar("w:xz", "ratings.csv")),
        ("r.tar", _tar("w", "ratings.csv")),
        ("r.csv.xz", lzma.compress(RATINGS)),
    ],
)
def test_an_archive_of_one_table(load: Load, name: str, content: bytes) -> None:
    assert load("events", content, name).stored == 2


@pytest.mark.parametrize("content", [_zip("a.csv", "b.csv"), _tar("w:gz", "a.csv", "b.csv")])
def test_an_archive_of_several_tables_names_them(load: Load, content: bytes) -> None:
    with pytest.raises(InputError, match=r"(zip|tar) archive of 2 files.*It holds a.csv, b.csv"):
        load("events", content, "x.zip" if content[:2] == b"PK" else "x.tar.gz")


def test_titles_between_tabs_keep_their_quotation_marks(load: Load, db: Database) -> None:
    titles = ['"Heroes" (Expanded)', '12" single', '"Unfinished title', "Plain", 'Ends "', '""']
    load(
        "items",
        "item_id\ttitle\n" + "".join(f"i{n}\t{title}\n" for n, title in enumerate(titles)),
        "items.tsv",
    )
    assert db.column("SELECT title FROM items ORDER BY item_id") == titles[:5]
    load("items", 'item_id\ttitle\nj1\t"over\ntwo lines"\nj2\tPlain\n', "quoted.tsv")
    assert db.value("SELECT title FROM items WHERE item_id = 'j1'") == "over\ntwo lines"


@pytest.mark.parametrize(
    "word", ["nan", "NaN", "None", "NULL", "<NA>", r"\N", "NaT", " nan ", "#N/A", "undefined"]
)
def test_a_missing_id_is_nobody(load: Load, db: Database, word: str) -> None:
    events = load("events", f"user_id,item_id,rating\nu,i,4\n{word},i,3\nu,{word},2\nu,j,{word}\n", "e.csv")
    lists = load(
        "lists", f"user_id,system,item_id,rank\nu,s,i,1\n{word},s,i,1\nu,s,{word},2\nu,{word},i,1\n", "l.csv"
    )
    labels = load(
        "labels",
        f"rater,user_id,system,value\na,u,s,Good\n{word},u,s,Good\na,{word},s,Poor\nb,u,s,{word}\n",
        "v.csv",
    )
    assert [(s.stored, s.skipped) for s in (events, lists, labels)] == [(2, 2), (1, 3), (1, 3)]
    assert set(
        db.column(
            "SELECT user_id FROM events UNION SELECT user_id FROM slates UNION SELECT user_id FROM cases"
        )
    ) == {"u"}


@pytest.mark.parametrize(
    "cell",
    ["[  1   2 ...  9]", "array([5, 9])", "tensor([5, 9])", "nan", '[1, 2, 3', "[" + "123456, " * 4095 + "1234567", "1|2" + "|345" * 8191],  # noqa: E501
)  # fmt: skip
def test_a_list_that_was_cut_is_left_out_by_its_line(load: Load, db: Database, cell: str) -> None:
    summary = load("lists", f'user_id,system,items\nu,s,"[1, 2]"\nv,s,"{cell[:32767]}"\n')
    assert any(":3:" in text for text in summary.warnings)
    assert db.column("SELECT DISTINCT user_id FROM slates") == ["u"]


@pytest.mark.parametrize(
    ("written", "read", "said"),
    [
        ("43831", "2020-01-01T00:00:00+00:00", "spreadsheet"),
        ("1577836800", "2020-01-01T00:00:00+00:00", "seconds"),
        ("1577836800000", "2020-01-01T00:00:00+00:00", "milliseconds"),
    ],
)
def test_a_number_is_a_time_where_its_size_says_so(
    load: Load, db: Database, written: str, read: str, said: str
) -> None:
    summary = load(
        "events", f"user_id,item_id,rating,timestamp\nu,i,4,{written}\nu,j,4,12345\nu,k,4,3 Jan 2021\n"
    )
    assert db.column("SELECT timestamp FROM events") == [read]
    assert (summary.warning_kinds, said in " ".join(summary.files[0].remarks)) == ({"bad timestamp": 2}, True)
