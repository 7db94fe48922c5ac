"""The results of live experiments (A/B tests) on two systems."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.database import Database, now


class Outcome(NamedTuple):
    """One experiment, with the systems in the order given. It ran from `began_at` to `ended_at` (ISO 8601 UTC, empty:
    unknown) and showed each system to so many customers (None: unknown)."""

    name: str
    system_a: str
    system_b: str
    impressions_a: int
    impressions_b: int
    clicks_a: int
    clicks_b: int
    began_at: str = ""
    ended_at: str = ""
    users_a: int | None = None
    users_b: int | None = None


_COLUMNS = ", ".join(Outcome._fields)


def add_outcome(db: Database, project_id: int, outcome: Outcome) -> int:
    """Store an experiment. Raises UsageError when the name is taken. Check the numbers and names first: the
    table refuses invalid ones with a ConstraintError.
    """
    with db.transaction():
        if db.value("SELECT 1 FROM outcomes WHERE project_id = ? AND name = ?", (project_id, outcome.name)):
            raise UsageError(
                f"an experiment “{outcome.name}” exists already",
                "Counting an experiment twice would make the hit rate look more certain than it is.",
                "Choose another name, or delete the existing one.",
            )
        return db.insert(
            f"INSERT INTO outcomes (project_id, {_COLUMNS}, created_at) VALUES (?{', ?' * (len(outcome) + 1)})",
            (project_id, *outcome, now()),
        )


def list_outcomes(db: Database, project_id: int) -> list[Outcome]:
    """The experiments in the order in which they were added."""
    rows = db.rows(f"SELECT {_COLUMNS} FROM outcomes WHERE project_id = ? ORDER BY id", (project_id,))
    return [Outcome(*row) for row in rows]


def outcome_days(db: Database, project_id: int) -> dict[str, str]:
    """Name of an experiment -> the day on which its result was recorded (YYYY-MM-DD, UTC)."""
    rows = db.rows("SELECT name, substr(created_at, 1, 10) FROM outcomes WHERE project_id = ?", (project_id,))
    return {row[0]: row[1] for row in rows}


def delete_outcome(db: Database, project_id: int, name: str) -> None:
    """Delete an experiment. Raises NotFoundError naming the existing ones."""
    with db.transaction():
        gone = db.execute("DELETE FROM outcomes WHERE project_id = ? AND name = ?", (project_id, name))
        if not gone.rowcount:
            raise unknown_outcome(db, project_id, name)


def unknown_outcome(db: Database, project_id: int, name: str) -> NotFoundError:
    known = ", ".join(outcome.name for outcome in list_outcomes(db, project_id))
    return NotFoundError(f"no experiment “{name}” in this project", f"Available: {known or 'none'}.")
