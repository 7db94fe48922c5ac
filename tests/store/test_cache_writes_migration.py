"""A file from before tokens written to a server's cache were stored."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.opening import connect
from tests.support.older_files import file_before
from tests.support.runs import intact, planned

OLDER = Path(__file__).with_name("older")


def test_the_calls_keep_what_they_had_and_new_ones_are_made(tmp_path: Path) -> None:
    file = file_before("0027", OLDER / "project_0012.sql", tmp_path)
    plain = sqlite3.connect(file)
    plain.row_factory = sqlite3.Row
    before = [dict(row) for row in plain.execute("SELECT * FROM v_calls ORDER BY call_id")]
    plain.close()
    assert before
    with connect(file) as db:
        assert intact(db)
        after = [dict(row) for row in db.rows("SELECT * FROM v_calls ORDER BY call_id")]
        assert after == [{**row, "tokens_cache_written": None} for row in before]
        run = planned(db, rater="new", limit=2)
        work(file, run)
        assert db.value("SELECT count(*) FROM v_calls WHERE run_id = ? AND state = 'done'", (run,)) == 2
