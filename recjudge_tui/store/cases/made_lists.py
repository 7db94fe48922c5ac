"""Lists made to test judges: storing them, what was planted where, and who judged them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recjudge_tui.domain.event_types import owned
from recjudge_tui.domain.made_lists import PLANTED, PREFIXES, FaultKind
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.store.cases.cases import CaseKey
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import held_out_type, shown_event

# a condition on the columns of `cases`: ordinary systems do not have such names on both sides
ADVERSARIAL_CASE = (
    "("
    + " OR ".join(f"system_a GLOB '{a}*' AND system_b GLOB '{b}*'" for a, b in sorted(PREFIXES.values()))
    + ")"
)


def who_judged(db: Database, project_id: int, protocol: str) -> dict[str, str]:
    """Each rater with verdicts on cases of such a protocol, and the aspect that counts: overall, else a judge's first."""
    rows = db.rows(
        f"""SELECT DISTINCT r.name, v.aspect FROM raters r JOIN verdicts v ON v.rater_id = r.id
           WHERE r.project_id = ? AND v.protocol = ? AND (v.run_id IS NOT NULL OR v.aspect = '{OVERALL}')
           ORDER BY r.name, v.aspect = '{OVERALL}', v.aspect DESC""",
        (project_id, protocol),
    )
    return {row[0]: row[1] for row in rows}


def slate_item_ids(db: Database, slate_id: int) -> list[str]:
    """The items of a list, best first."""
    return [
        row[0]
        for row in db.rows("SELECT item_id FROM slate_items WHERE slate_id = ? ORDER BY rank", (slate_id,))
    ]


def items_had(db: Database, project_id: int, user_id: str) -> set[str]:
    """The items that the user bought, rated or watched at any time, among the events shown to judges; not clicks."""
    rows = db.rows(
        f"""SELECT DISTINCT item_id, type FROM events WHERE project_id = ? AND user_id = ? AND item_id <> ''
            AND {shown_event()}""",
        (project_id, user_id),
    )
    return {row[0] for row in rows if owned(row[1])}


def generated_slate(
    db: Database, project_id: int, user_id: str, system: str, occasion: Occasion, items: Sequence[str]
) -> int:
    """The id of a generated list; stores it if it is new. Call inside a transaction.

    It is never a current list: current lists are linked to an import, and this one is not.
    """
    slate_id = known_generated_slate(db, project_id, user_id, system, occasion, items)
    if slate_id is not None:
        return slate_id
    made = db.insert(
        """INSERT INTO slates (project_id, user_id, system, length, digest, context, served_at)
           VALUES (?, ?, ?, ?, ?, ?, ?)""",
        (project_id, user_id, system, len(items), _digest(items), *occasion),
    )
    db.execute_many(
        "INSERT INTO slate_items (slate_id, rank, item_id) VALUES (?, ?, ?)",
        [(made, rank, item) for rank, item in enumerate(items, start=1)],
    )
    return made


def known_generated_slate(
    db: Database, project_id: int, user_id: str, system: str, occasion: Occasion, items: Sequence[str]
) -> int | None:
    """The id of a generated list that was stored before."""
    slate_id: int | None = db.value(
        """SELECT id FROM slates WHERE project_id = ? AND user_id = ? AND system = ? AND context = ? AND served_at = ?
           AND digest = ?""",
        (project_id, user_id, system, *occasion, _digest(items)),
    )
    return slate_id


def _digest(items: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(["made", *items], ensure_ascii=False).encode()).hexdigest()


def newest_pair(db: Database, project_id: int, key: CaseKey) -> CaseKey:
    """The key with the lists of the newest case of these systems, on the occasion that the key names, or on
    any occasion if it names none. Unchanged if there is no such case.
    """
    row = db.row(
        """SELECT slate_a, slate_b, context, served_at FROM cases
           WHERE project_id = ? AND kind = 'pair' AND user_id = ? AND system_a = ? AND system_b = ? AND item_id = ''
             AND ?5 IN ('', context) AND ?6 IN ('', served_at) ORDER BY id DESC LIMIT 1""",
        (project_id, key.user_id, key.system_a, key.system_b, *key.occasion),
    )
    return key if row is None else key._replace(**dict(row))


class ForeignList(NamedTuple):
    """The items shown of an adversarial pair's foreign list, and the user whose own list is beside it."""

    user_id: str
    items: tuple[str, ...]


def foreign_lists(db: Database, cases: Iterable[int]) -> dict[int, ForeignList]:
    """By case, as shown in the newest run that contains it."""
    rows = db.rows(
        """SELECT rc.case_id, c.user_id, s.content FROM run_cases rc JOIN cases c ON c.id = rc.case_id
           JOIN snapshots s ON s.id = rc.slate_a_snapshot
           WHERE rc.case_id IN (SELECT value FROM json_each(?)) ORDER BY rc.run_id""",
        (json.dumps(sorted(cases)),),
    )
    return {
        row[0]: ForeignList(row[1], tuple(item["item_id"] for item in json.loads(row[2])["items"]))
        for row in rows
    }


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
