"""Amazon Reviews 2023: reviews, metadata, and the benchmark's tables."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from recjudge_tui.importers.folders import import_paths
from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of

REVIEW = {
    "rating": 4.0, "title": "Such a lovely scent", "text": "Not overpowering.", "images": [], "asin": "B00YQ6X8EO",
    "parent_asin": "B00YQ6X8EN", "user_id": "AGKHLEW2SOWHNMFQIJGBECAF7INQ", "timestamp": 1588687728923,
    "helpful_vote": 0, "verified_purchase": True,
}  # fmt: skip
PRODUCT = {
    "main_category": "All Beauty", "title": "Howard LC0008 Leather Conditioner, 8-Ounce", "average_rating": 4.8,
    "rating_number": 10, "features": ["Removes dust", "8 oz"], "description": [], "price": None,
    "images": [{"thumb": "https://example.org/a.jpg", "variant": "MAIN"}], "videos": [], "store": "Howard Products",
    "categories": ["Beauty", "Care"], "details": {"Package Dimensions": "7.1 x 5.5", "UPC": "617390882781", "Rank": 5},
    "parent_asin": "B00YQ6X8EN", "bought_together": None,
}  # fmt: skip


def _lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_reviews(load: Load, db: Database) -> None:
    unverified = {**REVIEW, "verified_purchase": False, "rating": 1.0, "timestamp": 1588687728000}
    summary = load("events", _lines(REVIEW, unverified, {**REVIEW, "parent_asin": ""}), "All_Beauty.jsonl")
    assert (summary.files[0].layout, summary.stored, summary.skipped) == ("amazon-reviews", 2, 1)
    assert summary.warning_kinds == {"no item_id": 1}
    rows = db.rows("SELECT user_id, item_id, type, value, timestamp, text FROM events ORDER BY id")
    user = "AGKHLEW2SOWHNMFQIJGBECAF7INQ"
    assert [tuple(row) for row in rows] == [
        (user, "B00YQ6X8EN", "purchase", 4.0, "2020-05-05T14:08:48.923000+00:00", ""),
        (user, "B00YQ6X8EN", "review", 1.0, "2020-05-05T14:08:48+00:00", ""),
    ]


def test_products(load: Load, db: Database) -> None:
    bare = {
        "parent_asin": "B2", "title": "Brush", "main_category": "All Beauty", "store": None, "categories": [],
        "price": "None", "details": json.dumps({"Color": "red", "": "x"}),
    }  # fmt: skip
    summary = load("items", _lines(PRODUCT, bare, {**PRODUCT, "title": ""}), "meta_All_Beauty.jsonl")
    assert (summary.files[0].layout, summary.stored, summary.skipped) == ("amazon-reviews", 2, 1)
    first, second = db.rows("SELECT item_id, title, brand, category, attributes FROM items ORDER BY item_id")
    assert tuple(first)[:4] == ("B00YQ6X8EN", PRODUCT["title"], "Howard Products", "Beauty|Care")
    assert json.loads(first[4]) == {
        "main_category": "All Beauty", "average_rating": "4.8", "rating_number": "10", "features": "Removes dust|8 oz",
        "Package Dimensions": "7.1 x 5.5", "UPC": "617390882781", "Rank": "5",
    }  # fmt: skip
    assert tuple(second)[:4] == ("B2", "Brush", "", "All Beauty")
    assert json.loads(second[4]) == {"main_category": "All Beauty", "Color": "red"}


def test_the_benchmarks_ratings(load: Load, db: Database) -> None:
    header = "user_id,parent_asin,rating,timestamp"
    load("events", f"{header}\nu,b,5.0,1588687728923\n", "All_Beauty.train.csv")
    load("events", f"{header},history\nu,c,4.0,1588687729923,b\n", "All_Beauty.test.csv")
    assert rows_of(db, "SELECT item_id, type, value FROM events ORDER BY id") == [
        ("b", "review", 5.0),
        ("c", "heldout_review", 4.0),
    ]


def test_a_folder_of_both_packed(db: Database, tmp_path: Path) -> None:
    (tmp_path / "All_Beauty.jsonl.gz").write_bytes(gzip.compress(_lines(REVIEW).encode()))
    (tmp_path / "meta_All_Beauty.jsonl.gz").write_bytes(gzip.compress(_lines(PRODUCT).encode()))
    summaries = import_paths(db, "p", [tmp_path], None)
    assert [(s.kind, s.stored, s.files[0].layout) for s in summaries] == [
        ("items", 1, "amazon-reviews"),
        ("events", 1, "amazon-reviews"),
    ]
