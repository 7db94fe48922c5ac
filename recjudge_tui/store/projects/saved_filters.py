"""Named filters of the verdict list."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.database import Database, now

LONGEST_NAME = 60


class SavedFilter(NamedTuple):
    name: str
    filter: str
    created_at: str


def saved_filters(db: Database, project_id: int) -> list[SavedFilter]:
    """The saved filters of a project, by name."""
    rows = db.rows(
        "SELECT name, filter, created_at FROM saved_filters WHERE project_id = ? ORDER BY name COLLATE NOCASE, name",
        (project_id,),
    )
    return [SavedFilter(*row) for row in rows]


def save_filter(db: Database, project_id: int, name: str, text: str) -> bool:
    """Save a filter under a name; True if it replaces an older one.

    Raises UsageError for a filter that cannot be parsed or is empty, and for a name that is empty, longer than
    LONGEST_NAME or not a single line of printable characters.
    """
    name, chosen = name.strip(), parse_filter(text)
    if not chosen:
        raise UsageError(
            "there is no filter to save", next_step="Filter the list first, or write the filter."
        )
    if not name or one_line(name, LONGEST_NAME) != name:
        raise UsageError(
            "invalid name for a filter", f"A name is one line of at most {LONGEST_NAME} characters."
        )
    with db.transaction():
        replaced = db.execute(
            "DELETE FROM saved_filters WHERE project_id = ? AND name = ?", (project_id, name)
        ).rowcount
        db.insert(
            "INSERT INTO saved_filters (project_id, name, filter, created_at) VALUES (?, ?, ?, ?)",
            (project_id, name, chosen.text(), now()),
        )
    return bool(replaced)


def delete_filter(db: Database, project_id: int, name: str) -> None:
    """Delete a saved filter. Raises NotFoundError naming the existing ones."""
    with db.transaction():
        gone = db.execute(
            "DELETE FROM saved_filters WHERE project_id = ? AND name = ?", (project_id, name.strip())
        )
        if not gone.rowcount:
            names = ", ".join(saved.name for saved in saved_filters(db, project_id)[:20])
            raise NotFoundError(
                f"no saved filter “{name}”", f"Available: {names}." if names else "There are none yet."
            )
