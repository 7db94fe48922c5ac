"""A file from before lists had occasions: everything in it keeps its meaning, and every figure is the same."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.run import RunSettings
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.runs.plan.plan import RunRequest
from recjudge_tui.store.opening import connect
from recjudge_tui.store.projects.projects import project_id
from tests.support.figures import figures
from tests.support.older_files import file_before
from tests.support.runs import RULES, intact, load, plan_run

OLDER = Path(__file__).with_name("older")
VIEWS = (
    "v_verdicts", "v_calls", "v_flags", "v_runs", "v_leaderboard", "v_current_items", "v_current_slates",
    "v_current_explanations", "v_annotations",
)  # fmt: skip
TABLES = (
    "cases", "slates", "slate_items", "slate_imports", "explanations", "explanation_imports", "events", "run_cases",
    "snapshots", "calls", "answers", "verdicts",
)  # fmt: skip


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A file of migration 0012 with lists (one replaced), texts, two runs and labels."""
    return file_before("0013", OLDER / "project_0012.sql", tmp_path)


def contents(file: Path, columns: dict[str, str]) -> dict[str, list[tuple[Any, ...]]]:
    """Table or view -> its rows, of `columns` where these are given; fills in `columns` otherwise."""
    connection = sqlite3.connect(file)
    connection.row_factory = sqlite3.Row
    found = {}
    for name in TABLES + VIEWS:
        if name not in columns:
            described = connection.execute(f"SELECT * FROM {name}").description
            columns[name] = ", ".join(column[0] for column in described)
        found[name] = sorted(map(tuple, connection.execute(f"SELECT {columns[name]} FROM {name}")), key=repr)
    connection.close()
    return found


def test_every_row_and_view_is_as_before(old_file: Path) -> None:
    columns: dict[str, str] = {}
    before = contents(old_file, columns)
    assert all(before[name] for name in TABLES if name != "explanation_imports")
    with connect(old_file) as db:
        assert intact(db)
        for table in ("slates", "explanations", "events", "cases"):
            assert db.rows(f"SELECT DISTINCT context, served_at FROM {table}")[0][:] == ("", ""), table
            assert db.value(f"SELECT count(*) FROM {table} WHERE context <> '' OR served_at <> ''") == 0
    assert contents(old_file, columns) == before


def test_every_figure_is_as_before(old_file: Path) -> None:
    before = json.loads((OLDER / "project_0012.json").read_text(encoding="utf-8"))
    with connect(old_file) as db:
        # how intervals are made and which metrics there are has changed since
        found = figures(db, 1, intervals=False)
        found["metrics"] = [row for row in found["metrics"] if row[1] != "map_min"]
    assert {name: len(rows) for name, rows in found.items()} == {n: len(rows) for n, rows in before.items()}
    assert found == before


def test_the_same_run_meets_the_same_cases_and_asks_nothing_again(old_file: Path) -> None:
    with connect(old_file) as db:
        before = db.rows(
            "SELECT id, user_snapshot FROM cases JOIN run_cases ON case_id = id ORDER BY run_id, id"
        )
        hashes = {row[0] for row in db.rows("SELECT content_hash FROM calls WHERE run_id = 2")}
        settings = RunSettings(protocol="pairwise", top_k=3)
        wanted = RunRequest(
            project_id(db, "films"), RULES, settings, rater="again", prompt="pairwise-media@1"
        )
        again = plan_run(db, wanted).run_id
        assert again is not None
        assert work(old_file, again).state == "done"
        calls = db.rows("SELECT case_id, content_hash FROM calls WHERE run_id = ?", (again,))
        # the list of u00 was replaced after the first run, so only the cases of the other two are the same
        same = [row for row in calls if row["content_hash"] in hashes]
        assert {row["case_id"] for row in same} <= {row["id"] for row in before}
        assert (len(same), len(calls)) == (4, 6)
        snapshots = db.rows("SELECT DISTINCT user_snapshot FROM run_cases WHERE run_id = ?", (again,))
        assert {row[0] for row in snapshots} <= {row["user_snapshot"] for row in before}


def test_lists_without_an_occasion_still_replace_each_other(old_file: Path) -> None:
    with connect(old_file) as db:
        load(db, "lists", [("user_id", "system", "item_id", "rank"), ("u01", "als", "i7", 1)])
        current = "SELECT length FROM v_current_slates WHERE user_id = 'u01' AND system = 'als'"
        assert [row[0] for row in db.rows(current)] == [1]
