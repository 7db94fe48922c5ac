"""Titles with quotation marks, odd ids, lists that were cut, numbers for times: siblings of files from the field."""

from __future__ import annotations

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.store.database import Database
from tests.support.importing import Load, lists_of


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
        f"rater,user_id,system,value\na,u,s,Good\n{word},u,s,Good\na,{word},s,Poor\nb,u,s,{word.replace('None', '')}\n",
        "v.csv",
    )
    assert [(s.stored, s.skipped) for s in (events, lists, labels)] == [(2, 2), (1, 3), (1, 3)]
    assert set(
        db.column(
            "SELECT user_id FROM events UNION SELECT user_id FROM slates UNION SELECT user_id FROM cases"
        )
    ) == {"u"}


@pytest.mark.parametrize(
    "cell", ["{'id': 5}", "[1 2 ... 9]", "...", "tensor(5)", "1.23E+12", "<object at 0x7f>"]
)
def test_what_is_no_id_is_left_out(load: Load, db: Database, cell: str) -> None:
    load("events", f"user_id,item_id,rating\nu,i,4\n{cell},i,3\nu,{cell},2\n", "e.csv")
    lists = load("lists", f"user_id,system,item_id,rank\nu,s,i,1\nu,s,{cell},2\n{cell},s,i,1\n", "l.csv")
    items = load("items", f"item_id,title\ni,A\n{cell},B\n", "i.csv")
    assert (lists.warning_kinds["not an id"], items.warning_kinds["not an id"]) == (2, 1)
    assert db.column("SELECT user_id || item_id FROM events") == ["ui"]
    assert db.column("SELECT item_id FROM slate_items UNION SELECT item_id FROM items") == ["i"]


def test_ids_that_were_kept_from_a_spreadsheet(load: Load, db: Database) -> None:
    load("lists", 'user_id,system,item_id,rank\n="007",s,"=""0012""",1\n"=""007""",s,="13",2\n')
    assert lists_of(db) == {("007", "s"): ["0012", "13"]}


@pytest.mark.parametrize("rank", ["0", "7"])
def test_ranks_that_tell_nothing_stop_the_import(load: Load, db: Database, rank: str) -> None:
    rows = "".join(f"u{n % 5},s,i{n},{rank}\n" for n in range(50))
    with pytest.raises(
        InputError, match=r"45 of 50 cannot be used \(45 × duplicated rank\).*in a column context"
    ):
        load("lists", "user_id,system,item_id,rank\n" + rows)
    assert db.value("SELECT count(*) FROM imports") == 0


@pytest.mark.parametrize("name", ["{3F2504E0}", "[REC]", "(500) Days", "1e5", "MF(d=64)", "Wait..."])
def test_an_odd_id_is_kept(load: Load, db: Database, name: str) -> None:
    load("lists", f"user_id,system,item_id,rank\nu,s,{name},1\n")
    assert db.column("SELECT item_id FROM slate_items") == [name]


@pytest.mark.parametrize(
    "cell",
    ["[  1   2 ...  9]", "array([5, 9])", "tensor([5, 9])", "[np.array([1]), 2]", "0 a, dtype: object", "[[1, 2, 3]]", "[Ellipsis]", "nan", '[1, 2, 3', "[" + "123456, " * 4095 + "1234567", "1|2" + "|345" * 8191],  # noqa: E501
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


def test_numbers_of_times_that_fit_only_in_part_stop_the_import(load: Load, db: Database) -> None:
    rows = "".join(f"u,i{n},4,{n}\n" for n in range(1, 30_000, 500))
    with pytest.raises(InputError, match=r"20 are read as a spreadsheet’s days.*“1” \(1 row\).*37 others"):
        load("events", "user_id,item_id,rating,timestamp\n" + rows)
    assert db.value("SELECT count(*) FROM imports") == 0


@pytest.mark.parametrize("digits", ["202405011200", "2024050112", "-5", "0"])
def test_a_number_that_may_be_a_day_and_an_hour_is_no_unix_time(load: Load, digits: str) -> None:
    summary = load("events", f"user_id,item_id,rating,timestamp\nu,i,4,1577836800\nu,j,4,{digits}\n")
    assert summary.warning_kinds == {"bad timestamp": 1}


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("events", "user_id;item_id;rating\nu;i;3,5\nu;j;4\n"),
        ("lists", "user_id;system;item_id;score\nu;s;i;0,5\nu;s;j;1\n"),
        ("lists", "user_id;system;item_id;rank;score\nu;s;i;1;0,5\nu;s;j;2;1\n"),
        ("events", "user_id;item_id;rating\nu;i;1,000.5\nu;j;4\n"),
    ],
)
def test_numbers_with_commas_stop_the_import(load: Load, kind: str, content: str) -> None:
    with pytest.raises(InputError, match=r"1 numbers of .* have a comma.*in.csv:2"):
        load(kind, content)
