"""The app in a real pseudo-terminal, and text that would harm one."""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path

import pexpect

from tests.support.app.answering import AT_REST, NUMBER_BYTES
from tests.support.waiting import HANG_S

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


class Terminal:
    """A pseudo-terminal of 80 x 24 with the app in it. All that came out so far is in `written`."""

    def __init__(self, child: pexpect.spawn[bytes], asked: socket.socket) -> None:
        self.child = child
        self.written = BytesIO()
        child.logfile_read = self.written
        self._asked = asked
        self._typed = 0

    def press(self, *keys: bytes) -> bytes:
        """Press these keys, each as soon as the app rests after the one before. Returns what came out."""
        begun = self.written.tell()
        for key in keys:
            self.child.send(key)
            self._typed += 1
            self.rest()
        return self.written.getvalue()[begun:]

    def rest(self) -> None:
        """Until every key pressed so far is handled and the app has nothing left to do or to write."""
        self._asked.sendall(self._typed.to_bytes(NUMBER_BYTES, "big"))
        end = time.monotonic() + HANG_S
        while not select.select([self._asked], [], [], 0)[0]:
            assert time.monotonic() < end, "the app does not come to rest"
            self._read(0.005)
        answer = self._asked.recv(1 << 16)
        assert answer == AT_REST, answer.decode() or "the app has ended"
        while self._read(0.0):
            pass

    def _read(self, seconds: float) -> bytes:
        with suppress(pexpect.TIMEOUT, pexpect.EOF):
            found: bytes = self.child.read_nonblocking(1 << 16, timeout=seconds)
            return found
        return b""


@contextmanager
def terminal(path: Path, **more: str) -> Iterator[Terminal]:
    """The app on a file, once it is at rest."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(HANG_S)
        port = str(server.getsockname()[1])
        # an escape that is read alone is a key after this many milliseconds
        with _spawned(["-m", "tests.support.app.answering", str(path), port], ESCDELAY="20", **more) as child:
            # what the app writes before it connects fits into the terminal's buffer
            asked, _ = server.accept()
            with asked:
                found = Terminal(child, asked)
                found.rest()
                yield found


@contextmanager
def app(path: Path, cwd: str | None = None, **more: str) -> Iterator[pexpect.spawn[bytes]]:
    """The app on a file, from its start, as users start it."""
    with _spawned(["-c", _START, str(path)], cwd, **more) as child:
        yield child


@contextmanager
def _spawned(words: list[str], cwd: str | None = None, **more: str) -> Iterator[pexpect.spawn[bytes]]:
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), **more}
    # the size is the terminal's: pytest's workers name their own
    for name in {"COLUMNS", "LINES", "RECJUDGE_ASCII"} - set(more):
        environment.pop(name, None)
    child: pexpect.spawn[bytes] = pexpect.spawn(
        sys.executable, words, env=environment, cwd=cwd, dimensions=(24, 80), timeout=HANG_S
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


def ended(child: pexpect.spawn[bytes]) -> tuple[int | None, bytes]:
    """Wait for its end. Returns its exit code, None after a signal that killed it, and what still came out."""
    child.expect(pexpect.EOF)
    child.wait()
    return child.exitstatus, child.before


def settings(child: pexpect.spawn[bytes]) -> list[object]:
    return list(termios.tcgetattr(child.child_fd))[:4]
