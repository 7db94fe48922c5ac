"""`recjudge flags`, as a script calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli.results.flags import flags
from recjudge_tui.store.opening import connect
from tests.support.flags import make_flagged_project


@pytest.fixture
def db(project_db: Path) -> str:
    with connect(project_db) as database:
        make_flagged_project(database, system="the, system")
    return str(project_db)


def run(db: str, *words: str) -> Result:
    return CliRunner().invoke(flags, ["-p", "films", "--db", db, *words])


def table_of(db: str, *words: str) -> dict[str, Any]:
    result = run(db, "--format", "json", *words)
    assert result.exit_code == 0, result.stderr
    table: dict[str, Any] = json.loads(result.stdout)
    return table


def test_the_options_reach_the_report(db: str) -> None:
    table = table_of(db, "--of", "items", "--issue", "OTHER", "--raters", "ben")
    assert table["settings"] == {
        "protocol": None, "of": "items", "issue": "OTHER"
    }  # fmt: skip
    assert [(row["system"], row["count"], row["n"]) for row in table["rows"]] == [
        ("the, system", 1, 12), ("y", 0, 12)
    ]  # fmt: skip


def test_by_rank_and_by_an_attribute(db: str) -> None:
    assert {row["rank"] for row in table_of(db, "--by", "rank")["rows"]} == {1, 2, 3, 4}
    groups = table_of(db, "--by", "plan", "--raters", "anna", "--issue", "any")["rows"]
    assert [(row["segment"], row["system"], row["count"], row["n"]) for row in groups] == [
        ("free", "the, system", 2, 2), ("free", "y", 0, 2), ("pro", "the, system", 0, 1), ("pro", "y", 0, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("fmt", ["text", "csv", "md", "latex", "html", "plain"])
def test_agreement_in_every_format(db: str, fmt: str) -> None:
    result = run(db, "--agreement", "--truth", "ben", "--format", fmt)
    assert result.exit_code == 0, result.stderr
    assert "precision" in result.stdout.lower()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--truth", "anna"), "--truth needs --agreement"),
        (("--agreement", "--by", "rank"), "--agreement is about items"),
        (("--agreement", "--of", "items"), "--agreement is about items"),
        (("--of", "texts"), "'texts' is not one of"),
    ],
)
def test_options_that_do_not_fit(db: str, words: tuple[str, ...], message: str) -> None:
    result = run(db, *words)
    assert result.exit_code == 2
    assert message in result.stderr
