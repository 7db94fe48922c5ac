from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.project import Project
from recjudge_tui.reports.exports import write_verdicts
from recjudge_tui.store.schema import connect
from tests.support.app.projects import make_project


def test_an_existing_file_is_kept_when_the_writing_fails(project_db: Path, tmp_path: Path) -> None:
    make_project(project_db)
    target = tmp_path / "out.csv"
    target.write_text("before")
    with connect(project_db) as db:
        db.execute("DROP VIEW v_verdicts")
        with pytest.raises(RecjudgeError):
            write_verdicts(Project.numbered(db, 1), "", "csv", target)
    assert target.read_text() == "before"
    assert list(tmp_path.glob("*.part")) == []


def test_writing_to_a_device_leaves_its_folder_alone(project_db: Path, tmp_path: Path) -> None:
    project = make_project(project_db)
    sink, neighbour = tmp_path / "sink.csv", tmp_path / "out.csv.part"
    sink.symlink_to("/dev/null")
    neighbour.write_text("somebody's")
    with connect(project_db) as db:
        assert write_verdicts(Project.numbered(db, project), "", "csv", sink).rows == 18
        write_verdicts(Project.numbered(db, project), "", "csv", tmp_path / "out.csv")
        with pytest.raises(RecjudgeError, match="No space left"):
            write_verdicts(Project.numbered(db, project), "", "csv", Path("/dev/full"))
    assert sink.is_symlink()
    assert neighbour.read_text() == "somebody's"
    assert sorted(path.name for path in tmp_path.glob("*.part")) == ["out.csv.part"]
