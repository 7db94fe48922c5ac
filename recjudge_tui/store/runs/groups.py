"""Groups of runs that were started together, such as SAER's two stages."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.run import RunState, Wanted
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database, now


class RunGroup(NamedTuple):
    """A group of one rater's runs. `request` is JSON, None for runs older than this record; `runs` has run ids by
    stage."""

    id: int
    project_id: int
    rater: str
    request: str | None
    runs: dict[str, int]


def group_by_id(db: Database, group_id: int) -> RunGroup:
    """The group with this id. Raises NotFoundError."""
    groups = _groups(db, "g.id = ?", group_id)
    if not groups:
        raise NotFoundError(f"no group of runs {group_id}", next_step="“recjudge runs list” shows the runs.")
    return groups[0]


def groups_of_rater(db: Database, rater_id: int) -> list[RunGroup]:
    """The rater's groups, oldest first."""
    return _groups(db, "g.rater_id = ?", rater_id)


def _groups(db: Database, condition: str, value: int) -> list[RunGroup]:
    rows = db.rows(
        f"""SELECT g.id, g.project_id, r.name, g.request FROM run_groups g JOIN raters r ON r.id = g.rater_id
            WHERE {condition} ORDER BY g.id""",
        (value,),
    )
    return [
        RunGroup(row["id"], row["project_id"], row["name"], row["request"], _runs(db, row["id"]))
        for row in rows
    ]


def _runs(db: Database, group_id: int) -> dict[str, int]:
    rows = db.rows("SELECT stage, id FROM runs WHERE group_id = ? ORDER BY id", (group_id,))
    return {row["stage"]: row["id"] for row in rows}


def create_group(db: Database, kind: str, request: str, runs: dict[str, int]) -> int:
    """Create a group of these runs of one rater, by stage; returns its id."""
    first = min(runs.values())
    with db.transaction():
        group_id = db.insert(
            """INSERT INTO run_groups (project_id, rater_id, kind, request, created_at)
               SELECT project_id, rater_id, ?, ?, ? FROM runs WHERE id = ?""",
            (kind, request, now(), first),
        )
        for stage, run_id in runs.items():
            join_group(db, group_id, stage, run_id)
    return group_id


def join_group(db: Database, group_id: int, stage: str, run_id: int) -> None:
    with db.transaction():
        db.execute("UPDATE runs SET group_id = ?, stage = ? WHERE id = ?", (group_id, stage, run_id))


def set_request(db: Database, group_id: int, request: str) -> None:
    with db.transaction():
        db.execute("UPDATE run_groups SET request = ? WHERE id = ?", (request, group_id))


class OtherStage(NamedTuple):
    """Another run of the same group."""

    run_id: int
    protocol: str
    state: RunState
    wanted: Wanted
    attempt_started_at: str
    calls: int
    finished: int


def other_stage(db: Database, run_id: int) -> OtherStage | None:
    """The other run of the group; None if there is none."""
    row = db.row(
        """SELECT o.id, o.protocol, o.state, o.wanted, ifnull(o.attempt_started_at, ''),
             (SELECT count(*) FROM calls k WHERE k.run_id = o.id),
             (SELECT count(*) FROM calls k WHERE k.run_id = o.id AND k.state IN ('done', 'failed'))
           FROM runs me JOIN runs o ON o.group_id = me.group_id AND o.id <> me.id
           WHERE me.id = ? ORDER BY o.id LIMIT 1""",
        (run_id,),
    )
    return OtherStage(*row) if row else None
