"""`recjudge outcome`, `plan` and `gate` as a script calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli.app import main
from recjudge_tui.cli.declared import report_commands
from recjudge_tui.cli.judging.plan import plan
from recjudge_tui.cli.results.outcome import outcome
from tests.support.verdicts import give, judge_lists, list_case, new_project

gate = report_commands()["gate"]
SYSTEMS = ("--systems", "new,old")
JUNE = (*SYSTEMS, "--impressions", "5000000,5000000", "--clicks", "30950,26150", "--name", "june")


@pytest.fixture
def db(project_db: Path) -> str:
    project = new_project(project_db)
    truth: dict[int, float | None] = {list_case(project, f"u{at}"): float(at % 3) for at in range(30)}
    give(project, "people", truth)
    judge_lists(project, "may", truth)
    judge_lists(project, "june", {case: 2.0 - at % 3 for at, case in enumerate(truth)})
    judge_lists(project, "flat", dict.fromkeys(truth, 1.0))
    project.db.close()
    return str(project_db)


def call(command: click.Command, db: str, *words: str) -> Result:
    return CliRunner().invoke(command, [*words, "-p", "films", "--db", db])


def table(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_constructed_experiment(db: str) -> None:
    result = call(outcome, db, "add", *JUNE, "--format", "json")
    assert result.exit_code == 0
    (row,) = table(result)["rows"]
    assert row["z"] == pytest.approx(20.145, abs=5e-4)
    assert row["lift"] == pytest.approx(0.1836, abs=5e-5)
    assert (row["experiment"], row["system_a"], row["winner"]) == ("june", "new", "new")
    assert "system “new” is not in the project" in result.stderr
    log = table(call(outcome, db, "show", "--judges", "--format", "json"))
    assert [(row["experiment"], row["rater"]) for row in log["rows"]] == [("june", None)]
    assert call(outcome, db, "delete", "june").exit_code == 0
    assert table(call(outcome, db, "show", "--format", "json"))["rows"] == []


def test_the_default_name_stands_once_too(db: str) -> None:
    words = ("add", *SYSTEMS, "--impressions", "10,10", "--clicks", "0,10")
    result = call(outcome, db, *words, "--format", "json")
    assert table(result)["rows"][0]["experiment"] == "new vs old"
    assert main_code(db, "outcome", *words) == 2


@pytest.mark.parametrize(
    "words",
    [
        (*SYSTEMS, "--impressions", "10,10", "--clicks", "11,1"),
        (*SYSTEMS, "--impressions", "0,10", "--clicks", "0,1"),
        (*SYSTEMS, "--impressions", "10,10", "--clicks", "1"),
        (*SYSTEMS, "--impressions", "10,10", "--clicks", "1,-1"),
        (*SYSTEMS, "--impressions", "10,10", "--clicks", "1,x"),
        (*SYSTEMS, "--impressions", f"10,{10**30}", "--clicks", "1,1"),
        (*SYSTEMS, "--impressions", "10,10", "--clicks", "1,1", "--name", "  "),
        ("--systems", "new,new", "--impressions", "10,10", "--clicks", "1,1"),
        ("--systems", "new", "--impressions", "10,10", "--clicks", "1,1"),
    ],
)
def test_an_experiment_that_cannot_be(db: str, words: tuple[str, ...]) -> None:
    assert main_code(db, "outcome", "add", *words) == 2
    assert table(call(outcome, db, "show", "--format", "json"))["rows"] == []


def main_code(db: str, *words: str) -> int:
    with pytest.raises(SystemExit) as left:
        main([*words, "-p", "films", "--db", db])
    assert isinstance(left.value.code, int)
    return left.value.code


def test_an_unknown_project(project_db: Path) -> None:
    assert main_code(str(project_db), "outcome", "show") == 1
    assert main_code(str(project_db), "plan") == 1
    assert main_code(str(project_db), "gate", "--rater", "r", "--at-most", "failure_rate=0") == 1


def test_a_plan_needs_no_project() -> None:
    result = CliRunner().invoke(plan, ["--difference", "0.1", "--format", "json"])
    (row,) = table(result)["rows"]
    assert (row["needed"], row["calls_needed"]) == (210, 420)


def test_a_plan_of_a_project(db: str) -> None:
    assert table(call(plan, db, "--protocol", "pointwise", "--format", "json"))["rows"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("--difference", "x"),
        ("--difference", "0"),
        ("--difference", ","),
        ("--power", "1"),
        ("--ties", "1.5"),
        ("--icc", "nan"),
        ("--cases-per-user", "inf"),
        ("--rater", "may"),
        ("--ties", "0.9"),
        ("--protocol", "absolute"),
    ],
)
def test_an_impossible_plan(words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["plan", *words])
    assert left.value.code == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--rater", "may", "--truth", "people", "--at-least", "qwk=0.9", "--at-most", "failure_rate=0"), 0),
        (("--rater", "june", "--truth", "people", "--at-least", "qwk=0.9"), 3),
        (("--rater", "may", "--truth", "people", "--at-most", "failure_rate=0", "--certain"), 3),
        (("--rater", "june", "--truth", "people", "--against", "may"), 3),
        (("--rater", "may", "--truth", "people", "--against", "june"), 0),
        (("--rater", "flat", "--truth", "people", "--against", "may", "--stat", "pearson"), 1),
        (("--rater", "may"), 2),
        (("--rater", "may", "--at-least", "qwk"), 2),
        (("--rater", "may", "--at-least", "qwk=high"), 2),
        (("--rater", "may", "--at-least", "qwk=0.5"), 2),
        (("--rater", "ghost", "--at-most", "failure_rate=0"), 1),
    ],
)
def test_the_gate_leaves_with_its_code(db: str, words: tuple[str, ...], code: int) -> None:
    assert main_code(db, "gate", *words) == code


def test_the_gate_prints_what_it_found_whether_met_or_not(db: str) -> None:
    result = call(gate, db, "--rater", "june", "--truth", "people", "--against", "may", "--format", "json")
    assert result.exit_code == 3
    states = {row["figure"]: row["state"] for row in table(result)["rows"]}
    assert states == {"qwk": "not met", "failure_rate": "met"}
    assert "gate not met: 1 of 2 checks" in result.stderr
    assert "served_before" in table(result)["settings"]


@pytest.mark.parametrize(
    ("command", "source"),
    [
        (outcome.commands["add"], "Katz"), (outcome.commands["show"], "Clopper"),
        (outcome.commands["delete"], "outcome delete"), (plan, "Connor"), (gate, "Efron"),
    ],
    ids=lambda value: str(getattr(value, "name", value)),
)  # fmt: skip
def test_help_has_an_example_and_the_source(command: click.Command, source: str) -> None:
    shown = CliRunner().invoke(command, ["--help"]).stdout
    assert "Example:" in shown
    assert source in shown
