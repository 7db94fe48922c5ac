"""Filters that are kept under a name."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.store.projects import save_filter, saved_filters
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.screens import FilterBar
from recjudge_tui.tui.triage import CasesScreen
from tests.support.app.driving import press, running, settle, shown, type_text
from tests.support.app.projects import make_project


def kept(path: Path, project: int) -> dict[str, str]:
    with connect(path) as db:
        return {saved.name: saved.filter for saved in saved_filters(db, project)}


async def test_a_filter_is_saved_applied_and_deleted(project_db: Path) -> None:
    project = make_project(project_db)
    async with running(project_db, "movies") as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, CasesScreen)
        await press(pilot, "F")
        assert "No filter is saved yet. Press / to filter the list" in " ".join(shown(pilot).split())
        screen.query_one(FilterBar).apply("why:swap")
        await settle(pilot)
        await press(pilot, "F", "enter")
        await type_text(pilot, "flips")
        await press(pilot, "enter")
        assert kept(project_db, project) == {"flips": "why:swap"}
        screen.query_one(FilterBar).apply("")
        await settle(pilot)
        await press(pilot, "F", "enter")
        assert screen.rows.chosen == parse_filter("why:swap")
        # a name that cannot be is explained
        await press(pilot, "F", "down", "enter")
        await type_text(pilot, "n" * 61)
        await press(pilot, "enter")
        assert "invalid name for a filter" in shown(pilot)
        await press(pilot, "escape", "F")
        await type_text(pilot, "delete")
        await press(pilot, "enter", "n")
        assert set(kept(project_db, project)) == {"flips"}
        await press(pilot, "F")
        await type_text(pilot, "delete")
        await press(pilot, "enter", "y")
        assert kept(project_db, project) == {}


async def test_names_and_filters_are_shown_as_text(project_db: Path) -> None:
    project = make_project(project_db)
    with connect(project_db) as db:
        save_filter(db, project, "[/b] [a=", 'judge:"[/path]"')
        save_filter(db, project, "二" * 30, "why:flag")
    async with running(project_db, "movies") as pilot:
        await press(pilot, "F")
        assert "[/b] [a=" in shown(pilot)
        assert "[/path]" in shown(pilot)
