"""Adjudicated labels of people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.errors import NotFoundError, RunError, UsageError
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


def test_a_split_vote_goes_to_nobody(project_db: Path) -> None:
    project = new_project(project_db)
    one, two = list_case(project, "u1"), list_case(project, "u2")
    for rater, values in (("anna", (2.0, 2.0)), ("ben", (2.0, 1.0)), ("cleo", (0.0, 0.0))):
        give(project, rater, dict(zip((one, two), values, strict=True)))
    summary = combine(project.db, project.id, "gold", "majority", ["anna", "ben", "cleo"])
    assert verdicts(project, "gold") == {one: (2.0, "Good", "pointwise")}
    assert summary.left_out == {"a split vote": 1}


def test_the_same_recipe_is_brought_up_to_date(project_db: Path) -> None:
    project = new_project(project_db)
    one, two, three = (list_case(project, f"u{i}") for i in range(3))
    give(project, "anna", {one: 2.0, two: 2.0})
    give(project, "ben", {one: 2.0, two: 0.0, three: 1.0})
    combine(project.db, project.id, "gold", "strict", ["anna", "ben"])
    before = project.db.value("SELECT id FROM verdicts WHERE case_id = ? AND rule LIKE 'strict%'", (one,))
    give(project, "anna", {three: 2.0})
    project.db.execute(
        "DELETE FROM verdicts WHERE case_id = ? AND rater_id = (SELECT id FROM raters WHERE name = 'ben')",
        (two,),
    )
    summary = combine(project.db, project.id, "gold", "strict", ["ben", "anna"])
    assert summary.updated
    assert {case: value[0] for case, value in verdicts(project, "gold").items()} == {one: 2.0, three: 1.0}
    assert (
        project.db.value("SELECT id FROM verdicts WHERE case_id = ? AND rule LIKE 'strict%'", (one,))
        == before
    )


def test_scales_are_not_mixed(project_db: Path) -> None:
    project = new_project(project_db)
    case = list_case(project, "u1")
    give(project, "anna", {case: 2.0})
    give(project, "llm", {case: 0.9}, protocol_name="absolute", kind="judge")
    with pytest.raises(RunError, match="no verdicts in common"):
        combine(project.db, project.id, "gold", "strict", ["anna", "llm"])
    assert project.db.value("SELECT count(*) FROM raters WHERE name = 'gold'") == 0


def test_names_and_rules_are_checked(project_db: Path) -> None:
    project = new_project(project_db)
    case = list_case(project, "u1")
    for rater in ("anna", "ben", "cleo"):
        give(project, rater, {case: 2.0})
    combine(project.db, project.id, "gold", "strict", ["anna", "ben"])
    wrong: tuple[tuple[str, Any, list[str]], ...] = (
        ("gold", "majority", ["anna", "ben"]),
        ("gold", "strict", ["anna", "cleo"]),
        ("cleo", "strict", ["anna", "ben"]),
        ("anna", "strict", ["anna", "ben"]),
        ("new", "strict", ["anna", "anna"]),
        ("new", "loudest", ["anna", "ben"]),
        ("  ", "strict", ["anna", "ben"]),
    )
    for name, rule, raters in wrong:
        with pytest.raises(UsageError):
            combine(project.db, project.id, name, rule, raters)
    with pytest.raises(NotFoundError, match="no rater “dora”"):
        combine(project.db, project.id, "new", "strict", ["anna", "dora"])
