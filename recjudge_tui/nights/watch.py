"""One night of a watch: import, judge, report. Done again, it does only what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recjudge_tui.nights.lock import project_lock
from recjudge_tui.nights.new_files import new_files
from recjudge_tui.nights.night import INTERRUPTED, Night, Say, idle_night, remember_night
from recjudge_tui.nights.watch_file import Watch
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.projects import create_project, find_project

if TYPE_CHECKING:
    from recjudge_tui.nights.judging import Work


def watch_night(db: Database, watch: Watch, say: Say, work: Work) -> Night:
    """Import what is new, judge what has no verdict, write trend and gate; each step says what it did.

    A file, a judge or a report that fails is named and does not keep the others from their work; it is tried again the
    next time. Exit code: 130 interrupted, 3 the gate is not met, 1 something failed or the gate cannot be told, else 0.
    Raises RunError when another process watches the project.
    """
    known_id = find_project(db, watch.project)
    project_id = create_project(db, watch.project) if known_id is None else known_id
    with project_lock(db, project_id, watch.project):
        new = list(new_files(db, project_id, watch))
        idle = idle_night(db, project_id, watch, new, say)
        if idle is not None:
            return idle
        # most of the program, which an idle night does not load
        from recjudge_tui.nights.steps import import_files, judge_cases, report

        night = Night()
        import_files(db, project_id, watch, new, night, say)
        if not judge_cases(db, project_id, watch, night, say, work):
            night.exit_code = INTERRUPTED
            return night
        report(db, project_id, watch, night, say)
        remember_night(db, project_id, watch, night)
        return night
