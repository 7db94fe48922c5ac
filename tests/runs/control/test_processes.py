"""Who works on a run: one process, alive or taken over; signals, terminals, and stops through the database."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest

from recjudge_tui.domain.run import Progress
from recjudge_tui.errors import LeaseLostError, RunError
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.lease import SILENT_FOR_S, acquire, is_active
from recjudge_tui.runs.start import (
    change_concurrency,
    requested_concurrency,
    start_detached,
    step_concurrency,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import delete_project
from recjudge_tui.store.runs import run_progress, run_row, take_lease
from recjudge_tui.store.schema import connect
from tests.support.fork_server import ForkedProcess
from tests.support.runs import (
    calls,
    command,
    intact,
    make_project,
    planned,
    program,
    ran,
    server_judge,
    verdicts,
    wait_until_wishes_are_read,
)
from tests.support.servers.counts import reset, stats
from tests.support.servers.gate import allow, hold, wait_until_held
from tests.support.servers.process import ROOT, ServerProcess, start
from tests.support.waiting import HANG_S, wait_until


def slow_run(db: Database, openai_server: ServerProcess, users: int = 20, answers: int = 8) -> int:
    """A run of 2 x `users` calls, four at once. It gets so many answers, and the others when the test allows it."""
    make_project(db, users=users)
    hold(openai_server, answers)
    return planned(db, server_judge(openai_server.url), concurrency=4, use_cache=False)


def wait_until_it_stands(db: Database, run: int, openai_server: ServerProcess, answers: int = 8) -> None:
    """Until the answers that were allowed are stored, and four calls wait for theirs."""
    wait_until(lambda: run_progress(db, run).done == answers)
    wait_until_held(openai_server, 4)


def some_done(db: Database, run: int) -> bool:
    return run_progress(db, run).done > 0


def mark(host: str, pid: int, started: str = "") -> str:
    return f"{host}|{pid}|{started}|0123"


def test_a_second_process_is_refused_and_says_who_is_at_work(
    db: Database, openai_server: ServerProcess
) -> None:
    run = slow_run(db, openai_server)
    first = command("runs", "resume", run, "--db", db.path)
    wait_until(lambda: some_done(db, run))
    code, _, err = ran("runs", "resume", run, "--db", db.path)
    assert (code, f"Process {first.pid} on {socket.gethostname()} is working on it" in err) == (1, True)
    for words in (["retry", run], ["delete", run, "--yes"]):
        assert ran("runs", *words, "--db", db.path)[0] == 1
    allow(openai_server)
    out, _ = first.communicate(timeout=HANG_S)
    assert out == f"run {run} done: 40 done, 0 failed, 0 from cache, 0 outstanding, cost $0.0000\n"
    assert {c["attempts"] for c in calls(db, run)} == {1}


def test_the_lease_of_a_dead_process_is_taken_over_at_once(db: Database) -> None:
    make_project(db)
    run = planned(db)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    assert take_lease(db, run, mark(socket.gethostname(), dead.pid), None)
    assert not is_active(db, run)
    assert work(db.path, run).state == "done"


def test_a_new_process_with_the_number_of_a_dead_one_is_recognised(db: Database) -> None:
    make_project(db)
    run = planned(db)
    assert take_lease(db, run, mark(socket.gethostname(), os.getpid(), started="1"), None)
    assert not is_active(db, run)


def test_another_machines_lease_is_taken_over_only_after_silence(db: Database) -> None:
    make_project(db)
    run = planned(db)
    assert take_lease(db, run, mark("elsewhere", 1), None)

    def last_heard(seconds_ago: float) -> None:
        moment = datetime.now(timezone.utc) - timedelta(seconds=seconds_ago)
        db.execute("UPDATE runs SET heartbeat_at = ? WHERE id = ?", (moment.isoformat(), run))

    last_heard(SILENT_FOR_S - 5)
    with pytest.raises(RunError, match="on elsewhere"):
        acquire(db, run)
    last_heard(SILENT_FOR_S + 5)
    assert acquire(db, run)


def test_an_engine_ends_without_writing_when_its_run_is_taken_over(
    db: Database, openai_server: ServerProcess
) -> None:
    run = slow_run(db, openai_server)
    before: list[object] = []

    def rob(progress: Progress) -> None:
        if not before:
            with connect(db.path) as other, other.transaction():
                other.execute("UPDATE runs SET lease_owner = 'thief|1||x' WHERE id = ?", (run,))
                before.extend([[tuple(c) for c in calls(other, run)], tuple(run_row(other, run))])
            allow(openai_server)

    with pytest.raises(LeaseLostError, match="taken over"):
        work(db.path, run, rob)
    assert before == [[tuple(c) for c in calls(db, run)], tuple(run_row(db, run))]
    assert some_done(db, run)


def test_a_project_deleted_under_a_run_ends_it_with_a_clear_error(
    db: Database, openai_server: ServerProcess
) -> None:
    run = slow_run(db, openai_server)

    def delete(progress: Progress) -> None:
        with connect(db.path) as other:
            delete_project(other, "films")

    with pytest.raises(LeaseLostError, match="deleted"):
        work(db.path, run, delete)
    assert intact(db)


@pytest.mark.parametrize(("number", "state"), [(signal.SIGINT, "stopped"), (signal.SIGTERM, "stopped")])
def test_a_signal_lets_the_calls_in_flight_finish(
    db: Database, openai_server: ServerProcess, number: int, state: str
) -> None:
    run = slow_run(db, openai_server)
    process = command("runs", "resume", run, "--db", db.path)
    wait_until_it_stands(db, run, openai_server)
    process.send_signal(number)
    allow(openai_server)
    out, err = process.communicate(timeout=HANG_S)
    stands = run_progress(db, run)
    assert (process.returncode, stands.state) == (130, state)
    assert f"recjudge runs resume {run}" in err
    assert 0 < stands.outstanding < 40
    assert out.startswith(f"run {run} stopped: {stands.done} done")
    assert work(db.path, run).done == 40
    assert {c["attempts"] for c in calls(db, run)} == {1}, "what was in flight had been stored"


def test_a_second_signal_drops_the_calls_in_flight(db: Database) -> None:
    with start("openai_api") as server:
        run = slow_run(db, server, users=4, answers=0)
        process = command("runs", "resume", run, "--db", db.path)
        wait_until_held(server, 4)
        process.send_signal(signal.SIGINT)
        # of two signals that come before it looks, it sees one
        wait_until_wishes_are_read(db, run)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err.strip()) == (130, "interrupted")
    assert run_progress(db, run).outstanding == 8
    assert (run_row(db, run)["state"], run_row(db, run)["lease_owner"]) == ("stopped", None)


def test_a_run_continues_when_its_terminal_vanishes(db: Database, openai_server: ServerProcess) -> None:
    run = slow_run(db, openai_server)
    ours, theirs = os.openpty()
    process = command(
        "runs", "resume", run, "--db", db.path, stdin=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    wait_until(lambda: some_done(db, run))
    os.close(ours)
    allow(openai_server)
    out, _ = process.communicate(timeout=HANG_S)
    assert (process.returncode, out[:21]) == (0, f"run {run} done: 40 done, ")
    assert run_progress(db, run).state == "done"


@pytest.mark.parametrize("how", ["exits", "is killed"])
def test_a_detached_run_outlives_the_process_that_started_it(
    db: Database, openai_server: ServerProcess, how: str
) -> None:
    run = slow_run(db, openai_server)
    code = f"""
import os, signal, sys
from pathlib import Path
from recjudge_tui.runs.start import start_detached
from recjudge_tui.store.schema import connect
with connect(Path({str(db.path)!r})) as db:
    print(start_detached(db, {run}), flush=True)
    os.killpg(0, signal.SIGKILL) if {how == "is killed"} else None
"""
    parent = ForkedProcess(
        program(), "-c", code, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    pid = int(parent.communicate(timeout=HANG_S)[0])
    assert run_progress(db, run).outstanding
    assert (run_row(db, run)["lease_owner"] or "").split("|")[1] == str(pid)
    allow(openai_server)
    wait_until(lambda: run_progress(db, run).state == "done")
    assert run_progress(db, run).done == 40


def test_a_detached_run_that_cannot_start_says_why(db: Database) -> None:
    make_project(db)
    run = planned(db, server_judge("http://127.0.0.1:1"))
    start_detached(db, run)
    wait_until(lambda: run_row(db, run)["state"] == "failed")
    assert "127.0.0.1:1" in run_row(db, run)["error"]
    assert run_progress(db, run).outstanding == 8


@pytest.mark.parametrize(("how", "state"), [("pause", "paused"), ("stop", "stopped")])
def test_stop_and_pause_reach_a_run_through_the_database(
    db: Database, openai_server: ServerProcess, how: str, state: str
) -> None:
    run = slow_run(db, openai_server)
    start_detached(db, run)
    wait_until_it_stands(db, run, openai_server)
    stop = command("runs", "stop", run, *(["--pause"] if how == "pause" else []), "--db", db.path)
    wait_until(lambda: run_row(db, run)["wanted"] == how)
    wait_until_wishes_are_read(db, run)
    allow(openai_server)
    _, err = stop.communicate(timeout=HANG_S)
    assert (stop.returncode, f"run {run} {state}; to resume: recjudge runs resume {run}" in err) == (0, True)
    stands = run_progress(db, run)
    assert (stands.state, stands.outstanding) == (state, 40 - 8 - 4)
    assert work(db.path, run).done == len(verdicts(db, run)) == 40


# ---- concurrency ---------------------------------------------------------------------------------------------


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
    """It goes up and down by the same steps, between 1 and 1,024."""
    make_project(db)
    assert requested_concurrency(db, planned(db)) == 8
    run = planned(db, rater="other", concurrency=3)
    assert requested_concurrency(db, run) == 3
    assert step_concurrency(db, run, up=True) == requested_concurrency(db, run) == 4
    change_concurrency(db, run, 1)
    up, down = [step_concurrency(db, run, up=False)], [1024]
    while up[-1] < 1024:
        up.append(step_concurrency(db, run, up=True))
    assert step_concurrency(db, run, up=True) == 1024
    while down[-1] > 1:
        down.append(step_concurrency(db, run, up=False))
    assert up[:14] == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24]
    assert down == up[::-1]
    for up_or_down, then in ((True, 10), (False, 8)):
        change_concurrency(db, run, 9)
        assert step_concurrency(db, run, up=up_or_down) == then
