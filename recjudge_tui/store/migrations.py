"""Numbered SQL files, forward only, each applied once in one transaction and recorded."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.errors import StoreError
from recjudge_tui.settings import data_dir
from recjudge_tui.store.clock import now
from recjudge_tui.store.database import Database, backup, use_wal
from recjudge_tui.store.foreign_objects import refuse_foreign_objects

_RECORD = """
CREATE TABLE IF NOT EXISTS migrations (
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at TEXT NOT NULL
) STRICT
"""


SLOW_AFTER_S = 2.0
_STEPS_BETWEEN_CHECKS = 100_000


class Migration(NamedTuple):
    version: int
    name: str
    sql: str


def known_migrations(folder: Path | None = None) -> list[Migration]:
    """The migrations shipped with the program (or in `folder`), by number."""
    return _read(folder) if folder else list(_shipped())


@cache
def _shipped() -> tuple[Migration, ...]:
    return tuple(_read(data_dir("migrations")))


def _read(folder: Path) -> list[Migration]:
    files = sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    return [Migration(int(f.name[:4]), f.stem, f.read_text(encoding="utf-8")) for f in files]


def schema_sql(known: Iterable[Migration]) -> tuple[str, ...]:
    """The SQL of everything that the program itself creates in a file."""
    return (_RECORD, *(migration.sql for migration in known))


def migrate(
    database: Database, folder: Path | None = None, notify: Callable[[str], None] | None = None
) -> None:
    """Bring the file up to date; a file with data is first copied to a backup next to it.

    If it takes longer than SLOW_AFTER_S, `notify` receives one line, once. Raises StoreError for a file that
    is newer than the program, belongs to another program, or contains triggers or views that are not
    recjudge's.
    """
    known = known_migrations(folder)
    missing = _missing(database, known)
    use_wal(database)
    if not missing:
        return
    with _notifying(database, notify):
        if len(missing) < len(known):
            _backup_before(database, missing[0])
        _apply_missing(database, known)


def is_current(database: Database) -> bool:
    """Whether the file needs no migration. Raises StoreError as `migrate`."""
    return not _missing(database, known_migrations())


def _apply_missing(database: Database, known: list[Migration]) -> None:
    # with foreign keys on, rebuilding a table would delete every row that refers to it
    database.execute("PRAGMA foreign_keys = OFF")
    try:
        with database.transaction():
            for migration in _missing(database, known):
                _apply(database, migration)
            if database.rows("PRAGMA foreign_key_check"):
                raise StoreError(
                    f"{database.path} cannot be brought up to date",
                    "Some rows would refer to rows that do not exist.",
                )
    finally:
        database.execute("PRAGMA foreign_keys = ON")


@contextmanager
def _notifying(database: Database, notify: Callable[[str], None] | None) -> Iterator[None]:
    """Send `notify` one line when the block takes long; SQLite calls back between its steps."""
    start = time.monotonic()
    waiting = notify is not None

    def check() -> int:
        nonlocal waiting
        if waiting and notify is not None and time.monotonic() - start > SLOW_AFTER_S:
            waiting = False
            from recjudge_tui.domain.text import one_line

            path = one_line(str(database.path), 200)
            notify(f"updating {path} for this version; a large file takes a while")
        return 0

    database.connection.set_progress_handler(check, _STEPS_BETWEEN_CHECKS)
    try:
        yield
    finally:
        database.connection.set_progress_handler(None, 0)


def _missing(database: Database, known: list[Migration]) -> list[Migration]:
    """The migrations still to be applied. Raises StoreError for a file that must not be changed."""
    # one statement, because another process may be creating the file right now
    objects = {(row[0], row[1]) for row in database.rows("SELECT type, name FROM sqlite_master")}
    if not objects:
        return known
    applied = _applied(database) if ("table", "migrations") in objects else {}
    newest = known[-1].version if known else 0
    if applied and max(applied) > newest and applied.get(1) == known[0].name:
        raise StoreError(
            f"{database.path} was made by a newer recjudge",
            f"It is at schema {max(applied)}; this program knows up to {newest}.",
            "Update recjudge, or choose another file with --db.",
        )
    if any(applied.get(m.version, m.name) != m.name for m in known) or 1 not in applied:
        raise StoreError(
            f"{database.path} contains tables that are not recjudge's",
            next_step="Choose another file with --db; this one is unchanged.",
        )
    refuse_foreign_objects(database, schema_sql(known))
    return [m for m in known if m.version not in applied]


def _applied(database: Database) -> dict[int, str]:
    columns = {row[1] for row in database.rows("PRAGMA table_info(migrations)")}
    if not {"version", "name", "sha256"} <= columns:
        return {}
    return {row[0]: row[1] for row in database.rows("SELECT version, name FROM migrations")}


def _apply(database: Database, migration: Migration) -> None:
    database.execute(_RECORD)
    for statement in _statements(migration.sql):
        database.execute(statement)
    database.execute(
        "INSERT INTO migrations (version, name, sha256, applied_at) VALUES (?, ?, ?, ?)",
        (migration.version, migration.name, hashlib.sha256(migration.sql.encode()).hexdigest(), now()),
    )


def _statements(sql: str) -> Iterator[str]:
    """The statements one by one: `executescript` would commit the transaction it runs in."""
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
