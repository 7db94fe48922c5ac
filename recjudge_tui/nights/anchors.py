"""A fixed set of cases that a judge answers again each night, to separate changes of the judge from changes of the
systems.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone

from recjudge_tui.domain.run_options import RUN_OPTIONS
from recjudge_tui.nights.judging import Task
from recjudge_tui.nights.watch_file import JudgeEntry
from recjudge_tui.store.cases.snapshots import first_shown
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import find_rater
from recjudge_tui.store.verdicts.anchors import (
    anchor_cases,
    anchor_name,
    cases_of_rater,
    last_anchor_run,
    move_anchor_verdicts,
    save_anchor_cases,
)

# a repeated night does not ask again
_ONCE_IN = timedelta(hours=12)


def draw_anchors(db: Database, project_id: int, entry: JudgeEntry) -> None:
    """Draw the anchor cases of a judge, once, from the cases it has judged, with the seed of its settings."""
    rater_id = find_rater(db, project_id, entry.name)
    if not entry.anchor or rater_id is None:
        return
    for protocol in entry.protocols:
        if not anchor_cases(db, project_id, entry.name, protocol):
            judged = cases_of_rater(db, rater_id, protocol)
            seed = entry.settings.get("seed", RUN_OPTIONS["seed"].default)
            drawn = random.Random(seed).sample(judged, min(entry.anchor, len(judged)))
            save_anchor_cases(db, project_id, entry.name, protocol, drawn)


def anchor_tasks(db: Database, project_id: int, entry: JudgeEntry) -> list[Task]:
    """The anchor cases that are due. They are shown as they were the first time, and asked without the cache."""
    rater_id = find_rater(db, project_id, entry.name)
    if not entry.anchor or rater_id is None:
        return []
    name = anchor_name(entry.name)
    asks = find_rater(db, project_id, name)
    tasks = []
    for protocol in entry.protocols:
        shown = first_shown(db, rater_id, anchor_cases(db, project_id, entry.name, protocol))
        if shown and not (asks is not None and _is_recent(last_anchor_run(db, asks, protocol))):
            tasks.append(Task(entry, protocol, name, shown))
    return tasks


def settle_anchors(db: Database, project_id: int, entry: JudgeEntry) -> None:
    """Move the answers on finished anchors out of the verdicts on systems."""
    asks = find_rater(db, project_id, anchor_name(entry.name))
    if asks is not None:
        move_anchor_verdicts(db, asks)


def _is_recent(time: str) -> bool:
    return bool(time) and datetime.now(timezone.utc) - datetime.fromisoformat(time) < _ONCE_IN
