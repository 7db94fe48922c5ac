"""`recjudge verdicts`: the queue, deciding, taking back, and the log, without a screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.store.schema import connect
from tests.support.app.projects import make_project
from tests.support.commands import ran

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "x.db"
    make_project(path, "movies", cases=6)
    monkeypatch.setenv("RECJUDGE_DB", str(path))
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path))
    monkeypatch.setenv("RECJUDGE_READER", "ana")
    return path


def rows(capsys: Capture, line: str) -> list[dict[str, Any]]:
    code, out, _ = ran(capsys, *line.split(), "--format", "json")
    assert code == 0
    found: list[dict[str, Any]] = json.loads(out)["rows"]
    return found


def test_the_order_by_attention_lists_only_verdicts_to_read_with_reasons(capsys: Capture) -> None:
    found = rows(capsys, "verdicts list -p movies --sort attention")
    assert [(row["verdict_id"], row["why"].split(",")[0]) for row in found] == [
        ("1", "judge against people"),
        ("13", "judge against people"),
        ("4", "judge against people"),
        ("16", "judge against people"),
        ("10", "failed"),
    ]


def test_decisions_are_written_taken_back_and_logged(capsys: Capture, file: Path) -> None:
    for decided in ("1 override --to tie", "4 dismiss", "4 note --text Twice."):
        assert ran(capsys, "verdicts", "decide", *decided.split())[0] == 0
    undo = ("verdicts", "undo", "-p", "movies")
    code, _, err = ran(capsys, *undo)
    assert (code, "undone: note, case 2" in err) == (0, True)
    found = rows(capsys, "verdicts log -p movies")
    assert [(row["action"], row["label"], row["standing"]) for row in found] == [
        ("override", "Tie", "yes"),
        ("dismiss", "", "yes"),
        ("note", "", "no"),
        ("undo", "", "no"),
    ]
    with connect(file) as db:
        assert db.value("SELECT label FROM v_verdicts WHERE rater_kind = 'reader' AND rater = 'ana'") == "Tie"
    assert [ran(capsys, *undo)[0] for _ in range(2)] == [0, 0]
    code, _, err = ran(capsys, *undo)
    assert (code, "“ana” has nothing to undo" in err) == (0, True)


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
    capsys: Capture, words: tuple[str, ...], status: int, said: str, file: Path
) -> None:
    code, _, err = ran(capsys, "verdicts", "decide", *words)
    assert (code, said in err) == (status, True)
    with connect(file) as db:
        assert db.value("SELECT count(*) FROM triage_log") == 0
