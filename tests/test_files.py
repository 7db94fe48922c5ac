"""Files are written whole, and never over a database or what belongs to one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.files import whole_file
from recjudge_tui.store.database import Database, backup
from tests.support.commands import ran
from tests.support.runs import intact, make_project


def linked(make: Callable[[Path, Path], None]) -> Callable[[Database], Path]:
    def link(db: Database) -> Path:
        path = db.path.with_name("link.csv")
        make(path, db.path)
        return path

    return link


def copy(db: Database) -> Path:
    target = db.path.with_name("copy.csv")
    backup(db, target)
    return target


def left_log(db: Database) -> Path:
    """A write-ahead log under another name."""
    log = db.path.with_name(f"{db.path.name}-wal").read_bytes()
    path = db.path.with_name("left.csv")
    path.write_bytes(log)
    return path


TARGETS: dict[str, Callable[[Database], Path]] = {
    "itself": lambda db: db.path,
    "by another way": lambda db: db.path.parent / ".." / db.path.parent.name / db.path.name,
    "symlink": linked(lambda path, to: path.symlink_to(to)),
    "hard link": linked(lambda path, to: path.hardlink_to(to)),
    "log": lambda db: db.path.with_name(f"{db.path.name}-wal"),
    "index of the log": lambda db: db.path.with_name(f"{db.path.name}-shm"),
    "journal that is not there": lambda db: db.path.with_name(f"{db.path.name}-journal"),
    "backup": copy,
    "log elsewhere": left_log,
}
WORDS = (
    "project list", "runs list", "cases list -p films", "export verdicts -p films", "export cases -p films",
)  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_a_database_is_never_replaced(db: Database, target: str) -> None:
    make_project(db, users=1)
    path = TARGETS[target](db)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(UsageError, match="is not overwritten"), whole_file(path) as draft:
        draft.write_bytes(b"gone")
    assert (path.read_bytes() if path.exists() else None) == before
    assert not list(path.parent.glob("*.part"))
    assert intact(db)


def test_commands_refuse_their_own_database(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    make_project(db, users=1)
    lines = db.path.with_name("lines.jsonl")
    lines.write_text("", encoding="utf-8")
    batch = f"batch run {lines} --base-url http://127.0.0.1:1"
    for words in (*WORDS, batch):
        more = [] if words == batch else ["--format", "csv"] if "report" not in words else []
        at = [] if words == batch else ["--db", str(db.path)]
        code, _, err = ran(capsys, *words.split(), *more, "-o", str(db.path), *at)
        assert (code, "is not overwritten" in err) == (2, True), (words, err)
    assert intact(db)
    assert db.value("SELECT count(*) FROM projects") == 1
