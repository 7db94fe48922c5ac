"""Runs that are killed at random moments."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

from tests.support.runs import command
from tests.support.servers.counts import stats
from tests.support.servers.gate import allow, hold
from tests.support.servers.process import ServerProcess
from tests.support.waiting import wait_until


def asked(log: Path) -> list[str]:
    """The body of every request that the server has read, as a hash, in order."""
    if not log.exists():
        return []
    return [json.loads(line)["sha256"] for line in log.read_text(encoding="utf-8").splitlines()]


def kill_at_random(
    db_path: Path, run: int, server: ServerProcess, rng: random.Random, *, early: bool, most: int = 12
) -> None:
    """Resume the run in a process and kill it: while it starts, or after a random number of answers, `most` at most."""
    hold(server, rng.randint(0, most))
    process = command("runs", "resume", run, "--db", db_path)
    try:
        if not early:
            wait_until(lambda: stats(server)["held"])
        time.sleep(rng.uniform(0.05, 0.6) if early else rng.uniform(0.0, 0.05))
        assert process.poll() is None, "it has no answers and cannot have ended"
    finally:
        process.kill()
        process.communicate()
        allow(server)
