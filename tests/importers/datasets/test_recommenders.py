"""Lists as recommender libraries write them: Elliot, Cornac, LensKit, and the frames of PyTerrier and ranx."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.store.database import Database
from tests.support.importing import Load, lists_of


def test_elliot_names_the_system_in_the_file_name(db: Database, tmp_path: Path) -> None:
    """MostPop's scores are whole numbers, which might be ratings if the name did not say what they are."""
    (tmp_path / "MostPop_seed=42.tsv").write_text("1\t10\t20\n1\t12\t20\n1\t11\t15\n2\t10\t20\n")
    knn = tmp_path / "ItemKNN_nn=40_sim=cosine_it=1.tsv"
    knn.write_text("1\t10\t0.5\n1\t9\t0.93\n2\t7\tnan\n2\t8\t0.1\n\t8\t0.1\n")
    (tmp_path / "notes.tsv").write_text("a\tb\n1\t2\n")
    [summary] = import_paths(db, "p", [tmp_path], None)
    assert [(f.layout, f.stored, f.skipped) for f in summary.files] == [("elliot", 3, 2), ("elliot", 4, 0)]
    assert lists_of(db) == {
        ("1", "ItemKNN_nn=40_sim=cosine_it=1"): ["9", "10"],
        ("2", "ItemKNN_nn=40_sim=cosine_it=1"): ["8"],
        ("1", "MostPop_seed=42"): ["10", "12", "11"],
        ("2", "MostPop_seed=42"): ["10"],
    }
    assert "it gets the file's name, “MostPop_seed=42”" in " ".join(summary.files[1].remarks)


def test_cornacs_replies(load: Load, db: Database) -> None:
    replies = [
        {"recommendations": ["10", "7", "3"], "query": {"uid": "a", "k": 3, "remove_seen": False}},
        {"recommendations": [4, 10], "query": {"uid": 9, "k": 2, "remove_seen": True}},
        {"recommendations": [], "query": {"uid": "c"}},
        {"recommendations": ["1"], "query": {}},
    ]
    for text, name in (
        ("".join(json.dumps(reply) + "\n" for reply in replies), "bpr.jsonl"),
        (json.dumps(replies), "wmf.json"),
    ):
        summary = load("lists", text, name)
        assert (summary.files[0].layout, summary.stored, summary.skipped) == ("cornac", 5, 1)
        assert summary.warning_kinds["empty list"] == 1
    assert lists_of(db) == {
        ("a", "bpr"): ["10", "7", "3"],
        ("9", "bpr"): ["4", "10"],
        ("a", "wmf"): ["10", "7", "3"],
        ("9", "wmf"): ["4", "10"],
    }


def test_lenskits_frames(load: Load, db: Database) -> None:
    """Before 2025 `batch.recommend` gave item, score, user, rank; an experiment adds the algorithm."""
    load("lists", "item,score,user,rank,Algorithm\n10,4.2,1,1,II\n11,4.1,1,2,II\n10,3,1,1,ALS\n", "recs.csv")
    load("lists", "user_id,item_id,rank,score\n1,5,2,0.1\n1,6,1,0.2\n", "flat.csv", system="EASE")
    assert lists_of(db) == {("1", "II"): ["10", "11"], ("1", "ALS"): ["10"], ("1", "EASE"): ["6", "5"]}


def test_lenskits_collections_in_parquet(db: Database, tmp_path: Path) -> None:
    """`ItemListCollection.save_parquet`: a row for each list with its items, or flat."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    item = pa.struct({"item_id": pa.int64(), "rank": pa.int32(), "score": pa.float32()})
    native = pa.table(
        {
            "model": ["knn", "als"],
            "user_id": pa.array([1, 1], pa.int64()),
            "items": pa.array(
                [[{"item_id": 7, "rank": 1, "score": 0.5}, {"item_id": 9, "rank": 2, "score": 0.25}], []],
                pa.list_(item),
            ),
        }
    )
    pq.write_table(native, tmp_path / "native.parquet")
    flat = {
        "model": ["pop", "pop"], "user_id": [1, 1], "item_id": [9, 7], "rank": [1, 2], "score": [3.0, 2.0],
    }  # fmt: skip
    pq.write_table(pa.table(flat), tmp_path / "flat.parquet")
    [summary] = import_paths(db, "p", [tmp_path / "native.parquet", tmp_path / "flat.parquet"], None)
    assert summary.kind == "lists"
    assert lists_of(db) == {("1", "knn"): ["7", "9"], ("1", "pop"): ["9", "7"]}


def test_one_file_of_scores_is_not_guessed(load: Load) -> None:
    with pytest.raises(InputError, match="no column system"):
        load("lists", "1\t10\t0.5\n", "recs.tsv")
