"""Imports: their files and counts, and undoing them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import NamedTuple

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.annotation.tasks import reopen_unanswered
from recjudge_tui.store.data.catalogue import LISTS, TEXTS, Replaceable
from recjudge_tui.store.data.held_out_copies import held_out_users, mark_again
from recjudge_tui.store.data.images import delete_unused_images
from recjudge_tui.store.database import Database, now
from recjudge_tui.store.facts import held_out_type


class UndoneImport(NamedTuple):
    """The effect of undoing an import. `kept` counts the rows that stay because a case refers to them."""

    import_id: int
    project: str
    kind: str
    path: str
    removed: dict[str, int]
    kept: dict[str, int]


def begin_import(db: Database, project_id: int, kind: ImportKind, layout: str, path: str, sha256: str) -> int:
    """Create the row of an import; `finish_import` fills in its counts."""
    return db.insert(
        """INSERT INTO imports (project_id, kind, layout, path, sha256, rows_read, rows_stored, rows_skipped, created_at)
           VALUES (?, ?, ?, ?, ?, 0, 0, 0, ?)""",
        (project_id, kind, layout, path, sha256, now()),
    )


def finish_import(
    db: Database, import_id: int, *, read: int, stored: int, skipped: int, warnings: Sequence[str]
) -> None:
    """Store an import's counts and its first warnings."""
    db.execute(
        "UPDATE imports SET rows_read = ?, rows_stored = ?, rows_skipped = ?, warnings = ? WHERE id = ?",
        (read, stored, skipped, json.dumps(list(warnings), ensure_ascii=False), import_id),
    )


def same_import(
    db: Database,
    project_id: int,
    kind: ImportKind,
    layout: str,
    sha256: str,
    is_alike: Callable[[int, str], bool],
) -> int | None:
    """The newest import, not undone, of the same bytes with the same kind and layout for which `is_alike(id,
    path)` is true.
    """
    rows = db.rows(
        """SELECT id, path FROM imports WHERE project_id = ? AND kind = ? AND layout = ? AND sha256 = ?
           AND undone_at IS NULL ORDER BY id DESC""",
        (project_id, kind, layout, sha256),
    )
    return next((import_id for import_id, path in rows if is_alike(import_id, path)), None)


def brought_visible_events(db: Database, import_id: int) -> bool:
    """Whether any event of the import is not held out."""
    sql = f"SELECT EXISTS (SELECT 1 FROM events WHERE import_id = ? AND NOT {held_out_type()})"
    return bool(db.value(sql, (import_id,)))


def is_displaced(db: Database, import_id: int, kind: ImportKind) -> bool:
    """Whether a later import replaced anything from this one.

    Events and labels are never replaced: all imports of them count.
    """
    if kind not in _LATER_IMPORTS:
        return False
    return bool(db.value(f"SELECT EXISTS ({_LATER_IMPORTS[kind]})", (import_id,)))


def _later_rows(table: str, key: str, columns: str) -> str:
    """Items or users of an import whose newest row has another content."""
    content = columns.split(", ")
    mine, newest = (", ".join(f"{row}.{column}" for column in content) for row in ("m", "l"))
    return f"""SELECT 1 FROM {table} m
               JOIN {table} l ON l.project_id = m.project_id AND l.{key} = m.{key} AND l.import_id = (
                 SELECT max(import_id) FROM {table} WHERE project_id = m.project_id AND {key} = m.{key})
               WHERE m.import_id = ?1 AND ({mine}) IS NOT ({newest})"""


def _later_content(content: Replaceable) -> str:
    """The lists or texts of an import that a later import replaced."""
    table, links, key, owner = content
    same = " AND ".join(f"o.{column} = m.{column}" for column in f"project_id, {owner}".split(", "))
    return f"""SELECT 1 FROM {links} mine JOIN {table} m ON m.id = mine.{key}
               JOIN {table} o ON {same} AND o.id <> m.id JOIN {links} later ON later.{key} = o.id
               WHERE mine.import_id = ?1
                 AND later.import_id > (SELECT max(import_id) FROM {links} WHERE {key} = m.id)"""


_LATER_IMPORTS = {
    "items": _later_rows("items", "item_id", "title, brand, category, attributes"),
    "users": _later_rows("users", "user_id", "attributes"),
    "lists": _later_content(LISTS),
    "explanations": _later_content(TEXTS),
}


def import_of_path(db: Database, project_id: int, kind: ImportKind, path: str, before: int) -> int | None:
    """The newest import before `before`, not undone, of this path and kind."""
    import_id: int | None = db.value(
        """SELECT id FROM imports WHERE project_id = ? AND kind = ? AND path = ? AND id < ?
           AND undone_at IS NULL ORDER BY id DESC LIMIT 1""",
        (project_id, kind, path, before),
    )
    return import_id


def list_imports(db: Database, project_id: int | None = None) -> list[sqlite3.Row]:
    """Imports, newest last: id, project, kind, layout, path, sha256, rows_read, rows_stored, rows_skipped,
    warnings (a JSON array of texts), created_at, undone_at."""
    return db.rows(
        """SELECT i.id, p.name AS project, i.kind, i.layout, i.path, i.sha256, i.rows_read, i.rows_stored,
             i.rows_skipped, i.warnings, i.created_at, i.undone_at
           FROM imports i JOIN projects p ON p.id = i.project_id
           WHERE ? IS NULL OR i.project_id = ? ORDER BY i.id""",
        (project_id, project_id),
    )


def undo_import(db: Database, import_id: int) -> UndoneImport:
    """Remove exactly what one import added; its row stays, marked as undone.

    Lists and explanations that another import also contains stay; those that a case refers to stay but are no longer
    current. Labels are removed with their flags, then cases that have no other verdict, call or task, then raters
    that have no verdict or run left. Raises NotFoundError for an unknown import, UsageError for one that was already
    undone.
    """
    with db.transaction():
        row = db.row(
            "SELECT i.*, p.name AS project FROM imports i JOIN projects p ON p.id = i.project_id WHERE i.id = ?",
            (import_id,),
        )
        if row is None:
            raise NotFoundError(f"no import {import_id}", next_step="“recjudge imports list” shows them.")
        if row["undone_at"] is not None:
            raise UsageError(f"import {import_id} was already undone", f"On {row['undone_at']}.")
        removed = _remove_labels(db, import_id)
        db.execute("DELETE FROM scales WHERE import_id = ?", (import_id,))
        held_out = held_out_users(db, import_id)
        for table in ("items", "users", "events"):
            removed[table] = db.execute(f"DELETE FROM {table} WHERE import_id = ?", (import_id,)).rowcount
        mark_again(db, row["project_id"], held_out)
        if removed["items"]:
            delete_unused_images(db)
        kept: dict[str, int] = {}
        for what in _CONTENT if row["kind"] in (*_CONTENT, "labels") else ():
            removed[what], kept[what] = _remove_content(db, row["project_id"], import_id, what)
        db.execute("UPDATE imports SET undone_at = ? WHERE id = ?", (now(), import_id))
    return UndoneImport(
        import_id,
        row["project"],
        row["kind"],
        row["path"],
        {what: count for what, count in removed.items() if count},
        {what: count for what, count in kept.items() if count},
    )


# kind -> its table, its link table, the link's column, the columns of a case that refer to it
_CONTENT = {
    "lists": ("slates", "slate_imports", "slate_id", ("slate_a", "slate_b")),
    "explanations": ("explanations", "explanation_imports", "explanation_id", ("explanation_id",)),
}


def _remove_content(db: Database, project_id: int, import_id: int, what: str) -> tuple[int, int]:
    """Remove this import's links, then every row that has neither an import nor a case.

    Returns how many rows were removed, and how many of this import's stay only because a case refers to them.
    """
    table, links, key, columns = _CONTENT[what]
    unlinked = f"NOT EXISTS (SELECT 1 FROM {links} l WHERE l.{key} = t.id)"
    used = " OR ".join(f"EXISTS (SELECT 1 FROM cases c WHERE c.{column} = t.id)" for column in columns)
    orphans = f"SELECT count(*) FROM {table} t WHERE t.project_id = ? AND {unlinked}"
    before: int = db.value(f"{orphans} AND ({used})", (project_id,))
    db.execute(f"DELETE FROM {links} WHERE import_id = ?", (import_id,))
    after: int = db.value(f"{orphans} AND ({used})", (project_id,))
    gone = db.execute(
        f"DELETE FROM {table} AS t WHERE t.project_id = ? AND {unlinked} AND NOT ({used})", (project_id,)
    ).rowcount
    return gone, after - before


def _remove_labels(db: Database, import_id: int) -> dict[str, int]:
    mine = "FROM verdicts WHERE import_id = ?"
    cases = db.rows(f"SELECT DISTINCT case_id {mine}", (import_id,))
    raters = db.rows(f"SELECT DISTINCT rater_id {mine}", (import_id,))
    removed = {"labels": db.execute(f"DELETE {mine}", (import_id,)).rowcount}
    reopen_unanswered(db)
    removed["cases"] = _count_each(
        db,
        """DELETE FROM cases WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM verdicts WHERE case_id = ?1)
           AND NOT EXISTS (SELECT 1 FROM run_cases WHERE case_id = ?1)
           AND NOT EXISTS (SELECT 1 FROM calls WHERE case_id = ?1)
           AND NOT EXISTS (SELECT 1 FROM annotation_tasks WHERE case_id = ?1)""",
        cases,
    )
    removed["raters"] = _count_each(
        db,
        """DELETE FROM raters WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM verdicts WHERE rater_id = ?1)
           AND NOT EXISTS (SELECT 1 FROM runs WHERE rater_id = ?1)
           AND NOT EXISTS (SELECT 1 FROM annotation_tasks WHERE rater_id = ?1)""",
        raters,
    )
    return removed


def _count_each(db: Database, sql: str, rows: Sequence[sqlite3.Row]) -> int:
    return sum(db.execute(sql, (row[0],)).rowcount for row in rows)


def imported_layouts(db: Database, project_id: int) -> list[str]:
    """The layouts of the project's imports, each once, as they were stored."""
    return [
        row[0] for row in db.rows("SELECT DISTINCT layout FROM imports WHERE project_id = ?", (project_id,))
    ]
