"""An empty database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.store.database import Database, connect


@pytest.fixture
def db(project_db: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Database]:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path / "config"))
    with connect(project_db) as database:
        yield database
