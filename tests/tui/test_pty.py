"""The app in a real pseudo-terminal: what comes out of it byte by byte, and how it leaves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.app.projects import make_project, start_run
from tests.support.app.pty import PAYLOADS, TEXT, app, drain, ended, settings, terminal

ESC, PAGE_DOWN = b"\x1b", b"\x1b[6~"
# from the home to the list of projects and back into the cases
WALK = (
    ESC,
    b"D",
    ESC,
    b"i",
    ESC,
    b"\r",
    b"\r",
    b"n",
    b"n",
    b"n",
    b"\r",
    PAGE_DOWN,
    PAGE_DOWN,
    ESC,
    b"?",
    ESC,
)


def test_no_escape_of_the_data_reaches_the_terminal(project_db: Path) -> None:
    make_project(project_db, text=TEXT)
    with terminal(project_db) as opened:
        opened.press(*WALK)
        opened.press(*(bytes([code]) for code in b"/nonsense"), ESC)
        raw = opened.written.getvalue()
    assert raw.count(b"PLANTED") > 20
    assert not [payload for payload in PAYLOADS if payload in raw]
    assert b"\xe2\x80\xae" not in raw
    # the shape of the mouse pointer is Textual's own
    raw = re.sub(rb"\x1b\]22;[a-z-]*\x07", b"", raw)
    assert b"\x1b]" not in raw
    assert b"\x07" not in raw
    # C1 as UTF-8
    assert b"\xc2\x9b" not in raw


@pytest.mark.parametrize("way", ["q", "ctrl+q"])
def test_the_terminal_is_as_it_was_when_the_app_is_left(project_db: Path, way: str) -> None:
    make_project(project_db)
    with app(project_db) as child:
        before = settings(child)
        child.expect(b"movies")
        drain(child)
        assert settings(child) != before
        child.send(b"qq" if way == "q" else b"\x11")
        code, tail = ended(child)
        assert code == 0
        assert b"\x1b[?1049l" in tail
        assert b"\x1b[?25h" in tail
        assert settings(child) == before


def test_copying_is_osc_52_and_asks_nothing_else(project_db: Path) -> None:
    make_project(project_db)
    with terminal(project_db) as opened:
        opened.press(b"\r")
        assert opened.press(b"y").count(b"\x1b]52;c;") == 1


def test_a_resize_to_nothing_and_back(project_db: Path) -> None:
    make_project(project_db)
    with terminal(project_db) as opened:
        opened.press(b"\r")
        for rows, columns in ((3, 10), (1, 1), (50, 200)):
            opened.resize(rows, columns)
        assert b"flips when swapped" in opened.press(b"n", b"n")


def test_a_running_run_is_named_before_leaving(project_db: Path) -> None:
    project = make_project(project_db)
    start_run(project_db, project)
    with app(project_db) as child:
        child.expect(b"movies")
        child.expect("▶".encode())
        child.send(b"qq")
        child.expect(b"continues without")
        child.send(b"y")
        assert ended(child)[0] == 0
