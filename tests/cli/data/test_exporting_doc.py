"""docs/exporting.md names the exports, their columns and commands as they are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from recjudge_tui.cli.data.export import EXPORTS
from recjudge_tui.store.exports import (
    CALL_COLUMNS,
    CASE_COLUMNS,
    FLAG_COLUMNS,
    IMAGE_COLUMNS,
    LABEL_COLUMNS,
    LIST_COLUMNS,
    QREL_COLUMNS,
)
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import EXPORTED
from tests.support.commands import ran
from tests.support.runs import make_project, plan

PAGE = (Path(__file__).parents[3] / "docs" / "exporting.md").read_text(encoding="utf-8")
COLUMNS = {
    "verdicts": EXPORTED,
    "calls": CALL_COLUMNS,
    "flags": FLAG_COLUMNS,
    "cases": CASE_COLUMNS,
    "labels": LABEL_COLUMNS,
    "images": IMAGE_COLUMNS,
    "lists": LIST_COLUMNS,
    "qrels": QREL_COLUMNS,
}


def test_columns() -> None:
    rows = dict(re.findall(r"^\| (\w+) \| ([\w, ]+) \|$", PAGE, re.MULTILINE))
    assert {what: tuple(rows[what].split(", ")) for what in EXPORTS} == COLUMNS


def test_commands(
    project_db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with connect(project_db) as db:
        make_project(db, users=1)
        plan(db)
    commands = [line for line in PAGE.splitlines() if line.startswith("recjudge export")]
    assert len(commands) == 7
    for line in commands:
        words = shlex.split(line)[1:]
        code, out, err = ran(capsys, *(w.replace("movies", "films") for w in words), "--db", str(project_db))
        assert code == 0, err
        target = words[words.index("-o") + 1]
        assert out if target == "-" else (tmp_path / target).stat().st_size
