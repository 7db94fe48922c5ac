"""An import that is cut off leaves nothing behind."""

from __future__ import annotations

import csv
import signal
from pathlib import Path

import pytest

from recjudge_tui.importers.load import import_files
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from tests.support.fork_server import ForkedProcess
from tests.support.runs import program
from tests.support.waiting import HANG_S

EVENTS = "user_id,item_id,type\n" + "u,1,click\n" * 20_000

KILLED = """
import os, signal, sys
from pathlib import Path
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.schema import connect

def progress(rows, share):
    if rows >= 10_000:
        os.kill(os.getpid(), signal.SIGKILL)

import_files(connect(Path(sys.argv[1])), "p", [Path(sys.argv[2])], "events", progress=progress)
"""


def test_kill_in_the_middle(tmp_path: Path) -> None:
    database, file = tmp_path / "a.db", tmp_path / "events.csv"
    file.write_text(EVENTS)
    process = ForkedProcess(program(), "-c", KILLED, str(database), str(file))
    assert process.wait(HANG_S) == -signal.SIGKILL
    with connect(database) as db:
        assert [db.value(f"SELECT count(*) FROM {t}") for t in ("projects", "imports", "events")] == [0, 0, 0]
        assert db.value("PRAGMA integrity_check") == "ok"
        assert import_files(db, "p", [file], "events").stored == 20_000


def test_interrupt_in_the_middle(db: Database, tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_text(EVENTS)

    def progress(rows: int, share: float) -> None:
        raise KeyboardInterrupt

    def settings() -> tuple[int, ...]:
        return csv.field_size_limit(), db.value("PRAGMA cache_size"), db.value("PRAGMA temp_store")

    before = settings()
    with pytest.raises(KeyboardInterrupt):
        import_files(db, "p", [file], "events", progress=progress)
    assert [db.value(f"SELECT count(*) FROM {t}") for t in ("projects", "imports", "events")] == [0, 0, 0]
    assert settings() == before
