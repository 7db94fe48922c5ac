"""Raters that say what several others say together: adjudicated labels, a quorum of them, means, majorities, the likeliest
label."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recjudge_tui.errors import RunError
from recjudge_tui.people.raters import combine
from tests.support.verdicts import Project, cases_of, give, list_case, new_project, pair_case, text_case


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def texts(project: Project, count: int) -> list[int]:
    return [text_case(project, f"u{at}", "i", "x") for at in range(count)]


def score(project: Project, rater: str, given: Mapping[int, float | None]) -> None:
    give(project, rater, given, protocol_name="explanation", aspect="accuracy", kind="judge")


def compare(project: Project, rater: str, cases: Sequence[int], values: Sequence[float]) -> None:
    give(project, rater, cases_of(cases, values), protocol_name="pairwise")


def verdicts(project: Project, rater: str, columns: str = "") -> dict[int, Any]:
    """What the rater says of each case: the value, with these columns beside it."""
    rows = project.db.tuples(
        f"SELECT case_id, value{columns} FROM v_verdicts WHERE rater = ? AND state = 'ok'", (rater,)
    )
    return {case: said if columns else said[0] for case, *said in rows}


def recipe(project: Project, rater: str) -> tuple[str, object]:
    ((kind, made),) = project.db.tuples("SELECT kind, recipe FROM raters WHERE name = ?", (rater,))
    return kind, json.loads(made)


# ---- labels that are adjudicated ---------------------------------------------------------------------------------


def test_strict_takes_the_harsher_label(project: Project) -> None:
    cases = [list_case(project, f"u{i}") for i in range(5)]
    give(project, "anna", cases_of(cases, (2.0, 2.0, 0.0, 1.0, None)))
    give(project, "ben", cases_of(cases[:3] + cases[4:], (2.0, 1.0, 2.0, 2.0)))
    summary = combine(project.db, project.id, "gold", "strict", ["anna", "ben"])
    assert verdicts(project, "gold", ", label, protocol") == {
        cases[0]: [2.0, "Good", "pointwise"],
        cases[1]: [1.0, "Partial", "pointwise"],
        cases[2]: [0.0, "Poor", "pointwise"],
    }
    assert (summary.made, summary.disagreed, summary.updated) == (3, 2, False)
    assert summary.left_out == {"not judged by all raters": 1, "a rater's verdict failed": 1}
    made = {"rule": "strict", "raters": ["anna", "ben"], "quorum": 2}
    assert recipe(project, "gold") == ("consensus", made)


def test_conservative_makes_any_disagreement_a_tie(project: Project) -> None:
    cases = [pair_case(project, f"u{i}") for i in range(4)]
    lists = list_case(project, "u1")
    compare(project, "anna", cases, (1.0, 1.0, 0.0, -1.0))
    compare(project, "ben", cases, (1.0, -1.0, 1.0, -1.0))
    for rater in ("anna", "ben"):
        give(project, rater, {lists: 2.0})
    summary = combine(project.db, project.id, "gold", "conservative", ["ben", "anna"])
    wanted = ([1.0, "A"], [0.0, "Tie"], [0.0, "Tie"], [-1.0, "B"])
    assert verdicts(project, "gold", ", label") == dict(zip(cases, wanted, strict=True))
    assert sum(summary.left_out.values()) == 1


def test_scales_are_not_mixed(project: Project) -> None:
    case = list_case(project, "u1")
    give(project, "anna", {case: 2.0})
    give(project, "llm", {case: 0.9}, protocol_name="absolute", kind="judge")
    with pytest.raises(RunError, match="no verdicts in common"):
        combine(project.db, project.id, "gold", "strict", ["anna", "llm"])
    assert project.db.value("SELECT count(*) FROM raters WHERE name = 'gold'") == 0


# ---- not everybody judged everything -----------------------------------------------------------------------------

# a column is a text, NaN where a person did not judge it
SCORES = {
    "anna": (1.0, 5.0, np.nan, 3.0, 2.0, np.nan),
    "ben": (2.0, np.nan, np.nan, 4.0, 2.0, 4.0),
    "cleo": (5.0, 3.0, 4.0, np.nan, 5.0, 4.0),
}


@pytest.mark.parametrize("quorum", [1, 2, 3])
def test_the_median_is_that_of_pandas(project: Project, quorum: int) -> None:
    cases, frame = texts(project, 6), pd.DataFrame(SCORES)
    for rater in SCORES:
        score(project, rater, {cases[at]: value for at, value in frame[rater].dropna().items()})
    summary = combine(project.db, project.id, "m", "median", list(SCORES), quorum)
    expected = frame.median(axis=1)[frame.count(axis=1) >= quorum]
    assert verdicts(project, "m") == {cases[at]: value for at, value in expected.items()}
    reason = f"fewer votes than the quorum of {quorum}" if quorum < 3 else "not judged by all raters"
    assert summary.left_out == ({reason: 6 - len(expected)} if len(expected) < 6 else {})
    assert summary.incomplete == int((frame.count(axis=1)[expected.index] < 3).sum())


def test_failures_are_no_votes(project: Project) -> None:
    one, two, three = (list_case(project, f"u{at}") for at in range(3))
    give(project, "anna", {one: 2.0, two: None, three: None})
    give(project, "ben", {one: 2.0, two: 1.0, three: None})
    give(project, "cleo", {one: None, two: 1.0, three: 0.0})
    summary = combine(project.db, project.id, "gold", "majority", ["anna", "ben", "cleo"], 2)
    assert verdicts(project, "gold") == {one: 2.0, two: 1.0}
    assert (summary.left_out, summary.incomplete) == ({"a rater's verdict failed": 1}, 2)


def test_ties_give_no_majority_and_a_tie_in_the_middle(project: Project) -> None:
    cases = [pair_case(project, "u1"), pair_case(project, "u2")]
    compare(project, "anna", cases, (1.0, 1.0))
    compare(project, "ben", cases, (-1.0, 0.0))
    with pytest.raises(RunError, match="no verdicts in common"):
        combine(project.db, project.id, "most", "majority", ["anna", "ben"])
    assert combine(project.db, project.id, "middle", "median", ["anna", "ben"]).left_out == {}
    assert verdicts(project, "middle", ", label") == {case: [0.0, "Tie"] for case in cases}


def test_a_median_of_two_loses_no_case(project: Project) -> None:
    """Good and Poor have Partial in the middle; of labels side by side the harsher, since nothing lies between them."""
    cases = [list_case(project, f"u{at}") for at in range(3)]
    give(project, "anna", cases_of(cases, (2.0, 2.0, 1.0)))
    give(project, "ben", cases_of(cases, (0.0, 1.0, 0.0)))
    combine(project.db, project.id, "middle", "median", ["anna", "ben"])
    assert list(verdicts(project, "middle").values()) == [1.0, 1.0, 0.0]


# ---- ensembles ---------------------------------------------------------------------------------------------------


def test_a_quorum_lets_members_be_missing_or_failed_and_counts_them(project: Project) -> None:
    cases = texts(project, 4)
    score(project, "one", cases_of(cases, (1.0, None, 5.0, None)))
    score(project, "two", cases_of(cases, (2.0, 4.0, None, None)))
    score(project, "six", cases_of(cases[:2], (4.0, 3.0)))
    summary = combine(project.db, project.id, "some", "mean", ["one", "two", "six"], quorum=2)
    assert verdicts(project, "some", ", note") == {
        cases[0]: [pytest.approx(7 / 3), "the raters differed"],
        cases[1]: [3.5, "the raters differed; 2 of 3 raters"],
    }
    assert (summary.made, summary.incomplete) == (2, 1)
    assert summary.left_out == {"a rater's verdict failed": 2}
    assert "made without all raters: 1" in summary.lines()


@pytest.mark.parametrize("labels", [(1.0, 5.0), (1.0, 2.0, 3.0, 4.0, 5.0)], ids=["two", "five"])
def test_dawid_and_skene_take_a_crowd_of_whom_nobody_judged_everything(
    project: Project, labels: tuple[float, ...]
) -> None:
    """Every case that somebody judged has a verdict, or is counted as a split vote; who is below chance is named."""
    rng = np.random.default_rng(5)
    cases = texts(project, 120)
    truth = rng.choice(labels, 120)
    judged: set[int] = set()
    for name in "abcdefg":
        said = np.where(rng.random(120) < (0.05 if name == "g" else 0.85), truth, rng.choice(labels, 120))
        some = sorted(rng.choice(120, 50, replace=False).tolist())
        judged |= set(some)
        score(project, name, cases_of([cases[at] for at in some], said[some].tolist()))
    summary = combine(project.db, project.id, "crowd", "dawid-skene", list("abcdefg"))
    found = verdicts(project, "crowd")
    assert len(found) + summary.left_out.get("a split vote", 0) == len(judged)
    assert set(summary.left_out) <= {"a split vote"}
    assert (
        np.mean([found[case] == true for case, true in zip(cases, truth, strict=True) if case in found])
        > 0.85
    )
    (note,) = summary.notes
    accuracy = {name: int(share) for name, share in re.findall(r"(\w) (\d+)%", note)}
    assert accuracy["g"] < min(share for name, share in accuracy.items() if name != "g")
    assert note in summary.lines()
    shares = project.db.column("SELECT confidence FROM verdicts WHERE rule LIKE 'dawid-skene%'")
    assert 1 / len(labels) < min(shares) < max(shares) <= 1
