"""A machine that sleeps, a process that is held, a clock that jumps: no call fails, nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta, timezone

import pytest

from recjudge_tui.domain.run import Progress
from recjudge_tui.runs.control.lease import is_active
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from recjudge_tui.store.runs.runs import lease_owner, run_progress, run_row
from tests.support.runs import calls, intact, make_project, planned, ran, server_judge, verdicts
from tests.support.servers.process import ROOT, ServerProcess, start
from tests.support.waiting import HANG_S, wait_until

DEADLINE_S = 0.8
STALL_S = 1.2
# a call has one attempt only, so that a single one which is not forgiven fails it
RESUME = f"""
import sys
from recjudge_tui.runs.control import limits, retries
retries.MAX_ATTEMPTS, retries.PATIENCE_S, limits.STALL_S = 1, {{}}, {STALL_S}
from recjudge_tui.cli.app import main
main(sys.argv[1:])
"""


def hold(process: subprocess.Popen[str], seconds: float) -> None:
    """What sleep is to a process: it stands still, and when it goes on every deadline has passed."""
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGCONT)


@pytest.mark.parametrize("while_away", ["the server waits", "the server restarts"])
def test_a_process_held_for_longer_than_the_deadline_fails_nothing(db: Database, while_away: str) -> None:
    """With 40 calls in flight, more than the breaker's row of failures, each at its last attempt."""
    make_project(db, users=60)
    with start("openai_api") as server:
        quiet = planned(db, server_judge(server.url))
        work(db.path, quiet)
    servers: list[ServerProcess] = [start("openai_api", "--delay-ms", 300)]
    try:
        run = planned(db, server_judge(servers[0].url), concurrency=40, timeout_s=DEADLINE_S, use_cache=False)
        process = subprocess.Popen(
            [sys.executable, "-c", RESUME, "runs", "resume", str(run), "--db", str(db.path)],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        wait_until(lambda: run_progress(db, run).done >= 40)
        if while_away == "the server restarts":
            os.kill(process.pid, signal.SIGSTOP)
            servers.pop().stop()
        hold(process, STALL_S + DEADLINE_S)
        assert is_active(db, run), "nobody takes the run from a process that sleeps"
        if not servers:
            port = server_port(db, run)
            servers.append(start("openai_api", "--delay-ms", 300, "--port", port))
        out, err = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
        process.communicate()
        for one in servers:
            one.stop()
    assert (process.returncode, out[:22], err.count("failed in a row")) == (
        0,
        f"run {run} done: 120 done, ",
        0,
    )
    assert run_progress(db, run).failed == 0
    assert sum(c["attempts"] > 1 for c in calls(db, run)) > 25, "calls were in flight when it was held"
    assert verdicts(db, run) == verdicts(db, quiet)


def server_port(db: Database, run: int) -> int:
    url: str = run_row(db, run)["judge"].partition("http://127.0.0.1:")[2]
    return int(url.partition("/")[0])


def test_a_wall_clock_that_jumps_back_loses_nothing(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats go back by a day in mid-run: another process is still refused, and the run ends as always."""
    make_project(db, users=30)
    refused: list[str] = []

    def back(progress: Progress) -> None:
        if not refused:
            real = time.time
            monkeypatch.setattr(time, "time", lambda: real() - 86_400)
            monkeypatch.setattr("recjudge_tui.store.runs.runs.now", yesterday)
            refused.append(ran("runs", "resume", run, "--db", db.path)[2])

    with start("openai_api", "--delay-ms", 60) as server:
        run = planned(db, server_judge(server.url), concurrency=2)
        ended = work(db.path, run, back)
    assert (ended.state, ended.done, ended.failed) == ("done", 60, 0)
    assert "is already running" in refused[0]
    assert len(verdicts(db, run)) == 60
    assert {c["attempts"] for c in calls(db, run)} == {1}


def yesterday() -> str:
    return (datetime.now(timezone.utc) - timedelta(days=1)).isoformat(timespec="milliseconds")


@pytest.mark.parametrize("days", [-400, 400])
def test_a_lease_does_not_go_by_the_clock_on_its_own_machine(db: Database, days: int) -> None:
    make_project(db, users=10)
    seen: list[bool] = []

    def look(progress: Progress) -> None:
        if seen:
            return
        moment = (datetime.now(timezone.utc) + timedelta(days=days)).isoformat()
        with connect(db.path) as other:
            with other.transaction():
                other.execute("UPDATE runs SET heartbeat_at = ? WHERE id = ?", (moment, run))
            seen.append(is_active(other, run))
            owner, _ = lease_owner(other, run)
            assert owner

    with start("openai_api", "--delay-ms", 60) as server:
        run = planned(db, server_judge(server.url), concurrency=1)
        assert work(db.path, run, look).done == 20
    assert seen == [True]


def test_a_server_that_is_held_for_a_while_costs_attempts_and_no_call(db: Database) -> None:
    """The other side sleeps: calls pass their deadline a few times, and are answered after it wakes."""
    make_project(db, users=20)
    with start("openai_api", "--delay-ms", 100) as server:
        run = planned(db, server_judge(server.url), concurrency=4, timeout_s=0.4)
        held: list[threading.Timer] = []

        def freeze(progress: Progress) -> None:
            if not held:
                os.kill(server.pid, signal.SIGSTOP)
                held.append(threading.Timer(0.8, os.kill, (server.pid, signal.SIGCONT)))
                held[0].start()

        ended = work(db.path, run, freeze)
        held[0].join()
    assert (ended.done, ended.failed) == (40, 0)
    assert max(c["attempts"] for c in calls(db, run)) > 1
    assert intact(db)
