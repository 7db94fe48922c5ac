"""Faults planted into lists: what was planted where, and every rater's verdicts on these lists."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.planted import PLANTED, FaultKind
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import held_out_type


class PlantedFault(NamedTuple):
    """The fault planted into a list: the item at `rank` (from 1) replaces the item `displaced` of the
    imported list."""

    slate_id: int
    source_slate_id: int
    kind: FaultKind
    item_id: str
    rank: int
    displaced: str


class PlantedCase(NamedTuple):
    """A made list that was judged, with its fault and a run in which it was shown."""

    case_id: int
    user_id: str
    run_id: int
    fault: PlantedFault


def save_fault(db: Database, fault: PlantedFault) -> None:
    """Store what was planted; does nothing if the list is already stored. Call inside a transaction."""
    db.execute(
        "INSERT INTO planted_faults VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (slate_id) DO NOTHING", fault
    )


def judged_faults(db: Database, project_id: int) -> list[PlantedCase]:
    """The made lists of a project that were judged, by case."""
    rows = db.rows(
        """SELECT c.id, c.user_id, max(rc.run_id), p.* FROM cases c
           JOIN planted_faults p ON p.slate_id = c.slate_a JOIN run_cases rc ON rc.case_id = c.id
           WHERE c.project_id = ? AND c.kind = 'list'
             AND EXISTS (SELECT 1 FROM verdicts v WHERE v.case_id = c.id AND v.protocol = ?)
           GROUP BY c.id ORDER BY c.id""",
        (project_id, PLANTED),
    )
    return [PlantedCase(row[0], row[1], row[2], PlantedFault(*tuple(row)[3:])) for row in rows]


def fault_raters(db: Database, project_id: int) -> list[str]:
    """The names of the raters with verdicts on made lists."""
    rows = db.rows(
        """SELECT DISTINCT r.name FROM raters r JOIN verdicts v ON v.rater_id = r.id
           WHERE r.project_id = ? AND v.protocol = ? ORDER BY r.name""",
        (project_id, PLANTED),
    )
    return [row[0] for row in rows]


def catalogue_ids(db: Database, project_id: int) -> list[str]:
    """Every item of a project, by id."""
    rows = db.rows("SELECT DISTINCT item_id FROM items WHERE project_id = ? ORDER BY item_id", (project_id,))
    return [row[0] for row in rows]


def held_out_items(db: Database, project_id: int, user_id: str) -> set[str]:
    """The items of the user's held-out events."""
    rows = db.rows(
        f"SELECT DISTINCT item_id FROM events WHERE project_id = ? AND user_id = ? AND {held_out_type()}",
        (project_id, user_id),
    )
    return {row[0] for row in rows}
