"""Verdicts derived from other raters' verdicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from recjudge_tui.store.database import Database, now
from recjudge_tui.store.facts import with_unit_in


class InputVerdict(NamedTuple):
    """One rater's verdict on a question; `value` is None if it failed."""

    rater_id: int
    case_id: int
    case_kind: str
    aspect: str
    protocol: str
    value: float | None
    label: str


class DerivedVerdict(NamedTuple):
    """A verdict made by an adjudication rule or a metric."""

    case_id: int
    aspect: str
    protocol: str
    value: float
    label: str
    note: str
    confidence: float | None = None


def input_verdicts(db: Database, rater_ids: Sequence[int]) -> list[InputVerdict]:
    """All verdicts of these raters, by case and aspect."""
    rows = db.rows(
        """SELECT v.rater_id, v.case_id, c.kind, v.aspect, v.protocol, v.value, v.label
           FROM verdicts v JOIN cases c ON c.id = v.case_id
           WHERE v.rater_id IN (SELECT value FROM json_each(?)) ORDER BY v.case_id, v.aspect, v.protocol""",
        (json.dumps(list(rater_ids)),),
    )
    return [InputVerdict(*row) for row in rows]


def tie_label(db: Database, project_id: int) -> str:
    """The label of a tie in this project."""
    label: str | None = db.value(
        f"""SELECT v.label FROM verdicts v JOIN raters r ON r.id = v.rater_id
           WHERE r.project_id = ? AND {with_unit_in("v.protocol", "pair")} AND v.value = 0 AND v.label <> '' LIMIT 1""",
        (project_id,),
    )
    return label or "Tie"


def replace_verdicts(db: Database, rater_id: int, made: Sequence[DerivedVerdict], rule: str) -> None:
    """Replace the rater's verdicts by these: writes the changed ones and removes all others.

    Call inside a transaction.
    """
    kept = json.dumps([[verdict.case_id, verdict.aspect] for verdict in made])
    db.execute(
        """DELETE FROM verdicts WHERE rater_id = ? AND (case_id, aspect) NOT IN (
             SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))""",
        (rater_id, kept),
    )
    db.execute_many(
        """INSERT INTO verdicts (rater_id, case_id, aspect, protocol, state, value, label, rule, note, confidence,
             created_at, project_id)
           VALUES (?1, ?, ?, ?, 'ok', ?, ?, ?, ?, ?, ?, (SELECT project_id FROM raters WHERE id = ?1))
           ON CONFLICT (rater_id, case_id, aspect) DO UPDATE SET protocol = excluded.protocol, value = excluded.value,
             label = excluded.label, rule = excluded.rule, note = excluded.note, confidence = excluded.confidence,
             created_at = excluded.created_at
           WHERE value <> excluded.value OR label <> excluded.label OR note <> excluded.note
             OR confidence IS NOT excluded.confidence""",
        [
            (rater_id, v.case_id, v.aspect, v.protocol, v.value, v.label, rule, v.note, v.confidence, now())
            for v in made
        ],
    )
