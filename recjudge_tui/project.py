"""One open project: what every report, run and screen is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from recjudge_tui.errors import UsageError
from recjudge_tui.settings import database_path
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id, project_name, project_names
from recjudge_tui.store.schema import connect


@dataclass(frozen=True)
class Project:
    """A project of an open database."""

    db: Database
    id: int
    name: str

    @classmethod
    def named(cls, db: Database, name: str) -> Project:
        """Raises NotFoundError that names the projects there are."""
        return cls(db, project_id(db, name), name.strip())

    @classmethod
    def numbered(cls, db: Database, identity: int) -> Project:
        """Raises NotFoundError for a project that was deleted."""
        return cls(db, identity, project_name(db, identity))

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """All reads inside see one state of the file; see `Database.one_state`."""
        with self.db.one_state():
            yield


def open_project(name: str | None = None, db: str | Path | None = None, *, write: bool = False) -> Project:
    """Open the database and a project of it; without a name, the only one there is. The caller closes `db`.

    `db`: the file (default: RECJUDGE_DB, else the platform's data folder). Raises NotFoundError for an unknown project,
    UsageError where a name is needed, StoreError where the file cannot be read, or may not be written.
    """
    database = connect(database_path(None if db is None else str(db)), must_exist=True, read_only=not write)
    try:
        if name is None:
            names = [known for _, known in project_names(database)]
            if len(names) != 1:
                raise UsageError("name the project", f"Available: {', '.join(names) or 'none'}.")
            name = names[0]
        return Project.named(database, name)
    except BaseException:
        database.close()
        raise
