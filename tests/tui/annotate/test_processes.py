"""Several people at once, and a process that is killed: what was confirmed is kept, whole."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect

from recjudge_tui.store.people import own_verdict, task_of
from recjudge_tui.store.schema import connect
from tests.support.annotators import PROJECT, tasks
from tests.support.app.judging import make
from tests.support.waiting import HANG_S

ROOT = Path(__file__).parents[3]


@contextmanager
def opened(path: Path, who: str) -> Iterator[pexpect.spawn[bytes]]:
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    command = ["-m", "recjudge_tui", "annotate", "open", "-p", PROJECT, "--as", who, "--db", str(path)]
    child: pexpect.spawn[bytes] = pexpect.spawn(
        sys.executable, command, env=environment, dimensions=(24, 80), timeout=HANG_S
    )
    try:
        yield child
    finally:
        child.close(force=True)


def test_killed_at_any_instant_a_case_is_stored_whole_or_not_at_all(project_db: Path) -> None:
    make(project_db, "arena", users=6)
    for delay in (0.0, 0.008):
        with opened(project_db, "ana") as child:
            child.expect(b"/6")
            child.expect(b"overall")
            child.send(b"1021021")
            child.expect(rb"overall[^\n]*\[1 List 1\]")
            child.send(b"\r")
            time.sleep(delay)
            child.kill(signal.SIGKILL)
            child.wait()
        with connect(project_db) as db:
            for task in tasks(db, "ana", "arena"):
                found = task_of(db, task)
                assert len(own_verdict(db, found).answers) == (7 if found.state == "done" else 0)
