"""Precision, recall and F1 by label: rows, names and averages."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.reports.agreement.by_label import by_label_table
from recjudge_tui.reports.common.pairing import AgreementOptions
from recjudge_tui.reports.common.table import Table
from tests.support.verdicts import give, judge_lists, list_case, new_project

ANNA = (2.0, 1.0, 0.0, 2.0, 1.0, 0.0)
LLM = (2.0, 2.0, 0.0, 1.0, 2.0, None)


def _values(table: Table) -> dict[tuple[object, object], object]:
    return {(row["label"] or row["average"], row["stat"]): row["value"] for row in table.rows}


def test_each_label_by_name_highest_first_then_the_averages(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [list_case(project, f"u{i}") for i in range(6)]
    give(project, "anna", dict(zip(cases, ANNA, strict=True)))
    judge_lists(project, "llm", dict(zip(cases, LLM, strict=True)))
    table = by_label_table(project.db, project.id, AgreementOptions(truth="anna"))
    shown = [row["label"] or row["average"] for row in table.rows][::3]
    assert shown == ["Good", "Partial", "Poor", "macro", "weighted"]
    values = _values(table)
    assert values["Good", "precision"] == pytest.approx(1 / 3)
    assert values["Good", "recall"] == pytest.approx(1 / 2)
    assert values["Partial", "f1"] == 0
    assert values["macro", "recall"] == pytest.approx(1 / 2)
    assert values["weighted", "recall"] == pytest.approx(2 / 5)
    assert {row["rater_b"] for row in table.rows} == {"anna"}
    assert any("where llm failed" in note for note in table.notes)


def test_one_rater_has_no_table(project_db: Path) -> None:
    project = new_project(project_db)
    give(project, "anna", {list_case(project, "u"): 1.0})
    table = by_label_table(project.db, project.id, AgreementOptions())
    assert table.rows == ()
    assert "second rater" in table.notes[-1]
