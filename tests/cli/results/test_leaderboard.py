"""`recjudge leaderboard` with its tables and methods, as a script calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from recjudge_tui.cli.results.leaderboard import leaderboard
from recjudge_tui.reports.leaderboard.arena import TABLES
from recjudge_tui.stats.defaults import TOP_K
from tests.support.battles import battles
from tests.support.runs import ran
from tests.support.verdicts import new_project


@pytest.fixture
def db(project_db: Path) -> str:
    project = new_project(project_db)
    pairs = {("x", "y"): (12, 4, 4), ("x", "z"): (15, 3, 2), ("y", "z"): (10, 5, 5)}
    battles(project, pairs, rater="llm", protocol="arena", kind="judge")
    battles(project, pairs)
    project.db.close()
    return str(project_db)


def found(db: str, *words: str, protocol: str = "arena") -> dict[str, Any]:
    told = CliRunner().invoke(
        leaderboard, ["-p", "films", "--db", db, "--protocol", protocol, "--format", "json", *words],
        catch_exceptions=False,
    )  # fmt: skip
    assert told.exit_code == 0, told.stderr
    table: dict[str, Any] = json.loads(told.stdout)
    return table


@pytest.mark.parametrize("protocol", ["arena", "pairwise"])
@pytest.mark.parametrize("name", TABLES)
def test_every_table_for_both_protocols_of_pairs(db: str, name: str, protocol: str) -> None:
    table = found(db, "--table", name, protocol=protocol)
    assert table["settings"]["protocol"] == protocol
    raters = {"llm", "anna"} if protocol == "arena" else {"anna"}
    assert {row["rater"] for row in table["rows"]} == raters


def test_the_options_of_bt_reach_the_report(db: str) -> None:
    half = found(db, "--method", "bt", "--ties", "half")
    assert half["facts"]["neighbours"]
    assert half["settings"] == {
        "protocol": "arena", "method": "bt", "ties": "half",
    }  # fmt: skip


def test_the_cutoff_of_the_metrics(db: str) -> None:
    assert found(db, "--table", "metrics", "--k", "7")["settings"]["k"] == 7

    assert found(db, "--table", "metrics")["settings"]["k"] == TOP_K


@pytest.mark.parametrize("name", [name for name in TABLES if name != "metrics"])
def test_a_cutoff_for_a_table_without_metrics_is_wrong_usage(db: str, name: str) -> None:
    code, _, told = ran(
        "leaderboard", "-p", "films", "--db", db, "--protocol", "arena", "--table", name, "--k", "7"
    )
    assert code == 2
    assert f"table “{name}” does not have" in told
    assert "“metrics”" in told


@pytest.mark.parametrize(
    "words",
    [("--k-factor", "0"), ("--ties", "none"), ("--table", "circle"), ("--k", "0")],
)
def test_impossible_options_are_wrong_usage(db: str, words: tuple[str, str]) -> None:
    told = CliRunner().invoke(leaderboard, ["-p", "films", "--db", db, "--protocol", "arena", *words])
    assert told.exit_code == 2
    assert words[0] in told.stderr
