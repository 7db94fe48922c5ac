"""The other tables on agreement: label by label, all together, sets of raters; and who is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.people.raters import combine
from recjudge_tui.project import Project as OpenProject
from recjudge_tui.reports.agreement import cell_cases
from recjudge_tui.reports.declare import REPORTS, Options, checked
from tests.support.verdicts import (
    Project,
    agreement,
    give,
    judge_lists,
    list_case,
    new_project,
    text_case,
)

ANNA = (2.0, 1.0, 0.0, 2.0, 1.0, 0.0)


LLM = (2.0, 2.0, 0.0, 1.0, 2.0, None)


def test_confusion_cells_have_counts_shares_and_cases(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [list_case(project, f"u{i}") for i in range(6)]
    give(project, "anna", dict(zip(cases, ANNA, strict=True)))
    judge_lists(project, "llm", dict(zip(cases, LLM, strict=True)))
    options = Options(checked(REPORTS["agreement"], {"protocol": "pointwise"}), CaseSelection())
    opened = OpenProject.numbered(project.db, project.id)
    table = agreement(project, confusion=True, protocol="pointwise")
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
    assert cell_cases(opened, row, options) == [cases[1], cases[4]]
    assert cell_cases(opened, table.rows[2], options) == []
    assert any("where llm failed" in note for note in table.notes)


JUDGES = ("one", "two", "six")


SCORES = np.random.default_rng(4).integers(1, 6, (2, 4, 24)).astype(float)


USERS = np.arange(24) // 6


@pytest.fixture
def scored(project_db: Path) -> Project:
    project = new_project(project_db)
    cases = [text_case(project, f"u{USERS[at]}", f"i{at // 3}", "xyz"[at % 3]) for at in range(24)]
    for place, aspect in enumerate(("accuracy", "satisfaction")):
        for at, rater in enumerate((*JUDGES, "user")):
            values = dict(zip(cases, SCORES[place, at].tolist(), strict=True))
            kind = "ground_truth" if rater == "user" else "judge"
            if rater == "two" and aspect == "satisfaction":
                values[cases[0]] = None
            give(
                project, rater, values, protocol_name="explanation", aspect=aspect,
                kind="judge" if kind == "judge" else "ground_truth",
            )  # fmt: skip
    give(project, "rouge_l", dict.fromkeys(cases, 0.5), protocol_name="explanation", kind="metric")
    combine(project.db, project.id, "mean", "mean", ["one", "two"], quorum=1)
    return project


def test_a_case_counts_where_all_have_a_value(scored: Project) -> None:
    table = agreement(scored, ensembles=True, truth="user", stat=("kendall",))
    counted = {(row["aspect"], row["n"]) for row in table.rows}
    assert counted == {("accuracy", 24), ("satisfaction", 23)}
    assert "explanation, satisfaction: 1 of 24 cases with a truth (4.2%) left out" in " ".join(table.notes)
    without = agreement(scored, ensembles=True, truth="user", raters=("one", "six"), aspect="satisfaction")
    assert {row["n"] for row in without.rows} == {24}
    filled = agreement(scored, ensembles=True, truth="user", aspect="satisfaction", missing_judge=0.0)
    assert {row["n"] for row in filled.rows} == {24}
