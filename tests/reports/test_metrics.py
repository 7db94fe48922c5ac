"""Offline metrics of imported lists, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from recjudge_tui.model.records import Event, Item, RankedItem, Slate
from recjudge_tui.reports.metrics import categories_of, metrics_table
from recjudge_tui.reports.table import Row, Table
from recjudge_tui.store.loading import add_events, add_items, add_slate
from tests.reports.building import Project, import_target, new_project


@pytest.fixture
def project(project_db: Path) -> Project:
    """Two users, one system; u1 liked b (4, above the mean of 3) and not c (2); u2 bought e, which is not listed."""
    project = new_project(project_db)
    with project.db.transaction():
        target = import_target(project)
        categories = {"a": "x|y", "b": "x", "c": "y", "d": "z", "e": "z"}
        add_items(target, [Item(item_id=key, title=key, category=text) for key, text in categories.items()])
        events = [
            Event(user_id="u1", type="rating", item_id="a", value=3.0),
            Event(user_id="u1", type="heldout_rating", item_id="b", value=4.0),
            Event(user_id="u1", type="heldout_rating", item_id="c", value=2.0),
            Event(user_id="u2", type="purchase", item_id="a"),
            Event(user_id="u2", type="purchase", item_id="b"),
            Event(user_id="u2", type="heldout_purchase", item_id="e"),
        ]
        add_events(target, events)
        scored = tuple(
            RankedItem(item_id=key, score=score) for key, score in (("c", 3.0), ("b", 2.0), ("d", 1.0))
        )
        add_slate(target, Slate(user_id="u1", system="x", items=scored))
        add_slate(target, Slate(user_id="u2", system="x", items=scored))
    return project


def metric(table: Table, name: str) -> Row:
    return next(row for row in table.rows if row["metric"] == name)


def test_every_metric_of_the_documented_names(project: Project) -> None:
    table = metrics_table(project.db, project.id, 2)
    assert [row["metric"] for row in table.rows] == [
        "auc", "ndcg", "ndcg_exp", "ndcg_explicit", "precision", "recall", "map", "mrr", "hit_rate", "urd", "ild",
        "novelty", "popularity", "coverage",
    ]  # fmt: skip
    assert {row["system"] for row in table.rows} == {"x"}
    assert all(
        set(row) == {"system", "metric", "k", "value", "ci_low", "ci_high", "n", "note"} for row in table.rows
    )


@pytest.mark.parametrize(
    ("name", "value", "n"),
    [
        # u1: relevant is b at rank 2; u2: e is not in the list
        ("ndcg", (1 / math.log2(3) + 0) / 2, 2),
        ("precision", 0.25, 2),
        ("recall", 0.5, 2),
        ("map", 0.25, 2),
        ("mrr", 0.25, 2),
        ("hit_rate", 0.5, 2),
        # u1: b above d and below c; u2 has no relevant candidate
        ("auc", 0.5, 1),
        ("ndcg_explicit", (2 + 4 / math.log2(3)) / (4 + 2 / math.log2(3)), 1),
        ("ndcg_exp", ((3 + 15 / math.log2(3)) / (15 + 3 / math.log2(3)) + 0) / 2, 2),
        ("urd", 1.0, 2),
        ("ild", 1.0, 2),
        ("coverage", 2 / 5, 2),
        # 3 shown events: a twice, b once; c was never met
        ("popularity", 0.5, 2),
        ("novelty", math.log2(3), 2),
    ],
)
def test_values(project: Project, name: str, value: float, n: int) -> None:
    row = metric(metrics_table(project.db, project.id, 2), name)
    assert row["value"] == pytest.approx(value)
    assert row["n"] == n
    assert row["k"] == (None if name == "auc" else 2)


def test_users_without_a_figure_are_counted(project: Project) -> None:
    assert "1 missing left out" in str(
        metric(metrics_table(project.db, project.id, 2), "ndcg_explicit")["note"]
    )


def test_undefined_says_why(project: Project) -> None:
    project.db.execute("DELETE FROM events")
    project.db.execute("UPDATE slate_items SET score = NULL")
    table = metrics_table(project.db, project.id, 2)
    for name in ("auc", "ndcg", "recall", "ndcg_explicit", "novelty"):
        assert metric(table, name)["value"] is None
        assert metric(table, name)["note"]
    assert any("heldout_" in note for note in table.notes)


def test_no_lists(project_db: Path) -> None:
    project = new_project(project_db)
    table = metrics_table(project.db, project.id)
    assert table.rows == ()
    assert "no lists yet" in table.notes[0]


def test_categories() -> None:
    assert categories_of("Comedy| Drama |") == {"Comedy", "Drama"}
    assert categories_of("") == frozenset()
