"""Amazon's Shopping Queries dataset."""

from __future__ import annotations

import json
from pathlib import Path

from recjudge_tui.importers.folders import import_paths
from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of

EXAMPLES = """example_id,query,query_id,product_id,product_locale,esci_label,small_version,large_version,split
0, revent 80 cfm,0,B000MOO21W,us,I,0,1,train
1, revent 80 cfm,0,B07X3Y6B1V,us,E,0,1,train
2,"red, shoes",17,B07X3Y6B1V,us,S,1,1,test
3,"red, shoes",17,B07WDM7MQQ,us,C,1,1,test
"""
PRODUCTS = """product_id,product_title,product_description,product_bullet_point,product_brand,product_color,product_locale
B000MOO21W,Panasonic FV-20VQ3 Fan,,"The fan
is quiet",Panasonic,White,us
B07X3Y6B1V,Homewerks Bath Fan,Quiet.,,Homewerks,80 CFM,us
B07X3Y6B1V,Ventilador,,,Homewerks,,es
"""


def _events(db: Database) -> list[tuple[object, ...]]:
    return rows_of(db, "SELECT user_id, item_id, type, text, value FROM events ORDER BY id")


def test_a_folder_of_examples_and_products(db: Database, tmp_path: Path) -> None:
    (tmp_path / "shopping_queries_dataset_examples.csv").write_text(EXAMPLES)
    (tmp_path / "shopping_queries_dataset_products.csv").write_text(PRODUCTS)
    summaries = import_paths(db, "p", [tmp_path], None)
    assert [(s.kind, s.stored, s.skipped) for s in summaries] == [
        ("items", 2, 1),
        ("users", 2, 0),
        ("events", 6, 0),
    ]
    assert {f.layout for s in summaries for f in s.files} == {"esci"}
    assert _events(db) == [
        ("0", "", "search", " revent 80 cfm", None),
        ("0", "B000MOO21W", "heldout_relevance", "", 0.0),
        ("0", "B07X3Y6B1V", "heldout_relevance", "", 1.0),
        ("17", "", "search", "red, shoes", None),
        ("17", "B07X3Y6B1V", "heldout_relevance", "", 0.1),
        ("17", "B07WDM7MQQ", "heldout_relevance", "", 0.01),
    ]
    items = db.rows("SELECT item_id, title, brand, attributes FROM items ORDER BY item_id")
    assert [tuple(row)[:3] for row in items] == [
        ("B000MOO21W", "Panasonic FV-20VQ3 Fan", "Panasonic"),
        ("B07X3Y6B1V", "Homewerks Bath Fan", "Homewerks"),
    ]
    assert json.loads(items[1][3]) == {"color": "80 CFM", "description": "Quiet.", "locale": "us"}
    assert json.loads(db.value("SELECT attributes FROM users WHERE user_id = '17'")) == {
        "locale": "us", "heldout_split": "test",
    }  # fmt: skip
    (remark,) = summaries[2].files[0].remarks
    assert remark.startswith(
        "rows by product_locale: “us” 4; split: “test” 2, “train” 2; small_version: “0” 2, “1” 2"
    )
    assert summaries[0].warning_kinds == {"disagrees with earlier content": 1}


def test_a_merged_table_in_words(load: Load, db: Database) -> None:
    rows = [
        {
            "query_id": 5, "query": "q", "product_id": "p1", "product_locale": "us", "esci_label": label,
            "product_title": "T",
        }
        for label in ("Exact", "Irrelevant", None, "X")
    ]  # fmt: skip
    text = "".join(json.dumps(row) + "\n" for row in rows)
    summary = load("events", text, "merged.jsonl")
    assert (summary.files[0].layout, summary.stored, summary.skipped) == ("esci", 3, 2)
    assert summary.warning_kinds == {"no value": 1, "not a finite number": 1}
    assert [row[-1] for row in _events(db)] == [None, 1.0, 0.0]
    assert load("items", text, "merged.jsonl").stored == 1
    assert load("users", text, "merged.jsonl").stored == 1


def test_parquet_as_released(db: Database, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    examples = {
        "example_id": [0, 1], "query": ["revent 80 cfm"] * 2, "query_id": [0, 0], "product_id": ["B0", "B1"],
        "product_locale": ["us"] * 2, "esci_label": ["I", "E"], "small_version": [0, 0], "large_version": [1, 1],
        "split": ["train"] * 2,
    }  # fmt: skip
    products = {
        "product_id": ["B0", "B1"], "product_title": ["Fan", "Bath Fan"], "product_description": [None, "Quiet."],
        "product_bullet_point": [None, None], "product_brand": ["P", "H"], "product_color": [None, "White"],
        "product_locale": ["us"] * 2, "__index_level_0__": [3, 4],
    }  # fmt: skip
    pq.write_table(pa.table(examples), tmp_path / "shopping_queries_dataset_examples.parquet")
    pq.write_table(pa.table(products), tmp_path / "shopping_queries_dataset_products.parquet")
    summaries = import_paths(db, "p", [tmp_path], None)
    assert [(s.kind, s.stored, s.skipped) for s in summaries] == [
        ("items", 2, 0),
        ("users", 1, 0),
        ("events", 3, 0),
    ]
    assert {f.layout for s in summaries for f in s.files} == {"esci"}
    assert [row[1:] for row in _events(db)][1:] == [
        ("B0", "heldout_relevance", "", 0.0),
        ("B1", "heldout_relevance", "", 1.0),
    ]
