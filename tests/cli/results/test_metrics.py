"""`recjudge metrics`: which metrics and systems, and words that do not fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from recjudge_tui.cli.results.metrics import metrics
from recjudge_tui.domain.records import Event, RankedItem, Slate
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.imports.loading import add_events, add_slate
from tests.support.verdicts import import_target, new_project


@pytest.fixture
def db(project_db: Path) -> str:
    project = new_project(project_db)
    with project.db.transaction():
        target = import_target(project)
        add_events(target, [Event(user_id="u", type="heldout_click", item_id="b")])
        for system, items in (("x", "ab"), ("y", "ba")):
            ranked = tuple(RankedItem(item_id=item) for item in items)
            add_slate(target, Slate(user_id="u", system=system, items=ranked))
    project.db.close()
    return str(project_db)


def table(db: str, *words: str) -> list[dict[str, Any]]:
    arguments = ["-p", "films", "--db", db, "--format", "json", *words]
    result = CliRunner().invoke(metrics, arguments, catch_exceptions=False, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    rows: list[dict[str, Any]] = json.loads(result.stdout)["rows"]
    return rows


def test_all_of_every_system(db: str) -> None:
    rows = table(db)
    assert {row["system"] for row in rows} == {"x", "y"}
    assert len(rows) == 30


def test_chosen(db: str) -> None:
    rows = table(db, "--metrics", "mrr, precision", "--systems", "x", "--k", "4")
    assert [(row["metric"], row["k"], row["value"], row["n"]) for row in rows] == [
        ("mrr", 4, 0.5, 1),
        ("precision", 4, 0.25, 1),
    ]


def test_words_that_do_not_fit(db: str) -> None:
    with pytest.raises(UsageError, match="Available: auc, ndcg"):
        table(db, "--metrics", "ndgc")
    with pytest.raises(NotFoundError, match="no system “z” in this project Available: x, y"):
        table(db, "--systems", "z")
