"""What stands in the prompts of real cases: values, types of events, examples, thresholds, statements."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from recjudge_tui.importers.load import import_files
from recjudge_tui.store.database import Database
from tests.support.requests import sent_request
from tests.support.runs import calls, load, planned

ITEMS = [("item_id", "title"), *((f"i{n}", f"Film {n}") for n in range(20))]


def rendered(db: Database, run: int) -> list[str]:
    """System and user text of every call."""
    return ["\n".join(m.content for m in sent_request(db, call["id"]).messages) for call in calls(db, run)]


def with_events(db: Database, *events: tuple[object, ...], length: int = 4) -> None:
    load(db, "items", ITEMS)
    load(db, "events", [("user_id", "item_id", "type", "value"), *(("u", *event) for event in events)])
    lists = [
        ("u", s, f"i{10 + rank + n}", rank)
        for n, s in enumerate(("als", "pop"))
        for rank in range(1, length + 1)
    ]
    load(db, "lists", [("user_id", "system", "item_id", "rank"), *lists])


@pytest.mark.parametrize("protocol", ["pointwise", "pairwise", "arena", "absolute"])
def test_any_valued_event_shows_its_value(db: Database, protocol: str) -> None:
    with_events(
        db,
        ("i1", "purchase", 5),
        ("i2", "review", 2),
        ("i3", "watch", 0.83),
        ("i4", "rating", 4),
        ("i5", "like", ""),
    )
    for text in rendered(db, planned(db, protocol=protocol)):
        assert "- purchase: Film 1 | value 5\n" in text
        assert "- review: Film 2 | rated 2\n" in text
        assert "- watch: Film 3 | value 0.83\n" in text
        assert "- rating: Film 4 | rated 4\n" in text
        assert "- like: Film 5\n" in text


def test_the_scale_is_shown_where_the_layout_knows_it(db: Database) -> None:
    path = Path(db.path).with_name("reviews.csv")
    rows = [
        ("user_id", "parent_asin", "rating", "timestamp", "verified_purchase"),
        ("u", "i1", "5.0", "1700000000000", "True"),
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    import_files(db, "films", [path], "events", layout="amazon-reviews")
    load(db, "items", ITEMS)
    load(db, "lists", [("user_id", "system", "item_id", "rank"), ("u", "als", "i2", 1)])
    (text,) = rendered(db, planned(db))
    assert "- 2023-11-14 purchase: Film 1 | rated 5 on a scale of 1 to 5\n" in text


@pytest.mark.parametrize("protocol", ["pairwise", "arena"])
def test_wishes_impressions_and_unknown_types_are_no_history(db: Database, protocol: str) -> None:
    with_events(
        db,
        ("i1", "purchase", ""),
        ("i2", "impression", ""),
        ("i3", "add_to_cart", ""),
        ("i4", "teleport", ""),
    )
    for text in rendered(db, planned(db, protocol=protocol)):
        history, others = text[text.index(" newest first:") :].split("Other events, newest first:\n")
        assert "- purchase: Film 1\n" in history
        assert not any(f"Film {n}\n" in history for n in (2, 3, 4))
        assert others.startswith("- teleport: Film 4\n- add_to_cart: Film 3\n- impression: Film 2\n")
