"""The app in a real pseudo-terminal, and text that would harm one."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pexpect

ROOT = Path(__file__).parents[3]


_START = "import sys; from pathlib import Path; from recjudge_tui.tui.app import run_app; run_app(Path(sys.argv[1]))"


# sequences that neither Textual nor a terminal would ever write by itself
PAYLOADS = (
    b"\x1b]0;PLANTED-TITLE\x07",
    b"\x1b]52;c;UExBTlRFRA==\x07",
    b"\x1b]8;;http://planted.invalid/\x1b\\",
    b"\x1b[31;7;53mPLANTED",
    b"\x9b31;53mPLANTED-C1",
    b"\x1b[6n",
    b"\x1b[2J\x1b[HPLANTED",
)


TEXT = "".join(payload.decode("latin-1") for payload in PAYLOADS) + '\x07\x08\r PLANTED[/path][a="b]‮'


@contextmanager
def app(path: Path, cwd: str | None = None, **more: str) -> Iterator[pexpect.spawn[bytes]]:
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), **more}
    environment.pop("RECJUDGE_ASCII", None) if "RECJUDGE_ASCII" not in more else None
    child: pexpect.spawn[bytes] = pexpect.spawn(
        sys.executable,
        ["-c", _START, str(path)],
        env=environment,
        cwd=cwd,
        dimensions=(24, 80),
        timeout=20,
    )
    try:
        yield child
    finally:
        child.close(force=True)


@contextmanager
def uncontrolling_terminal(path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The app on a terminal that is not its controlling one, and our end of it: closing that sends no signal."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen(
        [sys.executable, "-c", _START, str(path)],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=environment,
    )  # fmt: skip
    os.close(theirs)
    try:
        yield child, ours
    finally:
        with suppress(OSError):
            os.close(ours)
        child.kill()
        child.wait()


def drain(child: pexpect.spawn[bytes], seconds: float = 0.4) -> bytes:
    """What comes until nothing has come for `seconds`, but no longer than five seconds."""
    seen, end = b"", time.monotonic() + 5.0
    while time.monotonic() < end:
        try:
            seen += child.read_nonblocking(1 << 16, timeout=seconds)
        except (pexpect.TIMEOUT, pexpect.EOF):
            break
    return seen


def settings(child: pexpect.spawn[bytes]) -> list[object]:
    return list(termios.tcgetattr(child.child_fd))[:4]
