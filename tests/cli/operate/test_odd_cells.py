"""A database from elsewhere: a cell that is not what recjudge stores is named or not read, never believed, never a crash."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.builder import project
from tests.support.commands import ran

COMMANDS = (
    "runs list --format json", "runs show 1", "runs resume 1", "runs retry 1", "project show -p shop",
    "cases show 1 -p shop", "leaderboard --protocol pointwise -p shop", "rater list -p shop", "methods -p shop", "doctor",
)  # fmt: skip
SENDING = '{"protocol": "pointwise", "sending": {"messages": [], "model": "theirs"}}'
CELLS = (
    *(("runs", column, value) for column in ("judge", "settings", "identity", "estimate")
      for value in ("{", "7", '{"spec": 7}', SENDING)),
    ("runs", "judge", b"\xff{}"), ("runs", "lease_owner", "a|b|c|d|e"), ("runs", "state", "gone"),
    ("runs", "heartbeat_at", "yesterday"), ("raters", "recipe", '{"raters": 7}'), ("raters", "recipe", "null"),
    *(("snapshots", "content", value) for value in ("{", '{"items": 7}')),
    *((table, "attributes", value) for table in ("users", "items") for value in ("{", '{"a": []}')),
    ("calls", "sent", "{"), ("imports", "warnings", "7"), ("prompts", "content", "{"),
)  # fmt: skip


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = project(
        tmp_path_factory.mktemp("odd") / "recjudge.db",
        name="shop",
        users=[{"user_id": "u1", "age": "30"}],
        items={"i1": "One", "i2": "Two"},
        events=[{"user_id": "u1", "type": "purchase", "item_id": "i1", "timestamp": "2024-05-01"}],
        lists={("u1", "a"): ["i1", "i2"], ("u1", "b"): ["i2", "i1"]},
        runs=["pointwise --judge rules", "pointwise --judge random"],
    )
    return built.path


@pytest.mark.parametrize(("table", "column", "value"), CELLS)
def test_an_odd_cell_is_named_and_the_rest_stays_usable(
    judged: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    table: str,
    column: str,
    value: str | bytes,
) -> None:
    path = tmp_path / "odd.db"
    shutil.copy(judged, path)
    with sqlite3.connect(path) as file:
        where = "WHERE id = 1" if table in ("runs", "prompts") else ""
        file.execute("PRAGMA ignore_check_constraints = 1")
        file.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT) {where}", (value,))
    for command in COMMANDS:
        code, out, err = ran(capsys, *command.split(), "--db", str(path))
        assert code in (0, 1), (command, err)
        assert "unexpected" not in err, (command, err)
        assert "Traceback" not in err, (command, err)
        if command.startswith("runs list") and (table, column) in {("runs", "judge"), ("runs", "settings")}:
            assert (code, "random" in out) == (0, True), (command, out)
            assert "row 1 of the table runs" in out or "UTF-8" in out, out
        if command.startswith("runs resume") and column == "settings":
            assert code == 1, "what a file says of its settings is not believed"
            assert "row 1 of the table runs" in err
