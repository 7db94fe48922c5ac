"""One night of a watch: its result, and whether there is anything new to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from recjudge_tui.nights.new_files import WatchFile
from recjudge_tui.nights.watch_file import Watch
from recjudge_tui.reports.common.table import Table
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.watches import data_version, last_night, save_night

INTERRUPTED = 130
FAILED = 1
Say = Callable[[str], None]


@dataclass
class Night:
    """The result of a night. `gate` is the table of the gate if it is to be printed, `failures` name what failed;
    `is_unfinished`: the budget was spent before everything was judged.
    """

    exit_code: int = 0
    gate: Table | None = None
    failures: list[str] = field(default_factory=list)
    is_unfinished: bool = False


def idle_night(
    db: Database, project_id: int, watch: Watch, new: Sequence[WatchFile], say: Say
) -> Night | None:
    """The result of a night without work: files, data and the watch file are unchanged since the last complete night.

    Else None.
    """
    last = last_night(db, project_id)
    if new or last is None or last.inputs != _inputs(db, project_id, watch):
        return None
    gate = f", which ended with exit code {last.exit_code}" if last.exit_code else ""
    say(f"nothing new since {last.ended_at[:19].replace('T', ' ')} UTC{gate}")
    return Night(last.exit_code)


def remember_night(db: Database, project_id: int, watch: Watch, night: Night) -> None:
    """Record the inputs of a complete night, so that the next night with the same inputs is idle."""
    if not night.failures and not night.is_unfinished:
        save_night(db, project_id, _inputs(db, project_id, watch), night.exit_code)


def _inputs(db: Database, project_id: int, watch: Watch) -> str:
    return f"{watch.digest} {data_version(db, project_id)}"
