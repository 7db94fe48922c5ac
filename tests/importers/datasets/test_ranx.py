"""Runs and qrels as ranx saves them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.store.database import Database
from tests.support.importing import Load, lists_of, rows_of


def _events(db: Database) -> list[tuple[str, str, str, float]]:
    return rows_of(db, "SELECT user_id, item_id, type, value FROM events ORDER BY id")


def test_a_run_is_ranked_by_score_and_then_document(load: Load, db: Database) -> None:
    run = {"q_1": {"d_1": 1.5, "d_2": 2.6}, "q 2": {"d9": 2.0, "d10": 2.0, "é": 3.1e-1}}
    summary = load("lists", json.dumps(run, ensure_ascii=False), "bm25.json")
    assert (summary.files[0].layout, summary.stored, summary.skipped) == ("ranx-run", 5, 0)
    assert lists_of(db) == {("q_1", "bm25"): ["d_2", "d_1"], ("q 2", "bm25"): ["d9", "d10", "é"]}
    assert summary.warning_kinds == {"no items yet": 1}
    assert "it gets the file's name, “bm25”" in summary.files[0].remarks[0]


def test_qrels_are_held_out(load: Load, db: Database) -> None:
    text = json.dumps({"q_1": {"d_1": 5, "d_2": 0}, "q_2": {"d_1": 1}, "q_3": {}}, indent=2)
    summary = load("events", text[:-1] + ', "q_4": {"d": 1, "d": 2}}', "qrels.json")
    assert (summary.files[0].layout, summary.stored, summary.skipped) == ("ranx-qrels", 4, 2)
    assert _events(db)[:3] == [
        ("q_1", "d_1", "heldout_relevance", 5.0),
        ("q_1", "d_2", "heldout_relevance", 0.0),
        ("q_2", "d_1", "heldout_relevance", 1.0),
    ]
    assert summary.warning_kinds == {"nothing in it": 1, "judged twice": 1}
    assert "qrels.json:entry 4: “q_4 d” is judged twice" in summary.warnings[1]


def test_a_folder_holds_both(db: Database, tmp_path: Path) -> None:
    (tmp_path / "als.json").write_text('{"q": {"d": 0.5}}')
    (tmp_path / "pop.json.gz").write_bytes(gzip.compress(b'{"q": {"d": 1.5, "e": 1}}'))
    (tmp_path / "qrels.json").write_text('{"q": {"d": 1}}')
    (tmp_path / "other.json").write_text('{"a": {"b": 1}, "c": 2}')
    summaries = import_paths(db, "p", [tmp_path], None)
    assert [(s.kind, s.stored) for s in summaries] == [("events", 1), ("lists", 3)]
    assert lists_of(db) == {("q", "als"): ["d"], ("q", "pop"): ["d", "e"]}


def test_whole_scores_are_a_run_only_if_named(load: Load, db: Database) -> None:
    text = '{"q": {"d": 1, "e": 2}}'
    with pytest.raises(InputError, match=r"contains events, not lists.*--layout ranx-run"):
        load("lists", text, "run.json")
    load("lists", text, "run.json", layout="ranx-run", system="mine")
    assert lists_of(db) == {("q", "mine"): ["e", "d"]}
