"""The database is for its owner alone, and killed writers leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.files import scratch_folder, whole_file
from recjudge_tui.store.database import backup
from recjudge_tui.store.projects import create_project
from recjudge_tui.store.schema import connect
from tests.support.waiting import HANG_S


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


def test_folders_of_killed_processes_are_removed_by_the_next_that_needs_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, alive, draft = (
        tmp_path / name for name in ("recjudge-999999999-a", f"recjudge-{os.getppid()}-b", "recjudge-x")
    )
    for folder in (left, alive, draft):
        folder.mkdir()
        (folder / "stdin").write_text("u,i")
    with scratch_folder() as own:
        assert set(tmp_path.iterdir()) == {own, alive, draft}
    assert set(tmp_path.iterdir()) == {alive, draft}


def test_the_name_of_a_project_has_an_end(tmp_path: Path) -> None:
    with connect(tmp_path / "r.db") as db:
        create_project(db, "é" * 300)
        with pytest.raises(UsageError, match="has 301 characters It may have 300"):
            create_project(db, "é" * 301)
