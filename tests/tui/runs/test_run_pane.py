from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.store.schema import connect
from recjudge_tui.tui import runs as run_pane
from recjudge_tui.tui.runs import RunDetails, read_details
from recjudge_tui.tui.screens import make_screen
from tests.support.app.driving import press, running, settle, shown, until
from tests.support.app.lists import import_lists, judge
from tests.support.app.projects import end_run, finish_call, make_arena, make_project, start_run

WIDE = (160, 50)


async def test_the_run_under_the_cursor_is_shown_from_160_columns_on(project_db: Path) -> None:
    project = make_project(project_db)
    make_arena(project_db, project)
    async with running(project_db, size=(159, 50)) as pilot:
        pilot.app.push_screen(make_screen("runs", project))
        await settle(pilot)
        assert "Verdicts by system" not in shown(pilot)
        await pilot.resize_terminal(*WIDE)
        await settle(pilot)
        assert "Run 2 arena by llama" in shown(pilot)
        await press(pilot, "j")
        text = shown(pilot)
        assert "Run 1 pairwise by qwen2.5:14b" in text
        assert "cases  all · top 10 · all systems" in text
        assert "plan   12 calls" in text
        assert "12 of 12 calls" in text
        assert "20% of 5 flip with the order" in text
        assert "1 × bad reply" in text
        lines = [line.split() for line in text.splitlines()]
        assert ["won", "tied", "lost"] in [line[-4:-1] for line in lines]
        assert ["als", "2", "2", "1"] in [line[-5:-1] for line in lines]
        # filtered to nothing
        await press(pilot, "slash", *"zzz", "enter")
        assert "no run matches" in shown(pilot)


async def test_labels_by_system_of_lists_judged_alone(project_db: Path) -> None:
    project = import_lists(project_db)
    judge(project_db, project, "pointwise")
    async with running(project_db, size=WIDE) as pilot:
        pilot.app.push_screen(make_screen("runs", project))
        await settle(pilot)
        lines = [line.split() for line in shown(pilot).splitlines()]
        assert ["Good", "Partial", "Poor"] in [line[-4:-1] for line in lines]
        with connect(project_db) as db:
            verdicts = db.value("SELECT count(*) FROM verdicts")
        counted = [line[-4:-1] for line in lines if len(line) > 4 and line[-5] in ("als", "text")]
        assert sum(int(figure) for figures in counted for figure in figures) == verdicts


async def test_a_run_is_read_again_when_it_changes_and_only_then(
    project_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counted(db: object, run_id: int) -> RunDetails:
        read.append(run_id)
        return read_details(db, run_id)  # type: ignore[arg-type]

    monkeypatch.setattr(run_pane, "read_details", counted)
    project = make_project(project_db)
    run = start_run(project_db, project)
    async with running(project_db, size=WIDE) as pilot:
        pilot.app.push_screen(make_screen("runs", project))
        await until(pilot, lambda: "running  0 of 4 calls" in shown(pilot))
        finish_call(project_db, run)
        await until(pilot, lambda: "running  1 of 4 calls" in shown(pilot))
        end_run(project_db, run)
        await until(pilot, lambda: "done  1 of 4 calls" in shown(pilot))
        await settle(pilot)
        assert read == [run, run, run]
        # nothing has changed
        await press(pilot, "enter", "q")
        await settle(pilot)
        assert read == [run, run, run]
