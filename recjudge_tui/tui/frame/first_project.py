"""The project on whose home the app opens."""

from __future__ import annotations

from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.projects import project_id, project_names


def project_to_open(db: Database, project: str | None) -> int | None:
    """The project of this name; without a name, that of a file with exactly one. Raises NotFoundError."""
    if project is not None:
        return project_id(db, project)
    names = project_names(db)
    return names[0][0] if len(names) == 1 else None
