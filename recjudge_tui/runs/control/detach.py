"""Start a run as its own process, which outlives the terminal and the app that started it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import RunError
from recjudge_tui.judges.registry import check_trust
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_row

START_WITHIN_S = 60.0


def start_detached(db: Database, run_id: int, words: Sequence[str] = ()) -> int:
    """Work on the run in a new process, in the same way as `recjudge runs resume`; returns its pid.

    `words` are another command that works on the run and may do more afterwards.

    Waits until the process has leased the run or the run has ended. Raises RunError with the process's last output
    when it ended without leasing the run, UntrustedError as that process would: it has nobody to ask.
    """
    check_trust(JudgeSpec.model_validate_json(run_row(db, run_id)["judge"]))
    log = db.path.with_name(f"{db.path.name}.runs.log")
    before, offset = _marks(db, run_id), log.stat().st_size if log.exists() else 0
    words = words or ("runs", "resume", str(run_id))
    pid = _spawn([sys.executable, "-m", "recjudge_tui", *words, "--db", str(db.path)], log)
    deadline = time.monotonic() + START_WITHIN_S
    while time.monotonic() < deadline and _marks(db, run_id) == before:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            if _marks(db, run_id) == before and os.waitstatus_to_exitcode(status) != 0:
                raise RunError(f"run {run_id} did not start", _log_tail(log, offset), f"Read its log, {log}.")
            break
        time.sleep(0.02)
    return pid


def _marks(db: Database, run_id: int) -> tuple[object, ...]:
    """The fields that change when a process takes the run or releases it."""
    row = run_row(db, run_id)
    return row["lease_owner"], row["finished_at"], row["error"]


def _spawn(command: list[str], log: Path) -> int:
    """Start a process in its own session, so that no terminal's hang-up reaches it. Output is appended to `log`."""
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), append, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def _log_tail(log: Path, offset: int) -> str:
    with log.open("rb") as text:
        text.seek(offset)
        return text.read(4000).decode("utf-8", "replace").strip()
