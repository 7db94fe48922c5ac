"""A machine that sleeps, a process that is held, a clock that jumps: no call fails, nothing is lost."""

from __future__ import annotations

import os
import signal
import struct
import subprocess

import pytest

from recjudge_tui.runs.engine import work
from recjudge_tui.runs.lease import is_active
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_progress, run_row
from tests.support.fork_server import ForkedProcess
from tests.support.runs import calls, make_project, planned, program, server_judge, verdicts
from tests.support.servers.counts import request_count
from tests.support.servers.gate import allow, hold, wait_until_held
from tests.support.servers.process import ROOT, ServerProcess, start
from tests.support.waiting import HANG_S, wait_until

# a call has one attempt only, so that a single one which is not forgiven fails it; the clock is ahead by what the file says
RESUME = """
import mmap, struct, sys, time
from recjudge_tui.runs import calls as retries
retries.MAX_ATTEMPTS, retries.PATIENCE_S = 1, {}
with open(sys.argv.pop(1), "r+b") as file:
    ahead = mmap.mmap(file.fileno(), 8)
monotonic = time.monotonic
time.monotonic = lambda: monotonic() + struct.unpack("d", ahead)[0]
from recjudge_tui.cli.app import main
main(sys.argv[1:])
"""
SLEEP_S = 3600.0


@pytest.mark.parametrize("while_away", ["the server waits", "the server restarts"])
def test_calls_do_not_fail_if_the_process_is_stopped_beyond_the_deadline(
    db: Database, while_away: str
) -> None:
    """With 40 calls in flight, more than the breaker's row of failures, each at its last attempt."""
    make_project(db, users=60)
    with start("openai_api") as server:
        quiet = planned(db, server_judge(server.url))
        work(db.path, quiet)
    servers: list[ServerProcess] = [start("openai_api")]
    ahead = db.path.with_name("ahead")
    ahead.write_bytes(struct.pack("d", 0.0))
    try:
        hold(servers[0], 40)
        run = planned(db, server_judge(servers[0].url), concurrency=40, timeout_s=HANG_S, use_cache=False)
        process = ForkedProcess(
            program(), "-c", RESUME, str(ahead), "runs", "resume", str(run), "--db", str(db.path),
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        wait_until(lambda: run_progress(db, run).done == 40)
        wait_until_held(servers[0], 40)
        # what sleep is to a process: it stands still, and when it goes on every deadline has passed
        os.kill(process.pid, signal.SIGSTOP)
        ahead.write_bytes(struct.pack("d", SLEEP_S))
        assert is_active(db, run), "nobody takes the run from a process that sleeps"
        if while_away == "the server restarts":
            servers.pop().stop()
            servers.append(start("openai_api", "--port", server_port(db, run)))
        os.kill(process.pid, signal.SIGCONT)
        if while_away == "the server waits":
            # an answer that comes before the clock is read would not be too late
            wait_until(lambda: request_count(servers[0]) >= 40 + 40 + 40)
        allow(servers[0])
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
    assert sum(c["attempts"] > 1 for c in calls(db, run)) == 40, "those in flight when it was held"
    assert verdicts(db, run) == verdicts(db, quiet)


def server_port(db: Database, run: int) -> int:
    url: str = run_row(db, run)["judge"].partition("http://127.0.0.1:")[2]
    return int(url.partition("/")[0])
