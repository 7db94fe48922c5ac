"""Offline metrics of imported lists, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from recjudge_tui.domain.records import Event, Item, RankedItem, Slate
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.metrics import metrics_table
from recjudge_tui.store.imports.loading import add_events, add_items, add_slate
from tests.support.verdicts import Project, import_target, new_project


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
        "auc", "ndcg", "ndcg_exp", "ndcg_explicit", "precision", "recall", "map", "map_min", "mrr", "hit_rate", "urd", "ild",
        "novelty", "popularity", "coverage",
    ]  # fmt: skip
    assert {row["system"] for row in table.rows} == {"x"}
    assert all(
        set(row) == {"system", "metric", "k", "value", "ci_low", "ci_high", "n", "users", "note"}
        for row in table.rows
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


def test_users_with_held_out_events_and_no_list_are_named(project: Project) -> None:
    with project.db.transaction():
        add_events(import_target(project), [Event(user_id="u3", type="heldout_click", item_id="a")])
    table = metrics_table(project.db, project.id, 2)
    assert "x: 1 user with held-out events has no list and is not counted" in table.notes
    assert metric(table, "ndcg")["n"] == 2


def test_an_empty_list_counts_as_zero(project: Project) -> None:
    with project.db.transaction():
        target = import_target(project)
        add_events(target, [Event(user_id="u3", type="heldout_click", item_id="a")])
        add_slate(target, Slate(user_id="u3", system="x", items=()))
    row = metric(metrics_table(project.db, project.id, 2), "recall")
    assert (row["value"], row["n"]) == (pytest.approx(1 / 3), 3)


def test_systems_with_different_users_keep_to_their_own(project: Project) -> None:
    with project.db.transaction():
        items = (RankedItem(item_id="e"),)
        add_slate(import_target(project), Slate(user_id="u2", system="w", items=items))
    table = metrics_table(project.db, project.id, 2, metrics=["mrr", "auc"])
    rows = {(row["system"], row["metric"]): (row["value"], row["n"]) for row in table.rows}
    assert rows == {
        ("w", "mrr"): (1.0, 1),
        ("w", "auc"): (None, 0),
        ("x", "mrr"): (0.25, 2),
        ("x", "auc"): (0.5, 1),
    }
    alone = metrics_table(project.db, project.id, 2, metrics=["mrr"], among=["w"])
    assert [row["system"] for row in alone.rows] == ["w"]


def test_only_the_metrics_asked_for_in_their_order(project: Project) -> None:
    table = metrics_table(project.db, project.id, 2, metrics=["recall", "coverage", "auc"])
    assert [row["metric"] for row in table.rows] == ["recall", "coverage", "auc"]
    only = metrics_table(project.db, project.id, 2, metrics=["coverage"])
    assert [row["value"] for row in only.rows] == [2 / 5]


def test_unknown_metric_and_system(project: Project) -> None:
    with pytest.raises(UsageError, match="no metric “f1”"):
        metrics_table(project.db, project.id, metrics=["f1"])
    with pytest.raises(NotFoundError, match="no system “y” in this project Available: x"):
        metrics_table(project.db, project.id, among=["y"])


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
