from __future__ import annotations

from pathlib import Path

from recjudge_tui.store.prompts import prompt_text
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import ErrorDialog
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.prompts import PromptsScreen
from recjudge_tui.tui.widgets import TextPane
from tests.support.app.driving import press, shown, type_text
from tests.support.app.prompts_screen import front, order, pane, prompts, second_version, title

# ---- list and text


async def test_a_prompt_is_read_and_left(project_db: Path, project: int) -> None:
    async with prompts(project_db, project, "pairwise-media") as (pilot, screen):
        await press(pilot, "enter")
        assert "pairwise-media@1" in title(screen)
        assert '1 name = "pairwise-media"' in shown(pilot)
        with connect(project_db) as db:
            told = prompt_text(db, "pairwise-media")
        # every word of the file, in its order; the numbers beside the lines are no part of it
        lines = [line[4:] for line in pane(screen).splitlines()]
        assert "".join("".join(lines).split()) == "".join(told.split())
        await press(pilot, "G")
        assert screen.query_one(TextPane).scroll_offset.y > 10
        await press(pilot, "escape")
        assert isinstance(front(pilot), PromptsScreen)
        assert "protocol" in shown(pilot)
        await press(pilot, "escape")
        assert not isinstance(front(pilot), PromptsScreen)


# ---- cases


async def test_cases_are_stepped_through_and_turned(project_db: Path, project: int) -> None:
    async with prompts(project_db, project, "pairwise-media") as (pilot, screen):
        await press(pilot, "tab")
        first = screen.case.case
        assert f"case {first['id']:07d}" in title(screen)
        assert f"first {first['system_a']}, then {first['system_b']}" in title(screen)
        for message in screen.case.request.messages:
            assert message.content.splitlines()[0] in " ".join(pane(screen).split())
        assert "tokens" in str(screen.query_one(TextPane).border_subtitle)
        before = screen.case.request.messages[1].content
        await press(pilot, "o")
        assert order(screen) == "ba"
        assert f"first {first['system_b']}, then {first['system_a']}" in title(screen)
        assert screen.case.request.messages[1].content != before
        await press(pilot, "G", "right")
        assert screen.case.case["id"] > first["id"]
        assert order(screen) == "ba"
        assert screen.query_one(TextPane).scroll_offset.y > 0
        await press(pilot, "left", "left", "left")
        assert screen.case.case["id"] == first["id"]
        await press(pilot, "tab")
        assert "name =" in shown(pilot)
        await press(pilot, "tab", "o")
        assert order(screen) == "ab"


async def test_a_case_by_its_number(project_db: Path, project: int) -> None:
    async with prompts(project_db, project, "pairwise-media") as (pilot, screen):
        await press(pilot, "tab")
        with connect(project_db) as db:
            last = db.value("SELECT max(id) FROM cases WHERE kind = 'pair'")
        await press(pilot, "number_sign")
        await type_text(pilot, str(last))
        await press(pilot, "enter")
        assert screen.case.case["id"] == last
        for typed, told in (("9999", "cannot show case 9999"), ("two", "is not the number")):
            await press(pilot, "number_sign")
            await type_text(pilot, typed)
            await press(pilot, "enter")
            assert isinstance(front(pilot), ErrorDialog)
            assert told in shown(pilot)
            await press(pilot, "escape")
            assert f"case {last:07d}" in title(screen)


async def test_a_project_without_a_fitting_case_says_what_makes_one(project_db: Path, project: int) -> None:
    async with prompts(project_db, project, "explanation-media") as (pilot, screen):
        await press(pilot, "tab")
        assert "no case that this prompt can show" in shown(pilot)
        assert "an explanation" in shown(pilot)
        await press(pilot, "right", "o")
        assert front(pilot) is screen
        await press(pilot, "T", "f5")
        assert "no case to ask about" in shown(pilot)


# ---- diff


async def test_a_diff_with_the_version_before_and_with_another(project_db: Path, project: int) -> None:
    second_version(project_db)
    async with prompts(project_db, project, "pairwise-media") as (pilot, screen):
        await press(pilot, "d")
        assert "pairwise-media@1 to pairwise-media@2" in title(screen)
        lines = pane(screen).splitlines()
        assert any(line.startswith("-You compare two lists") for line in lines)
        assert any(line.startswith("+You weigh two lists") for line in lines)
        await press(pilot, "d")
        assert "name =" in shown(pilot)
        await press(pilot, "D")
        assert isinstance(front(pilot), Form)
        # those of the same protocol stand first
        await press(pilot, "enter")
        assert " to pairwise-media@2" in title(screen)
        assert "generic-media@1" in title(screen)


# ---- what bites
