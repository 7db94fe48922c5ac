"""A server is a process of its own, which ends when it is told to, and at the latest with its parent."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.servers.process import ROOT, start
from tests.support.waiting import wait_until


def test_stop_ends_that_process() -> None:
    server = start("openai_api")
    assert server.is_running()
    os.kill(server.pid, 0)
    server.stop()
    assert not server.is_running()
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)
    server.stop()


def test_a_server_leaves_when_its_parent_is_killed() -> None:
    killed = (
        "import os, signal; from tests.support.servers.process import start; "
        "print(start('openai_api').url, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    parent = subprocess.run([sys.executable, "-c", killed], cwd=ROOT, capture_output=True, text=True)
    assert parent.returncode == -signal.SIGKILL
    address = ("127.0.0.1", int(parent.stdout.strip().rpartition(":")[2]))
    wait_until(lambda: not _accepts(address))


def test_start_shows_why_it_failed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="bogus:1"):
        start("openai_api", "--faults", "bogus:1")
    mute = tmp_path / "mute.py"
    mute.write_text("import time; time.sleep(30)")
    with pytest.raises(RuntimeError, match=r"did not listen within 0\.2 s"):
        start(mute, deadline=0.2)


def _accepts(address: tuple[str, int]) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(address) == 0
