"""The app in a real pseudo-terminal: what comes out of it byte by byte, and how it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.app.projects import make_project
from tests.support.app.pty import app, drain, ended, settings


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
