"""The filter of occasions on the screens of agreement, figures and comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.store.schema import connect
from recjudge_tui.tui.compare import CompareScreen
from recjudge_tui.tui.dialogs import ErrorDialog
from recjudge_tui.tui.reports import ReportsScreen
from recjudge_tui.tui.screens import FilterBar
from recjudge_tui.tui.triage import CasesScreen
from tests.support.app.driving import filter_by, press, running, shown, until
from tests.support.visits import USERS, make_visits

ALL, HOME = 3 * len(USERS), len(USERS)


@pytest.fixture
def visited(project_db: Path) -> Path:
    with connect(project_db) as db:
        make_visits(db)
    return project_db


async def open_agreement(pilot: Pilot[Any]) -> ReportsScreen:
    await press(pilot, "a", "tab")
    screen = pilot.app.screen
    assert isinstance(screen, ReportsScreen)
    await until(pilot, lambda: screen.made is not None and screen.made.tab == "agreement")
    return screen


def pairs_n(screen: ReportsScreen) -> set[object]:
    return {row["n"] for row in screen.made.content.rows}


async def test_agreement_is_about_the_occasions_of_the_filter(visited: Path) -> None:
    async with running(visited, "films") as pilot:
        screen = await open_agreement(pilot)
        assert pairs_n(screen) == {ALL}
        await filter_by(pilot, "context:home")
        await until(pilot, lambda: pairs_n(screen) == {HOME})
        assert "context:home" in shown(pilot)
        assert "only in the context “home”" in shown(pilot)
        assert screen.focused is screen.query_one("#table")


async def test_the_cases_behind_agreement_are_of_its_occasions(visited: Path) -> None:
    async with running(visited, "films") as pilot:
        screen = await open_agreement(pilot)
        await filter_by(pilot, "from:2024-05-31 to:2024-05-31")
        await until(pilot, lambda: pairs_n(screen) == {HOME})
        await press(pilot, "enter")
        cases = pilot.app.screen
        assert isinstance(cases, CasesScreen)
        chosen = {term.key for term in cases.rows.chosen.terms}
        assert {"from", "to"} <= chosen
        with connect(visited) as db:
            from recjudge_tui.store.verdicts import filtered_ids, verdict_rows

            rows = verdict_rows(db, filtered_ids(db, cases.project_id, cases.rows.chosen))
        assert {row.occasion.context for row in rows} == {"cart"}
        await until(pilot, lambda: "occasion" in shown(pilot))
        assert "cart, 2024" in shown(pilot)


async def test_a_comparison_is_about_the_occasions_of_the_filter(visited: Path) -> None:
    async with running(visited, "films") as pilot:
        await press(pilot, "d")
        screen = pilot.app.screen
        assert isinstance(screen, CompareScreen)
        await until(pilot, lambda: screen.comparison is not None)
        assert screen.comparison.summary["n"] == ALL
        changed = len(screen.comparison.ids)
        await filter_by(pilot, "context:home")
        await until(pilot, lambda: screen.comparison.summary["n"] == HOME)  # type: ignore[union-attr,index]
        comparison = screen.comparison
        assert comparison.summary["changed"] == len(comparison.ids) < changed
        assert "home, 2024-05-01 08:00" in shown(pilot)
        await press(pilot, "o")
        cases = pilot.app.screen
        assert isinstance(cases, CasesScreen)
        assert cases.rows.chosen.text().endswith("context:home")


async def test_an_unknown_context_leaves_the_figures_and_their_filter(visited: Path) -> None:
    async with running(visited, "films") as pilot:
        screen = await open_agreement(pilot)
        await filter_by(pilot, "context:home")
        await until(pilot, lambda: pairs_n(screen) == {HOME})
        screen.query_one(FilterBar).apply("context:nowhere")
        await until(pilot, lambda: "no context “nowhere”" in shown(pilot))
        assert isinstance(pilot.app.screen, ErrorDialog)
        await press(pilot, "escape")
        assert screen.occasion_text == "context:home"
        assert pairs_n(screen) == {HOME}


WRONG = (
    ("judge:rules", "“judge:rules” does not choose occasions"),
    ("from:2024-05-01 from:2024-06-01", "“from:” is given 2 times"),
    ("from:someday", "“someday” is not a time"),
    ("from:2024-06-01 to:2024-05-01", "is after"),
)


async def test_a_filter_without_occasions_names_the_terms_that_choose_them(visited: Path) -> None:
    async with running(visited, "films") as pilot:
        screen = await open_agreement(pilot)
        for typed, message in WRONG:
            await filter_by(pilot, typed)
            assert message in shown(pilot)
            assert pairs_n(screen) == {ALL}
            await press(pilot, "ctrl+u", "escape")
