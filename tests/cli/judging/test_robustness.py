"""`recjudge robustness` as a user and a script meet it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli.app import recjudge
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from tests.support.adversarial_project import make_taste_project
from tests.support.planted_project import make_shop
from tests.support.runs import ran
from tests.support.servers.process import ServerProcess


@pytest.fixture
def db(db: Database) -> Database:
    make_taste_project(db)
    return db


@pytest.fixture
def shop(project_db: Path) -> Iterator[Database]:
    with connect(project_db) as database:
        make_shop(database)
        yield database


def run(db: Database, *words: str) -> Result:
    result = CliRunner().invoke(recjudge, ["robustness", *words, "-p", "films", "--db", str(db.path)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def table(db: Database, *words: str) -> dict[str, Any]:
    result = run(db, *words, "--format", "json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_judge_is_run_and_the_table_printed(db: Database) -> None:
    code, out, err = ran(
        "robustness", "adversarial", "-p", "films", "--judge", "rules", "--sample", 8, "--top", 6,
        "--format", "json", "--db", db.path,
    )  # fmt: skip
    assert code == 0, err
    assert "rules · prompt pairwise-media@1 · 16 cases, 16 calls" in err
    assert "run 1 done: 16 done" in err
    found = json.loads(out)
    assert {row["rater"] for row in found["rows"]} == {"rules"}
    assert {(row["lists"], row["n"]) for row in found["rows"]} == {("published", 8), ("unseen", 8)}
    assert {row["outcome"] for row in found["rows"]} == {"correct", "wrong", "tie"}


def test_three_prompts_over_a_real_server(db: Database, openai_server: ServerProcess) -> None:
    words = ["--judge", "openai:hash-judge", "--base-url", f"{openai_server.url}/v1", "--sample", "6"]
    found = table(db, "ablation", *words)
    names = [f"hash-judge {arm}" for arm in ("generic", "overspecified", "saer")]
    own = [row for row in found["rows"] if row.get("against") is None and row["lists"] == "published"]
    assert [row["rater"] for row in own] == names
    assert [row["prompt"] for row in own] == ["generic-media@1", "overspecified-media@1", "pairwise-media@1"]
    assert {row["asked"] + row["cached"] for row in own} == {12}
    assert own[0]["tokens_in"] < own[1]["tokens_in"]
    pairs = [row for row in found["rows"] if row.get("against") and row["lists"] == "published"]
    assert [(row["rater"], row["against"]) for row in pairs] == [
        (names[0], names[1]), (names[0], names[2]), (names[1], names[2]),
    ]  # fmt: skip
    assert {row["n"] for row in pairs} == {6}
    cases = db.rows(
        "SELECT run_id, group_concat(case_id) FROM (SELECT * FROM run_cases ORDER BY 1, 2) GROUP BY 1"
    )
    assert len({row[1] for row in cases}) == 1
    orders = db.rows("SELECT case_id, count(DISTINCT list_order) FROM calls GROUP BY 1")
    assert {row[1] for row in orders} == {1}
    assert table(db, "ablation", "--raters", ",".join(names))["rows"] == found["rows"]
    # asked again, the verdicts of the first time are shown
    assert table(db, "ablation", *words)["rows"] == found["rows"]
    assert db.value("SELECT count(*) FROM runs") == 3


def test_faults_are_planted_and_rules_judges_the_same_lists(shop: Database) -> None:
    few = ("injected", "--sample", "4", "--top", "5")
    dry = run(shop, *few, "--judge", "rules", "--dry-run")
    assert (dry.exit_code, dry.stdout) == (0, "")
    assert "20 cases, 20 calls" in dry.stderr
    assert "no list with a planted fault" in table(shop, "injected")["notes"][0]
    printed = table(shop, *few, "--judge", "random")
    detected = {
        row["rater"]: (row["count"], row["n"])
        for row in printed["rows"]
        if (row["fault"], row["outcome"]) == ("owned", "detected")
    }
    assert set(detected) == {"random", "rules"}
    assert detected["rules"] == (4, 4)
    assert printed["settings"]["rater"] == "random"
    again = run(shop, *few, "--judge", "random", "--format", "json")
    assert "has already judged these 20 cases: its verdicts are shown" in again.stderr
    assert json.loads(again.stdout) == printed
    alone = table(shop, *few, "--judge", "random", "--name", "other", "--no-floor", "--by-system")
    assert {row["system"] for row in alone["rows"]} == {None, "als", "pop"}
