"""`recjudge compare` on some occasions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli.app import recjudge
from recjudge_tui.store.schema import connect
from tests.support.visits import USERS, VISITS, make_visits

HOME = ("--context", "home")


@pytest.fixture
def path(project_db: Path) -> Path:
    with connect(project_db) as db:
        make_visits(db)
    return project_db


def compare(path: Path, *options: str) -> Result:
    words = ["compare", "-p", "films", "anna", "ben", "--protocol", "pointwise", *options]
    return CliRunner().invoke(recjudge, [*words, "--format", "json", "--db", str(path)])


def test_a_context_has_its_own_changes(path: Path) -> None:
    everywhere, home = (json.loads(compare(path, *options).stdout) for options in ((), HOME))
    assert everywhere["rows"][0]["n"] == 3 * len(USERS)
    assert home["rows"][0]["n"] == len(USERS)
    assert home["notes"][0] == "only in the context “home”"
    cases = json.loads(compare(path, *HOME, "--table", "cases").stdout)["rows"]
    assert len(cases) == home["rows"][0]["changed"] == len(USERS) // 2
    assert {(row["context"], row["served_at"]) for row in cases} == {("home", VISITS["home"])}


def test_the_difference_of_prompts_is_about_no_cases(path: Path) -> None:
    assert "do not depend on cases" in str(compare(path, *HOME, "--table", "prompt").exception)


def test_an_unknown_context_is_an_error(path: Path) -> None:
    assert "no context “nowhere”" in str(compare(path, "--context", "nowhere").exception)
