from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.store.projects import save_filter, saved_filters
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.screens import FilterBar
from recjudge_tui.tui.triage import CasesScreen, SavedFilters
from tests.support.app.driving import press, running, settle, shown, type_text
from tests.support.app.projects import make_project


@asynccontextmanager
async def dialog(
    path: Path, project: int, present: str = ""
) -> AsyncIterator[tuple[Pilot[Any], list[str | None]]]:
    chosen: list[str | None] = []
    async with running(path) as pilot:
        pilot.app.push_screen(SavedFilters(project, present), chosen.append)
        await settle(pilot)
        yield pilot, chosen


def kept(path: Path, project: int) -> dict[str, str]:
    with connect(path) as db:
        return {saved.name: saved.filter for saved in saved_filters(db, project)}


def keep(path: Path, project: int, **filters: str) -> None:
    with connect(path) as db:
        for name, text in filters.items():
            save_filter(db, project, name, text)


async def test_a_filter_is_chosen_by_its_name(project_db: Path) -> None:
    project = make_project(project_db)
    keep(project_db, project, doubtful="why:swap conf<.6", flagged="why:flag")
    async with dialog(project_db, project) as (pilot, chosen):
        assert "doubtful" in shown(pilot)
        assert "why:swap conf<.6" in shown(pilot)
        await press(pilot, "j", "enter")
        assert chosen == ["why:flag"]


async def test_the_present_filter_is_saved_under_a_name(project_db: Path) -> None:
    project = make_project(project_db)
    async with dialog(project_db, project, "label:poor") as (pilot, chosen):
        assert "n saves the current one: label:poor" in shown(pilot)
        await press(pilot, "n")
        await type_text(pilot, "the poor")
        await press(pilot, "enter")
        assert kept(project_db, project) == {"the poor": "label:poor"}
        assert "the poor" in shown(pilot)
        await press(pilot, "n")
        await press(pilot, "escape")
        assert chosen == []
        await press(pilot, "enter")
        assert chosen == ["label:poor"]


async def test_a_filter_is_deleted_after_a_question(project_db: Path) -> None:
    project = make_project(project_db)
    keep(project_db, project, doubtful="why:swap", flagged="why:flag")
    async with dialog(project_db, project) as (pilot, chosen):
        await press(pilot, "D", "n")
        assert set(kept(project_db, project)) == {"doubtful", "flagged"}
        await press(pilot, "D", "y")
        assert set(kept(project_db, project)) == {"flagged"}
        await press(pilot, "D", "y")
        assert "No filter is saved yet. Press / to filter the list" in " ".join(shown(pilot).split())
        await press(pilot, "D", "escape")
        assert chosen == [None]


async def test_without_a_filter_nothing_is_saved(project_db: Path) -> None:
    project = make_project(project_db)
    async with dialog(project_db, project) as (pilot, _):
        await press(pilot, "n")
        assert isinstance(pilot.app.screen, SavedFilters)
        assert "There is no filter to save" in shown(pilot)


async def test_a_name_that_cannot_be_is_explained(project_db: Path) -> None:
    project = make_project(project_db)
    async with dialog(project_db, project, "why:flag") as (pilot, _):
        await press(pilot, "n")
        await type_text(pilot, "n" * 61)
        await press(pilot, "enter")
        assert "invalid name for a filter" in shown(pilot)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, SavedFilters)
    assert kept(project_db, project) == {}


async def test_from_a_filter_to_a_name_and_back(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, CasesScreen)
        bar = screen.query_one(FilterBar)
        bar.apply("why:swap")
        await settle(pilot)
        await press(pilot, "F", "n")
        await type_text(pilot, "flips")
        await press(pilot, "enter", "escape")
        bar.apply("")
        await settle(pilot)
        assert not screen.rows.chosen
        await press(pilot, "F", "enter")
        assert screen.rows.chosen == parse_filter("why:swap")
        bar.open()
        await settle(pilot)
        await type_text(pilot, "system:c")
        assert "system:cooc" in shown(pilot)


async def test_names_and_filters_are_shown_as_text(project_db: Path) -> None:
    project = make_project(project_db)
    keep(project_db, project, **{"[/b] [a=": 'judge:"[/path]"', "二" * 30: "why:flag"})
    async with dialog(project_db, project) as (pilot, _):
        screen = shown(pilot)
    assert "[/b] [a=" in screen
    assert "judge:[/path]" in screen or 'judge:"[/path]"' in screen
