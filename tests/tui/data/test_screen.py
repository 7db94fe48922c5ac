"""The data of a project: what each kind shows, and what it opens."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.project import Project
from recjudge_tui.reports.home import whole_home
from recjudge_tui.store.projects import DATA_KINDS, count_rows, data_rows
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.data import DataScreen
from recjudge_tui.tui.screens import make_screen
from recjudge_tui.tui.triage import CasesScreen
from recjudge_tui.tui.widgets import TextPane
from tests.support.app.driving import filter_by, press, running, settle, shown, until
from tests.support.app.lists import import_labels, import_lists
from tests.support.app.projects import make_explanations, make_project


def test_a_window_holds_what_the_home_counts(project_db: Path) -> None:
    project = make_project(project_db)
    make_explanations(project_db, project)
    with connect(project_db) as db:
        home = whole_home(Project.numbered(db, project))
        counts = {kind: count_rows(db, project, kind) for kind in DATA_KINDS}
        assert (counts["users"], counts["items"], counts["labels"]) == (
            home.data.users, home.data.items_described, home.data.labels,
        )  # fmt: skip
        assert counts["lists"] == home.data.lists
        assert counts["events"] == home.data.events + home.data.held_out
        for kind, count in counts.items():
            rows = data_rows(db, project, kind, "", 0, 1000)
            assert len(rows) == count
            assert data_rows(db, project, kind, "", 1, 2) == rows[1:3]
        assert [row.key for row in data_rows(db, project, "items", "HEAT 2", 0, 9)] == ["i1"]
        assert count_rows(db, project, "items", "no % such _ title") == 0


async def test_a_walk_over_the_kinds(project_db: Path) -> None:
    import_lists(project_db, users=3)
    import_labels(project_db)
    async with running(project_db, app_class=RecjudgeApp) as pilot:
        await press(pilot, "B")
        screen = pilot.app.screen
        assert isinstance(screen, DataScreen)
        pane = screen.query_one(TextPane)
        assert "users (3)" in shown(pilot)
        await until(pilot, lambda: "purchase: Dark Roast Coffee 500 g" in pane.text())
        assert "held-out events are left out" in pane.text()
        await press(pilot, "right")
        assert "items (6)" in shown(pilot)
        await filter_by(pilot, "rye bread")
        assert "items (1)" in shown(pilot)
        await until(pilot, lambda: "grocery" in pane.text())
        await press(pilot, "slash", "ctrl+u", "enter", "left", "left")
        assert "texts (0)" in shown(pilot)
        assert "No texts yet. i imports" in pane.text()
        await press(pilot, "left")
        assert "labels (12)" in shown(pilot)
        await press(pilot, "j", "enter")
        assert isinstance(pilot.app.screen, CasesScreen)
        assert "case:" in shown(pilot)
        await press(pilot, "q")
        # a number is never cut, whatever the width
        pilot.app.push_screen(make_screen("data", 1, kind="lists"))
        await settle(pilot)
        for size in ((200, 60), (120, 40), (40, 20)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert all(len(line) <= size[0] for line in shown(pilot).splitlines())
        assert pilot.app.screen.rows.ids == range(6)
