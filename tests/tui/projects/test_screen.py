from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.store.projects import create_project, project_names
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import ErrorDialog, Notice
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.home import HomeScreen, HomeView, PartList
from recjudge_tui.tui.projects import ProjectsScreen
from tests.support.app.driving import press, running, settle, shown, type_text, until
from tests.support.app.projects import end_run, finish_call, make_project, start_run


def names(path: Path) -> list[str]:
    with connect(path) as db:
        return [name for _, name in project_names(db)]


async def test_an_empty_database_names_the_next_key(project_db: Path) -> None:
    async with running(project_db) as pilot:
        for offer in ("s  try the sample data", "i  import lists", "n  create an empty", "o  open another"):
            assert offer in shown(pilot)
        assert "enter open" not in shown(pilot)
        assert "o another file" in shown(pilot).splitlines()[-1]
        await press(pilot, "n")
        await type_text(pilot, "fresh one")
        await press(pilot, "enter")
        assert "fresh one" in shown(pilot)
        assert "Steps to a first result" in shown(pilot)
        await press(pilot, "n")
        await type_text(pilot, "fresh one")
        await press(pilot, "enter")
        assert "a project “fresh one” exists already" in shown(pilot)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, ProjectsScreen)
    assert names(project_db) == ["fresh one"]


async def test_the_first_minute_with_sample_data(project_db: Path) -> None:
    async with running(project_db) as pilot:
        await press(pilot, "s")
        await until(pilot, lambda: "Projects (2)" in shown(pilot))
        assert "sample data" not in shown(pilot).splitlines()[-1]
        assert "another file" not in shown(pilot).splitlines()[-1]
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, HomeScreen)
    assert names(project_db) == ["synthetic-films", "synthetic-shop"]


async def test_sample_data_that_cannot_be_made_is_an_error(
    project_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    async with running(project_db) as pilot:
        await press(pilot, "s")
        await until(pilot, lambda: isinstance(pilot.app.screen, ErrorDialog))
        await press(pilot, "escape")
        assert "s  try the sample data" in shown(pilot)


async def test_another_file_opens_in_an_app_of_its_own(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.db"
    lent: list[list[str]] = []
    make_project(other)
    (tmp_path / "notes.txt").write_text("no database")
    async with running(project_db) as pilot:
        monkeypatch.setattr(pilot.app, "lend", lent.append)
        for wrong in (tmp_path / "missing.db", tmp_path / "notes.txt", tmp_path / ("x" * 300)):
            await press(pilot, "o")
            await type_text(pilot, str(wrong))
            await press(pilot, "enter")
            assert isinstance(pilot.app.screen, ErrorDialog)
            await press(pilot, "escape")
        assert not lent
        await press(pilot, "o")
        await type_text(pilot, str(other))
        await press(pilot, "enter")
    assert [command[-2:] for command in lent] == [["--db", str(other)]]


async def test_enter_opens_the_home_of_the_row_and_deleting_it_asks_first(project_db: Path) -> None:
    make_project(project_db, "movies")
    make_project(project_db, "grocery")
    async with running(project_db) as pilot:
        await press(pilot, "j", "k", "j", "enter")
        assert isinstance(pilot.app.screen, HomeScreen)
        assert "recjudge ▸ movies  " in shown(pilot)
        await press(pilot, "q")
        assert isinstance(pilot.app.screen, ProjectsScreen)
        await press(pilot, "up", "enter")
        assert "recjudge ▸ grocery  " in shown(pilot)
        await press(pilot, "escape", "D")
        assert "“grocery”, with 6 cases and 18 verdicts," in shown(pilot)
        await press(pilot, "n")
        assert names(project_db) == ["grocery", "movies"]
        await press(pilot, "D", "y")
        await until(pilot, lambda: "Projects (1)" in shown(pilot))
        await press(pilot, "q")
        assert pilot.app._exit
    assert names(project_db) == ["movies"]


async def test_import_a_file(project_db: Path, tmp_path: Path) -> None:
    table = tmp_path / "items.csv"
    table.write_text("item_id,title\n1,Heat\n2,\n,Ronin\n")
    async with running(project_db) as pilot:
        await press(pilot, "i")
        assert isinstance(pilot.app.screen, Form)
        await press(pilot, "enter")
        assert "“file or folder” is empty" in shown(pilot)
        await type_text(pilot, str(tmp_path / "missing"))
        await press(pilot, "enter")
        assert "There is no such file or folder" in shown(pilot)
        form = pilot.app.screen
        form.query_one("#field-path").value = str(table)  # type: ignore[attr-defined]
        form.query_one("#field-kind").value = "items"  # type: ignore[attr-defined]
        form.query_one("#field-project").value = "films"  # type: ignore[attr-defined]
        await press(pilot, "enter")
        await until(pilot, lambda: "of 3 rows stored" in shown(pilot) and "title is empty" in shown(pilot))
        assert isinstance(pilot.app.screen, Notice)
        await press(pilot, "escape")
        assert "films" in shown(pilot)


async def test_a_project_is_named_after_the_folder_that_is_imported(project_db: Path, tmp_path: Path) -> None:
    """Not after the one the app was started in, nor after the project under the cursor."""
    make_project(project_db)
    folder = tmp_path / "grocery"
    folder.mkdir()
    (folder / "items.csv").write_text("item_id,title\n1,Heat\n")
    async with running(project_db) as pilot:
        await press(pilot, "i")
        await type_text(pilot, str(folder / "items.csv"))
        assert "grocery" in shown(pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: names(project_db) == ["grocery", "movies"])
        await press(pilot, "i")
        await type_text(pilot, str(folder))
        await press(pilot, "tab", "tab")
        await type_text(pilot, "other")
        await press(pilot, "enter")
        await until(pilot, lambda: names(project_db) == ["grocery", "movies", "other"])


async def test_a_run_shows_live_and_quitting_says_that_it_goes_on(project_db: Path) -> None:
    project = make_project(project_db, "movies")
    run = start_run(project_db, project)
    async with running(project_db) as pilot:
        await until(pilot, lambda: "▶ 0%" in shown(pilot))
        assert "1 ▶" in shown(pilot).splitlines()[0]
        finish_call(project_db, run)
        await until(pilot, lambda: "▶ 25%" in shown(pilot))
        await press(pilot, "q")
        assert "continues without the app" in shown(pilot)
        assert f"Run {run}" in shown(pilot)
        await press(pilot, "n")
        assert not pilot.app._exit
        end_run(project_db, run)
        await until(pilot, lambda: "✓ done" in shown(pilot))
        assert "▶" not in shown(pilot).splitlines()[0]
        await settle(pilot)
        assert pilot.app._poll is None  # type: ignore[attr-defined]


async def test_a_run_whose_process_died_is_not_called_running(project_db: Path) -> None:
    project = make_project(project_db, "movies")
    run = start_run(project_db, project)
    with connect(project_db) as db:
        db.execute("UPDATE runs SET lease_owner = NULL WHERE id = ?", (run,))
    async with running(project_db) as pilot:
        assert "interrupted" in shown(pilot)
        assert pilot.app._poll is None  # type: ignore[attr-defined]


async def test_a_database_deleted_meanwhile_is_reported_and_not_created_again(project_db: Path) -> None:
    make_project(project_db, "movies")
    async with running(project_db) as pilot:
        await until(pilot, lambda: "movies" in shown(pilot))
        for file in project_db.parent.glob(f"{project_db.name}*"):
            file.unlink()
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ErrorDialog))
        assert "no database at" in shown(pilot)
    assert not project_db.exists()


async def test_a_wide_list_shows_the_home_of_the_project_under_the_cursor(project_db: Path) -> None:
    make_project(project_db, "movies")
    with connect(project_db) as db:
        create_project(db, "empty")
    async with running(project_db, size=(160, 50)) as pilot:
        glance = pilot.app.screen.query_one(HomeView)
        await settle(pilot)
        # the first project by name
        assert "Steps to a first result" in shown(pilot)
        await press(pilot, "j")
        await until(pilot, lambda: "Leaderboard" in shown(pilot))
        await settle(pilot)
        text = shown(pilot)
        assert "Read first" in text
        assert "qwen2.5:14b·anna" in text
        assert "Steps to a first result" not in text
        # its keys work on the home; here n makes a project
        assert not any(part.can_focus for part in glance.query(PartList))
        await pilot.click(HomeView)
        await settle(pilot)
        assert isinstance(pilot.app.screen, HomeScreen)


async def test_a_run_that_is_going_is_not_called_interrupted_before_that_is_known(project_db: Path) -> None:
    start_run(project_db, make_project(project_db))
    async with running(project_db) as pilot:
        pilot.app.runs_known, pilot.app.screen.active = False, {}
        assert pilot.app.screen._state(1, 20) == ("", "")
        await press(pilot, "enter", "q")
        assert "▶ 0%" in shown(pilot)
