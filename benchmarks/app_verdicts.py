"""The app on a generated project: start to first paint, page-down, filter; in a real pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from fcntl import ioctl
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

VERDICTS = 100_000
PAGES = 20
STARTS = 5
_START = "import sys; from pathlib import Path; from recjudge_tui.tui.app import run_app; run_app(Path(sys.argv[1]), 'big')"


def measure(verdicts: int = VERDICTS) -> list[dict[str, Any]]:
    """One row a figure: name, ours, comparison, ratio, bound, holds, note."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.db"
        generate(path, verdicts)
        starts = sorted(_start(path) for _ in range(STARTS))
        with Terminal(path) as terminal:
            total = f"{verdicts:,}".replace(",", " ")
            terminal.wait_for(f"{total} of {total}".encode())
            terminal.settle()
            pages = sorted(terminal.press(b"\x1b[6~") for _ in range(PAGES))
            end = terminal.press(b"G")
            terminal.press(b"/")
            swap = terminal.press(b"why:swap\r", until=f" of {total}".encode())
            terminal.press(b"/")
            text = terminal.press(b'\x15"genre 77"\r', until=f" of {total}".encode())
            memory = terminal.memory_mb()
    name = f"app, {verdicts:,} verdicts"
    return [
        _row(
            f"{name}: start to first rows",
            starts[STARTS // 2],
            0.5,
            f"s, starting Python to the first row painted; median of {STARTS}, slowest {starts[-1]:.3f}",
        ),
        _row(f"{name}: page-down, slowest of {PAGES}", pages[-1] * 1000, 30, "ms, key to last byte painted"),
        _row(f"{name}: jump to the end", end * 1000, None, "ms"),
        _row(f"{name}: filter why:swap", swap * 1000, None, "ms, key to the new count painted"),
        _row(f"{name}: free text in the reasoning", text * 1000, None, "ms, by LIKE"),
        _row(f"{name}: memory", memory, None, "MB resident"),
    ]


def _start(path: Path) -> float:
    with Terminal(path) as terminal:
        took = terminal.wait_for(b"0000001") - terminal.started
        terminal.settle()
    return took


def _row(name: str, ours: float, bound: float | None, note: str) -> dict[str, Any]:
    holds = None if bound is None else ours <= bound
    return {
        "name": name,
        "ours": round(ours, 3),
        "comparison": None,
        "ratio": None,
        "bound": bound,
        "holds": holds,
        "note": note,
    }


def generate(path: Path, verdicts: int) -> None:
    """A project `big` with one run of `verdicts` pairwise verdicts, both orders answered."""
    from recjudge_tui.store.clock import now
    from recjudge_tui.store.database import connect
    from recjudge_tui.store.projects import create_project

    with connect(path) as db, db.transaction():
        project = create_project(db, "big")
        db.execute(
            "INSERT INTO raters (project_id, name, kind, created_at) VALUES (?, 'judge', 'judge', ?)",
            (project, now()),
        )
        db.execute(
            "INSERT INTO prompts VALUES (1, 'pairwise', 1, 'pairwise', 'd', '{}', 'shipped', ?)", (now(),)
        )
        db.execute(
            """INSERT INTO runs (project_id, rater_id, prompt_id, protocol, judge, settings, state, created_at)
               VALUES (?, 1, 1, 'pairwise', '{"spec": "big"}', '{}', 'done', ?)""",
            (project, now()),
        )
        db.execute(
            """INSERT INTO snapshots VALUES (1, 'u', 'user', '{"user_id": "u"}'), (2, 's', 'slate', '{"items": []}')"""
        )
        counted = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :n) "
        for sql in _FILL:
            db.execute(sql.replace("COUNTED", counted), {"n": verdicts, "p": project, "now": now()})


_FILL = (
    """INSERT INTO cases (id, project_id, kind, user_id, system_a, system_b)
       COUNTED SELECT i, :p, 'pair', 'u' || i, 'als', 'cooc' FROM n""",
    "INSERT INTO run_cases COUNTED SELECT 1, i, 1, 2, 2, NULL, NULL FROM n WHERE :p AND :now <> ''",
    """INSERT INTO calls (id, run_id, case_id, list_order, state, attempts)
       COUNTED SELECT 2 * i - o.j, 1, i, CASE o.j WHEN 0 THEN 'ab' ELSE 'ba' END, 'done', 1
       FROM n, (SELECT 0 AS j UNION ALL SELECT 1) o""",
    """INSERT INTO answers (call_id, aspect, value, label, reasoning)
       COUNTED SELECT 2 * i - o.j, 'overall', 1, 'A', 'List A repeats what this user has seen; B brings genre '
         || (i % 100) || ', which fits the evenings of the last months better and is not yet owned.'
       FROM n, (SELECT 0 AS j UNION ALL SELECT 1) o""",
    """INSERT INTO verdicts (rater_id, case_id, aspect, protocol, run_id, state, value, label, rule,
         order_consistent, confidence, flag_count, created_at, project_id)
       COUNTED SELECT 1, i, 'overall', 'pairwise', 1, CASE i % 50 WHEN 7 THEN 'failed' ELSE 'ok' END,
         CASE i % 50 WHEN 7 THEN NULL ELSE i % 3 - 1 END, CASE i % 3 WHEN 0 THEN 'B' WHEN 1 THEN 'Tie' ELSE 'A' END,
         'both_orders', i % 6 > 0, (i * 37 % 100) / 100.0, 0, :now, :p FROM n""",
)


class Terminal:
    """The app in a pseudo-terminal of 80 x 24."""

    def __init__(self, path: Path) -> None:
        master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONPATH": str(ROOT),
        }
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(path)],
            stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self._master = master

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._master)

    def _read(self, timeout: float) -> bytes:
        ready, _, _ = select.select([self._master], [], [], timeout)
        return os.read(self._master, 1 << 16) if ready else b""

    def wait_for(self, wanted: bytes, timeout: float = 60.0) -> float:
        """The time at which `wanted` had been painted."""
        seen, limit = b"", time.perf_counter() + timeout
        while wanted not in seen:
            if time.perf_counter() > limit:
                raise TimeoutError(f"{wanted!r} was not painted; the end of what was: {seen[-500:]!r}")
            seen += self._read(0.05)
        return time.perf_counter()

    def settle(self, silence: float = 0.25) -> float:
        """Read until nothing comes for `silence` seconds; the time of the last byte."""
        last = time.perf_counter()
        while self._read(silence):
            last = time.perf_counter()
        return last

    def press(self, keys: bytes, until: bytes | None = None) -> float:
        """Seconds from the key to the first paint after it that was followed by 20 ms of silence."""
        start = time.perf_counter()
        os.write(self._master, keys)
        if until is not None:
            took = self.wait_for(until) - start
        else:
            while not (seen := self._read(1.0)) and time.perf_counter() - start < 5:
                pass
            took = (self.settle(0.02) if seen else time.perf_counter()) - start
        self.settle()
        return took

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status")
        if not status.exists():
            return 0.0
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmRSS"))
        return int(line.split()[1]) / 1024


if __name__ == "__main__":
    for figure in measure(int(sys.argv[1]) if len(sys.argv) > 1 else VERDICTS):
        print(
            f"{figure['name']:55} {figure['ours']:10} bound {figure['bound']} {figure['holds']}  {figure['note']}"
        )
