"""What a reader comes for, in how many keys."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.store.opening import connect
from recjudge_tui.tui.agreement.screen import AgreementScreen
from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.cases.screen import CasesScreen
from tests.support.app.driving import press, running, shown, until
from tests.support.app.lists import import_labels, import_lists, judge
from tests.support.app.projects import make_project


async def test_first_look_to_the_first_reasoning_in_two_keys(project_db: Path) -> None:
    make_project(project_db)
    make_project(project_db, "other")
    async with running(project_db, app_class=RecjudgeApp) as pilot:
        assert "Projects (2)" in shown(pilot)
        await press(pilot, "enter")
        await press(pilot, "enter")
        assert "run:1   queue:any" in shown(pilot)
        assert "WHY YOU SEE THIS" in shown(pilot)
        assert "Reasoning (als first" in shown(pilot)


async def test_thirty_decisions_with_the_reasoning_in_view(project_db: Path) -> None:
    make_project(project_db, cases=45)
    async with running(project_db, "movies", app_class=RecjudgeApp) as pilot:
        await press(pilot, "enter")
        for at in range(30):
            await press(pilot, "cx"[at % 2])
            assert "─ Reasoning (" in shown(pilot)
        await press(pilot, "q")
        await until(pilot, lambda: "7 verdicts to read" in shown(pilot))
    with connect(project_db) as db:
        assert db.value("SELECT count(DISTINCT verdict_id) FROM triage_log") == 30


async def test_a_verdict_to_what_was_sent_and_came_back_in_one_key(project_db: Path) -> None:
    judge(project_db, import_lists(project_db, users=2), "pairwise")
    async with running(project_db, "shop") as pilot:
        await press(pilot, "P")
        text = shown(pilot)
        assert "als first" in text
        assert "came back" in text
        assert '"winner"' in text
        await press(pilot, "G")
        assert "</set_2>" in shown(pilot)


async def test_leaderboard_to_cases_and_back_in_three_keys(project_db: Path) -> None:
    project = import_lists(project_db, users=3)
    judge(project_db, project, "pairwise")
    import_labels(project_db)
    async with running(project_db, "shop") as pilot:
        await press(pilot, "a")
        await until(pilot, lambda: "n=3" in shown(pilot))
        await press(pilot, "tab", "enter")
        assert isinstance(pilot.app.screen, CasesScreen)
        await press(pilot, "q")
        assert isinstance(pilot.app.screen, AgreementScreen)


async def test_a_project_without_anything_left_to_decide_opens_on_the_run(project_db: Path) -> None:
    judge(project_db, import_lists(project_db, users=2), "pairwise")
    async with running(project_db, app_class=RecjudgeApp) as pilot:
        assert "✓ nothing waits" in shown(pilot)
        await press(pilot, "enter")
        assert "run:1" in shown(pilot)
        assert "queue:" not in shown(pilot)
        assert "Reasoning (als first" in shown(pilot)
