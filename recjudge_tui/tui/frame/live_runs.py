"""The runs that a process is working on."""

from __future__ import annotations

from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.progress import ActiveRun, active_runs


def live_runs(db: Database) -> list[ActiveRun]:
    """The active runs, without those whose process died."""
    if not (runs := active_runs(db)):
        return []
    from recjudge_tui.runs.control.lease import is_active

    return [run for run in runs if is_active(db, run.run_id)]
