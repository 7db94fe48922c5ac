"""The state of `recjudge watch` for a project: the process at work, the files already imported, and the
result of the last round."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.store.clock import now
from recjudge_tui.store.database import Database


class LastNight(NamedTuple):
    """The last complete night: a digest of its inputs, its exit code, and when it ended."""

    inputs: str
    exit_code: int
    ended_at: str


class WatchedFile(NamedTuple):
    """An imported file; `how` describes how it was read."""

    path: str
    how: str
    size: int
    mtime_ns: int
    sha256: str


def watch_owner(db: Database, project_id: int) -> tuple[str | None, str | None]:
    """(owner, time of its last heartbeat) or (None, None)."""
    row = db.row("SELECT owner, heartbeat_at FROM watches WHERE project_id = ?", (project_id,))
    return (row[0], row[1]) if row else (None, None)


def take_watch(db: Database, project_id: int, owner: str, instead_of: str | None) -> bool:
    """Take the project's lock if it still belongs to `instead_of` (None: to no process); True on success."""
    with db.transaction():
        cursor = db.execute(
            """INSERT INTO watches (project_id, owner, heartbeat_at) VALUES (?1, ?2, ?3)
               ON CONFLICT (project_id) DO UPDATE SET owner = ?2, heartbeat_at = ?3 WHERE watches.owner IS ?4""",
            (project_id, owner, now(), instead_of),
        )
    return cursor.rowcount == 1


def watch_heartbeat(db: Database, project_id: int, owner: str) -> None:
    """Record that the owner is alive."""
    with db.transaction():
        db.execute(
            "UPDATE watches SET heartbeat_at = ? WHERE project_id = ? AND owner = ?",
            (now(), project_id, owner),
        )


def release_watch(db: Database, project_id: int, owner: str) -> None:
    """Give the lock back; does nothing if another process has it."""
    with db.transaction():
        db.execute(
            "UPDATE watches SET owner = NULL, heartbeat_at = NULL WHERE project_id = ? AND owner = ?",
            (project_id, owner),
        )


def last_night(db: Database, project_id: int) -> LastNight | None:
    """The last complete night."""
    row = db.row(
        "SELECT inputs, exit_code, ended_at FROM watches WHERE project_id = ? AND ended_at IS NOT NULL",
        (project_id,),
    )
    return LastNight(*row) if row else None


def save_night(db: Database, project_id: int, inputs: str, exit_code: int) -> None:
    """Record a complete night."""
    with db.transaction():
        db.execute(
            "UPDATE watches SET inputs = ?, exit_code = ?, ended_at = ? WHERE project_id = ?",
            (inputs, exit_code, now(), project_id),
        )


def watched_files(db: Database, project_id: int) -> dict[tuple[str, str], WatchedFile]:
    """(path, how) -> the file as it was imported."""
    rows = db.rows(
        "SELECT path, how, size, mtime_ns, sha256 FROM watched_files WHERE project_id = ?", (project_id,)
    )
    return {(row["path"], row["how"]): WatchedFile(*row) for row in rows}


def save_watched_file(db: Database, project_id: int, file: WatchedFile) -> None:
    """Record that a file was imported, with its size and time, so that it can be recognised without reading
    it.
    """
    with db.transaction():
        db.execute(
            """INSERT OR REPLACE INTO watched_files (project_id, path, how, size, mtime_ns, sha256, imported_at)
               VALUES (?, ?, ?, ?, ?, ?, ?)""",
            (project_id, *file, now()),
        )


def data_version(db: Database, project_id: int) -> str:
    """A text that changes with every import and every import undone."""
    row = db.row(
        "SELECT ifnull(max(id), 0), count(undone_at) FROM imports WHERE project_id = ?", (project_id,)
    )
    assert row is not None
    return f"{row[0]}/{row[1]}"
