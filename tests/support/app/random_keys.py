"""Random keys, mouse and resizes for the app in a real pseudo-terminal, and how it ends."""

from __future__ import annotations

import os
import random
import signal
import struct
import termios
import time
from fcntl import ioctl
from pathlib import Path
from typing import NamedTuple

import pexpect

from tests.support.app.projects import make_absolute, make_arena, make_explanations, make_project
from tests.support.app.pty import app

ENDS_WITHIN_S = 2.0
_ENTER, _ESCAPE, _TAB = b"\r", b"\x1b", b"\t"
_MOVES = (b"\x1b[A", b"\x1b[B", b"\x1b[C", b"\x1b[D", b"\x1b[5~", b"\x1b[6~", b"\x1b[H", b"\x1b[F", b"\x1b[Z")
_CHORDS = tuple(
    bytes([code]) for code in range(1, 27) if bytes([code]) not in (b"\x11", b"\x13", b"\x1a", b"\x1c")
)
_OTHERS = (
    b"\x1b[3~",
    b"\x7f",
    b"\x1bOP",
    b"\x1bOQ",
    b"\x1b[15~",
    b"\x1b[I",
    b"\x1b[O",
    b"\x10\x1b[5~",
    b"\xff",
    b"\x00",
)
_LETTERS = tuple(bytes([code]) for code in range(0x20, 0x7F))
_WORDS = tuple(
    word.encode()
    for word in ("é", "漢", "👩‍👩‍👧", "\u202e", "queue:any", "rules", "0", "999999999999999999999")
)


class Session(NamedTuple):
    """How one start of the app ended. `code` is its exit code; `pressed` are the last inputs, `seen` the last output.

    `left` is True if a key ended the app. `seconds_to_end` counts from SIGTERM, for an app that no key ended;
    `busy_s` is its processor time since then: a machine with too much to do is no fault of the app.
    """

    inputs: int
    left: bool
    code: int | None
    seconds_to_end: float
    busy_s: float
    pressed: tuple[bytes, ...]
    seen: bytes

    @property
    def fault(self) -> str:
        """What went wrong, empty if nothing did."""
        if self.left:
            # an interrupt that comes while the app is leaving is one
            ended_by_it = self.code in (128 + signal.SIGINT, -signal.SIGINT)
            interrupted = ended_by_it and any(b"\x03" in keys for keys in self.pressed)
            return "" if self.code == 0 or interrupted else f"exit code {self.code} after a key"
        # an app that a key had ended already is killed by the signal, its terminal restored
        if self.code not in (128 + signal.SIGTERM, -signal.SIGTERM):
            return f"exit code {self.code} after SIGTERM"
        late = self.seconds_to_end > ENDS_WITHIN_S and self.busy_s > ENDS_WITHIN_S / 2
        return f"{self.seconds_to_end:.1f} s from SIGTERM to the end" if late else ""


def make_material(path: Path) -> None:
    """Projects of every kind of case, one of them with texts that would harm a terminal."""
    project = make_project(path)
    make_explanations(path, project)
    make_arena(path, project)
    make_absolute(path, project)
    make_project(path, "odd", text="\x1b[31m[/x] \u202e\u200b{{ 1 }}")


def play(path: Path, seed: int, inputs: int, folder: Path, pause_s: float = 0.004) -> Session:
    """Start the app on the file, send it random inputs, then SIGTERM, whatever is open.

    `folder` becomes its home: settings, exports and drafts go there. Where the app asks for an editor or a pager it
    gets one that ends by itself or, for every third seed, one that does not.
    """
    rng = random.Random(seed)
    endless = seed % 3 == 0
    program = "sh -c 'sleep 60'" if endless else "true"
    own = {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "RECJUDGE_CONFIG": str(folder),
        "EDITOR": program,
        "VISUAL": program,
        "PAGER": program,
    }
    pressed: list[bytes] = []
    seen = b""
    with app(path, cwd=str(folder), **own) as child:
        child.expect(b"movies")
        sent = 0
        while sent < inputs and child.isalive():
            batch = b""
            for _ in range(rng.choice((1, 1, 2, 3, 8))):
                batch += _input(rng, child)
                sent += 1
            pressed.append(batch)
            try:
                child.send(batch)
            except OSError:
                break
            seen = (seen + _available(child, pause_s))[-4000:]
        begun, busy = time.monotonic(), _processor_s(child.pid)
        last = busy
        left = not child.isalive()
        if not left:
            child.kill(signal.SIGTERM)
        while child.isalive() and time.monotonic() - begun < 30:
            last = max(last, _processor_s(child.pid))
            seen = (seen + _available(child, 0.02))[-4000:]
        seconds = time.monotonic() - begun
        seen = (seen + _available(child, 0.05))[-4000:]
        code = child.exitstatus if child.signalstatus is None else -child.signalstatus
        # the key may have been read before the signal came
        left = left or code == 0
    return Session(sent, left, code, seconds, last - busy, tuple(pressed[-60:]), seen)


def _processor_s(pid: int) -> float:
    """Processor time of a process so far; 0 for one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _available(child: pexpect.spawn[bytes], seconds: float) -> bytes:
    """Everything that can be read now, waiting this long for its first byte."""
    try:
        read: bytes = child.read_nonblocking(1 << 16, timeout=seconds)
        return read
    except (pexpect.TIMEOUT, pexpect.EOF):
        return b""


def _input(rng: random.Random, child: pexpect.spawn[bytes]) -> bytes:
    """One random input; a resize happens at once and is empty."""
    kind = rng.random()
    if kind < 0.02:
        _resize(rng, child)
        return b""
    if kind < 0.14:
        return _mouse(rng)
    if kind < 0.36:
        return rng.choice(_MOVES)
    if kind < 0.50:
        return rng.choice((_ENTER, _ESCAPE, _ESCAPE, _TAB))
    if kind < 0.55:
        return rng.choice(_CHORDS)
    if kind < 0.59:
        return rng.choice(_OTHERS)
    if kind < 0.62:
        word = rng.choice(_WORDS)
        return b"\x1b[200~" + word + b"\x1b[201~" if rng.random() < 0.5 else word
    letter = rng.choice(_LETTERS)
    # q leaves the app: seldom enough that something else is reached
    return letter if letter != b"q" or rng.random() < 0.2 else b"n"


def _resize(rng: random.Random, child: pexpect.spawn[bytes]) -> None:
    rows, columns = rng.choice(((1, 1), (1, 300), (100, 1), (2, 3), (24, 80), (24, 80), (40, 120), (100, 300),
                                (rng.randint(1, 100), rng.randint(1, 300))))  # fmt: skip
    ioctl(child.child_fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    if child.isalive():
        os.kill(child.pid, signal.SIGWINCH)


def _mouse(rng: random.Random) -> bytes:
    """A click, a drag, a wheel or a movement, in SGR form."""
    column, row = rng.randint(1, 100), rng.randint(1, 30)
    button = rng.choice((0, 0, 0, 2, 32, 35, 64, 65, 16))
    down = b"\x1b[<%d;%d;%dM" % (button, column, row)
    return down + b"\x1b[<%d;%d;%dm" % (button, column, row) if button < 3 else down
