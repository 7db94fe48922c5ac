"""Two raters side by side by SQL: the verdicts on given cases, of a rater or of a run, and the runs behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.store.answers import Answered, cases_by_run, changed_cases, run_configurations
from tests.support.verdicts import Project, give, judge_lists, list_case, new_project, pair_case


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def asked(project: Project, name: str, protocol: str = "pointwise", aspect: str = "overall") -> Answered:
    rater = project.db.value("SELECT id FROM raters WHERE project_id = ? AND name = ?", (project.id, name))
    return Answered(rater, protocol, aspect)


def test_given_cases_with_the_verdicts_of_both_sides(project: Project) -> None:
    cases = [list_case(project, f"u{at}", "als") for at in range(4)]
    give(project, "anna", dict(zip(cases, (2.0, 2.0, 1.0, 0.0), strict=True)))
    give(project, "ben", dict(zip(cases, (2.0, 0.0, 2.0, 1.0), strict=True)))
    anna, ben = asked(project, "anna"), asked(project, "ben")
    found = changed_cases(project.db, anna, ben, cases[1:3])
    assert [(case.user_id, case.labels) for case in found] == [
        ("u1", ("Good", "Poor")),
        ("u2", ("Partial", "Good")),
    ]
    back = changed_cases(project.db, ben, anna, cases[1:3])
    assert [(c.case_id, c.value_b, c.value_a, c.verdict_b, c.verdict_a) for c in back] == [
        (c.case_id, c.value_a, c.value_b, c.verdict_a, c.verdict_b) for c in found
    ]
    assert changed_cases(project.db, anna, ben, []) == []


def test_a_run_alone_and_what_it_was_asked_by(project: Project) -> None:
    old = [list_case(project, f"u{at}", "als") for at in range(3)]
    more = [list_case(project, f"v{at}", "als") for at in range(2)]
    first = judge_lists(project, "llm", dict.fromkeys(old, 0.0))
    second = judge_lists(project, "llm", dict.fromkeys(more, 0.0))
    give(project, "anna", dict.fromkeys([*old, *more], 2.0))
    llm = asked(project, "llm")
    assert len(changed_cases(project.db, asked(project, "anna"), llm, [*old, *more])) == 5
    of_run = changed_cases(project.db, asked(project, "anna"), llm._replace(run_id=second), [*old, *more])
    assert [case.user_id for case in of_run] == ["v0", "v1"]
    by_run = cases_by_run(project.db, project.id, "pointwise", "overall")
    assert [(run.id, list(run.cases)) for run in by_run] == [(first, old), (second, more)]
    behind = run_configurations(project.db, llm.rater_id, "pointwise")
    assert [(run.run_id, run.prompt) for run in behind] == [
        (first, "pointwise-media@1"),
        (second, "pointwise-media@1"),
    ]
    assert [r.run_id for r in run_configurations(project.db, llm.rater_id, "pointwise", second)] == [second]


def test_systems_and_values_without_labels(project: Project) -> None:
    pair = pair_case(project, "u", "als", "bpr")
    for name, value in (("anna", 0.25), ("ben", 0.5)):
        give(project, name, {pair: value}, aspect="x", protocol_name="absolute")
    anna, ben = (asked(project, name, "absolute", "x") for name in ("anna", "ben"))
    (found,) = changed_cases(project.db, anna, ben, [pair])
    assert (found.systems, found.labels) == ("als vs bpr", ("0.25", "0.5"))
    assert found._replace(label_a="", value_a=2 / 3).labels == ("0.667", "0.5")
