"""`recjudge robustness injected` as a user and a script meet it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli.judging.robustness import injected
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from tests.support.planted_project import make_shop

FEW = ("--sample", "4", "--top", "5")


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    with connect(project_db) as database:
        make_shop(database)
        yield database


def run(db: Database, *words: str) -> Result:
    return CliRunner().invoke(injected, ["-p", "films", "--db", str(db.path), *words])


def table(db: Database, *words: str) -> dict[str, Any]:
    result = run(db, *words, "--format", "json")
    assert result.exit_code == 0, result.stderr
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def test_rules_judges_the_same_lists_as_a_baseline(db: Database) -> None:
    printed = table(db, "--judge", "random", *FEW)
    assert {row["rater"] for row in printed["rows"]} == {"random", "rules"}
    detected = {
        row["rater"]: row
        for row in printed["rows"]
        if (row["fault"], row["outcome"]) == ("owned", "detected")
    }
    assert (detected["rules"]["count"], detected["rules"]["n"]) == (4, 4)
    assert printed["settings"]["rater"] == "random"


def test_asking_again_judges_nothing_twice(db: Database) -> None:
    first = table(db, "--judge", "rules", *FEW)
    again = run(db, "--judge", "rules", *FEW, "--format", "json")
    assert "has already judged these 20 cases: its verdicts are shown" in again.stderr
    assert json.loads(again.stdout) == first
    assert db.value("SELECT count(*) FROM runs") == 1
    assert table(db)["rows"] == first["rows"]


def test_without_the_baseline_and_by_system(db: Database) -> None:
    printed = table(db, "--judge", "random", "--no-floor", "--by-system", *FEW)
    assert {row["rater"] for row in printed["rows"]} == {"random"}
    assert {row["system"] for row in printed["rows"]} == {None, "als", "pop"}


def test_a_dry_run_prints_the_estimate_alone(db: Database) -> None:
    result = run(db, "--judge", "rules", "--dry-run", *FEW)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "20 cases, 20 calls" in result.stderr
    assert db.value("SELECT count(*) FROM runs") == 0


def test_nothing_judged_says_how_to_begin_and_options_of_a_run_need_a_judge(db: Database) -> None:
    assert "recjudge robustness injected -p PROJECT --judge SPEC" in table(db)["notes"][0]
    result = run(db, "--sample", "3")
    assert result.exit_code == 2
    assert "--sample needs --judge" in result.stderr
