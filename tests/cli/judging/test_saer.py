"""`recjudge run saer` as a user and a script meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recjudge_tui.store.database import Database
from tests.support.runs import make_project, ran


@pytest.fixture
def db(db: Database) -> Database:
    make_project(db, users=6, systems=("als", "pop", "svd"))
    return db


def test_the_page_is_on_stdout_and_everything_else_is_not(db: Database, tmp_path: Path) -> None:
    words = ["run", "saer", "-p", "films", "--judge", "rules", "--systems", "als,pop", "--db", db.path]
    code, out, err = ran(*words)
    assert code == 0
    assert out.startswith("SAER: films, judged by rules\n")
    assert out.index("Every list alone") < out.index("Lists in pairs") < out.index("Cost and time")
    assert err.splitlines() == [
        "pointwise: rules · prompt pointwise-media@1 · 12 cases, 12 calls",
        "  cost $0 (no language model) · time unknown until the first run of this judge",
        "pairwise: rules · prompt pairwise-media@1 · 6 cases, 12 calls",
        "  cost $0 (no language model) · time unknown until the first run of this judge",
        "together: 24 calls · cost $0 (no language model) · time unknown until the first run of this judge",
        "pointwise: run 1 done: 12 done, 0 failed, 0 from cache, 0 outstanding, cost $0.0000",
        "pairwise: run 2 done: 12 done, 0 failed, 0 from cache, 0 outstanding, cost $0.0000",
    ]
    found = json.loads(ran(*words, "--format", "json")[1])
    assert [table["title"] for table in found["tables"]] == [
        "Every list alone: shares of labels", "Lists in pairs: leaderboard", "Cost and time",
    ]  # fmt: skip
    assert found["settings"]["runs"] == [1, 2]
    page = tmp_path / "saer.html"
    assert ran(*words, "-o", page)[0] == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
