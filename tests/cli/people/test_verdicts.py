"""`recjudge verdicts`: the queue, deciding, taking back, and the log, without a screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.cli.app import main
from recjudge_tui.store.schema import connect
from tests.support.app.projects import make_project


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "x.db"
    make_project(path, "movies", cases=6)
    monkeypatch.setenv("RECJUDGE_DB", str(path))
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path))
    monkeypatch.setenv("RECJUDGE_READER", "ana")
    return path


def code(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(words))
    found = left.value.code
    assert isinstance(found, int)
    return found


def rows(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert code(*words, "--format", "json") == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return found


def test_the_order_by_attention_lists_only_verdicts_to_read_with_reasons(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = rows(capsys, "verdicts", "list", "-p", "movies", "--sort", "attention")
    assert [(row["verdict_id"], row["why"].split(",")[0]) for row in found] == [
        ("1", "judge against people"),
        ("13", "judge against people"),
        ("4", "judge against people"),
        ("16", "judge against people"),
        ("10", "failed"),
    ]


def test_decisions_are_written_taken_back_and_logged(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    assert code("verdicts", "decide", "1", "override", "--to", "tie") == 0
    assert code("verdicts", "decide", "4", "dismiss") == 0
    assert code("verdicts", "decide", "4", "note", "--text", "Both lists are the same film.") == 0
    assert code("verdicts", "undo", "-p", "movies") == 0
    assert "undone: note, case 2" in capsys.readouterr().err
    found = rows(capsys, "verdicts", "log", "-p", "movies")
    assert [(row["action"], row["label"], row["standing"]) for row in found] == [
        ("override", "Tie", "yes"),
        ("dismiss", "", "yes"),
        ("note", "", "no"),
        ("undo", "", "no"),
    ]
    with connect(file) as db:
        assert db.value("SELECT label FROM v_verdicts WHERE rater_kind = 'reader' AND rater = 'ana'") == "Tie"
    for _ in range(2):
        assert code("verdicts", "undo", "-p", "movies") == 0
    assert code("verdicts", "undo", "-p", "movies") == 0
    assert "“ana” has nothing to undo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("1", "override", "--to", "good"), 2, "Available: A, Tie, B."),
        (("1", "override"), 2, "--to LABEL"),
        (("1", "accept", "--to", "A"), 2, "--to LABEL"),
        (("1", "note"), 2, "the note is empty"),
        (("1", "tag", "--text", "x" * 4_001), 2, "at most 4,000"),
        (("999", "accept"), 1, "this verdict no longer exists"),
        (("1", "praise"), 2, "praise"),
    ],
)
def test_an_invalid_decision_gives_the_reason_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, said: str, file: Path
) -> None:
    assert code("verdicts", "decide", *words) == status
    assert said in capsys.readouterr().err
    with connect(file) as db:
        assert db.value("SELECT count(*) FROM triage_log") == 0
