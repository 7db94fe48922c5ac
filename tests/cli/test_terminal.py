"""A terminal that cannot place text gets an error instead of escape sequences."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path


def test_a_dumb_terminal_is_refused(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "recjudge_tui", "--db", str(tmp_path / "r.db")]
    environment = {**os.environ, "TERM": "dumb"}
    done = subprocess.run(command, stdin=slave, stdout=slave, stderr=slave, env=environment, check=False)
    os.close(slave)
    said = os.read(master, 4096)
    os.close(master)
    assert done.returncode == 2
    assert b"cannot be shown with TERM=dumb" in said
    assert b"\x1b" not in said
    assert not (tmp_path / "r.db").exists()
