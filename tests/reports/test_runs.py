"""The clock and the pace of a run, over its attempts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from recjudge_tui.reports.runs import run_watch, worked_s
from recjudge_tui.store.schema import connect
from tests.support.app.lists import import_lists, judge


def test_the_clock_counts_this_attempt_and_the_earlier_ones_but_no_pause(project_db: Path) -> None:
    run_id = judge(project_db, import_lists(project_db))
    with connect(project_db) as db:
        watch = run_watch(db, run_id)
    assert worked_s(watch, active=False) == watch.seconds > 0
    begun = datetime(2025, 1, 2, tzinfo=timezone.utc)
    heard, moment = begun + timedelta(seconds=3), begun + timedelta(seconds=5)
    again = replace(
        watch, seconds=100.0, attempt_started_at=begun.isoformat(), heartbeat_at=heard.isoformat()
    )
    assert worked_s(again, active=True, moment=moment) == 105.0
    assert worked_s(again, active=False, moment=moment) == 103.0
    assert worked_s(again, active=True, moment=begun - timedelta(hours=1)) == 100.0
    assert worked_s(replace(again, attempt_started_at=""), active=True, moment=moment) == 100.0


def test_the_pace_is_of_this_attempt_alone(project_db: Path) -> None:
    run_id = judge(project_db, import_lists(project_db, users=5))
    begun = datetime(2025, 1, 1, tzinfo=timezone.utc)
    with connect(project_db) as db:
        ids = [row[0] for row in db.rows("SELECT id FROM calls WHERE run_id = ? ORDER BY id", (run_id,))]
        assert len(ids) == 10
        # five calls in a second each, a pause of a day, and five with two seconds each
        for at, call in enumerate(ids):
            later = at if at < 5 else 86400 + 2 * at
            moment = (begun + timedelta(seconds=later)).isoformat(timespec="milliseconds")
            db.execute("UPDATE calls SET finished_at = ? WHERE id = ?", (moment, call))
        resumed = (begun + timedelta(seconds=86409)).isoformat(timespec="milliseconds")
        db.execute("UPDATE runs SET attempt_started_at = ? WHERE id = ?", (resumed, run_id))
        pace = run_watch(db, run_id).pace
    assert pace.rate == pytest.approx(0.5)
    assert sum(pace.rates) * pace.width_s == pytest.approx(5)
