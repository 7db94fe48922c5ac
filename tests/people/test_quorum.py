"""A consensus of annotators of whom not all judged everything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recjudge_tui.errors import RunError
from recjudge_tui.people.raters import combine
from tests.support.verdicts import Project, give, list_case, new_project, pair_case, text_case

N = None
# a column is a text, NaN where a person did not judge it
SCORES = {
    "anna": (1.0, 5.0, np.nan, 3.0, 2.0, np.nan),
    "ben": (2.0, np.nan, np.nan, 4.0, 2.0, 4.0),
    "cleo": (5.0, 3.0, 4.0, np.nan, 5.0, 4.0),
}


def _verdicts(project: Project, rater: str) -> dict[int, float]:
    rows = project.db.rows(
        "SELECT case_id, value FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE r.name = ?", (rater,)
    )
    return {row[0]: row[1] for row in rows}


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def _texts(project: Project) -> list[int]:
    cases = [text_case(project, f"u{at}", "i", "x") for at in range(6)]
    for rater, values in SCORES.items():
        given = {case: value for case, value in zip(cases, values, strict=True) if not np.isnan(value)}
        give(project, rater, given, protocol_name="explanation", aspect="accuracy")
    return cases


@pytest.mark.parametrize("quorum", [1, 2, 3])
def test_the_median_is_that_of_pandas(project: Project, quorum: int) -> None:
    cases = _texts(project)
    summary = combine(project.db, project.id, "m", "median", list(SCORES), quorum)
    frame = pd.DataFrame(SCORES)
    expected = frame.median(axis=1)[frame.count(axis=1) >= quorum]
    assert _verdicts(project, "m") == {cases[at]: value for at, value in expected.items()}
    reason = f"fewer votes than the quorum of {quorum}" if quorum < 3 else "not judged by all raters"
    assert summary.left_out == ({reason: 6 - len(expected)} if len(expected) < 6 else {})
    assert summary.incomplete == int((frame.count(axis=1)[expected.index] < 3).sum())


def test_failures_are_no_votes(project: Project) -> None:
    one, two, three = (list_case(project, f"u{at}") for at in range(3))
    give(project, "anna", {one: 2.0, two: N, three: N})
    give(project, "ben", {one: 2.0, two: 1.0, three: N})
    give(project, "cleo", {one: N, two: 1.0, three: 0.0})
    summary = combine(project.db, project.id, "gold", "majority", ["anna", "ben", "cleo"], 2)
    assert _verdicts(project, "gold") == {one: 2.0, two: 1.0}
    assert summary.left_out == {"a rater's verdict failed": 1}
    assert summary.incomplete == 2


def test_ties_give_no_majority_and_a_tie_in_the_middle(project: Project) -> None:
    one, two = pair_case(project, "u1"), pair_case(project, "u2")
    for rater, values in (("anna", (1.0, 1.0)), ("ben", (-1.0, 0.0))):
        give(project, rater, dict(zip((one, two), values, strict=True)), protocol_name="pairwise")
    with pytest.raises(RunError, match="no verdicts in common"):
        combine(project.db, project.id, "most", "majority", ["anna", "ben"])
    summary = combine(project.db, project.id, "middle", "median", ["anna", "ben"])
    assert _verdicts(project, "middle") == {one: 0.0, two: 0.0}
    assert project.db.value("SELECT label FROM verdicts WHERE rule LIKE 'median%'") == "Tie"
    assert summary.left_out == {}


def test_a_median_of_two_loses_no_case(project: Project) -> None:
    """Good and Poor have Partial in the middle; of labels side by side the harsher, since nothing lies between them."""
    cases = [list_case(project, f"u{at}") for at in range(3)]
    give(project, "anna", dict(zip(cases, (2.0, 2.0, 1.0), strict=True)))
    give(project, "ben", dict(zip(cases, (0.0, 1.0, 0.0), strict=True)))
    combine(project.db, project.id, "middle", "median", ["anna", "ben"])
    assert list(_verdicts(project, "middle").values()) == [1.0, 1.0, 0.0]
