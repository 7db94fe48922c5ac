"""Adjudicated labels of people."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import RunError
from recjudge_tui.people.raters import combine
from tests.support.verdicts import Project, give, list_case, new_project, pair_case


def verdicts(project: Project, rater: str) -> dict[int, tuple[float, str, str]]:
    return {
        row["case_id"]: (row["value"], row["label"], row["protocol"])
        for row in project.db.rows(
            "SELECT v.* FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE r.name = ? AND v.state = 'ok'",
            (rater,),
        )
    }


def test_strict_takes_the_harsher_label(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [list_case(project, f"u{i}") for i in range(5)]
    give(project, "anna", dict(zip(cases, (2.0, 2.0, 0.0, 1.0, None), strict=True)))
    give(project, "ben", dict(zip(cases[:3] + cases[4:], (2.0, 1.0, 2.0, 2.0), strict=True)))
    summary = combine(project.db, project.id, "gold", "strict", ["anna", "ben"])
    assert verdicts(project, "gold") == {
        cases[0]: (2.0, "Good", "pointwise"),
        cases[1]: (1.0, "Partial", "pointwise"),
        cases[2]: (0.0, "Poor", "pointwise"),
    }
    assert (summary.made, summary.disagreed, summary.updated) == (3, 2, False)
    assert summary.left_out == {"not judged by all raters": 1, "a rater's verdict failed": 1}
    row = project.db.row("SELECT kind, recipe FROM raters WHERE name = 'gold'")
    assert row is not None
    assert tuple(row) == ("consensus", '{"rule": "strict", "raters": ["anna", "ben"], "quorum": 2}')


def test_conservative_makes_any_disagreement_a_tie(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [pair_case(project, f"u{i}") for i in range(4)]
    lists = list_case(project, "u1")
    give(project, "anna", dict(zip(cases, (1.0, 1.0, 0.0, -1.0), strict=True)), protocol_name="pairwise")
    give(project, "ben", dict(zip(cases, (1.0, -1.0, 1.0, -1.0), strict=True)), protocol_name="pairwise")
    give(project, "anna", {lists: 2.0})
    give(project, "ben", {lists: 2.0})
    summary = combine(project.db, project.id, "gold", "conservative", ["ben", "anna"])
    assert {case: value[:2] for case, value in verdicts(project, "gold").items()} == {
        cases[0]: (1.0, "A"),
        cases[1]: (0.0, "Tie"),
        cases[2]: (0.0, "Tie"),
        cases[3]: (-1.0, "B"),
    }
    assert sum(summary.left_out.values()) == 1


def test_scales_are_not_mixed(project_db: Path) -> None:
    project = new_project(project_db)
    case = list_case(project, "u1")
    give(project, "anna", {case: 2.0})
    give(project, "llm", {case: 0.9}, protocol_name="absolute", kind="judge")
    with pytest.raises(RunError, match="no verdicts in common"):
        combine(project.db, project.id, "gold", "strict", ["anna", "llm"])
    assert project.db.value("SELECT count(*) FROM raters WHERE name = 'gold'") == 0
