"""Which process works on a run: one at a time. If the process dies, its lease is released."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime, timezone
from uuid import uuid4

from recjudge_tui.domain.run import RunState, Wanted
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RunError
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import lease_owner, mark_ended, run_row, take_lease
from recjudge_tui.system import is_running, process_start

# only for a process on another machine, whose life cannot be checked from here
SILENT_FOR_S = 120.0


def acquire(db: Database, run_id: int) -> str:
    """Lease the run and return the owner's mark. Raises RunError when another live process works on it."""
    run_row(db, run_id)
    # host, process id, start time, and a random word
    mine = f"{socket.gethostname()}|{os.getpid()}|{process_start(os.getpid())}|{uuid4().hex}"
    owner, heartbeat = lease_owner(db, run_id)
    if owner is not None and is_alive(owner, heartbeat):
        raise _in_use(run_id, owner, f"Stop it with “recjudge runs stop {run_id}”, or wait for it.")
    if not take_lease(db, run_id, mine, owner):
        raise RunError(f"another process has just taken run {run_id}", next_step="Try again.")
    return mine


def process_of(owner: str) -> str:
    """The process of a mark, in words."""
    host, pid, *_ = [*owner.split("|"), "?"]
    return f"Process {one_line(pid, 20)} on {one_line(host, 80)}"


def is_alive(owner: str, heartbeat: str | None) -> bool:
    """Whether the process that holds the lease still lives. On this machine the process itself is checked, so neither a
    sleeping laptop nor a clock that jumps makes a live run look dead. Its start time distinguishes it from a later process
    with the same number. On another machine only the heartbeat tells; one far in the future, or no time, is none."""
    host, pid, started, *_ = [*owner.split("|"), "", ""]
    if host == socket.gethostname() and pid.isdecimal():
        return is_running(int(pid)) and started in ("", process_start(int(pid)))
    try:
        silent = datetime.now(timezone.utc) - datetime.fromisoformat(heartbeat or "")
    except (ValueError, TypeError):
        return False
    return abs(silent.total_seconds()) < SILENT_FOR_S


def take_over(db: Database, run_id: int) -> str:
    """Release a run whose process cannot be asked, such as one on another machine, and return whose it was; empty if
    nobody held it. Raises RunError if its process is on this machine and lives."""
    run_row(db, run_id)
    owner, heartbeat = lease_owner(db, run_id)
    if owner is None:
        return ""
    if owner.partition("|")[0] == socket.gethostname() and is_alive(owner, heartbeat):
        raise _in_use(run_id, owner, f"Stop it with “recjudge runs stop {run_id}”.")
    mark_ended(db, run_id, owner, "stopped")
    return process_of(owner)


def is_active(db: Database, run_id: int) -> bool:
    """Whether a live process works on the run now."""
    owner, heartbeat = lease_owner(db, run_id)
    return owner is not None and is_alive(owner, heartbeat)


def refuse_when_active(db: Database, run_id: int) -> None:
    """Raise RunError when a live process works on the run."""
    owner, heartbeat = lease_owner(db, run_id)
    if owner is not None and is_alive(owner, heartbeat):
        raise _in_use(run_id, owner, f"Stop it first: recjudge runs stop {run_id}")


def _in_use(run_id: int, owner: str, next_step: str) -> RunError:
    elsewhere = owner.partition("|")[0] != socket.gethostname()
    if elsewhere:
        next_step += f" If that process is gone: recjudge runs take-over {run_id}"
    return RunError(f"run {run_id} is already running", f"{process_of(owner)} is working on it.", next_step)


def stop_and_wait(db: Database, run_id: int, how: Wanted, wait_s: float = 180.0) -> str:
    """Request a stop or a pause and wait until the process has released the run. Returns a message. A run whose process is
    dead is marked as stopped at once."""
    run_row(db, run_id)
    ended: RunState = "paused" if how == "pause" else "stopped"
    owner, heartbeat = lease_owner(db, run_id)
    if owner is None or not is_alive(owner, heartbeat):
        mark_ended(db, run_id, owner, ended)
        return f"run {run_id} was not running"
    db.change("runs", run_id, wanted=how)
    deadline = time.monotonic() + wait_s
    while is_active(db, run_id):
        if time.monotonic() > deadline:
            raise RunError(
                f"run {run_id} has not stopped within {wait_s:g} s",
                "It finishes the calls in flight first.",
                f"Check it later with “recjudge runs show {run_id}”.",
            )
        time.sleep(0.1)
    # needed only if the process was killed before it could store its end
    mark_ended(db, run_id, owner, ended)
    return f"run {run_id} {run_row(db, run_id)['state']}; to resume: recjudge runs resume {run_id}"
