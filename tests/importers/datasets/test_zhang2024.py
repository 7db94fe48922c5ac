"""The folder released with Zhang et al. (2024), and what its scripts write for a judge."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.imports import ImportSummary
from recjudge_tui.errors import InputError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.store.database import Database
from tests.support.commands import ran
from tests.support.zhang_folder import ASPECTS, joined_rows, write_joined, write_release

PEOPLE = "gender,user_movie_interest,peryear,total,user_id\n男,喜欢,10-20部,&lt;100,4376251640447208384\n"


def _folder(db: Database, folder: Path, project: str = "z") -> list[ImportSummary]:
    return import_paths(db, project, [folder], None)


def _counts(db: Database) -> dict[str, int]:
    return {
        name: db.value(f"SELECT count(*) FROM {name}")
        for name in ("items", "users", "explanations", "cases", "verdicts")
    }


def _scores(db: Database, rater: str) -> dict[tuple[Any, ...], float]:
    return {
        tuple(row)[:-1]: row["value"]
        for row in db.rows(
            """SELECT c.user_id, c.item_id, c.system_a, v.aspect, v.value FROM verdicts v
               JOIN cases c ON c.id = v.case_id JOIN raters r ON r.id = v.rater_id WHERE r.name = ?""",
            (rater,),
        )
    }


def test_the_joined_table(db: Database, tmp_path: Path) -> None:
    rows = joined_rows()
    folder = write_joined(tmp_path / "data", rows)
    (folder / "user_demo.csv").write_text(PEOPLE, encoding="utf-8")
    summaries = _folder(db, folder)
    assert {f.layout for s in summaries for f in s.files} == {"zhang2024"}
    assert [(s.kind, s.stored, s.skipped) for s in summaries] == [
        ("items", 2, 0), ("users", 1, 0), ("explanations", 40, 0), ("labels", 479, 1),
    ]  # fmt: skip
    assert _counts(db) == {"items": 2, "users": 1, "explanations": 40, "cases": 40, "verdicts": 479}
    kinds = dict(tuple(row) for row in db.rows("SELECT name, kind FROM raters"))
    assert kinds == {"user": "ground_truth", "annotator_1": "annotator", "annotator_2": "annotator"}
    row = rows[5]
    about = (row["user_id"], row["movie_id"], row["explanation_type"])
    assert {a: _scores(db, "user")[(*about, a)] for a in ASPECTS} == {a: float(row[a]) for a in ASPECTS}
    assert _scores(db, "annotator_2")[(*about, "accuracy")] == float(row["accuracy_2"])
    assert (
        db.value("SELECT text FROM explanations WHERE system = 'kind3' LIMIT 1")
        == "这部电影的导演是斯皮尔伯格"
    )
    assert json.loads(db.value("SELECT attributes FROM users"))["total"] == "<100"


def test_the_two_tables_of_the_release(db: Database, tmp_path: Path) -> None:
    rows = joined_rows()
    folder = write_release(tmp_path / "data", rows)
    summaries = _folder(db, folder)
    assert [(s.kind, s.stored) for s in summaries] == [
        ("items", 2), ("users", 4), ("explanations", 40), ("labels", 479),
    ]  # fmt: skip
    _folder(db, write_joined(tmp_path / "joined", rows), "j")
    found = Counter(
        tuple(row)
        for row in db.rows(
            """SELECT r.name, c.user_id, c.item_id, c.system_a, v.aspect, v.value FROM verdicts v
               JOIN cases c ON c.id = v.case_id JOIN raters r ON r.id = v.rater_id"""
        )
    )
    assert set(found.values()) == {2}


def test_annotators_need_the_explanations(db: Database, tmp_path: Path) -> None:
    folder = write_release(tmp_path / "data", joined_rows())
    (folder / "df_explanation_selected.csv").rename(tmp_path / "df_explanation_selected.csv")
    with pytest.raises(InputError, match=r"third_party\.csv needs df_explanation_selected.csv"):
        _folder(db, folder)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not labels of zhang2024"):
        import_paths(db, "z", [tmp_path / "other.csv"], "labels", layout="zhang2024")
    assert _counts(db)["verdicts"] == 0


def test_a_published_judge_and_ones_own(
    project_db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = joined_rows()
    folder = write_joined(tmp_path / "data", rows)
    lines = [
        "user\tmovie_id\tmovie_title\texplanation_text\texplanation_type\tmetric\tuser_value\tllm_value\tcorr"
    ]
    for row in rows:
        for metric in ("persuasiveness", "transparency", "accuracy", "satisfactory"):
            cells = (
                row["user_id"], row["movie_id"], "F", 'an "odd text', row["explanation_type"], metric, "2.0",
            )  # fmt: skip
            lines.append("\t".join((*cells, "0.0" if metric == "accuracy" else "4.0", "nan")))
    outputs = tmp_path / "output"
    outputs.mkdir()
    (outputs / "gpt-4_T1_None_correlation_results.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    to_db = ("-p", "z", "--db", str(project_db))
    assert ran(capsys, "import", str(folder), str(outputs), *to_db)[0] == 0
    assert ran(capsys, "run", "explanation", "--judge", "random", "--name", "mine", *to_db)[0] == 0
    code, out, err = ran(
        capsys, "agreement", "--truth", "user", "--raters", "gpt-4_T1_None,mine,annotator_1", "--aspect", "satisfaction",
        "--stat", "bias", "--format", "json", *to_db,
    )  # fmt: skip
    assert code == 0, err
    found = {row["rater_a"]: row["n"] for row in json.loads(out)["rows"]}
    assert found == {"gpt-4_T1_None": 40, "mine": 40, "annotator_1": 40}
    code, out, _ = ran(capsys, "rater", "list", "--format", "json", *to_db)
    raters = {row["name"]: row for row in json.loads(out)["rows"]}
    judge = raters["gpt-4_T1_None"]
    assert (judge["kind"], judge["verdicts"], judge["failed"]) == ("judge", 160, 40)
