"""Plans from assumptions and from what verdicts show."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.reliability.plan_options import PlanOptions
from recjudge_tui.reports.reliability.sample_size import assumed_table, project_plan
from recjudge_tui.stats.agreement import pearson
from recjudge_tui.stats.planning import intraclass, share_discordance, units_needed, win_rate_discordance
from tests.support.verdicts import (
    Project,
    give,
    judge_pairs,
    list_case,
    new_project,
    pair_case,
    text_case,
)

ANSWERS = [(1.0, 1.0)] * 10 + [(0.0, 0.0)] * 5 + [(-1.0, -1.0)] * 5 + [(1.0, -1.0)] * 4 + [(None, 1.0)]


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def judged_pairs(project: Project) -> None:
    cases = [pair_case(project, f"u{at}") for at in range(25)]
    judge_pairs(project, "llm", dict(zip(cases, ANSWERS, strict=True)))


def test_assumptions_that_cannot_hold() -> None:
    for options in (
        PlanOptions(ties=0.9),
        PlanOptions("pointwise", (0.6,), share=0.5),
        PlanOptions("pointwise", ties=0.1),
        PlanOptions("pairwise", share=0.5),
        PlanOptions("absolute"),
        PlanOptions("duel"),
        PlanOptions(systems=("a",)),
    ):
        with pytest.raises(UsageError):
            assumed_table(options)


def test_an_inconsistent_judge_is_never_enough() -> None:
    row = assumed_table(PlanOptions(differences=(0.1,), consistency=0.0)).rows[0]
    assert (row["needed"], row["note"]) == (None, "cannot be detected")


def test_ties_and_consistency_are_measured(project: Project) -> None:
    judged_pairs(project)
    (row,) = project_plan(project.db, project.id, PlanOptions(differences=(0.1,))).rows
    assert (row["rater"], row["system"], row["opponent"], row["n"], row["users"]) == ("llm", "a", "b", 24, 24)
    assert row["ties"] == 5 / 20
    assert row["consistency"] == pytest.approx(20 / 24)
    assert row["seen"] == pytest.approx(0.125)
    assert row["needed"] == units_needed(win_rate_discordance(0.6, 5 / 20, 20 / 24))
    assert isinstance(row["detectable"], float)
    assert isinstance(row["power_at_hand"], float)
    assert 0.1 < row["power_at_hand"] < 0.8
    assert row["detectable"] > 0.1
    assert "few users (24)" in str(row["note"])


def test_a_difference_that_is_impossible_with_so_many_ties(project: Project) -> None:
    cases = {pair_case(project, f"u{at}"): 0.0 for at in range(9)} | {pair_case(project, "u9"): 1.0}
    give(project, "anna", cases, protocol_name="pairwise")
    (row,) = project_plan(project.db, project.id, PlanOptions(differences=(0.2,))).rows
    assert (row["needed"], row["power_at_hand"]) == (None, None)
    assert "the win rate cannot be 70.0%" in str(row["note"])


def test_shares_are_paired_by_user(project: Project) -> None:
    first = [2.0, 2, 2, 0, 0, 2, 1, 2, 0, 2]
    second = [2.0, 2, 0, 0, 0, 2, 0, 0, 1, 2]
    for system, values in (("a", first), ("b", second)):
        cases = [list_case(project, f"u{at}", system) for at in range(10)]
        give(project, "anna", dict(zip(cases, values, strict=True)))
    (row,) = project_plan(project.db, project.id, PlanOptions("pointwise", (0.1,))).rows
    hits = [[float(v == 2) for v in values] for values in (first, second)]
    phi = pearson(*hits)
    assert phi is not None
    assert (row["system"], row["opponent"], row["label"], row["share"]) == ("a", "b", "Good", 0.4)
    assert row["correlation"] == pytest.approx(phi)
    assert row["seen"] == pytest.approx(0.2)
    assert row["needed"] == units_needed(share_discordance(0.5, 0.4, phi))
    turned = project_plan(project.db, project.id, PlanOptions("pointwise", (0.1,), systems=("b", "a"))).rows[
        0
    ]
    assert (turned["system"], turned["share"], turned["seen"]) == ("b", 0.6, pytest.approx(-0.2))


def test_the_correlation_within_users_is_measured(project: Project) -> None:
    values, users = [], []
    for at in range(36):
        # texts: several items a user, so a user has several cases
        for system in ("x", "y"):
            case = text_case(project, f"u{at // 3}", f"i{at}", system)
            value = 5.0 if (at // 3 + (system == "x")) % 2 else float(at % 5 + 1)
            give(project, "anna", {case: value}, protocol_name="explanation", aspect="accuracy")
            values.append(value == 5)
        users.append(at // 3)
    difference = [float(x) - float(y) for x, y in zip(values[::2], values[1::2], strict=True)]
    options = PlanOptions("explanation", (0.1,), aspect="accuracy")
    (row,) = project_plan(project.db, project.id, options).rows
    icc = intraclass(difference, users).value
    assert icc is not None
    assert row["icc"] == pytest.approx(icc)
    assert row["cases_per_user"] == 3
    assert row["needed"] == 3 * row["users_needed"]
    assert row["design_effect"] > 1
    assert icc > 0.3


def test_nothing_and_nobody(project: Project) -> None:
    table = project_plan(project.db, project.id, PlanOptions())
    assert (table.rows, table.notes) == ((), ("there are no verdicts to measure from yet",))
    with pytest.raises(NotFoundError):
        project_plan(project.db, project.id, PlanOptions(rater="ghost"))
    with pytest.raises(NotFoundError, match="no system"):
        project_plan(project.db, project.id, PlanOptions(systems=("a", "ghost")))
