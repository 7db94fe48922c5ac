"""Verdicts imported as counts of battles."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.store.database import Database

# the rule of verdicts that were imported only as a count
COUNTED = "counted"


class CountedBattles(NamedTuple):
    """How many verdicts of a question are known only as counts."""

    rater: str
    protocol: str
    aspect: str
    verdicts: int


def counted_battles(db: Database, project_id: int) -> list[CountedBattles]:
    """By rater, protocol and aspect; read from an index of such verdicts alone."""
    rows = db.rows(
        """SELECT r.name, v.protocol, v.aspect, count(*) FROM verdicts v INDEXED BY verdicts_counted
             JOIN raters r ON r.id = v.rater_id
           WHERE v.rule = 'counted' AND v.project_id = ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3""",
        (project_id,),
    )
    return [CountedBattles(*row) for row in rows]
