from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from recjudge_tui.errors import StoreError
from recjudge_tui.store.inspection import file_system, inspect_file, is_shared
from recjudge_tui.store.migrations import known_migrations
from recjudge_tui.store.opening import connect

MOUNTS = """\
overlay / overlay rw 0 0
proc /proc proc rw 0 0
/dev/sda1 /home ext4 rw 0 0
server:/data /home/me/net nfs4 rw 0 0
me@box: /home/me/with\\040space fuse.sshfs rw 0 0
tmpfs /mnt/twice tmpfs rw 0 0
//nas/x /mnt/twice cifs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind", "shared"),
    [
        ("/home/me/a.db", "ext4", False),
        ("/home/me/net/deep/a.db", "nfs4", True),
        ("/home/me/network/a.db", "ext4", False),
        ("/home/me/with space/a.db", "fuse.sshfs", True),
        ("/mnt/twice/a.db", "cifs", True),
        ("/elsewhere/a.db", "overlay", False),
    ],
)
def test_the_file_system_is_that_of_the_nearest_mount(path: str, kind: str, shared: bool) -> None:
    found = file_system(Path(path), MOUNTS)
    assert (found, is_shared(found)) == (kind, shared)


def test_without_a_list_of_mounts_the_kind_is_not_known() -> None:
    assert file_system(Path("/a.db"), "") == ""
    assert [kind for kind in ("9p", "smb3", "fuse", "fuseblk", "xfs", "") if is_shared(kind)] == [
        "9p",
        "smb3",
        "fuse",
    ]


def test_inspecting_a_file_changes_nothing_and_reports_its_content(project_db: Path) -> None:
    assert inspect_file(project_db) is None
    assert not project_db.exists()
    connect(project_db).close()
    before = hashlib.sha256(project_db.read_bytes()).hexdigest()
    found = inspect_file(project_db)
    assert found is not None
    newest = known_migrations()[-1].version
    assert (found.schema, found.known_schema, found.journal, found.faults) == (newest, newest, "wal", ())
    assert found.size == project_db.stat().st_size
    assert hashlib.sha256(project_db.read_bytes()).hexdigest() == before


def test_an_old_schema_is_reported_and_not_changed(project_db: Path) -> None:
    with connect(project_db) as db:
        db.execute("DELETE FROM migrations WHERE version > 1")
    found = inspect_file(project_db)
    assert found is not None
    assert found.schema == 1
    with sqlite3.connect(project_db) as raw:
        assert raw.execute("SELECT max(version) FROM migrations").fetchone() == (1,)
    raw.close()


def test_damage_is_found(project_db: Path) -> None:
    with connect(project_db) as db:
        db.execute_many(
            "INSERT INTO projects (name, created_at) VALUES (?, '')", [(f"{n:0200}",) for n in range(500)]
        )
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = db.value("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_projects_1'")
        size = db.value("PRAGMA page_size")
    content = bytearray(project_db.read_bytes())
    content[(page - 1) * size : page * size] = bytes(size)
    project_db.write_bytes(content)
    found = inspect_file(project_db)
    assert found is not None
    assert found.faults


@pytest.mark.parametrize(
    ("statements", "title"),
    [
        (["INSERT INTO migrations VALUES (9999, '9999_later', '', '')"], "newer recjudge"),
        (["ALTER TABLE runs RENAME TO theirs"], "not recjudge's"),
    ],
)
def test_newer_and_foreign_files_are_refused(project_db: Path, statements: list[str], title: str) -> None:
    with connect(project_db) as db:
        for statement in statements:
            db.execute(statement)
    with pytest.raises(StoreError, match=title):
        inspect_file(project_db)


def test_a_file_that_is_no_database_is_refused(project_db: Path) -> None:
    project_db.write_text("not a database, but long enough to be looked at\n" * 50, encoding="utf-8")
    with pytest.raises(StoreError, match="not a recjudge database"):
        inspect_file(project_db)
