"""TREC runs and qrels."""

from __future__ import annotations

from recjudge_tui.store.database import Database
from tests.support.importing import Load, lists_of, rows_of


def test_the_score_orders_and_then_the_document(load: Load, db: Database) -> None:
    text = (
        "301 Q0 d1 1 2.5 bm25\r\n"
        "302\tQ0  x 1 1e-3  bm25\r\n"
        "\r\n"
        "301 Q0 d9 2 2.5 bm25\r\n"
        "301 Q0 d10 3 2.5 bm25\r\n"
        "301 Q0 best 99 7 bm25\r\n"
        "301 Q0 é 4 2.5 bm25\r\n"
        "301 0 d1 1 -1 other\r\n"
    )
    summary = load("lists", "\ufeff" + text, "run.txt")
    assert (summary.files[0].layout, summary.stored) == ("trec-run", 7)
    assert lists_of(db) == {
        ("301", "bm25"): ["best", "é", "d9", "d10", "d1"],
        ("302", "bm25"): ["x"],
        ("301", "other"): ["d1"],
    }


def test_repeated_documents_and_bad_lines(load: Load, db: Database) -> None:
    text = "".join(f"q Q0 d{n} {n} {20 - n}.5 s\n" for n in range(20))
    summary = load("lists", text + "q Q0 d3 1 99 s\nq Q0 z 1 nan s\nq Q0 z 1\n")
    assert (summary.stored, summary.skipped) == (20, 3)
    assert lists_of(db)["q", "s"][:3] == ["d3", "d0", "d1"]
    assert set(summary.warning_kinds) >= {"duplicated item", "not a finite number", "a line of another form"}


def test_qrels_are_held_out(load: Load, db: Database) -> None:
    text = "301 0 d1 1\n301\t0\td2  0\n\n301 0 d1 2\n0302 0 9007199254740993 -1\n"
    summary = load("events", text, "qrels.txt")
    assert (summary.files[0].layout, summary.stored, summary.skipped) == ("trec-qrels", 3, 1)
    assert rows_of(db, "SELECT user_id, item_id, type, value FROM events ORDER BY id") == [
        ("301", "d1", "heldout_relevance", 1.0),
        ("301", "d2", "heldout_relevance", 0.0),
        ("0302", "9007199254740993", "heldout_relevance", -1.0),
    ]
    assert ":4: “301 d1” is judged twice" in summary.warnings[0]


def test_letor_and_svmrank(load: Load, db: Database) -> None:
    """The lines of OHSUMED in LETOR 3.0 and of MQ2007 in LETOR 4.0 as their descriptions show them."""
    text = (
        "2 qid:10032 1:0.056537 2:0.000000 3:0.666667 46:0.076923 #docid = GX029-35-5894638 inc = 0.0119881192468859 prob"
        " = 0.139842\n"
        "0 qid:10032 1:0.279152 2:0.000000 46:1.000000 #docid = GX030-77-6315042 inc = 1 prob = 0.341364\n"
        "1 qid:1 1:3.00000000 2:2.07944154 3:0.42857143 #docid = 40626\n"
        "3 qid:2 1:1 2:1 # 1A\n"
    )
    summary = load("events", text, "test.txt")
    assert (summary.files[0].layout, summary.stored, summary.skipped) == ("letor", 4, 0)
    assert rows_of(db, "SELECT user_id, item_id, type, value FROM events ORDER BY id") == [
        ("10032", "GX029-35-5894638", "heldout_relevance", 2.0),
        ("10032", "GX030-77-6315042", "heldout_relevance", 0.0),
        ("1", "40626", "heldout_relevance", 1.0),
        ("2", "1A", "heldout_relevance", 3.0),
    ]
