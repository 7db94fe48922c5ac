"""`e` on screens with a table: the file asked for, in the form its ending names."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from recjudge_tui.tui.runs import RunsScreen
from tests.support.app.driving import press, running, settle, shown
from tests.support.app.projects import make_project


@pytest.mark.parametrize("ending", ["csv", "json", "html"])
async def test_runs_go_to_a_file(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.chdir(tmp_path)
    project = make_project(project_db)
    target = tmp_path / f"runs.{ending}"
    async with running(project_db) as pilot:
        pilot.app.push_screen(RunsScreen(project))
        await settle(pilot)
        await press(pilot, "e")
        assert "runs.csv" in shown(pilot)
        await press(pilot, *(["backspace"] * len("csv")), *ending, "enter")
        assert "1 row written to" in " ".join(shown(pilot).split())
    text = target.read_text(encoding="utf-8")
    assert "qwen2.5:14b" in text
    if ending == "json":
        assert json.loads(text)["title"] == "Runs"
    if ending == "csv":
        assert next(csv.DictReader(io.StringIO(text)))["project"] == "movies"


async def test_cancelling_writes_nothing_and_keeps_an_existing_file(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    project = make_project(project_db)
    before = set(tmp_path.iterdir())
    async with running(project_db) as pilot:
        pilot.app.push_screen(RunsScreen(project))
        await settle(pilot)
        await press(pilot, "e", "escape")
        assert set(tmp_path.iterdir()) - before <= {Path(f"{project_db}-wal"), Path(f"{project_db}-shm")}
        (tmp_path / "runs.csv").write_text("mine")
        await press(pilot, "e", "enter")
        assert "exists already" in shown(pilot)
        await press(pilot, "n")
    assert (tmp_path / "runs.csv").read_text() == "mine"
