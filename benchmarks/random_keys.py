"""Random keys, mouse and resizes in a real pseudo-terminal; each start of the app is ended by SIGTERM, in any state.

    python benchmarks/random_keys.py [SECONDS] [SEED] [--quick]

plays for SECONDS (an hour) and prints every session that ended wrongly.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, command_parser
from tests.support.app.random_keys import Session, make_material, play

SECONDS, QUICK_SECONDS = 60.0, 1.0
INPUTS, QUICK_INPUTS = 1_500, 100


def measure(quick: bool = False) -> list[Row]:
    seconds, inputs = (QUICK_SECONDS, QUICK_INPUTS) if quick else (SECONDS, INPUTS)
    sessions = played(seconds, 1, inputs)
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


def played(seconds: float, seed: int, inputs: int, *, show: bool = False) -> list[Session]:
    """Sessions with the seeds from `seed`, for about this many seconds."""
    sessions: list[Session] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="keys-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "keys.db"
            make_material(path)
            session = play(path, seed + len(sessions), inputs, Path(folder))
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


def main(words: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=3600.0)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    options = parser.parse_args(words)
    seconds, inputs = (QUICK_SECONDS, QUICK_INPUTS) if options.quick else (options.seconds, INPUTS)
    sessions = played(seconds, options.seed, inputs, show=True)
    wrong = sum(1 for session in sessions if session.fault)
    print(
        f"{len(sessions)} starts, {sum(session.inputs for session in sessions):,} inputs, {wrong} ended wrongly"
    )


if __name__ == "__main__":
    main()
