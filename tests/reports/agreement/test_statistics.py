"""A statistic is one function and one line of the registry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from recjudge_tui.cli.results.agreement import agreement
from recjudge_tui.reports.agreement.agreement import agreement_table
from recjudge_tui.reports.common.pairing import AgreementOptions
from recjudge_tui.reports.common.table import render
from recjudge_tui.stats.agreement import FUNCTIONS, Cells
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.registry import SHARE, STATISTICS, Statistic
from tests.support.verdicts import give, list_case, new_project


def within_one(weights: FloatArray, cells: Cells) -> FloatArray:
    """Share of cases where the labels are at most one step apart."""
    near = (abs(cells.a - cells.b) <= 1).astype(float)
    share: FloatArray = weights @ near / weights.sum(axis=1)
    return share


def test_a_registered_statistic_is_computed_offered_and_labelled(
    project_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FUNCTIONS, "within_one", within_one)
    monkeypatch.setitem(STATISTICS, "within_one", Statistic("At most one label apart", "no cases", SHARE))
    project = new_project(project_db)
    cases = [list_case(project, f"u{i}") for i in range(4)]
    give(project, "anna", dict(zip(cases, (0.0, 1.0, 2.0, 2.0), strict=True)))
    give(project, "ben", dict(zip(cases, (2.0, 1.0, 1.0, 2.0), strict=True)))
    table = agreement_table(project.db, project.id, AgreementOptions(stats=("all",)))
    (row,) = (row for row in table.rows if row["stat"] == "within_one")
    assert (row["value"], row["n"]) == (0.75, 4)
    assert "At most one label apart" in render(table, "md").text
    project.db.close()

    words = ["-p", "films", "--db", str(project_db), "--stat", "within_one", "--format", "json"]
    result = CliRunner().invoke(agreement, words, catch_exceptions=False)
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["stat"], row["value"]) == ("within_one", 0.75)
