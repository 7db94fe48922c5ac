"""The other tables on agreement: label by label, all together, sets of raters; and who is left out."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.people.raters import combine
from recjudge_tui.project import Project as OpenProject
from recjudge_tui.reports.agreement import cell_cases
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.declare import REPORTS, Options, checked
from recjudge_tui.stats.agreement import group_mean, many_raters_estimates
from recjudge_tui.stats.registry import MANY_RATERS
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


def _values(table: Table) -> dict[tuple[object, object], object]:
    return {(row["label"] or row["average"], row["stat"]): row["value"] for row in table.rows}


def test_each_label_by_name_highest_first_then_the_averages(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [list_case(project, f"u{i}") for i in range(6)]
    give(project, "anna", dict(zip(cases, ANNA, strict=True)))
    judge_lists(project, "llm", dict(zip(cases, LLM, strict=True)))
    table = agreement(project, by_label=True, truth="anna")
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


GIVEN = {
    "anna": (2.0, 1.0, 0.0, 2.0, 1.0, None, None, 0.0),
    "ben": (2.0, 1.0, 1.0, None, 1.0, 0.0, 2.0, None),
    "cat ‹3›": (None, 2.0, 0.0, 2.0, None, 0.0, 1.0, None),
}


EVERY = {"stat": ("all",)}


def of_several(path: Path) -> Project:
    project = new_project(path)
    cases = [list_case(project, f"u{i // 2}", f"s{i % 2}") for i in range(8)]
    for rater, values in GIVEN.items():
        give(
            project,
            rater,
            {case: value for case, value in zip(cases, values, strict=True) if value is not None},
        )
    judge_lists(project, "llm", dict.fromkeys(cases, 0.0))
    return project


def test_people_are_compared_together_even_if_not_all_judged_everything(project_db: Path) -> None:
    project = of_several(project_db)
    table = agreement(project, together=True, **EVERY)
    rows = [
        (value, case) for values in GIVEN.values() for case, value in enumerate(values) if value is not None
    ]
    values, items = zip(*rows, strict=True)
    expected = many_raters_estimates(values, items, [item // 2 for item in items], (0, 1, 2))
    assert [row["stat"] for row in table.rows] == list(MANY_RATERS)
    assert [row["value"] for row in table.rows] == [expected[stat].value for stat in MANY_RATERS]
    first = table.rows[0]
    assert (first["raters"], first["names"], first["n"], first["ratings"]) == (3, "anna, ben, cat ‹3›", 7, 17)
    assert "no interval" in str(first["note"])


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


def test_all_subsets_of_every_size(scored: Project) -> None:
    options = {"truth": "user", "aspect": "accuracy", "level": ("dataset", "user")}
    table = agreement(scored, ensembles=True, **options)
    assert [(row["level"], row["size"], row["subsets"]) for row in table.rows] == [
        (level, size, subsets) for level in ("dataset", "user") for size, subsets in ((1, 3), (2, 3), (3, 1))
    ]
    # raters stand in the order of their names
    order = {"one": 0, "six": 2, "two": 1}
    for row in table.rows:
        groups = np.zeros(24) if row["level"] == "dataset" else USERS
        size = row["size"]
        assert isinstance(size, int)
        figures = {
            " + ".join(names): group_mean(
                "pearson", SCORES[0, [order[name] for name in names]].mean(axis=0), SCORES[0, 3], groups
            ).value
            or 0.0
            for names in combinations(order, size)
        }
        assert row["best"] == max(figures, key=lambda names: figures[names])
        assert row["worst"] == min(figures, key=lambda names: figures[names])
        assert row["max"] == pytest.approx(max(figures.values()))
        assert row["min"] == pytest.approx(min(figures.values()))
        assert row["mean"] == pytest.approx(np.mean(list(figures.values())))
        assert (row["n"], row["stat"], row["aspect"]) == (24, "pearson", "accuracy")


def test_a_case_counts_where_all_have_a_value(scored: Project) -> None:
    table = agreement(scored, ensembles=True, truth="user", stat=("kendall",))
    counted = {(row["aspect"], row["n"]) for row in table.rows}
    assert counted == {("accuracy", 24), ("satisfaction", 23)}
    assert "explanation, satisfaction: 1 of 24 cases with a truth (4.2%) left out" in " ".join(table.notes)
    without = agreement(scored, ensembles=True, truth="user", raters=("one", "six"), aspect="satisfaction")
    assert {row["n"] for row in without.rows} == {24}
    filled = agreement(scored, ensembles=True, truth="user", aspect="satisfaction", missing_judge=0.0)
    assert {row["n"] for row in filled.rows} == {24}
