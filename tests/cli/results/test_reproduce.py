"""`recjudge reproduce`: what it prints, and how it says what is missing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from recjudge_tui.cli.app import recjudge
from recjudge_tui.errors import InputError, NotFoundError
from tests.support.runs import ran
from tests.support.zhang_folder import joined_rows, write_joined, write_release


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(recjudge, ["reproduce", *map(str, words)], standalone_mode=False)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code or result.return_value == code
    return result.stdout


def test_a_paper_needs_nothing_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_joined(tmp_path / "data", joined_rows())
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setenv("RECJUDGE_DB", str(tmp_path / "mine.db"))
    monkeypatch.setenv("COLUMNS", "80")
    before = sorted(folder.iterdir())
    text = run("arena", "--check")
    assert "0.8972" in text
    assert "≠0.8843" in text
    assert max(map(len, text.splitlines())) <= 80
    found = json.loads(run("zhang2024", "--data", folder, "--format", "json"))
    assert sum(row["printed"] is not None for row in found["rows"]) == 305
    assert sorted(folder.iterdir()) == before
    assert list(scratch.iterdir()) == []
    assert not (tmp_path / "mine.db").exists()


def test_a_check_fails_where_a_figure_differs_and_nobody_knows_why(tmp_path: Path) -> None:
    folder = write_joined(tmp_path / "data", joined_rows())
    assert "≠" in run("zhang2024", "--data", folder, "--check", code=3)


@pytest.mark.parametrize(
    ("name", "said"), [("nowhere", "is not a folder"), ("empty", "does not contain the data")]
)
def test_data_that_are_not_there_are_named(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=said):
        run("zhang2024", "--data", tmp_path / name)


def test_a_judge_of_ones_own(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "data", joined_rows())
    db = tmp_path / "mine.db"
    ran("import", folder, "-p", "zhang", "--db", db)
    ran("run", "explanation", "-p", "zhang", "--judge", "random", "--name", "my judge", "--db", db)
    # the only project that has this rater
    found = json.loads(run("zhang2024", "--rater", "my judge", "--db", db, "--format", "json"))
    own = [row for row in found["rows"] if row["evaluator"] in ("my judge", "my judge (M)")]
    assert Counter(row["table"] for row in own) == {"Table 1": 15, "Table 2": 1}
    assert all(row["recomputed"] is not None for row in own if row["level"] == "dataset")
    # the project holds the released scores, so the annotators are recomputed from it
    assert all(row["n"] == 40 for row in found["rows"] if row["evaluator"] == "Average" and row["n"])
    assert {row["result"] for row in found["rows"] if row["evaluator"] == "BLEU-1"} == {
        "needs data",
        "follows",
    }
    assert "my judge" in run("zhang2024", "-p", "zhang", "--rater", "my judge", "--db", db)
    with pytest.raises(NotFoundError, match="has judged nothing"):
        run("arena", "--rater", "my judge", "--db", db)
