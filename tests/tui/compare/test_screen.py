"""Two raters case by case on the screen: the grid, the test, the list, the prompts, and every key."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.selection import Selection
from recjudge_tui.project import Project as OpenProject
from recjudge_tui.reports.changes import Changes, PromptChange, compare_sides, sides_named, summary
from recjudge_tui.store.answers import ChangedCase
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import prompt_text, read_prompt, store_prompt
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.compare import (
    ChangeGrid,
    ChangeList,
    CompareScreen,
    case_cells,
    case_head,
    cell_at,
    diff_words,
    grid_cells,
)
from recjudge_tui.tui.triage import CasesScreen
from recjudge_tui.tui.widgets import ASCII, UNICODE, Glyphs
from tests.support.app.driving import SIZES, press, running, settle, shown, until
from tests.support.hostile import HOSTILE
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    judge_pairs,
    list_case,
    new_project,
    pair_case,
    text_case,
)

USERS = 40
FIRST = [(2.0, 1.0, 0.0, 2.0)[at % 4] for at in range(USERS)]
SECOND = [(2.0, 0.0, 0.0, 1.0)[at % 4] if at % 8 else 1.0 for at in range(USERS)]


def changes(db: Database, first: str, second: str) -> Changes:
    opened = OpenProject.numbered(db, 1)
    return compare_sides(opened, sides_named(opened, first, second), Selection())


BAD = {chr(c) for c in (*range(32), 127, *range(128, 160), 0x202E, 0x2066, 0x200B) if c != 10}


@pytest.fixture
def judged(project_db: Path, tmp_path: Path) -> Path:
    """Two runs of two versions of a prompt on 40 lists: 25 verdicts became harsher, 0 milder; a person on ten."""
    project = new_project(project_db)
    cases = [list_case(project, f"u{at}", ("als", "bpr")[at % 2]) for at in range(USERS)]
    judge_lists(project, "v1", dict(zip(cases, FIRST, strict=True)))
    file = tmp_path / "mine.toml"
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


def table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(name).read_text(encoding="utf-8").splitlines()))


def words(pilot: Pilot[Any]) -> str:
    return " ".join(shown(pilot).replace("│", " ").split())


@pytest.mark.parametrize("size", [*SIZES, (200, 60)])
async def test_it_opens_on_the_two_newest_runs(judged: Path, size: tuple[int, int]) -> None:
    with connect(judged) as db:
        row = summary(changes(db, "v1", "v2")).rows[0]
    async with opened(judged, size) as (pilot, _):
        text = shown(pilot)
        assert "v1 to v2: before (down), now (across)" in text
        grid = [line.strip("│ ").split() for line in text.splitlines() if line.startswith("│ ")]
        assert ["Good", "[5]", "-15", "0", "20"] in grid
        assert ["Partial", "0", "0", "-10", "10"] in grid
        assert ["all", "5", "15", "20", "40"] in grid
        assert f"25 of 40 changed (62.5%): {row['up']} milder, {row['down']} harsher" in text
        assert f"Stuart-Maxwell: chi-sq {row['statistic']:.2f}, df 2, p < 0.0001" in text
        assert f"95% CI {row['ci_low']:+.2f} to {row['ci_high']:+.2f}" in text
        assert "25 changed" in text
        assert isinstance(pilot.app.focused, ChangeGrid)
        beside = size[0] >= 120
        assert ("+++ pointwise-media@2" in text) == beside
        assert max(cell_len(line) for line in text.splitlines()) <= size[0]
        assert [line.strip() for line in text.splitlines()][-1].startswith("enter list m choose s swap")


async def test_enter_on_a_figure_lists_its_cases_and_enter_on_one_opens_it(judged: Path) -> None:
    async with opened(judged) as (pilot, screen):
        await press(pilot, "right", "enter")
        assert "15 Good to Partial" in shown(pilot)
        assert "- Good ▸ Partial" in shown(pilot)
        listed = screen.query_one(ChangeList)
        assert listed.has_focus
        assert (len(listed.ids), listed.cursor) == (15, 0)
        await press(pilot, "j", "j", "k", "enter")
        opened_on = pilot.app.screen
        assert isinstance(opened_on, CasesScreen)
        assert opened_on.pane.only == (listed.ids[1],)
        assert f"case {listed.ids[1]:07d}" in shown(pilot)
        await press(pilot, "q")
        assert pilot.app.screen is screen
        # a figure on the diagonal lists what stayed, a sum its whole line
        await press(pilot, "shift+tab", "left", "enter")
        assert "5 Good to Good" in shown(pilot)
        assert "= Good ▸ Good" in shown(pilot)
        await press(pilot, "shift+tab", "right", "right", "right", "enter")
        assert "20 Good to any" in shown(pilot)
        await press(pilot, "backspace")
        assert "25 changed" in shown(pilot)


async def test_c_opens_all_that_is_listed_with_what_both_said(judged: Path) -> None:
    async with opened(judged) as (pilot, screen):
        await press(pilot, "right", "enter", "o")
        cases = pilot.app.screen
        assert isinstance(cases, CasesScreen)
        await until(pilot, lambda: "30 of" in shown(pilot))
        assert "judge=v1" in shown(pilot)
        assert "judge=v2" in shown(pilot)
        await press(pilot, "q")
        assert pilot.app.screen is screen


async def test_the_prompts_come_and_go(judged: Path) -> None:
    async with opened(judged) as (pilot, screen):
        await press(pilot, "p")
        text = shown(pilot)
        assert "prompt: pointwise-media@1 -> pointwise-media@2" in words(pilot)
        assert "--- pointwise-media@1" in text
        assert "25 changed" not in text
        await press(pilot, "J", "J", "J", "J", "J")
        minus = [line.strip("│ ") for line in shown(pilot).splitlines() if line.startswith(("│ -", "│ +"))]
        assert any(line.startswith("+") for line in minus)
        await press(pilot, "escape")
        assert screen.query_one(ChangeList).has_focus
        assert "25 changed" in shown(pilot)
        await press(pilot, "p", "p")
        assert "25 changed" in shown(pilot)
        # without the prompts the same keys go through the summary
        await pilot.resize_terminal(40, 20)
        await press(pilot, "J", "J")
        assert "25 of 40 changed" not in shown(pilot)
        await press(pilot, "K", "K")
        assert "25 of 40 changed" in shown(pilot)


async def test_x_turns_it_round_and_m_chooses_who(judged: Path) -> None:
    async with opened(judged) as (pilot, screen):
        await compared(pilot, screen, "s")
        text = shown(pilot)
        assert "v2 to v1" in text
        assert "25 milder, 0 harsher" in text
        assert "+15" in text
        await press(pilot, "m")
        assert "‹ v2 ›" in shown(pilot)
        await compared(pilot, screen, "down", "right", "right", "enter")
        text = shown(pilot)
        assert "v2 to anna" in text
        assert "not in n: only v2 30" in text
        # the same on both sides cannot be: said, and the screen stays as it was
        await press(pilot, "m", "down", "left", "enter")
        await until(pilot, lambda: "with itself" in shown(pilot))
        await press(pilot, "escape")
        assert "v2 to anna" in shown(pilot)
        assert shown(pilot).splitlines()[0].endswith("pointwise overall")


async def test_runs_can_be_chosen_by_number(judged: Path) -> None:
    async with opened(judged) as (pilot, screen):
        await compared(pilot, screen, "m", *["right"] * 4, "down", *["right"] * 2, "enter")
        assert "v1 (run 1) to v2 (run 2)" in shown(pilot)
        assert "25 of 40" in shown(pilot)


async def test_export_of_the_panel_in_use(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(judged) as (pilot, _):
        await press(pilot, "e")
        assert "The transitions are written to this file" in words(pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: Path("transitions.csv").exists())
        rows = table("transitions.csv")
        assert (len(rows), sum(int(row["count"]) for row in rows)) == (9, 40)
        await press(pilot, "right", "enter", "e", "enter")
        await until(pilot, lambda: Path("changed-cases.csv").exists())
        rows = table("changed-cases.csv")
        assert {(row["from"], row["to"]) for row in rows} == {("Good", "Partial")}
        assert len(rows) == 15
        await press(pilot, "p", "e", "enter")
        await until(pilot, lambda: Path("prompts.diff").exists())
        with connect(judged) as db:
            prompt = changes(db, "v1", "v2").prompt
        assert Path("prompts.diff").read_text(encoding="utf-8").splitlines() == list(prompt.lines)
        await press(pilot, "e", "enter")
        await until(pilot, lambda: "exists already" in shown(pilot))
        await press(pilot, "escape", "e", *["backspace"] * 4, "s", "enter")
        await until(pilot, lambda: "Use .diff .patch" in shown(pilot))


async def test_escape_closes_one_layer(judged: Path) -> None:
    async with opened(judged) as (pilot, screen):
        await press(pilot, "right", "enter", "p", "escape")
        assert "15 Good to Partial" in shown(pilot)
        await press(pilot, "escape")
        assert "25 changed" in shown(pilot)
        assert pilot.app.screen is screen
        await press(pilot, "escape")
        assert pilot.app.screen is not screen


async def test_empty_states_name_the_next_key(project_db: Path) -> None:
    project = new_project(project_db)
    async with opened(project_db) as (pilot, screen):
        assert (
            "Nothing has been judged yet. Press r, then n, to start a run, and i to import labels"
            in words(pilot)
        )
        await press(pilot, "m", "s", "o", "p", "e", "backspace")
        assert pilot.app.screen is screen
    case = list_case(project, "u")
    judge_lists(project, "v1", {case: 1.0})
    async with opened(project_db) as (pilot, screen):
        assert "Press r to start a run with another judge" in words(pilot)
        await press(pilot, "r")
        assert pilot.app.screen is not screen
    judge_lists(project, "v2", {case: 1.0})
    judge_pairs(project, "pairs", {pair_case(project, "u"): (1.0, 1.0)})
    async with opened(project_db) as (pilot, screen):
        assert "0 of 1 changed" in shown(pilot)
        assert "no case changed, so there is nothing to test" in shown(pilot)
        # raters go pairs, v1, v2: from v1 to v2 becomes from pairs to v2
        await compared(pilot, screen, "m", "left", "enter")
        assert "have no question in common. Press m to choose others" in words(pilot)
        await compared(pilot, screen, "m", "right", "enter")
        assert "0 of 1 changed" in shown(pilot)


async def test_several_questions_and_scores_without_labels(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [text_case(project, f"u{at}", "i", "x") for at in range(6)]
    for aspect in ("accuracy", "persuasiveness"):
        for name, shift in (("anna", 0), ("ben", 1)):
            values: dict[int, float | None] = {
                case: float(1 + (at + shift) % 5) for at, case in enumerate(cases)
            }
            give(project, name, values, protocol_name="explanation", aspect=aspect)
    scored = [list_case(project, f"u{at}") for at in range(30)]
    for name, step in (("carl", 0.03), ("dora", 0.031)):
        give(project, name, {c: round(at * step, 3) for at, c in enumerate(scored)}, protocol_name="absolute")
    row = summary(changes(project.db, "anna", "ben")).rows[0]
    async with opened(project_db) as (pilot, screen):
        assert "explanation accuracy (2 questions)" in shown(pilot)
        adjusted = 2 * float(str(row["p_symmetry"]))
        assert f"p 1.0000 · symmetry p {adjusted:.4f} · Holm's correction for 2 questions" in words(pilot)
        assert "higher" in shown(pilot)
        await compared(pilot, screen, "m", "down", "down", "right", "enter")
        assert "explanation persuasiveness" in shown(pilot)
        await compared(pilot, screen, "m", "right", "right", "down", "right", "right", "enter")
        text = shown(pilot)
        assert "carl to dora" in text
        assert "0.8-1" in text
        assert "sign flips over users: p" in text
        assert "29 changed" in text
        await press(pilot, "enter")
        cell = int(shown(pilot).split(" 0.8-1 to 0.8-1")[0].split()[-1])
        assert cell == sum(min(at * 0.03, round(at * 0.031, 3)) >= 0.8 for at in range(30))


def hostile_project(path: Path) -> Project:
    text = " ".join(t for t in HOSTILE if len(t) < 3000 and "\x00" not in t and t.strip())
    project = new_project(path, f"films {text}")
    cases = [list_case(project, f"u{at} {text}", f"als {text}") for at in range(4)]
    give(project, f"anna {text}", dict.fromkeys(cases, 1.0))
    give(project, f"ben {text}", dict(zip(cases, (2.0, 0.0, 1.0, None), strict=True)))
    return project


async def test_hostile_names_are_shown_as_plain_text(project_db: Path) -> None:
    hostile_project(project_db)
    async with opened(project_db, (100, 30)) as (pilot, _):
        for keys in ((), ("enter",), ("p",), ("escape",), ("m",), ("escape",), ("e",), ("escape",), ("s",)):
            await press(pilot, *keys)
            text = shown(pilot)
            assert not BAD & set(text)
            assert max(cell_len(line) for line in text.splitlines()) <= 100
        assert "[/path]" in shown(pilot) or "u1" in shown(pilot)


async def test_headings_stand_above_what_they_head(judged: Path) -> None:
    async with opened(judged, (120, 40)) as (pilot, _):
        lines = shown(pilot).splitlines()
        head = next(line for line in lines if " case " in line and " user " in line)
        first = lines[lines.index(head) + 1]
        number = next(word for word in first.split() if word.isdigit() and len(word) == 7)
        assert first.index(number) == head.index("case")
        assert first[head.index("user") :].split()[0].startswith("u")
        assert first[head.index("user") - 1] == " "
        assert " ▸ " in first[head.index("change") :][:8]


async def test_five_labels_fit_80_columns(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [text_case(project, f"u{at}", "i", "x") for at in range(6)]
    for name, shift in (("anna", 0), ("ben", 1)):
        values: dict[int, float | None] = {case: float(1 + (at + shift) % 5) for at, case in enumerate(cases)}
        give(project, name, values, protocol_name="explanation", aspect="accuracy")
    async with opened(project_db) as (pilot, screen):
        grid = screen.query_one(ChangeGrid)
        heads = next(line for line in shown(pilot).splitlines() if " 5 " in line and " all" in line)
        assert heads.strip("│ ").split() == ["5", "4", "3", "2", "1", "all"]
        assert not grid.show_horizontal_scrollbar
        assert not grid.show_vertical_scrollbar


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("look", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_a_line_has_its_width_regardless_of_its_content(text: str, look: Glyphs) -> None:
    case = ChangedCase(7, text, text, text, text, 0.0, 1.0, text, text, 1, 2)
    for width in (10, 38, 78, 120):
        for one in (
            case,
            case._replace(label_a="", label_b="", system_b=""),
            case._replace(value_b=-1.0, occasion=Occasion(text, "2024-05-01"), several_occasions=True),
        ):
            line = "".join(cell for cell, _ in case_cells(one, width, look))
            assert cell_len(line) == width
            assert not BAD & set(line)
        assert cell_len(case_head(width, look)) == width
    change = PromptChange(text, text, ("--- a", "+++ b", f"+{text}", f"-{text}"), text)
    shown_words = diff_words(change, (text,), look)
    assert not BAD & set(shown_words.plain)
    assert [line[:1] for line in shown_words.plain.splitlines()[-2:]] == ["+", "-"]


def test_labels_of_a_prompt_are_made_safe_in_the_grid_and_in_titles(project_db: Path) -> None:
    text = " ".join(text for text in HOSTILE if len(text) < 100)
    project = hostile_project(project_db)
    with connect(project.db.path) as db:
        raters = [row[0] for row in db.rows("SELECT name FROM raters ORDER BY name")]
        (part,) = changes(db, *raters).parts
    part = replace(part, levels=tuple(level._replace(name=text) for level in part.levels))
    found = cell_at(part, 0, 1)
    assert found is not None
    names = [found[0], *(name for name, _ in grid_cells(part))]
    assert all(len(name) < 60 and not BAD & set(name) and "\n" not in name for name in names)
    assert (cell_at(part, 3, 3), cell_at(part, 4, 0)) == (None, None)
    every = cell_at(part, 3, 0)
    assert every is not None
    assert every[1] == (0.0, 2.0, 2.0, 2.0)


async def test_what_changed_and_whether_by_chance_is_in_view_on_a_small_screen(judged: Path) -> None:
    async with opened(judged, (80, 24)) as (pilot, screen):
        text = shown(pilot)
        assert "25 of 40 changed" in text
        assert "Stuart-Maxwell" in text
        assert "95% CI" in text
        assert screen.query_one("#summary").max_scroll_y <= 3
        assert len([line for line in text.splitlines() if " ▸ " in line and "000" in line]) >= 3


def test_opening_it_loads_nothing_heavy() -> None:
    code = (
        "import json, sys, recjudge_tui.tui.compare\n"
        "print(json.dumps(sorted({'numpy', 'scipy', 'pydantic'} & set(sys.modules))))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(said) == []
