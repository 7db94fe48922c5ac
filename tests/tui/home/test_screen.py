"""The home of a project by its keys: what it shows, what each figure opens, and what it does while it is left."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.projects import create_project
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.home import Destination, HomeScreen, HomeView, PartList
from recjudge_tui.tui.launch import LaunchScreen
from recjudge_tui.tui.reports import ReportsScreen
from recjudge_tui.tui.runs import MonitorScreen
from recjudge_tui.tui.triage import CasesScreen
from tests.support.app.driving import press, running, settle, shown, type_text, until
from tests.support.app.lists import import_labels, import_lists, judge
from tests.support.app.projects import fail_run, make_project


def opens(pilot: Pilot[Any]) -> Destination:
    """What `enter` opens."""
    part = pilot.app.screen.focused
    assert isinstance(part, PartList)
    return part.cursor_row[1].opens


async def test_a_walk_over_the_figures(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, app_class=RecjudgeApp) as pilot:
        # a file with one project opens on it
        assert isinstance(pilot.app.screen, HomeScreen)
        text = shown(pilot)
        assert "Read first (6)" in text
        assert "als leads, not separable" in text
        assert opens(pilot).screen == "first"
        # a case opens among those to read first, and the cursor is there again afterwards
        await press(pilot, "down", "enter")
        cases = pilot.app.screen
        assert isinstance(cases, CasesScreen)
        assert "Read first" in shown(pilot)
        assert cases.rows.cursor == 1
        read = str(cases.rows.cursor_id)
        await press(pilot, "q")
        assert opens(pilot) == ("first", read)
        # the runs, what is missing, the board, trust
        await press(pilot, "tab")
        assert opens(pilot) == ("monitor", "1")
        await press(pilot, "down")
        assert opens(pilot).screen == "import"
        await press(pilot, "tab", "enter")
        assert "system=als" in shown(pilot)
        await press(pilot, "q", "tab")
        assert "disagree" in opens(pilot).argument
        # upwards over the beginning of a part
        await press(pilot, "up", "up", "up", "shift+tab")
        assert opens(pilot) == ("monitor", "1")
        await press(pilot, "a")
        assert isinstance(pilot.app.screen, ReportsScreen)
        await press(pilot, "q")
        # the columns, keys from one to another, and what enter opens there
        for size, side_by_side, keys, places in (
            ((40, 12), 1, "", ""), ((80, 24), 1, "", ""), ((200, 60), 3, "", ""),
            ((120, 40), 2, "left right", "data monitor"),
            ((160, 45), 3, "right left right right right", "cases monitor cases first monitor"),
        ):  # fmt: skip
            await pilot.resize_terminal(*size)
            await settle(pilot)
            lines = shown(pilot).splitlines()
            assert "against people" in shown(pilot) or size == (40, 12)
            assert all(len(line) <= size[0] for line in lines)
            titles = ("─Leaderboard", "─Read first", "─Runs")
            assert max(sum(title in line for title in titles) for line in lines) == side_by_side
            for key, opened in zip(keys.split(), places.split(), strict=True):
                await press(pilot, key)
                assert opens(pilot).screen == opened
        await press(pilot, "q")
        assert "Projects (1)" in shown(pilot)


async def test_a_run_that_failed_throughout_leaves_the_home_as_it_was(project_db: Path) -> None:
    project = make_project(project_db, cases=30)
    fail_run(project_db, project)
    async with running(project_db, size=(120, 40), app_class=RecjudgeApp) as pilot:
        text = shown(pilot)
        assert "people" in next(line for line in text.splitlines() if "systems" in line)
        assert "als leads, not separable" in text
        assert "qwen2.5:14b" in text.split("Leaderboard")[1].splitlines()[0]
        assert sum(one.row.failed for one in pilot.app.screen.view.seen.first) <= 1
        # the count is that of the list which t opens
        (waiting,) = re.findall(r"Read first \(20 of (\d+)\)", text)
        await press(pilot, "t")
        await until(pilot, lambda: f"{waiting} of " in shown(pilot))
        await press(pilot, "q", "d")
        await until(pilot, lambda: getattr(pilot.app.screen, "comparison", None) is not None)
        assert "llama" not in pilot.app.screen.comparison.names


async def test_an_empty_project_to_its_first_verdicts_in_four_keys(project_db: Path) -> None:
    import_lists(project_db, "elsewhere", users=2)
    with connect(project_db) as db:
        create_project(db, "empty")
    (lists,) = map(str, project_db.parent.glob("lists*.csv"))
    async with running(project_db, "empty", app_class=RecjudgeApp) as pilot:
        assert "1 import" in shown(pilot)
        assert "2 judge" in shown(pilot)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, Form)
        await type_text(pilot, lists)
        await press(pilot, "enter")
        assert "16 of 16 rows stored" in shown(pilot)
        await press(pilot, "escape")
        await until(pilot, lambda: "✓ import" in shown(pilot))
        # the cursor went on to the next step
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, LaunchScreen)


async def test_labels_that_can_be_read_in_two_ways_are_asked_about(project_db: Path, tmp_path: Path) -> None:
    import_lists(project_db, users=6)
    path = tmp_path / "labels.csv"
    rows = "".join(f"\nann,u{user},als,text,{1 + user % 2}" for user in range(6))
    path.write_text(f"rater,user_id,system_a,system_b,value{rows}", encoding="utf-8")
    async with running(project_db, app_class=RecjudgeApp, size=(120, 40)) as pilot:
        await press(pilot, "i")
        await type_text(pilot, str(path)[:-5])
        await press(pilot, "tab")
        assert pilot.app.screen.query_one("#field-path").value == str(path)
        await press(pilot, "tab")
        await until(pilot, lambda: "The import asks which it is:" in shown(pilot))
        await press(pilot, "enter")
        await until(pilot, lambda: "What do the answers mean?" in shown(pilot))
        assert "--" not in shown(pilot).split("What do the answers mean?")[1]
        await press(pilot, "escape", "enter")
        await until(pilot, lambda: "What do the answers mean?" in shown(pilot))
        await press(pilot, re.search(r"(\d)  1 = A, 2 = B:", shown(pilot))[1])
        await until(pilot, lambda: "6 of 6 rows stored" in shown(pilot))
    with connect(project_db) as db:
        assert db.column("SELECT value FROM verdicts ORDER BY id") == [1.0, -1.0] * 3


async def test_a_look_at_what_files_are_read_as_stores_nothing(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_lists(project_db, users=3)
    good, bad, long = tmp_path / "events.csv", tmp_path / "wrong.csv", tmp_path / "long.csv"
    good.write_text("user_id,item_id,type\n" + "".join(f"u{at},i{at},view\n" for at in range(7)), "utf-8")
    bad.write_text("user_id,item_id,system,rank\nu1,i1,als,first\n", "utf-8")
    long.write_text("user_id,item_id,type\n" + "".join(f"u{at},i1,view\n" for at in range(30_000)), "utf-8")
    monkeypatch.setattr("recjudge_tui.tui.screens._LARGE", 200_000)
    async with running(project_db, app_class=RecjudgeApp, size=(120, 40)) as pilot:
        with connect(project_db) as db:
            before = list(db.connection.iterdump())
            await press(pilot, "i")
            for path, keys, said in (
                (bad, (), "wrong.csv:2: rank “first”"),
                (long, (), "0 MB: f4 reads all of it"),
                # what was seen of it goes when the path changes
                (good, ("f4",), "7 rows read, 7 would be stored"),
            ):
                await press(pilot, *keys, "home", "shift+end", "delete")
                await type_text(pilot, str(path))
                await until(pilot, lambda said=said: said in re.sub(r"[\s│]+", " ", shown(pilot)))
            assert re.search(r"events, the first 5:[\s\S]*of 3 users with lists have a history", shown(pilot))
            assert list(db.connection.iterdump()) == before
        await press(pilot, "enter")
        await until(pilot, lambda: "7 of 7 rows stored" in shown(pilot))


async def test_changes_by_others_are_shown_on_return(project_db: Path) -> None:
    project = import_lists(project_db, users=3)
    async with running(project_db, app_class=RecjudgeApp) as pilot:
        assert "2 judge" in shown(pilot)
        await press(pilot, "r")
        judge(project_db, project, "pairwise")
        import_labels(project_db)
        await press(pilot, "q")
        await until(pilot, lambda: "rules·anna" in shown(pilot))
        await press(pilot, "tab", "enter")
        assert isinstance(pilot.app.screen, MonitorScreen)
        await press(pilot, "q")
        assert "Steps to a first result" not in shown(pilot)
        # reading has ended, and nothing is read again after a dialog
        board = pilot.app.screen
        assert isinstance(board, HomeScreen)
        assert board.view.done
        before = board.view.seen
        await press(pilot, "question_mark", "escape")
        assert board.view.seen is before


async def test_a_large_project_is_computed_elsewhere_and_left_at_once(
    project_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_project(project_db)
    monkeypatch.setattr("recjudge_tui.tui.home.LARGE", 0)
    async with running(project_db, app_class=RecjudgeApp) as pilot:
        view = pilot.app.screen.query_one(HomeView)
        await until(pilot, lambda: view.done)
        assert "als leads, not separable" in shown(pilot)
        await press(pilot, "R")
        process = view._process
        assert process is not None
        await press(pilot, "a")
        assert view._process is None
        with pytest.raises(RecjudgeError):
            process.next_part()
        await press(pilot, "q")
        await until(pilot, lambda: view.done)
