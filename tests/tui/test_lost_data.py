"""A project or the file goes away while it is shown: the app says so and goes back, and writes nothing into the void."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recjudge_tui.store.projects import delete_project
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import ErrorDialog
from recjudge_tui.tui.projects import ProjectsScreen
from recjudge_tui.tui.screens import make_screen
from tests.support.app.driving import press, running, settle, shown, until
from tests.support.app.projects import make_project


@pytest.mark.parametrize("keys", [(), ("colon",)])
async def test_a_project_deleted_while_it_is_shown(project_db: Path, keys: tuple[str, ...]) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await press(pilot, *keys)
        with connect(project_db) as db:
            delete_project(db, "movies")
        await press(pilot, "a")
        await settle(pilot)
        assert isinstance(pilot.app.screen, ErrorDialog)
        assert "no longer exists" in shown(pilot)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, ProjectsScreen)


async def test_a_project_deleted_while_its_screen_is_opened(project_db: Path) -> None:
    project = make_project(project_db)
    async with running(project_db, "movies") as pilot:
        with connect(project_db) as db:
            delete_project(db, "movies")
        pilot.app.push_screen(make_screen("reports", project))
        await settle(pilot)
        assert "no longer exists" in shown(pilot)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, ProjectsScreen)


async def test_a_file_that_another_program_has_locked(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        with connect(project_db) as db, db.transaction():
            await press(pilot, "c")
            await settle(pilot)
            # the path may be long
            assert "is locked by another program" in re.sub(r"[\s│]+", " ", shown(pilot))
        await press(pilot, "escape", "c")
        await until(pilot, lambda: "1/18 triaged" in shown(pilot))


@pytest.mark.parametrize(("replaced", "what"), [(True, "replaced by another"), (False, "deleted or moved")])
async def test_a_file_deleted_or_replaced_meanwhile(project_db: Path, replaced: bool, what: str) -> None:
    make_project(project_db)
    other = project_db.with_name("other.db")
    connect(other).close()
    async with running(project_db, "movies") as pilot:
        other.replace(project_db) if replaced else project_db.unlink()
        await pilot.press("a")
        app = pilot.app
    assert app.return_code == 1
    assert what in str(app.fault)
