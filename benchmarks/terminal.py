"""Runs a program in an 80 x 24 pseudo-terminal and measures how long it takes to paint."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from fcntl import ioctl
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_TICK = os.sysconf("SC_CLK_TCK")


class Terminal:
    """`Terminal(["-c", code, argument])` runs Python with these arguments; `started` is the start time."""

    def __init__(self, arguments: Sequence[str]) -> None:
        master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONPATH": str(ROOT),
            # no user settings for keys and colours
            "RECJUDGE_CONFIG": str(ROOT / "benchmarks"),
            # an installed program has its bytecode
            "PYTHONDONTWRITEBYTECODE": "",
        }
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
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
        """The time at which `wanted` was painted."""
        seen, limit = b"", time.perf_counter() + timeout
        while wanted not in seen:
            if time.perf_counter() > limit:
                raise TimeoutError(f"{wanted!r} was not painted; the end of what was: {seen[-500:]!r}")
            seen += self._read(0.05)
        return time.perf_counter()

    def settle(self, silence: float = 0.25) -> float:
        """Read until nothing arrives for `silence` seconds; returns the time of the last byte."""
        last = time.perf_counter()
        while self._read(silence):
            last = time.perf_counter()
        return last

    def press(self, keys: bytes, until: bytes | None = None) -> float:
        """Seconds from the key press to the first paint that is followed by 20 ms of silence."""
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

    def cpu_s(self) -> float:
        """Processor time of the program so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status")
        if not status.exists():
            return 0.0
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
