"""A command that is interrupted between any two statements of its writes leaves the database as it was."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from tests.support.commands import ran
from tests.support.runs import RULES, make_project, planned

WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "COMMIT")
COMMANDS = (
    "imports undo 4",
    "imports undo 3",
    "imports undo 2",
    "imports undo 1",
    "runs delete 1 --yes",
    "rater delete -p films people --yes",
    "rater consensus -p films both --rule strict rules second",
    "rater metric -p films ndcg",
    "project delete films --yes",
    "import {labels} -p films --as labels",
    "outcome add -p films --systems als,pop --impressions 100,100 --clicks 9,12",
)
LABELS = "rater,user_id,system,aspect,value\n" + "".join(
    f"people,u0{n},{system},overall,Good Match\n" for n in range(2) for system in ("als", "pop")
)


class CutError(BaseException):
    """Raised instead of a statement; a BaseException, as the interrupt that it stands for."""


@pytest.fixture
def judged(project_db: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Two runs of raters of their own, one with a failed call, and labels by people."""
    labels = project_db.with_name("people.csv")
    labels.write_text(LABELS, encoding="utf-8")
    with connect(project_db) as db:
        make_project(db, users=2)
        for name in ("rules", "second"):
            work(project_db, planned(db, RULES, rater=name))
        db.execute(
            "UPDATE calls SET state = 'failed', error_kind = 'timeout', error = 'late' WHERE run_id = 2 AND id % 2"
        )
    assert (
        ran(capsys, "import", str(labels), "-p", "films", "--as", "labels", "--db", str(project_db))[0] == 0
    )
    assert ran(capsys, "prompt", "list", "--db", str(project_db))[0] == 0
    return project_db


def content(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return sha256("\n".join(connection.iterdump()).encode("utf-8", "replace")).hexdigest()
    finally:
        connection.close()


def cut_at(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    """Raise instead of the write number `place` (from 0) of any connection."""
    written = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Database, sql: str, *more: Any) -> Any:
            nonlocal written
            if sql.lstrip().upper().startswith(WRITES):
                written += 1
                if written > place:
                    raise CutError
            return real(self, sql, *more)

        return method

    for name in ("execute", "execute_many"):
        monkeypatch.setattr(Database, name, counted(getattr(Database, name)))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_done_or_not_begun(
    judged: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    more = judged.with_name("more.csv")
    more.write_text(LABELS.replace("people", "others"), encoding="utf-8")
    words = [*command.format(labels=more).split(), "--db", str(judged)]
    before = content(judged)
    for place in range(500):
        with pytest.MonkeyPatch.context() as patch:
            cut_at(patch, place)
            try:
                code, _, err = ran(capsys, *words)
            except CutError:
                assert content(judged) == before, f"half done after {place} statements"
                continue
        assert code == 0, err
        break
    assert place > 1, "there are statements to cut between"
    assert content(judged) != before
