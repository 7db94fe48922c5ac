"""When the lists of a case stood, as imports came, were undone, and brought earlier lists back."""

from __future__ import annotations

import numpy as np
import pytest

from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import list_imports, undo_import
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.ratings import (
    NEVER,
    Lifetimes,
    in_generation,
    load_lifetimes,
    newest_judged,
)
from tests.support.runs import load, planned

HEADER = ("user_id", "system", "item_id", "rank")


@pytest.fixture
def films(db: Database) -> Database:
    load(db, "items", [("item_id", "title"), *((f"i{n}", f"Film {n}") for n in range(4))])
    return db


def lists(db: Database, **first: str) -> int:
    """Lists of one user, each of one item, imported and planned to be judged; the import's id."""
    load(db, "lists", [HEADER, *(("u", system, item, 1) for system, item in first.items())])
    planned(db, rater=f"of import {len(list_imports(db))}", no_history=True)
    return int(list_imports(db)[-1]["id"])


def lifetimes(db: Database) -> dict[tuple[str, str], tuple[int, int]]:
    """(system, item of its list) -> since and until, of every case of one list."""
    rows = db.rows(
        """SELECT c.id, c.system_a, i.item_id FROM cases c JOIN slate_items i ON i.slate_id = c.slate_a ORDER BY c.id"""
    )
    found = load_lifetimes(db, project_id(db, "films"), np.array([row[0] for row in rows]))
    assert found is not None
    return {
        (system, item): (since, until)
        for (_, system, item), since, until in zip(
            rows, found.since.tolist(), found.until.tolist(), strict=True
        )
    }


def test_lists_are_current_until_others_of_the_same_user_and_system_replace_them(films: Database) -> None:
    first = lists(films, als="i0", pop="i1")
    assert load_lifetimes(films, 1, np.array([1, 2])) is None
    second = lists(films, als="i2", pop="i1")
    assert lifetimes(films) == {
        ("als", "i0"): (first, second), ("als", "i2"): (second, NEVER), ("pop", "i1"): (first, NEVER),
    }  # fmt: skip


def test_a_list_imported_again_is_current_from_then_on(films: Database) -> None:
    lists(films, als="i0")
    second = lists(films, als="i1")
    third = lists(films, als="i0", pop="i3")
    found = lifetimes(films)
    assert found["als", "i0"] == (third, NEVER)
    assert found["als", "i1"] == (second, third)


def test_a_list_whose_import_was_undone_is_not_current_beside_its_successor(films: Database) -> None:
    first = lists(films, als="i0")
    second = lists(films, als="i1")
    undo_import(films, second)
    found = lifetimes(films)
    assert found["als", "i0"] == (first, NEVER)
    assert found["als", "i1"] == (0, 1)


def test_lists_of_another_occasion_stand_beside_each_other(films: Database) -> None:
    for context in ("home", "search"):
        load(films, "lists", [(*HEADER, "context"), ("u", "als", f"i{len(context) % 4}", 1, context)])
    planned(films, rater="both", no_history=True)
    assert load_lifetimes(films, 1, np.array([1, 2])) is None


def test_a_figure_uses_the_lists_that_were_current_with_the_newest_judged_ones() -> None:
    # replaced, never replaced, new, and come later
    found = Lifetimes(np.array([1, 1, 3, 5]), np.array([3, NEVER, NEVER, NEVER]))
    judged = np.array([0, 1, 2])
    assert newest_judged(found, judged) == 3
    assert in_generation(found, judged, 3).tolist() == [False, True, True]
    assert newest_judged(found, judged[:2]) == 1
    assert in_generation(found, judged[:2], 1).all()
    assert newest_judged(found, judged[:0]) == 0
