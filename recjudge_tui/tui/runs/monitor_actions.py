"""Background jobs of the monitor: reading a run, and requests to it."""

from __future__ import annotations

import time
from typing import NamedTuple

from recjudge_tui.domain.run import Wanted
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import RunError
from recjudge_tui.reports.runs import RunWatch, run_watch
from recjudge_tui.runs import start
from recjudge_tui.runs.lease import is_active, stop_and_wait
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import set_wanted


class RunSnapshot(NamedTuple):
    """A run as it was read, whether a process works on it or on the other stage, and how long reading took."""

    watch: RunWatch
    active: bool
    took_s: float
    other_active: bool = False


def read_run(db: Database, run_id: int) -> RunSnapshot:
    begun = time.monotonic()
    # read before the counts, so that a run that ends in between is shown as ended the next time
    active = is_active(db, run_id)
    watch = run_watch(db, run_id)
    if not active and watch.state == "running":
        active = is_active(db, run_id)
    other = watch.other is not None and is_active(db, watch.other.run_id)
    return RunSnapshot(watch, active, time.monotonic() - begun, other)


def interrupt(db: Database, run_id: int, wanted: Wanted) -> str:
    """Request a pause or a stop; returns a toast."""
    word = "Pausing" if wanted == "pause" else "Stopping"
    if is_active(db, run_id):
        set_wanted(db, run_id, wanted)
        return f"{word}: the calls in flight are finished first."
    return stop_and_wait(db, run_id, wanted).capitalize() + "."


def resume(db: Database, run_id: int) -> str:
    """Start a process that works on the run; returns a toast."""
    start.prepare_resume(db, run_id)
    start.detach(db, run_id)
    return f"Run {run_id} is working in the background; you can close this screen and the app."


def retry(db: Database, run_id: int) -> str:
    """Start a process that repeats the failed calls; returns a toast."""
    count = start.prepare_retry(db, run_id)
    if not count:
        raise RunError(f"run {run_id} has no failed calls")
    start.detach(db, run_id)
    return f"{quantity(count, 'failed call')} will be asked again."
