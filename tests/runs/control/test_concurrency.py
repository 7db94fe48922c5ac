"""More or fewer calls at once while another process works on the run: no call lost, none asked twice."""

from __future__ import annotations

from recjudge_tui.runs.start import change_concurrency, requested_concurrency, step_concurrency
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_progress, run_row
from tests.support.runs import calls, command, make_project, planned, ran, server_judge, verdicts
from tests.support.servers.counts import reset, stats
from tests.support.servers.gate import allow, hold, wait_until_held
from tests.support.servers.process import ServerProcess
from tests.support.waiting import HANG_S, wait_until


def most_from_now(server: ServerProcess) -> None:
    """Count the most requests at a time anew: those that are there now are the first."""
    reset(server)


def test_raised_and_lowered_while_a_process_works(db: Database, openai_server: ServerProcess) -> None:
    make_project(db, users=40)
    hold(openai_server)
    most_from_now(openai_server)
    run = planned(db, server_judge(openai_server.url), concurrency=2, use_cache=False)
    process = command("runs", "resume", run, "--db", db.path)
    wait_until_held(openai_server, 2)

    code, out, err = ran("runs", "concurrency", run, 12, "--db", db.path)
    assert (code, out) == (0, f"run {run}: 12 calls at once, from now on\n"), err
    wait_until_held(openai_server, 12)
    wait_until(lambda: run_row(db, run)["concurrency"] == 12)
    allow(openai_server, 8)
    wait_until(lambda: run_progress(db, run).done == 8)
    wait_until_held(openai_server, 12)
    assert stats(openai_server)["max_concurrent"] == 12

    change_concurrency(db, run, 3)
    wait_until(lambda: run_row(db, run)["concurrency"] == 3)
    allow(openai_server, 9)
    wait_until(lambda: run_progress(db, run).done == 17)
    wait_until_held(openai_server, 3)
    most_from_now(openai_server)
    allow(openai_server, 20)
    wait_until(lambda: run_progress(db, run).done == 37)
    assert stats(openai_server)["max_concurrent"] == 3

    change_concurrency(db, run, 16)
    wait_until_held(openai_server, 16)
    allow(openai_server)
    out, err = process.communicate(timeout=HANG_S)
    assert out == f"run {run} done: 80 done, 0 failed, 0 from cache, 0 outstanding, cost $0.0000\n", err
    # no two lists are alike, so neither are two questions: each was asked once
    assert {c["attempts"] for c in calls(db, run)} == {1}
    assert len(verdicts(db, run)) == 80
    assert run_row(db, run)["concurrency"] == 16


def test_the_concurrency_is_the_one_requested_last_or_planned_or_the_judges_own(db: Database) -> None:
    make_project(db)
    assert requested_concurrency(db, planned(db)) == 8
    run = planned(db, rater="other", concurrency=3)
    assert requested_concurrency(db, run) == 3
    assert step_concurrency(db, run, up=True) == 4
    assert requested_concurrency(db, run) == 4
    change_concurrency(db, run, 1)
    assert step_concurrency(db, run, up=False) == 1
    change_concurrency(db, run, 1024)
    assert step_concurrency(db, run, up=True) == 1024


def test_concurrency_goes_up_and_down_by_the_same_steps(db: Database) -> None:
    make_project(db)
    run = planned(db, concurrency=1)
    up, down = [1], [1024]
    while up[-1] < 1024:
        up.append(step_concurrency(db, run, up=True))
    while down[-1] > 1:
        down.append(step_concurrency(db, run, up=False))
    assert up[:14] == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24]
    assert down == up[::-1]
    for up_or_down, then in ((True, 10), (False, 8)):
        change_concurrency(db, run, 9)
        assert step_concurrency(db, run, up=up_or_down) == then
