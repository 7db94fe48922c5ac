"""One night of a watch: import, judge, report. A repeated night does only what is left to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from recjudge_tui.errors import RunError
from recjudge_tui.nights.new_files import new_files
from recjudge_tui.nights.night import INTERRUPTED, Night, Say, idle_night, remember_night
from recjudge_tui.nights.watch_file import Watch
from recjudge_tui.runs.control.lease import is_alive, process_mark, process_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from recjudge_tui.store.projects.projects import create_project, find_project
from recjudge_tui.store.projects.watches import release_watch, take_watch, watch_heartbeat, watch_owner

if TYPE_CHECKING:
    from recjudge_tui.nights.judging import Work

_BEAT_EVERY_S = 30.0


def watch_night(db: Database, watch: Watch, say: Say, work: Work) -> Night:
    """Import what is new, judge what has no verdict, write trend and gate; each step reports what it did. If a file,
    a judge or a report fails, it is named, the others continue, and it is tried again the next time. Exit code: 130
    interrupted, 3 the gate is not met, 1 something failed or the gate cannot be measured, else 0. Raises RunError when
    another process watches the project.
    """
    known_id = find_project(db, watch.project)
    project_id = create_project(db, watch.project) if known_id is None else known_id
    with _project_lock(db, project_id, watch.project):
        new = list(new_files(db, project_id, watch))
        idle = idle_night(db, project_id, watch, new, say)
        if idle is not None:
            return idle
        # loads most of the program, which an idle night does not need
        from recjudge_tui.nights.steps import import_files, judge_cases, report

        night = Night()
        import_files(db, project_id, watch, new, night, say)
        if not judge_cases(db, project_id, watch, night, say, work):
            night.exit_code = INTERRUPTED
            return night
        report(db, project_id, watch, night, say)
        remember_night(db, project_id, watch, night)
        return night


@contextmanager
def _project_lock(db: Database, project_id: int, project: str) -> Iterator[None]:
    """Hold the lock of a project; the lock of a dead process does not count.

    Raises RunError when another live process has it, naming that process.
    """
    owner, heartbeat = watch_owner(db, project_id)
    if owner is not None and is_alive(owner, heartbeat):
        raise RunError(
            f"project “{project}” is being watched already",
            f"{process_of(owner)} is working on it.",
            "Wait until it ends. If that process dies, its lock is released.",
        )
    mine = process_mark()
    if not take_watch(db, project_id, mine, owner):
        raise RunError(f"another process has just begun to watch “{project}”", next_step="Wait for it.")
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(db.path, project_id, mine, ended), daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
        release_watch(db, project_id, mine)


def _beat(path: Path, project_id: int, owner: str, ended: threading.Event) -> None:
    """Show other machines that the owner is alive; a night may take hours."""
    while not ended.wait(_BEAT_EVERY_S):
        with connect(path) as db:
            watch_heartbeat(db, project_id, owner)
