"""The app in a real pseudo-terminal: what comes out of it byte by byte, and how it leaves."""

from __future__ import annotations

import re
import signal
import struct
import termios
from fcntl import ioctl
from pathlib import Path

import pexpect
import pytest

from tests.support.app.projects import make_project, start_run
from tests.support.app.pty import PAYLOADS, TEXT, app, drain, settings


def test_no_escape_of_the_data_reaches_the_terminal(project_db: Path) -> None:
    make_project(project_db, text=TEXT)
    with app(project_db) as child:
        child.expect(b"PLANTED")
        raw = child.before + child.after + drain(child)
        for key in (
            # from the home to the list of projects
            b"\x1b",
            b"D",
            b"\x1b",
            b"i",
            b"\x1b",
            b"\r",
            b"\r",
            b"n",
            b"n",
            b"n",
            b"\r",
            b"\x1b[6~",
            b"\x1b[6~",
            b"\x1b",
            b"?",
        ):
            child.send(key)
            raw += drain(child, 0.25)
        child.send(b"\x1b")
        raw += drain(child)
        child.send(b"/nonsense\x1b")
        raw += drain(child)
    assert raw.count(b"PLANTED") > 20
    assert not [payload for payload in PAYLOADS if payload in raw]
    assert b"\xe2\x80\xae" not in raw
    # the shape of the mouse pointer is Textual's own
    raw = re.sub(rb"\x1b\]22;[a-z-]*\x07", b"", raw)
    assert b"\x1b]" not in raw
    assert b"\x07" not in raw
    # C1 as UTF-8
    assert b"\xc2\x9b" not in raw


@pytest.mark.parametrize("way", ["q", "ctrl+q", "SIGTERM"])
def test_the_terminal_is_as_it_was_when_the_app_is_left(project_db: Path, way: str) -> None:
    make_project(project_db)
    with app(project_db) as child:
        before = settings(child)
        child.expect(b"movies")
        drain(child)
        assert settings(child) != before
        if way == "SIGTERM":
            child.kill(signal.SIGTERM)
        else:
            child.send(b"qq" if way == "q" else b"\x11")
        tail = drain(child, 2.0)
        if way != "SIGTERM":
            assert b"\x1b[?1049l" in tail
            assert b"\x1b[?25h" in tail
            assert settings(child) == before
            child.wait()
            assert child.exitstatus == 0


def test_copying_is_osc_52_and_asks_nothing_else(project_db: Path) -> None:
    make_project(project_db)
    with app(project_db) as child:
        child.expect(b"movies")
        drain(child)
        child.send(b"\r")
        drain(child, 0.8)
        child.send(b"y")
        raw = drain(child)
    assert raw.count(b"\x1b]52;c;") == 1


def test_a_resize_to_nothing_and_back(project_db: Path) -> None:
    make_project(project_db)
    with app(project_db) as child:
        child.expect(b"movies")
        child.send(b"\r")
        drain(child, 0.8)
        for rows, columns in ((3, 10), (1, 1), (50, 200)):
            ioctl(child.child_fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            child.kill(signal.SIGWINCH)
            drain(child)
        child.send(b"n")
        drain(child)
        child.send(b"n")
        child.expect(b"flips when swapped")


def test_a_running_run_is_named_before_leaving(project_db: Path) -> None:
    project = make_project(project_db)
    start_run(project_db, project)
    with app(project_db) as child:
        child.expect(b"movies")
        child.expect("▶".encode())
        child.send(b"qq")
        child.expect(b"continues without")
        child.send(b"y")
        child.expect(pexpect.EOF)
        child.wait()
        assert child.exitstatus == 0
