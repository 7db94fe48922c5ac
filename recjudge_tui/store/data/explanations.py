"""Reads the explanation texts of a project and the scores that people gave them."""

from __future__ import annotations

import json
from typing import NamedTuple

from recjudge_tui.domain.material import ExplanationView, ItemView
from recjudge_tui.domain.occasions import NO_OCCASION, Occasion
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import with_unit_in


class ExplanationKey(NamedTuple):
    """Identifies an explanation; `id` is its row."""

    user_id: str
    item_id: str
    system: str
    id: int
    occasion: Occasion = NO_OCCASION


def explanation_systems(db: Database, project_id: int) -> list[str]:
    """The systems that have explanations, by name."""
    rows = db.rows(
        """SELECT DISTINCT e.system FROM explanations e JOIN explanation_imports ei ON ei.explanation_id = e.id
           WHERE e.project_id = ? ORDER BY e.system""",
        (project_id,),
    )
    return [row[0] for row in rows]


def current_explanations(db: Database, project_id: int) -> list[ExplanationKey]:
    """The newest explanation of each user, item, system and occasion, in this order."""
    rows = db.rows(
        """SELECT user_id, item_id, system, explanation_id, context, served_at FROM v_current_explanations
           WHERE project_id = ? ORDER BY user_id, item_id, system, context, served_at""",
        (project_id,),
    )
    return [ExplanationKey(row[0], row[1], row[2], row[3], Occasion(row[4], row[5])) for row in rows]


def explanation_view(db: Database, project_id: int, explanation_id: int) -> ExplanationView:
    """The text and its item with its current description; an unknown item has its id as title."""
    row = db.row(
        """SELECT e.item_id, e.text, i.title, i.brand, i.category, i.attributes FROM explanations e
           LEFT JOIN v_current_items i ON i.project_id = e.project_id AND i.item_id = e.item_id
           WHERE e.project_id = ? AND e.id = ?""",
        (project_id, explanation_id),
    )
    assert row is not None, "explanations that a case refers to are not deleted"
    item = ItemView(
        item_id=row["item_id"],
        title=row["title"] if row["title"] is not None else row["item_id"],
        brand=row["brand"] or "",
        category=row["category"] or "",
        attributes=json.loads(row["attributes"]) if row["attributes"] else {},
    )
    return ExplanationView(item=item, text=row["text"])


def truth_raters(db: Database, project_id: int) -> list[str]:
    """The ground-truth raters that scored explanations, by name."""
    rows = db.rows(
        f"""SELECT r.name FROM raters r WHERE r.project_id = ? AND r.kind = 'ground_truth' AND EXISTS (
             SELECT 1 FROM verdicts v
             WHERE v.rater_id = r.id AND {with_unit_in("v.protocol", "explanation")}
           ) ORDER BY r.name""",
        (project_id,),
    )
    return [row[0] for row in rows]


def scores_of(db: Database, rater_id: int) -> dict[ExplanationKey, dict[str, float]]:
    """explanation -> aspect -> the rater's score; the id is 0 if the text was not imported before the score."""
    scores: dict[ExplanationKey, dict[str, float]] = {}
    for row in db.rows(
        f"""SELECT c.user_id, c.item_id, c.system_a, ifnull(c.explanation_id, 0), c.context, c.served_at, v.aspect, v.value
           FROM verdicts v JOIN cases c ON c.id = v.case_id
           WHERE v.rater_id = ? AND {with_unit_in("v.protocol", "explanation")} AND v.state = 'ok'
             AND c.kind = 'explanation'""",
        (rater_id,),
    ):
        key = ExplanationKey(row[0], row[1], row[2], row[3], Occasion(row[4], row[5]))
        scores.setdefault(key, {})[row["aspect"]] = row["value"]
    return scores


def text_lengths(db: Database, project_id: int) -> dict[int, float | None]:
    """The number of characters of each explanation, by id."""
    rows = db.rows("SELECT id, length(text) FROM explanations WHERE project_id = ?", (project_id,))
    return {row[0]: float(row[1]) for row in rows}
