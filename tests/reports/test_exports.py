from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet
import pytest

from recjudge_tui.domain.formulas import unmarked
from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports import exports
from recjudge_tui.reports.common.stream import ExportFormat, format_of
from recjudge_tui.reports.exports import SAVED_AS, save_verdicts, write_verdicts
from recjudge_tui.store.schema import connect
from tests.support.app.projects import make_project
from tests.support.hostile import HOSTILE

COLUMNS = (
    "project,protocol,case_id,user_id,item_id,system_a,system_b,rater,rater_kind,run_id,aspect,value,label,state,"
    "order_consistent,confidence,reasoning,created_at,shown_first,context,served_at"
)


@pytest.mark.parametrize("fmt", ["csv", "jsonl", "json"])
def test_the_filtered_verdicts_are_written(project_db: Path, tmp_path: Path, fmt: ExportFormat) -> None:
    project = make_project(project_db)
    target = tmp_path / f"out.{fmt}"
    with connect(project_db) as db:
        written = write_verdicts(Project.numbered(db, project), "why:swap", format_of(target), target)
    assert written.rows == 1
    text = target.read_text(encoding="utf-8")
    if fmt == "csv":
        assert text.splitlines()[0] == COLUMNS
        rows = list(csv.DictReader(io.StringIO(text)))
    else:
        rows = json.loads(text) if fmt == "json" else [json.loads(line) for line in text.splitlines()]
        assert list(rows[0]) == COLUMNS.split(",")
    assert rows[0]["label"] == "Tie"
    assert "[Set 1 = als]" in rows[0]["reasoning"]
    assert [p.name for p in tmp_path.glob("*.part")] == []


def test_nothing_found_is_a_valid_file(project_db: Path) -> None:
    project = make_project(project_db)
    with connect(project_db) as db:
        out = io.StringIO()
        assert write_verdicts(Project.numbered(db, project), '"no such words"', "json", out).rows == 0
    assert json.loads(out.getvalue()) == []


def test_formulas_are_made_safe_and_counted(project_db: Path) -> None:
    project = make_project(project_db, cases=1)
    with connect(project_db) as db:
        db.execute("UPDATE verdicts SET label = '=1+1', value = -1 WHERE id = 1")
        db.execute("UPDATE raters SET name = '@SUM(A1)' WHERE kind = 'judge'")
        out = io.StringIO(newline="")
        written = write_verdicts(Project.numbered(db, project), "judge:SUM", "csv", out)
        plain = io.StringIO()
        assert write_verdicts(Project.numbered(db, project), "judge:SUM", "jsonl", plain).message() == ""
    row = next(csv.DictReader(io.StringIO(out.getvalue())))
    assert (row["label"], row["rater"], row["value"]) == ("'=1+1", "'@SUM(A1)", "-1.0")
    assert written.defused == 2
    assert "apostrophe" in written.message()
    assert json.loads(plain.getvalue())["label"] == "=1+1"


def test_hostile_text_goes_through_csv_and_comes_back(project_db: Path) -> None:
    texts = [text for text in HOSTILE if len(text) < 5000]
    project = make_project(project_db, cases=len(texts))
    with connect(project_db) as db:
        for case, text in enumerate(texts, 1):
            db.execute("UPDATE verdicts SET label = ? WHERE case_id = ? AND run_id IS NULL", (text, case))
        out = io.StringIO(newline="")
        write_verdicts(Project.numbered(db, project), "judge:anna", "csv", out)
    labels = [row["label"] for row in csv.DictReader(io.StringIO(out.getvalue(), newline=""))]
    assert [unmarked(label) for label in labels] == [safe_text(text) for text in texts]


def test_a_folder_that_is_not_there_and_an_ending_that_says_nothing(project_db: Path, tmp_path: Path) -> None:
    project = make_project(project_db)
    target = tmp_path / "no" / "out.csv"
    with connect(project_db) as db, pytest.raises(RecjudgeError) as error:
        write_verdicts(Project.numbered(db, project), "", "csv", target)
    assert "cannot be written" in error.value.title
    with pytest.raises(UsageError):
        format_of(Path("out.xlsx"))


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


@pytest.mark.parametrize("ending", SAVED_AS)
def test_the_ending_says_the_form(project_db: Path, tmp_path: Path, ending: str) -> None:
    project = make_project(project_db)
    target = tmp_path / f"v{ending}"
    with connect(project_db) as db:
        written = save_verdicts(Project.numbered(db, project), "why:swap", target)
        with pytest.raises(UsageError, match="no export format"):
            save_verdicts(Project.numbered(db, project), "", tmp_path / "v.xlsx")
    assert written.rows == 1
    if ending == ".parquet":
        (row,) = pyarrow.parquet.read_table(target).to_pylist()
        text = " ".join(map(str, row.values()))
    else:
        text = target.read_text(encoding="utf-8")
    assert "Tie" in text
    assert "[Set 1 = als]" in text.replace("\\[", "[").replace("\\]", "]").replace("{[}", "[").replace(
        "{]}", "]"
    )


def test_a_table_for_people_is_cut_and_says_so(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MOST_ROWS", 2)
    project = make_project(project_db)
    with connect(project_db) as db:
        assert save_verdicts(Project.numbered(db, project), "", tmp_path / "v.txt").rows == 2
        total = db.value("SELECT count(*) FROM verdicts")
    assert f"{total - 2} more are left out" in (tmp_path / "v.txt").read_text()
