"""`recjudge agreement`, and `rater combine` as a script calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from recjudge_tui.cli.command import command_named
from recjudge_tui.errors import UsageError
from tests.support.verdicts import give, new_project, text_case

agreement = command_named("agreement")


def run(command: click.Command, db: str, *words: str) -> str:
    arguments = [*words, "-p", "films", "--db", db]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def table(command: click.Command, db: str, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(command, db, *words, "--format", "json"))
    return found


def test_as_published_a_missing_truth_is_3_and_a_failed_verdict_0(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [text_case(project, f"u{at // 2}", f"i{at}", "x") for at in range(6)]
    for missing, name in ((0, "user"), (1, "anna")):
        values = {case: None if at == missing else float(at % 5 + 1) for at, case in enumerate(cases)}
        give(project, name, values, protocol_name="explanation", aspect="accuracy")
    project.db.close()
    words = ("--truth", "user", "--raters", "anna", "--stat", "bias")
    ours = table(agreement, str(project_db), *words)
    assert [(row["n"], row["value"]) for row in ours["rows"]] == [(4, 0.0)]
    published = table(agreement, str(project_db), *words, "--as-published")
    assert published["settings"]["missing_truth"] == 3
    assert published["settings"]["missing_judge"] == 0
    # (1 - 3) and (0 - 2), of six
    assert [(row["n"], row["value"]) for row in published["rows"]] == [(6, pytest.approx(-4 / 6))]
    with pytest.raises(UsageError, match="leave these out"):
        run(agreement, str(project_db), *words, "--as-published", "--missing-truth", "2")
