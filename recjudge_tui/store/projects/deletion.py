"""Deletes a project with everything in it, and the snapshots and images that nothing refers to any more."""

from __future__ import annotations

from recjudge_tui.store.data.images import delete_unused_images
from recjudge_tui.store.database import Database, empty_log, merge_search_index
from recjudge_tui.store.projects.projects import project_id


def delete_project(db: Database, name: str) -> None:
    """Delete the project with everything in it, and the snapshots and images no longer used. Raises NotFoundError.

    Nothing of its text stays in the file, nor in its log unless another process is reading.
    """
    identity = project_id(db, name)
    with db.transaction():
        # cases refer to slates and explanations without a cascade, so they go first
        db.execute("DELETE FROM runs WHERE project_id = ?", (identity,))
        db.execute("DELETE FROM cases WHERE project_id = ?", (identity,))
        db.execute("DELETE FROM projects WHERE id = ?", (identity,))
        _delete_unused_snapshots(db)
        delete_unused_images(db)
        merge_search_index(db)
    empty_log(db)


def snapshot_references(db: Database) -> list[tuple[str, str]]:
    """(table, column) of every foreign key to `snapshots`, read from the schema of the file."""
    rows = db.rows(
        """SELECT m.name, f."from" FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
           WHERE m.type = 'table' AND lower(f."table") = 'snapshots' ORDER BY 1, 2"""
    )
    return [(_quoted(row[0]), _quoted(row[1])) for row in rows]


def _delete_unused_snapshots(db: Database) -> None:
    """Delete the snapshots that no row refers to. Call inside a transaction.

    SQLite checks every deleted snapshot against every column that may refer to it. Nothing else needs indexes on these
    columns, so they exist during the deletion only: a second for a million calls.
    """
    references = snapshot_references(db)
    indexes = [f"snapshots_used_{number}" for number in range(len(references))]
    for index, (table, column) in zip(indexes, references, strict=True):
        db.execute(f"CREATE INDEX {index} ON {table}({column})")
    used = " UNION ALL ".join(
        f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL" for table, column in references
    )
    db.execute(f"DELETE FROM snapshots WHERE id NOT IN ({used})")
    for index in indexes:
        db.execute(f"DROP INDEX {index}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
