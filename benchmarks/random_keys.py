"""Random keys, mouse and resizes in a real pseudo-terminal; each start of the app ends by SIGTERM, whatever is open.

python benchmarks/random_keys.py [SECONDS] [SEED] plays for an hour and prints every session that ended wrongly.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.app.random_keys import Session, make_material, play

SECONDS = 60.0
INPUTS = 1_500


def measure() -> list[dict[str, Any]]:
    sessions = played(SECONDS, seed=1)
    wrong = [session for session in sessions if session.fault]
    slowest = max((session.seconds_to_end for session in sessions if not session.left), default=0.0)
    return [
        {
            "name": f"{sum(session.inputs for session in sessions):,} random inputs, starts of the app that ended wrongly",
            "ours": len(wrong),
            "comparison": None,
            "ratio": None,
            "bound": "none",
            "holds": not wrong,
            "note": f"{len(sessions)} starts, at most {slowest:.1f} s from SIGTERM to the end",
        }
    ]


def played(seconds: float, seed: int, *, show: bool = False) -> list[Session]:
    """Sessions with the seeds from `seed`, for about this many seconds."""
    sessions: list[Session] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="keys-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "keys.db"
            make_material(path)
            session = play(path, seed + len(sessions), INPUTS, Path(folder))
            _end_runs(folder)
        sessions.append(session)
        if show:
            print(f"seed {seed + len(sessions) - 1}: {session.inputs} inputs, code {session.code}, "
                  f"{session.seconds_to_end:.2f} s {session.fault}", flush=True)  # fmt: skip
            if session.fault:
                print(f"  pressed {session.pressed[-12:]}\n  seen {session.seen[-3000:]!r}", flush=True)
    return sessions


def _end_runs(folder: str) -> None:
    """End the processes of runs that the app started: they have its settings folder."""
    mark = f"RECJUDGE_CONFIG={folder}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)


def main() -> None:
    seconds, seed = (
        (*map(float, sys.argv[1:3]), 3600.0, 1.0)[:2] if len(sys.argv) != 2 else (float(sys.argv[1]), 1.0)
    )
    sessions = played(seconds, int(seed), show=True)
    wrong = sum(1 for session in sessions if session.fault)
    print(
        f"{len(sessions)} starts, {sum(session.inputs for session in sessions):,} inputs, {wrong} ended wrongly"
    )


if __name__ == "__main__":
    main()
