"""A consensus of annotators of whom not all judged everything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recjudge_tui.domain.scales import worded
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.raters.combine import combine
from recjudge_tui.stats.combining import Rule, joint
from recjudge_tui.store.imports import begin_import
from recjudge_tui.store.ratings import add_scale
from tests.support.commands import ran
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


def test_medians_of_scores_may_lie_between() -> None:
    table = [[1.0, np.nan, np.nan, 2.0], [2.0, 3.0, np.nan, 7.0], [np.nan, np.nan, np.nan, 3.0]]
    np.testing.assert_array_equal(joint("median", table, 1).values, [1.5, 3.0, np.nan, 3.0])
    np.testing.assert_array_equal(joint("median", table, 1, between=False).values, [1.0, 3.0, np.nan, 3.0])
    signed = [[1.0, -1.0, 1.0], [0.0, 0.0, -1.0]]
    np.testing.assert_array_equal(
        joint("median", signed, between=False, of_pairs=True).values, [0.0, 0.0, 0.0]
    )
    np.testing.assert_array_equal(joint("median", table, 2).values, [1.5, np.nan, np.nan, 3.0])


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


@pytest.mark.parametrize("quorum", [0, -1, 4])
def test_a_quorum_that_cannot_be_met(project: Project, quorum: int) -> None:
    _texts(project)
    with pytest.raises(UsageError, match=f"a quorum of {quorum} is impossible with 3 raters"):
        combine(project.db, project.id, "m", "median", list(SCORES), quorum)


def test_another_quorum_is_another_consensus(project: Project) -> None:
    _texts(project)
    combine(project.db, project.id, "m", "median", list(SCORES), 2)
    assert combine(project.db, project.id, "m", "median", list(SCORES), 2).updated
    with pytest.raises(UsageError) as caught:
        combine(project.db, project.id, "m", "median", list(SCORES))
    assert "quorum 2" in caught.value.cause


def test_categories_have_a_majority_and_no_middle(project: Project) -> None:
    cases = _texts(project)
    import_id = begin_import(project.db, project.id, "labels", "plain", "a.csv", "0")
    scale = worded(tuple("abcdef"), ordered=False)
    add_scale(project.db, project.id, import_id, "explanation", "accuracy", scale)
    rules: tuple[Rule, ...] = ("median", "strict", "mean")
    for rule in rules:
        with pytest.raises(RunError) as caught:
            combine(project.db, project.id, "x", rule, list(SCORES), quorum=1)
        assert "categories without an order: use majority" in caught.value.cause
    combine(project.db, project.id, "x", "majority", list(SCORES), 2)
    assert _verdicts(project, "x") == {cases[4]: 2.0, cases[5]: 4.0}


def test_the_command_takes_all_annotators(
    project: Project, project_db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _texts(project)
    name = project.db.value("SELECT name FROM projects")
    words = (
        "rater",
        "combine",
        "crowd",
        "--rule",
        "median",
        "--quorum",
        "2",
        "-p",
        name,
        "--db",
        str(project_db),
    )
    code, _, err = ran(capsys, *words)
    assert code == 0
    assert "consensus “crowd” created: 5 verdicts by rule median from anna, ben, cleo" in err
    assert "left out: 1 × fewer votes than the quorum of 2" in err
