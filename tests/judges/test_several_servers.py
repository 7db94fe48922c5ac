"""One judge at two real servers, one of which is killed in mid-run and comes back."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges import servers as endpoints
from recjudge_tui.runs.engine import work
from recjudge_tui.store.schema import connect
from tests.support.runs import calls, make_project, planned
from tests.support.servers.counts import stats
from tests.support.servers.gate import allow, hold, wait_until_held
from tests.support.servers.process import ServerProcess, start
from tests.support.waiting import HANG_S, wait_until


def requests_at(server: ServerProcess) -> int:
    found: int = stats(server)["requests"]
    return found


def test_no_call_is_lost_when_a_server_is_killed_and_it_is_used_again_when_it_is_back(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path))
    monkeypatch.setattr(endpoints, "ASIDE_S", 0.2)
    log = tmp_path / "log"
    with connect(project_db) as db, start("openai_api", "--log", log) as one, start("openai_api") as two:
        make_project(db, users=150)
        spec = JudgeSpec(spec="openai:hash-judge", base_urls=(one.url, two.url))
        run = planned(db, spec, concurrency=8)
        back: list[ServerProcess] = []
        for server in (one, two):
            hold(server, after=30)

        def kill_and_restart() -> None:
            wait_until(lambda: stats(one)["concurrent"] + stats(two)["concurrent"] == 8)
            os.kill(one.pid, signal.SIGKILL)
            # its calls are at the other one now, and so no more are made until that one answers
            wait_until_held(two, 8)
            back.append(start("openai_api", "--port", urlsplit(one.url).port))
            time.sleep(endpoints.ASIDE_S)
            allow(two)

        killing = threading.Thread(target=kill_and_restart)
        killing.start()
        try:
            ended = work(project_db, run)
        finally:
            killing.join(HANG_S)
        (again,) = back
        with again:
            after = requests_at(again)
        states = {call["state"] for call in calls(db, run)}
        assert (ended.state, ended.failed, states) == ("done", 0, {"done"})
        assert after > 0, "the server that came back was asked again"
        assert requests_at(two) > 0
        before = log.read_text(encoding="utf-8").count("\n")
        assert before + after + requests_at(two) >= 300
