"""The Yelp Open Dataset, of several years."""

from __future__ import annotations

import json
from typing import Any

from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of

NEW = {
    "business_id": "Pns2l4eNsfO8kk83dixA6A", "name": "Abby's Noodles", "city": "Tucson", "state": "AZ", "stars": 4.5,
    "review_count": 7, "is_open": 1, "attributes": {"RestaurantsPriceRange2": "2", "WiFi": "u'free'"},
    "categories": "Noodles, Thai , Noodles, Food", "hours": {"Monday": "0:0-0:0"},
}  # fmt: skip
OLD = {
    "type": "business", "business_id": "b2", "name": "Kafé", "categories": ["Cafes", "Food"], "city": "Edinburgh",
    "attributes": {"Price Range": 1},
}  # fmt: skip
BARE = {"business_id": "0012", "name": "No Categories", "categories": None, "attributes": None}
USER = {
    "user_id": "u1", "name": "Jo", "review_count": 5, "yelping_since": "2009-01-25 04:35:42", "friends": "u2, u3",
    "elite": "2010", "average_stars": 3.91, "fans": 2, "useful": 9,
}  # fmt: skip


def _lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\r\n" for row in rows)


def test_businesses_old_and_new(load: Load, db: Database) -> None:
    summary = load("items", "\ufeff" + _lines(NEW, OLD, BARE), "yelp_academic_dataset_business.json")
    assert (summary.files[0].layout, summary.stored, summary.skipped) == ("yelp", 3, 0)
    items = db.rows("SELECT item_id, title, category, attributes FROM items ORDER BY item_id")
    assert [tuple(row)[:3] for row in items] == [
        ("0012", "No Categories", ""),
        ("Pns2l4eNsfO8kk83dixA6A", "Abby's Noodles", "Noodles|Thai|Food"),
        ("b2", "Kafé", "Cafes|Food"),
    ]
    assert json.loads(items[1][3]) == {
        "city": "Tucson", "state": "AZ", "stars": "4.5", "review_count": "7", "price_range": "2", "is_open": "1",
    }  # fmt: skip
    assert json.loads(items[2][3]) == {"city": "Edinburgh", "price_range": "1"}


def test_users_without_what_is_private(load: Load, db: Database) -> None:
    assert load("users", _lines(USER), "user.json").files[0].layout == "yelp"
    row = db.rows("SELECT user_id, attributes FROM users")[0]
    wanted = {
        "review_count": "5", "average_stars": "3.91", "fans": "2", "yelping_since": "2009-01-25 04:35:42",
    }  # fmt: skip
    assert (row[0], json.loads(row[1])) == ("u1", wanted)


def test_reviews_and_tips(load: Load, db: Database) -> None:
    review = {
        "review_id": "r", "user_id": "u1", "business_id": "b2", "stars": 4.0, "text": "Long.",
        "date": "2015-01-04 00:01:03",
    }  # fmt: skip
    tip = {
        "user_id": "u1", "business_id": "b2", "text": "Go!", "date": "2011-07-18", "likes": 0, "type": "tip",
    }  # fmt: skip
    assert load("events", _lines(review), "review.json").files[0].layout == "yelp"
    assert load("events", _lines(tip), "tip.json").files[0].layout == "yelp"
    assert rows_of(db, "SELECT user_id, item_id, type, value, timestamp, text FROM events ORDER BY id") == [
        ("u1", "b2", "review", 4.0, "2015-01-04T00:01:03+00:00", ""),
        ("u1", "b2", "tip", None, "2011-07-18T00:00:00+00:00", ""),
    ]
