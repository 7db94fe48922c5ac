"""Checks a database file without changing it: is it ours, intact, up to date, and on a safe file system?"""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.errors import StoreError
from recjudge_tui.store.database import Database, distrust, explained
from recjudge_tui.store.foreign_objects import refuse_foreign_objects
from recjudge_tui.store.migrations import known_migrations, schema_sql

MOUNTS = Path("/proc/mounts")
_WAIT_S = 5.0
_SHOWN_FAULTS = 3
# several machines or a userspace driver may share these: shared memory and locks are not reliable on them
_SHARED = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "beegfs", "gpfs", "ocfs2", "gfs2",
    "vboxsf", "virtiofs", "prl_fs", "davfs", "drvfs", "fuse",
}  # fmt: skip


class RunningRun(NamedTuple):
    """A run in state `running`. `owner` and `heartbeat` come from its lease."""

    id: int
    project: str
    rater: str
    outstanding: int
    owner: str | None
    heartbeat: str | None


class FileReport(NamedTuple):
    """The state of the file. `size` in bytes, including the WAL; `schema` is 0 if the file records none."""

    size: int
    schema: int
    known_schema: int
    journal: str
    faults: tuple[str, ...]
    running: tuple[RunningRun, ...]
    key_names: tuple[str, ...]


def inspect_file(path: Path) -> FileReport | None:
    """Check the file without migrating it; None if it does not exist.

    `faults` are the first three that SQLite's quick_check reports. Raises StoreError when the file cannot be
    read, is not a recjudge database, contains triggers or views that are not recjudge's, or comes from a
    newer version.
    """
    if not path.exists():
        return None
    with explained(path):
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=_WAIT_S, isolation_level=None
        )
    connection.row_factory = sqlite3.Row
    with Database(connection, path) as db:
        distrust(connection)
        migrations = known_migrations()
        known = migrations[-1].version
        schema = _schema(db, known)
        if schema:
            refuse_foreign_objects(db, schema_sql(migrations))
        checked = [str(row[0]) for row in db.rows(f"PRAGMA quick_check({_SHOWN_FAULTS})")]
        return FileReport(
            size=sum(part.stat().st_size for part in _parts(path) if part.exists()),
            schema=schema,
            known_schema=known,
            journal=str(db.value("PRAGMA journal_mode")),
            faults=tuple(line for line in checked if line != "ok"),
            running=_running(db) if schema else (),
            key_names=_key_names(db) if schema else (),
        )


def _parts(path: Path) -> tuple[Path, Path]:
    return path, path.with_name(f"{path.name}-wal")


def _schema(db: Database, known: int) -> int:
    tables = {row[0] for row in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    if not {"migrations", "projects", "runs", "calls"} <= tables:
        raise StoreError(
            f"{db.path} contains tables that are not recjudge's", next_step="Choose another file with --db."
        )
    schema = int(db.value("SELECT max(version) FROM migrations") or 0)
    if schema > known:
        raise StoreError(
            f"{db.path} was made by a newer recjudge",
            f"It is at schema {schema}; this program knows up to {known}.",
            "Update recjudge, or choose another file with --db.",
        )
    return schema


def _running(db: Database) -> tuple[RunningRun, ...]:
    rows = db.rows(
        """SELECT ru.id, p.name AS project, r.name AS rater, ru.lease_owner, ru.heartbeat_at,
             (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.state = 'planned') AS outstanding
           FROM runs ru JOIN projects p ON p.id = ru.project_id JOIN raters r ON r.id = ru.rater_id
           WHERE ru.state = 'running' ORDER BY ru.id"""
    )
    return tuple(
        RunningRun(
            row["id"],
            row["project"],
            row["rater"],
            row["outstanding"],
            row["lease_owner"],
            row["heartbeat_at"],
        )
        for row in rows
    )


def _key_names(db: Database) -> tuple[str, ...]:
    """The environment variables that runs take their API keys and headers from."""
    rows = db.rows(
        """SELECT json_extract(judge, '$.api_key_env') AS name FROM runs
           UNION SELECT json_extract(h.value, '$[1]') FROM runs, json_each(runs.judge, '$.header_env') h ORDER BY 1"""
    )
    return tuple(row["name"] for row in rows if row["name"])


def can_write(path: Path) -> bool:
    """Whether this user may write the file and its folder, or the nearest existing folder above it."""
    if path.exists() and not os.access(path, os.W_OK):
        return False
    folder = next((parent for parent in path.absolute().parents if parent.exists()), path.absolute().parent)
    return folder.is_dir() and os.access(folder, os.W_OK)


def read_mounts() -> str | None:
    """The kernel's list of mounted file systems, or None where there is none (not Linux)."""
    try:
        return MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None


def file_system(path: Path, mounts: str) -> str:
    """The file system (`ext4`, `nfs4`, `fuse.sshfs`) that holds the path, from the lines of /proc/mounts; '' if unknown.

    The longest mount point above the resolved path wins; among equal ones the last, which is mounted on top.
    """
    target = path.resolve()
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), fields[1]))
        depth = len(point.parts)
        if depth >= best and (point == target or point in target.parents):
            best, kind = depth, fields[2]
    return kind


def is_shared(kind: str) -> bool:
    """Whether a write-ahead log may be unsafe on this kind of file system.

    The log needs memory shared by all its users, which only a single machine offers, and reliable locks. `fuseblk` is
    a local disk.
    """
    return kind in _SHARED or kind.startswith("fuse.")
