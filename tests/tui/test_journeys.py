"""What a reader comes for, in how many keys."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.tui.app import RecjudgeApp
from tests.support.app.driving import press, running, shown
from tests.support.app.lists import import_lists, judge
from tests.support.app.projects import make_project


async def test_from_the_first_screen_to_the_first_reasoning_in_two_keys(project_db: Path) -> None:
    make_project(project_db)
    make_project(project_db, "other")
    async with running(project_db, app_class=RecjudgeApp) as pilot:
        assert "Projects (2)" in shown(pilot)
        await press(pilot, "enter")
        await press(pilot, "enter")
        assert "Read first" in shown(pilot)
        assert "WHY YOU SEE THIS" in shown(pilot)
        assert "Reasoning (als first" in shown(pilot)
        # one pane: the list is a strip, which unfolds and folds
        assert "◂ 1/6 ▸  u0 · als vs cooc · qwen2.5:14b" in shown(pilot)
        await press(pilot, "tab")
        assert shown(pilot).splitlines()[2].startswith(" ─ Lists")
        await press(pilot, "enter")
        assert "6 of 6" in shown(pilot)
        await press(pilot, "enter")
        assert "◂ 1/6 ▸" in shown(pilot)
        await press(pilot, "escape", "q")
        assert "als leads" in shown(pilot)


async def test_a_project_without_anything_left_to_decide_opens_on_the_run(project_db: Path) -> None:
    judge(project_db, import_lists(project_db, users=2), "pairwise")
    async with running(project_db, app_class=RecjudgeApp) as pilot:
        assert "✓ the queue is empty" in " ".join(shown(pilot).split())
        await press(pilot, "enter")
        assert "run:1" in shown(pilot)
        assert "queue:" not in shown(pilot)
        assert "Reasoning (als first" in shown(pilot)
        top = shown(pilot).splitlines()[0]
        assert "queue empty: flagged verdicts of run 1" in top or "queue empty: verdicts of run 1" in top
        # a list that the reader asks for has no such note
        await press(pilot, "enter", "slash", "ctrl+u", "enter")
        assert "queue empty" not in shown(pilot)
