"""Raters and annotators on the command line: from a plan to a consensus, kinds and names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recjudge_tui.cli.app import main
from recjudge_tui.store.schema import connect
from tests.support.annotators import films, judges, verdicts

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    path = tmp_path / "a.db"
    with connect(path) as db:
        films(db, 6)

    def command(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["annotate", *words, "-p", "films", "--db", str(path)])
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return command


def test_plan_status_and_a_consensus_by_rule(run: Run, tmp_path: Path) -> None:
    code, out, err = run("plan", "--protocol", "pairwise", "--annotators", "ana,ben", "--sample", "4")
    assert (code, out) == (0, "")
    assert "4 cases, 4 of them with two or more annotators" in err
    assert "newly assigned: ana 4, ben 4" in err
    assert "recjudge annotate open -p films --as ana" in err
    with connect(tmp_path / "a.db") as db:
        judges(db, "ana")
        judges(db, "ben", choose=lambda options: options[2])
    code, out, err = run("status", "--format", "json")
    rows = json.loads(out)["rows"]
    assert code == 0
    assert [(row["annotator"], row["done"], row["n"]) for row in rows] == [("ana", 4, 4), ("ben", 4, 4)]
    code, out, err = run("adjudicate", "--protocol", "pairwise", "--rule", "conservative", "--name", "people")
    assert code == 0
    assert "4 verdicts by rule conservative from ana, ben" in err
    with connect(tmp_path / "a.db") as db:
        assert len(verdicts(db, "people")) == 4


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("plan", "--protocol", "pairwise", "--annotators", "ana,ana"), 2, "named twice"),
        (("plan", "--protocol", "pairwise", "--annotators", "ana", "--overlap", "2"), 2, "overlap"),
        (("open", "--as", "nobody"), 1, "nothing is assigned to “nobody”"),
        (("adjudicate", "--protocol", "pairwise"), 2, "needs a terminal"),
        (("adjudicate", "--protocol", "pairwise", "--rule", "strict"), 2, "at least two different raters"),
    ],
)
def test_what_cannot_be_says_why(run: Run, words: tuple[str, ...], code: int, said: str) -> None:
    ended, out, err = run(*words)
    assert ended == code
    assert said in err
    assert out == ""


def test_export_to_a_file_and_to_stdout(run: Run, tmp_path: Path) -> None:
    run("plan", "--protocol", "pairwise", "--annotators", "ana", "--sample", "2")
    path = tmp_path / "ana.csv"
    code, out, err = run("export", "--as", "ana", "-o", str(path))
    assert (code, out) == (0, "")
    assert f"2 tasks of ana (pairwise) written to {path}" in err
    assert f"guidelines written to {tmp_path / 'ana-guidelines.md'}" in err
    assert "List 1" in (tmp_path / "ana-guidelines.md").read_text(encoding="utf-8")
    assert run("export", "--as", "ana", "-o", "-")[1] == path.read_text(encoding="utf-8")
    _, out, _ = run("export", "--as", "ana", "--format", "label-studio")
    assert [set(task) for task in json.loads(out)] == [{"data"}, {"data"}]
    assert "nothing is assigned to “ben”" in run("export", "--as", "ben")[2]
