"""A file that cannot be written is opened read-only, says so, and stays as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recjudge_tui.errors import StoreError
from recjudge_tui.store.database import is_read_only
from recjudge_tui.store.projects import create_project, project_names
from recjudge_tui.store.schema import connect
from tests.support.runs import make_project


@pytest.fixture
def on_a_disc(project_db: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of which the system says that nobody may write to it or to its folder."""
    with connect(project_db) as db:
        make_project(db)
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    return project_db


def test_it_is_read_and_says_so(on_a_disc: Path) -> None:
    before = on_a_disc.read_bytes()
    lines: list[str] = []
    with connect(on_a_disc, notify=lines.append) as db:
        assert db.read_only
        assert project_names(db) == [(1, "films")]
        with pytest.raises(StoreError, match="read-only"):
            create_project(db, "books")
    assert lines == [f"{on_a_disc} cannot be written, so it is opened read-only"]
    assert on_a_disc.read_bytes() == before
    assert [path.name for path in on_a_disc.parent.iterdir() if path.name.startswith(on_a_disc.name)] == [
        on_a_disc.name
    ]


def test_writes_in_the_log_are_read(project_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(project_db) as writer:
        create_project(writer, "in the log")
        assert Path(f"{project_db}-wal").stat().st_size > 0
        monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
        with connect(project_db) as db:
            assert project_names(db) == [(1, "in the log")]


def test_asked_to_read_only_it_waits_for_no_writer_and_makes_no_file(project_db: Path) -> None:
    with pytest.raises(StoreError, match="no database at"):
        connect(project_db, read_only=True)
    assert not is_read_only(project_db)
    with connect(project_db) as writer:
        create_project(writer, "films")
        with writer.transaction(), connect(project_db, read_only=True) as reader:
            writer.execute("UPDATE projects SET name = 'other'")
            assert project_names(reader) == [(1, "films")]
