from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.reports.runs import run_differences
from recjudge_tui.runs.lease import acquire, is_active, stop_and_wait
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.runs.start import start_detached
from recjudge_tui.store.runs import (
    lease_owner,
    release_lease,
    run_progress,
    run_row,
)
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.row_list import Reader
from recjudge_tui.tui.runs import CallList, MonitorScreen
from recjudge_tui.tui.triage import CasesScreen
from tests.support.app.driving import press, running, shown, until
from tests.support.app.lists import import_lists, judge, plan
from tests.support.runs import plan_run, ran, wait_until_wishes_are_read
from tests.support.servers.gate import allow, hold
from tests.support.servers.process import ServerProcess, start
from tests.support.waiting import HANG_S, wait_until


def begin(path: Path, run_id: int) -> None:
    with connect(path) as db:
        start_detached(db, run_id)


def end(path: Path, run_id: int) -> None:
    with connect(path) as db:
        if is_active(db, run_id):
            stop_and_wait(db, run_id, "stop", HANG_S)


async def obeyed(path: Path, run_id: int, server: ServerProcess) -> None:
    """What the process was told is read before it gets the answers for which it waits."""

    def read() -> None:
        with connect(path) as db:
            wait_until(lambda: run_row(db, run_id)["wanted"] != "run")
            wait_until_wishes_are_read(db, run_id)

    await asyncio.to_thread(read)
    allow(server)


async def open_monitor(pilot: Pilot[Any], run_id: int) -> MonitorScreen:
    screen = MonitorScreen(run_id)
    await pilot.app.push_screen(screen)
    await until(pilot, lambda: screen.view is not None)
    return screen


def done(screen: MonitorScreen) -> int:
    return screen.view.watch.progress.done if screen.view else 0


async def test_pause_resume_and_stop(project_db: Path, openai_server: ServerProcess) -> None:
    hold(openai_server, 6)
    run_id = plan(project_db, import_lists(project_db, users=20), openai_server.url)
    begin(project_db, run_id)
    async with running(project_db) as pilot:
        screen = await open_monitor(pilot, run_id)
        await until(pilot, lambda: screen.run_status == "running" and done(screen) >= 2)
        await until(pilot, lambda: "▶ running" in shown(pilot) and "eta" in shown(pilot))
        await pilot.press("p")
        await obeyed(project_db, run_id, openai_server)
        await until(pilot, lambda: screen.run_status == "paused")
        await until(pilot, lambda: "‖ paused" in shown(pilot) and "press p to resume" in shown(pilot))
        assert screen._next is None
        halfway = done(screen)
        assert 0 < halfway < 40
        hold(openai_server, 6)
        await pilot.press("p")
        await until(pilot, lambda: screen.run_status == "running" and done(screen) > halfway)
        await press(pilot, "s", "n")
        assert screen.run_status == "running"
        await press(pilot, "s", "y")
        await obeyed(project_db, run_id, openai_server)
        await until(pilot, lambda: screen.run_status == "stopped")
        await until(pilot, lambda: "■ stopped" in shown(pilot))
        await pilot.press("p")
        await until(pilot, lambda: screen.run_status == "done")
        assert screen._next is None
    with connect(project_db) as db:
        assert run_progress(db, run_id).done == 40
        assert db.value("SELECT count(*) FROM verdicts WHERE run_id = ?", (run_id,)) == 20


async def test_a_killed_process_shows_as_interrupted_and_is_resumed(
    project_db: Path, openai_server: ServerProcess
) -> None:
    hold(openai_server, 4)
    run_id = plan(project_db, import_lists(project_db, users=16), openai_server.url)
    begin(project_db, run_id)
    async with running(project_db) as pilot:
        screen = await open_monitor(pilot, run_id)
        await until(pilot, lambda: done(screen) >= 2)
        with connect(project_db) as db:
            owner, _ = lease_owner(db, run_id)
        os.kill(int(owner.split("|")[1]), signal.SIGKILL)
        await until(pilot, lambda: screen.run_status == "interrupted")
        await until(pilot, lambda: "Press p to resume" in shown(pilot))
        assert screen._next is None
        allow(openai_server)
        await pilot.press("p")
        await until(pilot, lambda: screen.run_status == "done")
    with connect(project_db) as db:
        assert run_progress(db, run_id).done == 32
        assert db.value("SELECT count(*) FROM verdicts WHERE run_id = ?", (run_id,)) == 16


async def test_failed_calls_are_shown_with_their_kind_and_retried(project_db: Path) -> None:
    with start("openai_api", "--faults", "refusal:1", "--fault-attempts", 1) as server:
        run_id = plan(project_db, import_lists(project_db), server.url)
        begin(project_db, run_id)
        async with running(project_db) as pilot:
            screen = await open_monitor(pilot, run_id)
            await until(pilot, lambda: screen.run_status == "done")
            await until(pilot, lambda: "✗ 6 failed" in shown(pilot))
            text = shown(pilot)
            assert "refusal 6" in text
            assert "[errors]" in text
            said = screen.query_one(Reader).text()
            assert "6 × refusal" in said
            assert "The model refused" in said
            assert "0000001" in said
            await press(pilot, "tab")
            assert "cases   all" in screen.query_one(Reader).text()
            await pilot.press("R")
            await until(pilot, lambda: screen.run_status == "done" and done(screen) == 6)
            await until(pilot, lambda: "✗ 0 failed" in shown(pilot))


async def test_a_server_that_is_gone_is_named_with_the_next_try(project_db: Path) -> None:
    with start("openai_api") as server:
        hold(server, 6)
        run_id = plan(project_db, import_lists(project_db, users=20), server.url)
        begin(project_db, run_id)
        try:
            async with running(project_db) as pilot:
                screen = await open_monitor(pilot, run_id)
                await until(pilot, lambda: done(screen) >= 2)
                await until(
                    pilot, lambda: "W/T/L als " in shown(pilot) and " flip with the order" in shown(pilot)
                )
                server.stop()
                port = server.url.rpartition(":")[2]
                await until(pilot, lambda: f"waiting: no connection to :{port}, " in shown(pilot))
                assert "eta" not in shown(pilot)
                await until(pilot, lambda: "next try in" in shown(pilot))
        finally:
            end(project_db, run_id)


async def test_the_cursor_follows_the_newest_answer_until_it_is_moved(
    project_db: Path, openai_server: ServerProcess
) -> None:
    hold(openai_server, 6)
    run_id = plan(project_db, import_lists(project_db, users=20), openai_server.url)
    begin(project_db, run_id)
    try:
        async with running(project_db) as pilot:
            screen = await open_monitor(pilot, run_id)
            await until(pilot, lambda: done(screen) == 6)
            calls = screen.query_one(CallList)
            await pilot.press("j")
            held = calls.cursor_id
            allow(openai_server, 6)
            await until(pilot, lambda: done(screen) > 7)
            assert calls.cursor_id == held
            assert calls.cursor > 1
            await pilot.press("g")
            before = calls.cursor_id
            allow(openai_server, 6)
            await until(pilot, lambda: calls.cursor_id != before)
            assert calls.cursor == 0
    finally:
        allow(openai_server)
        end(project_db, run_id)


async def test_runs_are_told_apart_by_what_differs(project_db: Path) -> None:
    project = import_lists(project_db)
    with connect(project_db) as db:
        for options in ({"sample": 2}, {"top_k": 3, "swap": False}, {"protocol": "pointwise"}):
            settings = settings_for(**{"protocol": "pairwise", **options})
            plan_run(db, RunRequest(project, JudgeSpec(spec="rules"), settings, rater=f"r{len(options)}"))
        own = run_differences(db, project)
    assert own[1] == ("top K 10", "sample N 2", "order yes")
    assert own[2] == ("top K 3", "sample N none", "order no")
    assert own[3] == ()
    async with running(project_db) as pilot:
        await press(pilot, "r", "j")
        assert "differs from other pairwise runs: top K 3 · sample N none" in shown(pilot)


async def test_the_case_of_a_line_is_opened(project_db: Path) -> None:
    run_id = judge(project_db, import_lists(project_db))
    async with running(project_db) as pilot:
        screen = await open_monitor(pilot, run_id)
        await press(pilot, "j", "j")
        row = screen.query_one(CallList).cursor_row
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, CasesScreen)
        assert pilot.app.screen.rows.chosen.text() == f"run:{run_id} case:{row.case_id}"
        assert "1 of 3" in shown(pilot)
        await press(pilot, "q")
        await press(pilot, "V")
        assert isinstance(pilot.app.screen, CasesScreen)
        assert pilot.app.screen.rows.chosen.text() == f"run:{run_id}"


async def test_nothing_is_read_while_no_process_works(
    project_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = judge(project_db, import_lists(project_db))
    async with running(project_db) as pilot:
        screen = await open_monitor(pilot, run_id)
        looks: list[int] = []
        monkeypatch.setattr(MonitorScreen, "read_now", lambda self: looks.append(1))
        await pilot.pause(1.0)
        assert looks == []
        assert screen._next is None


async def test_runs_started_elsewhere_are_listed_and_watched(
    project_db: Path, openai_server: ServerProcess
) -> None:
    hold(openai_server)
    project = import_lists(project_db, users=10)
    judge(project_db, project)
    async with running(project_db) as pilot:
        await press(pilot, "r")
        assert "Runs (1)" in shown(pilot)
        run_id = plan(project_db, project, openai_server.url)
        begin(project_db, run_id)
        pilot.app.check_runs()
        await until(pilot, lambda: "▶ running" in shown(pilot))
        await pilot.press("up", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, MonitorScreen))
        screen = pilot.app.screen
        assert isinstance(screen, MonitorScreen)
        assert screen.run_id == run_id
        allow(openai_server)
        await until(pilot, lambda: screen.run_status == "done")
        await pilot.press("escape")
        await until(pilot, lambda: shown(pilot).count("✓ done") == 2)


async def test_runs_are_filtered_and_deleted(project_db: Path) -> None:
    project = import_lists(project_db)
    judge(project_db, project, "pointwise")
    judge(project_db, project, "pairwise", "random")
    async with running(project_db) as pilot:
        await press(pilot, "r")
        await press(pilot, "slash", *"random", "enter")
        assert "Runs (1 of 2)" in shown(pilot)
        await press(pilot, "D", "y")
        await until(pilot, lambda: "Runs (0 of 1)" in shown(pilot))
    with connect(project_db) as db:
        assert run_row(db, 1)["protocol"] == "pointwise"
        assert db.value("SELECT count(*) FROM runs") == 1


async def test_plus_and_minus_change_how_many_calls_are_made_at_once(
    project_db: Path, openai_server: ServerProcess
) -> None:
    hold(openai_server, 4)
    run_id = plan(project_db, import_lists(project_db, users=20), openai_server.url, concurrency=4)
    begin(project_db, run_id)
    try:
        async with running(project_db) as pilot:
            screen = await open_monitor(pilot, run_id)
            await until(pilot, lambda: "4 at once" in shown(pilot) and screen.run_status == "running")
            await until(pilot, lambda: "+/- concurrency" in shown(pilot))
            await pilot.press("plus", "plus", "plus")
            await until(pilot, lambda: concurrency(project_db, run_id) == 7)
            await until(pilot, lambda: "7 at once" in shown(pilot))
            await pilot.press("minus")
            await until(pilot, lambda: concurrency(project_db, run_id) == 6)
            await pilot.press("p")
            await obeyed(project_db, run_id, openai_server)
            await until(pilot, lambda: screen.run_status == "paused")
            await pilot.press("minus")
            await until(pilot, lambda: "6 → 5 at once" in shown(pilot))
            assert concurrency(project_db, run_id) == 6
    finally:
        allow(openai_server)
        end(project_db, run_id)


async def test_the_next_stage_is_shown_when_the_first_one_ends_before_ones_eyes(
    project_db: Path,
) -> None:
    import_lists(project_db, users=6)
    with start("openai_api") as server:
        await see_both_stages(project_db, server)


@pytest.mark.parametrize("first_at_work", [True, False])
async def test_a_second_stage_that_is_never_seen_at_work_is_shown_when_it_ends(
    project_db: Path, first_at_work: bool
) -> None:
    import_lists(project_db)
    code, _, err = ran("run", "saer", "-p", "shop", "--judge", "rules", "--db", project_db)
    assert code == 0, err
    with connect(project_db) as db:
        db.execute("UPDATE runs SET state = 'planned' WHERE id = 2")
        owner = acquire(db, 1) if first_at_work else ""
        async with running(project_db) as pilot:
            screen = await open_monitor(pilot, 1)
            if first_at_work:
                assert screen.run_status == "running"
                release_lease(db, 1, owner, "done", 1.0)
            await until(pilot, lambda: screen.run_status == "done" and "run 2 · planned" in shown(pilot))
            db.execute("UPDATE runs SET state = 'done' WHERE id = 2")
            await until(pilot, lambda: "pairwise run 2 ✓ done" in shown(pilot))
            await until(pilot, lambda: screen._next is None)


async def see_both_stages(project_db: Path, server: ServerProcess) -> None:
    hold(server, 4)
    code, _, err = ran(
        "run", "saer", "-p", "shop", "--judge", "openai:hash-judge", "--base-url", f"{server.url}/v1",
        "--concurrency", 2, "--no-cache", "--detach", "--db", project_db,
    )  # fmt: skip
    assert code == 0, err
    async with running(project_db) as pilot:
        first = await open_monitor(pilot, 1)
        await until(pilot, lambda: "pairwise run 2 · planned  0/12 0%" in shown(pilot))
        allow(server, 12 - 4)
        await until(pilot, lambda: pilot.app.screen is not first)
        second = pilot.app.screen
        assert isinstance(second, MonitorScreen)
        assert second.run_id == 2
        await until(
            pilot, lambda: second.run_status == "running" and "pointwise run 1 ✓ done" in shown(pilot)
        )
        await press(pilot, "n")
        assert isinstance(pilot.app.screen, MonitorScreen)
        assert pilot.app.screen.run_id == 1
        # one asked for the first one: it stays, and tells how the second one gets on
        await until(pilot, lambda: "pairwise run 2 ▶ running" in shown(pilot))
        allow(server)
        await until(pilot, lambda: "pairwise run 2 ✓ done  12/12 100%" in shown(pilot))
        assert isinstance(pilot.app.screen, MonitorScreen)
        assert pilot.app.screen.run_id == 1
        assert pilot.app.screen._next is None


async def test_a_run_that_is_done_has_no_concurrency_to_change(project_db: Path) -> None:
    run_id = judge(project_db, import_lists(project_db))
    async with running(project_db) as pilot:
        await open_monitor(pilot, run_id)
        await press(pilot, "plus")
        assert "concurrency" not in shown(pilot)
    with connect(project_db) as db:
        assert run_row(db, run_id)["wanted_concurrency"] is None


def concurrency(path: Path, run_id: int) -> int:
    """What the process says it works with."""
    with connect(path) as db:
        found: int = run_row(db, run_id)["concurrency"]
        return found
