"""Numbered SQL files, forward only, each applied once in one transaction and recorded."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.errors import StoreError
from recjudge_tui.settings import data_dir
from recjudge_tui.store.clock import now
from recjudge_tui.store.database import Database, backup

_RECORD = """
CREATE TABLE IF NOT EXISTS migrations (
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at TEXT NOT NULL
) STRICT
"""


class Migration(NamedTuple):
    version: int
    name: str
    sql: str


def known_migrations(folder: Path | None = None) -> list[Migration]:
    """The migrations shipped with the program (or in `folder`), by number."""
    files = sorted((folder or data_dir("migrations")).glob("[0-9][0-9][0-9][0-9]_*.sql"))
    return [Migration(int(f.name[:4]), f.stem, f.read_text(encoding="utf-8")) for f in files]


def migrate(database: Database, folder: Path | None = None) -> None:
    """Bring the file up to date, after a backup copy beside it when it already held something.

    Raises StoreError for a file that is newer than the program, or is somebody else's.
    """
    known = known_migrations(folder)
    applied = _applied(database)
    newest = known[-1].version if known else 0
    if applied and max(applied) > newest:
        raise StoreError(
            f"{database.path} was made by a newer recjudge",
            f"It is at schema {max(applied)}; this program knows up to {newest}.",
            "Update recjudge, or choose another file with --db.",
        )
    missing = [m for m in known if m.version not in applied]
    if not missing:
        return
    if applied:
        _backup_before(database, missing[0])
    elif database.value("SELECT count(*) FROM sqlite_master"):
        raise StoreError(
            f"{database.path} holds tables that are not recjudge's",
            next_step="Choose another file with --db; this one is left as it is.",
        )
    with database.transaction():
        done = _applied(database)
        for migration in missing:
            if migration.version not in done:
                _apply(database, migration)


def _applied(database: Database) -> set[int]:
    if not database.value("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'"):
        return set()
    return {row[0] for row in database.rows("SELECT version FROM migrations")}


def _apply(database: Database, migration: Migration) -> None:
    database.execute(_RECORD)
    for statement in _statements(migration.sql):
        database.execute(statement)
    database.execute(
        "INSERT INTO migrations (version, name, sha256, applied_at) VALUES (?, ?, ?, ?)",
        (migration.version, migration.name, hashlib.sha256(migration.sql.encode()).hexdigest(), now()),
    )


def _statements(sql: str) -> Iterator[str]:
    """Statements one by one, because `executescript` would commit the transaction it runs in."""
    pending = ""
    for line in sql.splitlines(keepends=True):
        if not pending and re.match(r"\s*(--|$)", line):
            continue
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending


def _backup_before(database: Database, migration: Migration) -> None:
    target = database.path.with_name(f"{database.path.name}.before-{migration.name}.bak")
    if not target.exists():
        backup(database, target)
