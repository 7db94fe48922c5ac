"""Confusion tables and the cases of a cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.agreement.confusion import cell_cases, confusion_table
from recjudge_tui.reports.common.pairing import AgreementOptions
from tests.support.verdicts import give, judge_lists, list_case, new_project, text_case

ANNA = (2.0, 1.0, 0.0, 2.0, 1.0, 0.0)
LLM = (2.0, 2.0, 0.0, 1.0, 2.0, None)


def test_confusion_cells_have_counts_shares_and_cases(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [list_case(project, f"u{i}") for i in range(6)]
    give(project, "anna", dict(zip(cases, ANNA, strict=True)))
    judge_lists(project, "llm", dict(zip(cases, LLM, strict=True)))
    options = AgreementOptions(protocol="pointwise")
    table = confusion_table(project.db, project.id, options)
    counted = {(row["label_a"], row["label_b"]): row["count"] for row in table.rows}
    names = ("Good", "Partial", "Poor")
    assert list(counted) == [(a, b) for a in names for b in names]
    assert {cell: n for cell, n in counted.items() if n} == {
        ("Good", "Good"): 1,
        ("Good", "Partial"): 2,
        ("Partial", "Good"): 1,
        ("Poor", "Poor"): 1,
    }
    row = table.rows[1]
    assert (row["rater_a"], row["rater_b"], row["share"], row["n"]) == ("llm", "anna", 2 / 5, 5)
    assert cell_cases(project.db, project.id, row, options) == [cases[1], cases[4]]
    assert cell_cases(project.db, project.id, table.rows[2], options) == []
    assert any("where llm failed" in note for note in table.notes)


def test_means_are_shown_as_values_and_metrics_have_no_table(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [text_case(project, f"u{i}", "i", "x") for i in range(3)]
    for rater, values in (("anna", (1.0, 3.0, 5.0)), ("mean", (1.5, 3.0, 4.5))):
        given = dict(zip(cases, values, strict=True))
        give(project, rater, dict(given), protocol_name="explanation", aspect="accuracy")
    give(project, "bleu", dict.fromkeys(cases, 0.5), protocol_name="explanation", kind="metric")
    table = confusion_table(project.db, project.id, AgreementOptions(aspect="accuracy"))
    met = {(row["label_a"], row["label_b"]) for row in table.rows if row["count"]}
    assert met == {("1", "1.5"), ("3", "3"), ("5", "4.5")}
    assert [note for note in table.notes if "bleu" in note] == [
        f"bleu and {rater} (explanation, accuracy): a scale without labels has no confusion table"
        for rater in ("anna", "mean")
    ]


def test_empty_projects_and_invalid_options(project_db: Path) -> None:
    project = new_project(project_db)
    assert "there are no verdicts" in confusion_table(project.db, project.id, AgreementOptions()).notes[-1]
    give(project, "anna", {list_case(project, "u"): 1.0})
    assert "second rater" in confusion_table(project.db, project.id, AgreementOptions()).notes[-1]
    with pytest.raises(UsageError, match="bogus"):
        confusion_table(project.db, project.id, AgreementOptions(aspect="bogus"))
