"""How fast a judge has been, from the calls that are stored."""

from __future__ import annotations

from recjudge_tui.store.database import Database


def seconds_a_call(db: Database, judge: str, concurrency: int, calls: int) -> float | None:
    """Seconds that `calls` calls will take at this concurrency, by the last finished run of the judge; None if none."""
    mean = db.value(
        """SELECT avg(latency_s) FROM calls WHERE latency_s IS NOT NULL AND cached_from IS NULL AND run_id = (
             SELECT max(k.run_id) FROM runs ru JOIN calls k ON k.run_id = ru.id
             WHERE json_extract(ru.judge, '$.spec') = ? AND k.latency_s IS NOT NULL)""",
        (judge,),
    )
    return None if mean is None else mean * calls / max(concurrency, 1)
