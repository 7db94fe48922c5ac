"""How fast a judge has been, from the runs that are stored."""

from __future__ import annotations

from recjudge_tui.store.database import Database


def seconds_a_call(db: Database, judge: str) -> float | None:
    """Wall-clock seconds a call took in the judge's last run that asked anything, at that run's concurrency."""
    found: float | None = db.value(
        """SELECT ru.seconds / count(*) FROM runs ru JOIN calls k ON k.run_id = ru.id
           WHERE ru.id = (
             SELECT max(r.id) FROM runs r WHERE json_extract(r.judge, '$.spec') = ? AND r.seconds > 0 AND EXISTS (
               SELECT 1 FROM calls c WHERE c.run_id = r.id AND c.state = 'done' AND c.cached_from IS NULL))
             AND k.state = 'done' AND k.cached_from IS NULL
           GROUP BY ru.id""",
        (judge,),
    )
    return found
