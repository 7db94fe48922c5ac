"""`e` on screens with a table: the file asked for, in the form its ending names."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from recjudge_tui.tui.runs import RunsScreen
from tests.support.app.driving import press, running, settle, shown
from tests.support.app.projects import make_project


async def test_runs_go_to_a_file_that_is_asked_for_and_no_other_is_overwritten(
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
        await press(pilot, "e")
        assert "runs.csv" in shown(pilot)
        await press(pilot, "enter")
        assert "1 row written to" in " ".join(shown(pilot).split())
        written = Path("runs.csv").read_text(encoding="utf-8")
        assert next(csv.DictReader(io.StringIO(written)))["project"] == "movies"
        await press(pilot, "e", *["backspace"] * 3, *"html", "enter")
        assert "qwen2.5:14b" in Path("runs.html").read_text(encoding="utf-8")
        Path("runs.csv").write_text("mine")
        await press(pilot, "e", "enter")
        assert "exists already" in shown(pilot)
        await press(pilot, "n")
    assert Path("runs.csv").read_text() == "mine"
