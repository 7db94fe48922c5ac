from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from textual.css.query import NoMatches

from recjudge_tui.errors import NotFoundError, StoreError
from recjudge_tui.store.database import Database
from recjudge_tui.tui import verdict_list
from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.screens import BaseScreen, make_screen
from recjudge_tui.tui.toolkit import is_too_late
from tests.support.app.driving import press, running, settle, shown, until
from tests.support.app.projects import make_project

ROOT = Path(__file__).parents[2]


async def test_a_bug_in_a_worker_is_shown_and_the_app_continues(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, BaseScreen)

        def broken(db: Database) -> None:
            raise ZeroDivisionError("[/oops]")

        screen.background.start("broken", broken, print)
        await until(pilot, lambda: "something went wrong inside recjudge" in shown(pilot))
        assert "[/oops]" in shown(pilot)
        await press(pilot, "escape", "j")
        assert screen.query_one(verdict_list.VerdictList).cursor == 1


async def test_a_key_before_a_screen_has_its_widgets_does_nothing(project_db: Path) -> None:
    project = make_project(project_db)
    async with running(project_db, "movies") as pilot:
        for name in ("data", "runs", "cases"):
            screen = make_screen(name, project)
            pushed = pilot.app.push_screen(screen)
            assert not screen.is_mounted
            await pilot.app.run_action("filter", screen)
            await pushed
            await settle(pilot)
            assert pilot.app.screen is screen


async def test_a_callback_of_a_closed_screen_is_ignored(project_db: Path) -> None:
    project = make_project(project_db)
    async with running(project_db, "movies") as pilot:
        screen = make_screen("runs", project)
        await pilot.app.push_screen(screen)
        await pilot.app.pop_screen()
        with pytest.raises(NoMatches) as gone:
            screen._show_one()  # type: ignore[attr-defined]
        assert is_too_late(gone.value)
        with pytest.raises(NoMatches) as missing:
            pilot.app.screen.query_one("#no-such-widget")
        assert not is_too_late(missing.value)


def test_what_cannot_be_opened_is_an_error_before_the_screen(project_db: Path) -> None:
    with pytest.raises(NotFoundError):
        RecjudgeApp(project_db, "nobody")
    project_db.write_bytes(b"no database at all, but long enough to be read as one" * 40)
    with pytest.raises(StoreError):
        RecjudgeApp(project_db)


async def test_idle_means_no_timer_and_no_worker(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await settle(pilot)
        nodes = [pilot.app, *pilot.app.screen.walk_children(with_self=True)]
        endless = (timer for node in nodes for timer in node._timers if timer._repeat is None)
        assert not any(timer._active.is_set() for timer in endless)
        assert not any(worker.is_running for worker in pilot.app.workers)


def test_starting_imports_nothing_heavy() -> None:
    heavy = {"numpy", "scipy", "httpx", "ollama", "sqlite_utils", "tomlkit", "jinja2"}
    loaded = _loaded("tui.app", "tui.home", "reports.home")
    assert not heavy & loaded
    assert not {"pydantic", "numpy", "scipy"} & _loaded("tui.app", "tui.home", "tui.compare")
    assert not heavy & _loaded("tui.triage", "tui.case")
    # and the first screen imports no other
    others = "projects triage case runs reports compare data prompts annotate figures".split()
    assert not {name for name in others if f"recjudge_tui.tui.{name}" in loaded}
    assert not {"recjudge_tui.tui.palette", "recjudge_tui.tui.keys", "recjudge_tui.tui.judge_picker"} & loaded


def _loaded(*modules: str) -> set[str]:
    """What a fresh interpreter has loaded after it imported these modules of ours."""
    names = ", ".join(f"recjudge_tui.{name}" for name in modules)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, {names}; print(*sys.modules)"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def test_no_sql_and_no_statistics_in_here() -> None:
    for file in (ROOT / "recjudge_tui" / "tui").rglob("*.py"):
        found = re.search(r"\bSELECT |(?m:^\s*(from|import) (numpy|scipy))", file.read_text(encoding="utf-8"))
        assert not found, (file, found)
