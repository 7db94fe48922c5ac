"""`recjudge estimate` as a script calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from recjudge_tui.cli.app import recjudge
from recjudge_tui.errors import UsageError
from tests.support.verdicts import give, judge_lists, list_case, new_project

Run = Callable[..., str]


@pytest.fixture
def run(project_db: Path) -> Run:
    project = new_project(project_db)
    cases = [list_case(project, f"u{at:02}") for at in range(60)]
    judge_lists(project, "llm", {case: float(at % 3) for at, case in enumerate(cases)})
    give(project, "anna", {case: float(at % 4 % 3) for at, case in enumerate(cases[:40])})
    project.db.close()

    def call(*words: str) -> str:
        result = CliRunner().invoke(
            recjudge, [*words, "-p", "films", "--db", str(project_db)], standalone_mode=False
        )
        if result.exception is not None:
            raise result.exception
        return result.stdout

    return call


def table(run: Run, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*words, "--format", "json"))
    return found


def test_estimate(run: Run) -> None:
    found = table(
        run, "estimate", "--rater", "llm", "--truth", "anna", "--protocol", "pointwise", "--measure", "mean"
    )
    assert [row["source"] for row in found["rows"]] == ["people", "judge", "both"]
    assert (found["rows"][2]["n_labelled"], found["rows"][2]["n_judged"]) == (40, 60)
    hidden = table(
        run, "estimate", "--rater", "llm", "--truth", "anna", "--protocol", "pointwise", "--measure", "mean",
        "--labelled-users", "15", "--seed", "4",
    )  # fmt: skip
    assert [row["source"] for row in hidden["rows"]] == ["people", "judge", "both", "all labels"]
    assert "Human estimates" in run(
        "estimate", "--rater", "llm", "--truth", "anna", "--protocol", "pointwise"
    )


def test_invalid_options(run: Run) -> None:
    for words in (
        ("estimate", "--rater", "llm", "--truth", "anna"),
        ("estimate", "--rater", "llm", "--truth", "anna", "--protocol", "bogus"),
    ):
        with pytest.raises((UsageError, click.UsageError)):
            run(*words)


def test_help_has_an_example_and_a_source() -> None:
    shown = CliRunner().invoke(recjudge, ["estimate", "--help"]).stdout
    assert "Example:" in shown
    assert "2023" in shown
