"""All raters together: people by default, ragged, and what has no figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.agreement.together import USUAL, together_table
from recjudge_tui.reports.common.pairing import AgreementOptions
from recjudge_tui.stats.agreement import many_raters_estimates
from recjudge_tui.stats.registry import MANY_RATERS
from tests.support.verdicts import Project, give, judge_lists, list_case, new_project

GIVEN = {
    "anna": (2.0, 1.0, 0.0, 2.0, 1.0, None, None, 0.0),
    "ben": (2.0, 1.0, 1.0, None, 1.0, 0.0, 2.0, None),
    "cat ‹3›": (None, 2.0, 0.0, 2.0, None, 0.0, 1.0, None),
}
EVERY = AgreementOptions(stats=("all",))


def _project(path: Path) -> Project:
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
    project = _project(project_db)
    table = together_table(project.db, project.id, EVERY)
    rows = [
        (value, case) for values in GIVEN.values() for case, value in enumerate(values) if value is not None
    ]
    values, items = zip(*rows, strict=True)
    expected = many_raters_estimates(values, items, [item // 2 for item in items], (0, 1, 2))
    assert [row["stat"] for row in table.rows] == list(MANY_RATERS)
    assert [row["value"] for row in table.rows] == [expected[stat].value for stat in MANY_RATERS]
    first = table.rows[0]
    assert (first["raters"], first["names"], first["n"], first["ratings"]) == (3, "anna, ben, cat ‹3›", 7, 17)
    assert "fewer than 10 users" in str(first["note"])


def test_chosen_raters_and_invalid_options(project_db: Path) -> None:
    project = _project(project_db)
    chosen = together_table(project.db, project.id, AgreementOptions(raters=("llm", "anna")))
    assert [(row["stat"], row["raters"], row["n"]) for row in chosen.rows] == [(stat, 2, 6) for stat in USUAL]
    with pytest.raises(UsageError, match="no statistic “qwk” of all raters together"):
        together_table(project.db, project.id, AgreementOptions(stats=("qwk",)))
    with pytest.raises(UsageError, match="at least two raters"):
        together_table(project.db, project.id, AgreementOptions(raters=("anna",)))


def test_without_people_there_is_a_reason(project_db: Path) -> None:
    project = new_project(project_db)
    judge_lists(project, "llm", {list_case(project, "u"): 1.0})
    table = together_table(project.db, project.id, EVERY)
    assert (table.rows, table.notes[-1][:21]) == ((), "fewer than two people")
