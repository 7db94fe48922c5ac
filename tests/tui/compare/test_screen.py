"""Two raters case by case on the screen: the sentence, the list, both reasonings, the prompts, and every key."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from recjudge_tui.domain.selection import Selection
from recjudge_tui.project import Project as OpenProject
from recjudge_tui.reports.changes import compare_sides, sides_named, summary
from recjudge_tui.store.answers import ChangedCase
from recjudge_tui.store.prompts import prompt_text, read_prompt, store_prompt
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import Opinions
from recjudge_tui.tui.compare import Changed, ChangeList, CompareScreen, not_compared
from recjudge_tui.tui.triage import CasesScreen
from tests.support.app.driving import press, running, settle, shown, until
from tests.support.verdicts import give, judge_lists, judge_pairs, list_case, new_project, pair_case

USERS = 40
FIRST = [(2.0, 1.0, 0.0, 2.0)[at % 4] for at in range(USERS)]
SECOND = [(2.0, 0.0, 0.0, 1.0)[at % 4] if at % 8 else 1.0 for at in range(USERS)]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of two versions of a prompt on 40 lists: 25 verdicts became harsher, 0 milder; a person on ten."""
    folder = tmp_path_factory.mktemp("judged")
    project_db = folder / "recjudge.db"
    project = new_project(project_db)
    cases = [list_case(project, f"u{at}", ("als", "bpr")[at % 2]) for at in range(USERS)]
    judge_lists(project, "v1", dict(zip(cases, FIRST, strict=True)))
    file = folder / "mine.toml"
    text = prompt_text(project.db, "pointwise-media").replace("at best", "at the very best")
    file.write_text(text, encoding="utf-8")
    store_prompt(project.db, read_prompt(file))
    judge_lists(project, "v2", dict(zip(cases, SECOND, strict=True)))
    give(project, "anna", dict.fromkeys(cases[:10], 1.0))
    project.db.close()
    return project_db


@asynccontextmanager
async def opened(
    path: Path, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Pilot[Any], CompareScreen]]:
    async with running(path, size=size) as pilot:
        screen = CompareScreen(1)
        pilot.app.push_screen(screen)
        await until(pilot, lambda: screen.comparison is not None)
        await settle(pilot)
        yield pilot, screen


async def compared(pilot: Pilot[Any], screen: CompareScreen, *keys: str) -> None:
    """Press keys that begin another comparison, and wait for it."""
    before = screen.comparison
    await press(pilot, *keys)
    await until(pilot, lambda: screen.comparison is not before)
    await settle(pilot)


def words(pilot: Pilot[Any]) -> str:
    return " ".join(shown(pilot).replace("│", " ").split())


async def test_it_opens_on_the_two_newest_runs(judged: Path) -> None:
    with connect(judged) as db:
        project = OpenProject.numbered(db, 1)
        table = summary(compare_sides(project, sides_named(project, "v1", "v2"), Selection()))
    async with opened(judged) as (pilot, screen):
        assert table.answer in words(pilot)
        assert "25 changed" in shown(pilot)
        assert "user about change" in words(pilot).replace("v1 → v2", "change")
        row = next(line for line in shown(pilot).splitlines() if "▌u" in line)
        assert "Good → Partial" in row or "Partial → Poor" in row
        # both reasonings, with what people said, are in view
        assert "v1: " in shown(pilot)
        assert "v2: " in shown(pilot)
        assert isinstance(pilot.app.focused, ChangeList)
        assert max(cell_len(line) for line in shown(pilot).splitlines()) <= 80
        assert shown(pilot).splitlines()[-1].startswith("enter case m choose s swap")
        listed = screen.query_one(ChangeList)
        await press(pilot, "j", "j", "k", "enter")
        cases = pilot.app.screen
        assert isinstance(cases, CasesScreen)
        assert cases.rows.only == (listed.ids[1],)
        await press(pilot, "q", "o")
        await until(pilot, lambda: "judge=v1" in shown(pilot) and "judge=v2" in shown(pilot))
        await press(pilot, "q")
        assert pilot.app.screen is screen


async def test_sides_are_swapped_and_chosen(judged: Path) -> None:
    async with opened(judged) as (pilot, screen):
        await compared(pilot, screen, "s")
        assert "v2 → v1" in shown(pilot)
        await press(pilot, "m")
        assert "‹ v2 ›" in shown(pilot)
        await compared(pilot, screen, "down", "right", "right", "enter")
        assert "v2 → anna" in shown(pilot)
        assert "Not compared, of 40 cases: 30 judged by v2 only." in words(pilot)
        # the same on both sides cannot be: said, and the screen stays as it was
        await press(pilot, "m", "down", "left", "enter")
        await until(pilot, lambda: "with itself" in shown(pilot))
        await press(pilot, "escape")
        assert "v2 → anna" in shown(pilot)
        await compared(pilot, screen, "m", *["right"] * 2, "down", *["right"] * 2, "enter")
        assert screen.comparison.changes is not None


async def test_the_prompts_come_and_go_and_both_are_exported(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(judged, (120, 40)) as (pilot, screen):
        await press(pilot, "e", "enter")
        await until(pilot, lambda: Path("changed-cases.csv").exists())
        rows = list(csv.DictReader(Path("changed-cases.csv").read_text(encoding="utf-8").splitlines()))
        assert len(rows) == 25
        await press(pilot, "p")
        assert "prompt: pointwise-media@1 -> pointwise-media@2" in words(pilot)
        assert "--- pointwise-media@1" in shown(pilot)
        await press(pilot, "e", "enter")
        await until(pilot, lambda: Path("prompts.diff").exists())
        lines = Path("prompts.diff").read_text(encoding="utf-8").splitlines()
        assert lines == list(screen.comparison.changes.prompt.lines)
        Path("prompts.diff").write_text("mine")
        await press(pilot, "e", "enter")
        assert "exists already" in shown(pilot)
        await press(pilot, "n")
        assert Path("prompts.diff").read_text() == "mine"
        await press(pilot, "e", *["backspace"] * 4, "s", "enter")
        await until(pilot, lambda: "Use .diff .patch" in shown(pilot))
        await press(pilot, "escape", "J", "K", "tab")
        assert "--- pointwise-media@1" not in shown(pilot)
        assert pilot.app.screen is screen
        await press(pilot, "escape")
        assert pilot.app.screen is not screen


async def test_empty_states_name_the_next_key(project_db: Path) -> None:
    project = new_project(project_db)
    async with opened(project_db) as (pilot, screen):
        assert "Press r, then n, to start a run, and i to import labels" in words(pilot)
        await press(pilot, "m", "s", "o", "p", "e")
        assert pilot.app.screen is screen
    case = list_case(project, "u")
    judge_lists(project, "v1", {case: 1.0})
    async with opened(project_db) as (pilot, screen):
        assert "Press r to start a run with another judge" in words(pilot)
    judge_lists(project, "v2", {case: 1.0})
    judge_pairs(project, "pairs", {pair_case(project, "u"): (1.0, 1.0)})
    async with opened(project_db) as (pilot, screen):
        assert "v2 says the same as v1 on all 1 case" in words(pilot)
        # raters go pairs, v1, v2: from v1 to v2 becomes from pairs to v2
        await compared(pilot, screen, "m", "left", "enter")
        assert "have no question in common. Press m to choose others" in words(pilot)


def test_the_direction_is_that_of_people_and_what_is_left_out_is_counted() -> None:
    case = ChangedCase(7, "u", "", "als", "cooc", 1.0, -1.0, "A", "B", 1, 2)
    people = (Opinions("B", -1.0, 2),)
    assert Changed(case, people).toward(("", ""))[0] == "people"
    assert Changed(case._replace(value_a=-1.0, value_b=1.0), people).toward(("", ""))[0] == "away"
    assert Changed(case, ()).toward(("milder", "harsher"))[0] == "harsher"
    row = {"n": 260, "only_a": 0, "only_b": 940, "failed": 0}
    assert not_compared(row, ("v2", "v3")) == "Not compared, of 1,200 cases: 940 judged by v3 only."
    assert not_compared(row | {"only_b": 0}, ("v2", "v3")) == ""
