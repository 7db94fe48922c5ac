"""The values by which users and occasions are grouped: attributes of users, numbers of visible events,
contexts."""

from __future__ import annotations

import json

from recjudge_tui.domain.occasions import OccasionFilter
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import shown_events
from recjudge_tui.store.occasions import occasion_condition


def user_values(db: Database, project_id: int, attribute: str) -> dict[str, str]:
    """user_id -> the value of an attribute, for the users who have one."""
    values = {}
    for user_id, text in _attributes(db, project_id):
        if value := str(json.loads(text).get(attribute, "")).strip():
            values[user_id] = value
    return values


def user_attribute_names(db: Database, project_id: int) -> list[str]:
    """The attributes that any user has, by name."""
    return sorted({name for _, text in _attributes(db, project_id) for name in json.loads(text)})


def _attributes(db: Database, project_id: int) -> list[tuple[str, str]]:
    rows = db.rows("SELECT user_id, attributes FROM v_current_users WHERE project_id = ?", (project_id,))
    return [(row[0], row[1]) for row in rows]


def visible_event_counts(db: Database, project_id: int) -> dict[str, int]:
    """user_id -> the number of distinct events that a judge may be shown, for all users with lists, texts or cases."""
    rows = db.rows(
        f"""WITH known AS (
              SELECT user_id FROM cases WHERE project_id = :project
              UNION SELECT user_id FROM slates WHERE project_id = :project
              UNION SELECT user_id FROM explanations WHERE project_id = :project),
            met AS ({shown_events(":project")})
            SELECT k.user_id, count(m.user_id) FROM known k LEFT JOIN met m ON m.user_id = k.user_id GROUP BY k.user_id""",
        {"project": project_id},
    )
    return {row[0]: row[1] for row in rows}


def context_counts(
    db: Database, project_id: int, occasions: OccasionFilter, *, of_lists: bool
) -> dict[str, int]:
    """context -> the number of its cases (of its current lists), the most first, equal numbers by name."""
    sql, parameters = occasion_condition(occasions, "t")
    rows = db.rows(
        f"""SELECT context, count(*) AS uses FROM {"v_current_slates" if of_lists else "cases"} t
            WHERE project_id = :project AND {sql} GROUP BY context ORDER BY uses DESC, context""",
        parameters | {"project": project_id},
    )
    return {row[0]: row[1] for row in rows}
