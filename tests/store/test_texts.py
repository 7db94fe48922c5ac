from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.store.data import cases_with, data_texts
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from tests.support.runs import load, planned

ITEMS = [("item_id", "title", "brand", "category", "colour"),
         *((f"i{n}", f"title {n}", f"brand {n}", f"kind {n}", "red") for n in range(6))]  # fmt: skip


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    """anna: list i0 i1, has bought i2, searched; ben: list i1 i3, held out i4. One explanation for anna."""
    with connect(project_db) as database:
        load(database, "items", ITEMS)
        load(database, "users", [("user_id", "age"), ("anna", "34"), ("ben", "51")])
        load(
            database,
            "events",
            [
                ("user_id", "item_id", "text", "type", "timestamp"),
                ("anna", "i2", "", "purchase", "2024-05-01"),
                ("anna", "", "red soap", "search", "2024-05-02"),
                ("ben", "i5", "", "purchase", "2024-05-01"),
                ("ben", "i4", "", "heldout_purchase", "2024-06-01"),
            ],
        )
        rows = [("anna", "x", "i0", 1), ("anna", "x", "i1", 2), ("ben", "x", "i1", 1), ("ben", "x", "i3", 2)]
        load(database, "lists", [("user_id", "system", "item_id", "rank"), *rows])
        load(
            database,
            "explanations",
            [
                ("user_id", "item_id", "system", "text", "reference"),
                ("anna", "i0", "e", "because", "I like it"),
            ],
        )
        yield database


def test_every_text_that_a_judge_may_see_is_read(db: Database) -> None:
    found = {(t.owner, t.id, t.field): t.text for t in data_texts(db, project_id(db, "films"))}
    assert found["item", "i3", "title"] == "title 3"
    assert found["item", "i3", "brand"] == "brand 3"
    assert found["item", "i3", "category"] == "kind 3"
    assert found["item", "i3", "attribute colour"] == "red"
    assert found["user", "ben", "attribute age"] == "51"
    assert found["user", "anna", "search"] == "red soap"
    assert found["explanation", "1", "text"] == "because"
    assert found["explanation", "1", "reference"] == "I like it"
    assert "heldout_purchase" not in found.values()


def test_an_item_is_in_the_cases_whose_lists_or_history_hold_it(db: Database) -> None:
    planned(db, top_k=2)
    project = project_id(db, "films")
    cases = {row["user_id"]: row["id"] for row in db.rows("SELECT id, user_id FROM cases")}
    found = cases_with(db, project, "item", ["i0", "i1", "i2", "i4", "i5", "none"])
    assert found["i0"][1] == [cases["anna"]]
    assert found["i1"][0] == 2
    assert found["i1"][1] == sorted(cases.values())
    assert found["i2"][1] == [cases["anna"]], "through the history"
    assert found["i5"][1] == [cases["ben"]]
    assert set(found) == {"i0", "i1", "i2", "i5"}, "not the held-out one"
    assert cases_with(db, project, "user", ["ben"])["ben"][1] == [cases["ben"]]
