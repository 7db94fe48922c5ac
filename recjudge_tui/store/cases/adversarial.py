"""Adversarial pairs: the lists made for them, and every rater's verdicts on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recjudge_tui.domain.adversarial import ADVERSARIAL, PREFIXES
from recjudge_tui.domain.event_types import owned
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.store.cases.cases import CaseKey
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import shown_event

# a condition on the columns of `cases`: ordinary systems do not have such names on both sides
ADVERSARIAL_CASE = (
    "("
    + " OR ".join(f"system_a GLOB '{a}*' AND system_b GLOB '{b}*'" for a, b in sorted(PREFIXES.values()))
    + ")"
)


class PairVerdict(NamedTuple):
    """One rater's verdict on one adversarial pair. `value` is None if it failed, `order` is empty for people.

    `run_id` is the run that gave the verdict, None for a label.
    """

    rater: str
    case_id: int
    user_id: str
    system_a: str
    system_b: str
    value: float | None
    order: str
    run_id: int | None


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


def pair_verdicts(db: Database, project_id: int) -> list[PairVerdict]:
    """Every overall verdict on an adversarial pair, by rater and case."""
    rows = db.rows(
        f"""SELECT r.name, v.case_id, c.user_id, c.system_a, c.system_b, v.value,
             ifnull((SELECT k.list_order FROM calls k WHERE k.run_id = v.run_id AND k.case_id = v.case_id
               AND k.list_order <> '' ORDER BY k.id LIMIT 1), ''), v.run_id
           FROM raters r JOIN verdicts v ON v.rater_id = r.id JOIN cases c ON c.id = v.case_id
           WHERE r.project_id = ? AND v.protocol = ? AND (v.run_id IS NOT NULL OR v.aspect = '{OVERALL}')
           ORDER BY r.name, v.case_id""",
        (project_id, ADVERSARIAL),
    )
    return [PairVerdict(*row) for row in rows]


def foreign_items(db: Database, cases: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """The items shown of each case's foreign list, in the newest run that contains the case."""
    rows = db.rows(
        """SELECT rc.case_id, s.content FROM run_cases rc JOIN snapshots s ON s.id = rc.slate_a_snapshot
           WHERE rc.case_id IN (SELECT value FROM json_each(?)) ORDER BY rc.run_id""",
        (json.dumps(sorted(cases)),),
    )
    return {row[0]: tuple(item["item_id"] for item in json.loads(row[1])["items"]) for row in rows}
