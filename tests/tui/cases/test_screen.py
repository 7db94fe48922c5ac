from __future__ import annotations

import asyncio
import time
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.reports.verdict_list import Listing
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import filtered_ids
from recjudge_tui.tui.case import CasePanel
from recjudge_tui.tui.row_list import KEPT_WINDOWS, WINDOW
from recjudge_tui.tui.triage import CasesScreen
from recjudge_tui.tui.verdict_list import VerdictList
from tests.support.app.driving import SIZES, filter_by, press, running, settle, shown, type_text, until
from tests.support.app.projects import (
    end_run,
    finish_call,
    make_project,
    start_run,
)  # fmt: skip


def rows(pilot: Pilot[Any]) -> VerdictList:
    return pilot.app.screen.query_one(VerdictList)


async def test_moving(project_db: Path) -> None:
    make_project(project_db, cases=40)
    async with running(project_db, "movies") as pilot:
        table = rows(pilot)
        for keys, row in (
            (["j"], 1), (["down", "down"], 3), (["k", "up"], 1), (["G"], 119), (["home"], 0), (["end"], 119),
            (["g"], 0), (["k"], 0),
        ):  # fmt: skip
            await press(pilot, *keys)
            assert table.cursor == row
        page = table.size.height - 2
        await press(pilot, "pagedown")
        assert table.cursor == page
        await press(pilot, "space", "pageup")
        assert table.cursor == page
        assert shown(pilot).count("▌") >= 1


async def test_next_goes_to_the_next_without_a_decision(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await press(pilot, "x", "x", "j", "c")
        await press(pilot, "home")
        await press(pilot, "n")
        assert rows(pilot).cursor == 2
        await press(pilot, "n")
        assert rows(pilot).cursor == 4
        await press(pilot, "end")
        await press(pilot, "n")
        assert "Every verdict after this" in shown(pilot)


async def test_filter_shows_chips_and_counts(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await filter_by(pilot, 'judge:qwen conf<.6 "two sequels"')
        screen = shown(pilot)
        assert "2 of 18" in screen
        assert ' judge:qwen   conf<.6   "two sequels"' in screen
        await press(pilot, "backspace", "backspace")
        assert "6 of 18" in shown(pilot)
        await filter_by(pilot, "user:nobody")
        assert "0 of 18" in shown(pilot)
        assert "No verdict matches: no user “nobody”" in shown(pilot)
        await press(pilot, "j", "n", "enter", "y", "s")
        await press(pilot, "backspace", "backspace")
        assert "18 of 18" in shown(pilot)


async def test_an_invalid_filter_is_reported_and_can_be_corrected(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await filter_by(pilot, "wyh:swap")
        assert "no filter “wyh:”" in shown(pilot)
        await press(pilot, *["backspace"] * 8)
        await type_text(pilot, "why:swap")
        await press(pilot, "enter")
        assert "no filter" not in shown(pilot)
        assert "1 of 18" in shown(pilot)


async def test_sorts_go_round(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        seen = []
        for _ in range(4):
            await press(pilot, "s")
            seen.append(list(rows(pilot).ids))
        with connect(project_db) as db:
            wanted = [list(filtered_ids(db, 1, sort=sort)) for sort in ("label", "confidence", "case")]
        assert seen == [*wanted, list(range(1, 19))]
        assert "sort: id" in shown(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_reading_one_case_and_back_by_layers(project_db: Path, size: tuple[int, int]) -> None:
    make_project(project_db)
    async with running(project_db, "movies", size=size) as pilot:
        await press(pilot, "enter")
        assert "18 of 18" not in shown(pilot)
        assert "B cooc" in shown(pilot) or size[1] == 24
        await press(pilot, "G")
        assert "5 Drive" in shown(pilot)
        await press(pilot, "right")
        # narrow screens have no room for the title of the panel below the strip
        assert ("u0 · als vs cooc · anna" if size[0] < 100 else "case 0000001 · anna") in shown(pilot)
        await press(pilot, "escape")
        assert "18 of 18" in shown(pilot)
        assert rows(pilot).has_focus
        panel = pilot.app.screen.query_one(CasePanel)
        seen = []
        for _ in range(6):
            await press(pilot, "tab")
            seen.append(panel.tab)
        assert seen == ["lists", "user", "raters", "sent", "raw", "reasoning"]
        await press(pilot, "escape")
        assert "Projects (1)" in shown(pilot)


async def test_save_and_a_file_that_is_there(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await press(pilot, "Y")
        assert "case-0000001.txt" in shown(pilot)
        await press(pilot, "enter")
        assert "5 Drive" in (tmp_path / "case-0000001.txt").read_text(encoding="utf-8")
        await press(pilot, "Y", "enter")
        assert "exists already" in shown(pilot)


async def test_in_tmux_a_copy_is_a_file_too(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux,1,0")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make_project(project_db)
    async with running(project_db, "movies", (120, 40)) as pilot:
        await press(pilot, "y")
        assert "tmux may not pass it on" in " ".join(shown(pilot).split())
        (written,) = tmp_path.glob("recjudge-*.txt")
        assert written.read_text(encoding="utf-8") == pilot.app.clipboard
        assert "5 Drive" in pilot.app.clipboard


async def test_export_what_is_on_the_screen(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_project(project_db)
    with connect(project_db) as db:
        db.execute("UPDATE verdicts SET note = '=1+1' WHERE run_id IS NULL")
    async with running(project_db, "movies") as pilot:
        await filter_by(pilot, "judge:anna")
        await press(pilot, "e", "enter")
        await until(pilot, lambda: (tmp_path / "verdicts.csv").exists())
        await settle(pilot)
        assert "6 verdicts written to" in " ".join(shown(pilot).split())
        lines = (tmp_path / "verdicts.csv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 7
        assert all(",'=1+1," in line for line in lines[1:])
        await press(pilot, "e", *["backspace"] * 4, "enter")
        assert "no export format" in shown(pilot)


async def test_words_of_a_filter_and_of_a_search_stand_out(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies", (120, 40)) as pilot:
        await filter_by(pilot, '"two sequels"')
        panel = pilot.app.screen.query_one(CasePanel)
        assert [
            panel.text()[span.start : span.end] for span in panel._content.spans if span.style == "reverse"
        ]
        await press(pilot, "f")
        await type_text(pilot, "drive")
        await press(pilot, "enter")
        assert "Drive" in [
            panel.text()[span.start : span.end] for span in panel._content.spans if span.style == "reverse"
        ]
        await press(pilot, "f", *["backspace"] * 5, *"xyz", "enter")
        assert "“xyz” is not in the text." in " ".join(shown(pilot).split())
        for shows in (True, False):
            await press(pilot, "escape")
            assert isinstance(pilot.app.screen, CasesScreen) is shows


async def test_a_live_run_grows_the_list_under_a_cursor_that_stays(project_db: Path) -> None:
    project = make_project(project_db)
    run = start_run(project_db, project)
    async with running(project_db, "movies") as pilot:
        await press(pilot, "j", "j", "j")
        stood_on = rows(pilot).cursor_id
        finish_call(project_db, run)
        await until(pilot, lambda: "19 of 19" in shown(pilot))
        assert rows(pilot).cursor_id == stood_on
        await press(pilot, "s", "s", "s", "g")
        stood_on = rows(pilot).cursor_id
        assert stood_on == 1
        finish_call(project_db, run)
        await until(pilot, lambda: "20 of 20" in shown(pilot))
        assert rows(pilot).cursor_id == stood_on
        end_run(project_db, run)
        await until(pilot, lambda: "▶" not in shown(pilot).splitlines()[0])


async def test_the_cursor_keeps_its_row_when_its_verdict_is_gone(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        await press(pilot, "j", "j")
        table = rows(pilot)
        table.show(array("q", [1, 2, 5, 6]))
        assert table.cursor_id == 5
        table.show(array("q", [6, 5]))
        assert table.cursor_id == 5
        table.show(array("q", [9, 10]), stay=False)
        assert list(table.ids[table.cursor :]) == [9, 10]
        table.show(array("q"))
        assert not table.ids[table.cursor :]
        await settle(pilot)


async def test_only_windows_that_are_looked_at_are_read_and_few_are_kept(project_db: Path) -> None:
    make_project(project_db)
    read: list[int] = []

    def no_rows(ids: Any) -> list[Any]:
        read.append(len(ids))
        return []

    async with running(project_db, "movies") as pilot:
        table = rows(pilot)
        table._read = no_rows
        table.show(array("q", range(1_000_000)), follow=False)
        await settle(pilot)
        assert 1 <= len(read) <= 2
        for _ in range(KEPT_WINDOWS * 8):
            table.action_page(1)
            table.render_line(0)
        assert len(table._windows) <= KEPT_WINDOWS
        assert max(read) <= WINDOW
        table.action_last()
        assert table.cursor_id == 999_999


async def test_a_deleted_verdict_does_not_break_the_list(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        with connect(project_db) as db:
            db.execute("DELETE FROM verdicts WHERE id = 2")
        rows(pilot).reload()
        await press(pilot, "j")
        assert "(gone)" in shown(pilot)
        assert "This verdict no longer exists" in " ".join(shown(pilot).split())
        await press(pilot, "j")
        assert "bert: " in shown(pilot)


async def test_lists_that_come_too_late_are_not_shown(project_db: Path) -> None:
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, CasesScreen)
        pane = screen.rows
        late: list[tuple[Any, Callable[[Any], None]]] = [
            (Listing(array("q", [1, 2, 3]), 18), partial(pane._show_listing, follow=True, stay=True)),
            ((array("q", [9]), 19), pane._show_more),
            (array("q", [5]), partial(pane._show_first_page, lambda: None)),
        ]
        for result, show in late:
            finished = Event()

            def job(_: Database, result: Any = result, finished: Event = finished) -> Any:
                finished.set()
                return result

            pane.background.start("list", job, show)
            while not finished.is_set():
                await asyncio.sleep(0)
            # while the app waits here, the result comes to its queue
            time.sleep(0.1)
            pane.chosen = parse_filter("why:swap")
            pane.relist(follow=False, stay=False)
            await settle(pilot)
            assert list(rows(pilot).ids) == [4]
            assert pane.total == 18
