"""The connection: transactions, copies, faults of the file, and that it is for its owner alone."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from recjudge_tui.errors import StoreBusyError, StoreError
from recjudge_tui.files import whole_file
from recjudge_tui.store.database import Database, backup, use_wal
from recjudge_tui.store.projects import create_project, find_project, project_names
from recjudge_tui.store.schema import connect
from tests.support.runs import make_project
from tests.support.servers.process import ROOT
from tests.support.waiting import HANG_S

# ---- test database -----------------------------------------------------------------------------------------------


def test_a_second_writer_waits_and_then_says_who_is_in_the_way(
    db: Database, project_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recjudge_tui.store.database.BUSY_TIMEOUT_S", 0.05)
    with connect(project_db) as other, db.transaction():
        assert other.value("SELECT count(*) FROM projects") == 0, "readers are never in the way"
        with pytest.raises(StoreBusyError, match="is locked by another program"), other.transaction():
            pass
        assert not other.connection.in_transaction


def test_a_copy_made_while_somebody_writes_is_whole(db: Database, project_db: Path, tmp_path: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        with connect(project_db) as other:
            number = 0
            while not stop.is_set():
                with other.transaction():
                    for half in ("left", "right"):
                        create_project(other, f"{half} {number} {'x' * 280}")
                number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            backup(db, tmp_path / f"copy{number}.db")
    finally:
        stop.set()
        writer.join()
    for number in range(5):
        with connect(tmp_path / f"copy{number}.db", must_exist=True) as copy:
            assert copy.value("PRAGMA integrity_check") == "ok"
            halves = "SELECT count(*) FROM projects WHERE name LIKE ?"
            assert copy.value(halves, ("left%",)) == copy.value(halves, ("right%",))
    assert not list(tmp_path.glob("*.part*"))


def test_a_copy_never_replaces_a_file(db: Database, tmp_path: Path) -> None:
    taken = tmp_path / "taken.db"
    taken.write_text("mine", encoding="utf-8")
    with pytest.raises(StoreError, match="exists already"):
        backup(db, taken)
    assert taken.read_text(encoding="utf-8") == "mine"
    for nowhere in (tmp_path / "no" / "folder.db", taken / "below.db"):
        with pytest.raises(StoreError, match=nowhere.name):
            backup(db, nowhere)


def test_a_file_that_is_no_database_is_named_and_left_alone(project_db: Path) -> None:
    project_db.write_text("user_id,item_id\n" * 200, encoding="utf-8")
    before = project_db.read_bytes()
    with pytest.raises(StoreError, match="is not a recjudge database"):
        connect(project_db)
    assert project_db.read_bytes() == before


def test_a_damaged_file_is_named_and_left_alone(project_db: Path) -> None:
    with connect(project_db) as db, db.transaction():
        for number in range(500):
            create_project(db, f"{number} {'x' * 200}")
    bytes_ = bytearray(project_db.read_bytes())
    bytes_[4096:] = b"\x5a" * (len(bytes_) - 4096)
    project_db.write_bytes(bytes_)
    with pytest.raises(StoreError, match=r"is damaged.*Restore a backup"):
        connect(project_db).rows("SELECT * FROM projects ORDER BY name")
    assert project_db.read_bytes() == bytes_


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for place in (file / "x.db", file / "deeper" / "x.db", Path("/proc/recjudge/x.db"), tmp_path):
        with pytest.raises(StoreError) as caught:
            connect(place)
        assert str(tmp_path) in caught.value.title or "/proc" in caught.value.title
        assert caught.value.next_step or caught.value.step
    with pytest.raises(StoreError, match="no database at"):
        connect(tmp_path / "missing.db", must_exist=True)
    assert not (tmp_path / "missing.db").exists()


POWERLESS = f"""
import ctypes, sys
sys.path.insert(0, {str(ROOT)!r})
version, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert ctypes.CDLL(None).capset(version, nothing) == 0
from recjudge_tui.cli.app import main
main(sys.argv[1:])
"""


def test_a_read_only_file_or_folder(tmp_path: Path) -> None:
    """In a process without the right of root to write anywhere."""
    folder = tmp_path / "closed"
    folder.mkdir()
    with connect(folder / "old.db") as db:
        create_project(db, "kept")
    before = (folder / "old.db").read_bytes()
    (folder / "old.db").chmod(0o444)
    folder.chmod(0o555)
    for name in ("old.db", "new.db", "inner/new.db"):
        place = folder / name
        words = ["project", "new", "x", "--db", str(place)]
        done = subprocess.run([sys.executable, "-c", POWERLESS, *words], capture_output=True, text=True)
        said = done.stderr.splitlines()
        if name == "old.db":
            assert said.pop(0) == f"{place} cannot be written, so it is opened read-only"
        assert (done.returncode, len(said), done.stdout) == (1, 3, ""), done.stderr
        assert said[0].startswith(f"error: {place if name != 'inner/new.db' else 'the folder'}")
    assert [p.name for p in folder.iterdir()] == ["old.db"]
    assert (folder / "old.db").read_bytes() == before


def test_a_full_disk_is_reported_and_nothing_is_lost(project_db: Path) -> None:
    with connect(project_db) as db:
        create_project(db, "kept")
        db.execute(f"PRAGMA max_page_count = {db.value('PRAGMA page_count') + 2}")
        with pytest.raises(StoreError, match=r"no space left.*Free some space"):
            _fill(db)
        assert not db.connection.in_transaction
        assert (find_project(db, "kept"), find_project(db, "half")) == (1, None)
        assert db.value("PRAGMA integrity_check") == "ok"


def _fill(db: Database) -> None:
    with db.transaction():
        create_project(db, "half")
        db.execute("INSERT INTO projects (name, note, created_at) VALUES ('big', ?, '')", ("x" * 100_000,))


def test_wal_waits_for_another_process_that_makes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    mine = sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        holder.execute("CREATE TABLE t (x)")
        holder.execute("BEGIN EXCLUSIVE")
        letting_go = threading.Timer(0.2, holder.rollback)
        letting_go.start()
        use_wal(Database(mine, path))
        letting_go.join()
        assert mine.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    finally:
        mine.close()
        holder.close()


# ---- test read only ----------------------------------------------------------------------------------------------


@pytest.fixture
def on_a_disc(project_db: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of which the system says that nobody may write to it or to its folder."""
    with connect(project_db) as db:
        make_project(db)
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    return project_db


def test_it_is_read_and_says_so(on_a_disc: Path) -> None:
    before = on_a_disc.read_bytes()
    lines: list[str] = []
    with connect(on_a_disc, notify=lines.append) as db:
        assert db.read_only
        assert project_names(db) == [(1, "films")]
        with pytest.raises(StoreError, match="read-only"):
            create_project(db, "books")
    assert lines == [f"{on_a_disc} cannot be written, so it is opened read-only"]
    assert on_a_disc.read_bytes() == before
    assert [path.name for path in on_a_disc.parent.iterdir() if path.name.startswith(on_a_disc.name)] == [
        on_a_disc.name
    ]


def test_writes_in_the_log_are_read(project_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(project_db) as writer:
        create_project(writer, "in the log")
        assert Path(f"{project_db}-wal").stat().st_size > 0
        monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
        with connect(project_db) as db:
            assert project_names(db) == [(1, "in the log")]


# ---- test private files ------------------------------------------------------------------------------------------


def test_a_new_database_its_log_and_its_backup_are_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "r.db"
    with connect(path) as db:
        backup(db, path.with_name("copy.db"))
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert {"r.db", "copy.db"} <= set(modes)
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_permissions_of_an_existing_database_stay(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    connect(path).close()
    path.chmod(0o640)
    connect(path).close()
    assert path.stat().st_mode & 0o777 == 0o640


def test_drafts_of_killed_processes_are_removed_by_the_next_writer(tmp_path: Path) -> None:
    target = tmp_path / "out[1].bak"
    script = (
        "import os, sys; from pathlib import Path; from recjudge_tui.files import whole_file\n"
        f"with whole_file(Path({str(target)!r})) as draft:\n"
        "  draft.write_text('half'); draft.with_name(draft.name + '-journal').touch(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script], check=False, timeout=HANG_S)
    alive = tmp_path / f".out[1].bak.{os.getppid()}.part"
    alive.write_text("of a living process")
    other = tmp_path / ".other.bak.999999999.part"
    other.write_text("not ours")
    assert len(list(tmp_path.iterdir())) == 4
    with whole_file(target) as draft:
        draft.write_text("whole")
    assert sorted(tmp_path.iterdir()) == sorted([target, alive, other])
