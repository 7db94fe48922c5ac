"""Connections lent to threads: used again, closed when they should be, and never of another file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError, StoreError
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.screens import SpareConnections


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "some.db"
    connect(path).close()
    return path


def is_open(db: Database) -> bool:
    try:
        db.connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return False
    return True


def test_a_connection_is_lent_again_and_two_at_a_time_are_different(path: Path) -> None:
    spare = SpareConnections(path)
    with spare.lend() as first, spare.lend() as second:
        assert first is not second
    with spare.lend() as again:
        assert again in (first, second)
    spare.close()
    assert not is_open(first)
    assert not is_open(second)


def test_a_lent_connection_is_closed_if_it_returns_after_the_end(path: Path) -> None:
    spare = SpareConnections(path)
    with spare.lend() as lent:
        spare.close()
        assert is_open(lent)
    assert not is_open(lent)
    with spare.lend() as next_one:
        assert is_open(next_one)
    assert is_open(next_one)
    spare.close()


def test_an_error_of_the_job_keeps_the_connection_and_a_bug_closes_it(path: Path) -> None:
    spare = SpareConnections(path)
    with pytest.raises(NotFoundError), spare.lend() as kept:
        raise NotFoundError("gone")
    assert is_open(kept)
    with pytest.raises(ZeroDivisionError), spare.lend() as broken:
        raise ZeroDivisionError
    assert broken is kept
    assert not is_open(broken)


def test_another_file_in_its_place_is_opened_anew_and_a_missing_one_is_an_error(
    path: Path, tmp_path: Path
) -> None:
    spare = SpareConnections(path)
    with spare.lend() as old:
        pass
    other = tmp_path / "other.db"
    connect(other).close()
    other.replace(path)
    with spare.lend() as new:
        assert new is not old
        assert not is_open(old)
    path.unlink()
    with pytest.raises(StoreError, match="no database"), spare.lend():
        pass
    assert not is_open(new)
