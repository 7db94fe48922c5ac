"""Raters that are the mean, the majority or the likeliest label of others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.people.raters import combine
from tests.support.verdicts import Project, give, new_project, text_case

Values = tuple[float | None, ...]


def texts(project: Project, count: int) -> list[int]:
    return [text_case(project, f"u{at}", "i", "x") for at in range(count)]


def score(project: Project, rater: str, cases: list[int], values: Values, aspect: str = "accuracy") -> None:
    given = dict(zip(cases, values, strict=True))
    give(project, rater, given, protocol_name="explanation", aspect=aspect, kind="judge")


def verdicts(project: Project, rater: str) -> dict[int, tuple[float, str, str, str]]:
    return {
        row["case_id"]: (row["value"], row["label"], row["protocol"], row["note"])
        for row in project.db.rows(
            """SELECT v.* FROM verdicts v JOIN raters r ON r.id = v.rater_id
               WHERE r.name = ? AND v.state = 'ok'""",
            (rater,),
        )
    }


def test_the_mean_of_all(project_db: Path) -> None:
    project = new_project(project_db)
    cases = texts(project, 4)
    score(project, "one", cases, (1.0, 4.0, 5.0, None))
    score(project, "two", cases, (2.0, 4.0, 1.0, 2.0))
    score(project, "six", cases[:2], (4.0, 4.0))
    summary = combine(project.db, project.id, "all", "mean", ["one", "two", "six"])
    differed = "the raters differed"
    assert verdicts(project, "all") == {
        cases[0]: (pytest.approx(7 / 3), "2.33", "explanation", differed),
        cases[1]: (4.0, "4", "explanation", ""),
    }
    assert (summary.made, summary.disagreed, summary.incomplete, summary.updated) == (2, 1, 0, False)
    assert summary.left_out == {"not judged by all raters": 2}
    row = project.db.row("SELECT kind, recipe FROM raters WHERE name = 'all'")
    assert row is not None
    assert row["kind"] == "ensemble"
    assert json.loads(row["recipe"]) == {"rule": "mean", "raters": ["one", "six", "two"], "quorum": 3}


def test_a_quorum_lets_members_be_missing_or_failed_and_counts_them(project_db: Path) -> None:
    project = new_project(project_db)
    cases = texts(project, 4)
    score(project, "one", cases, (1.0, None, 5.0, None))
    score(project, "two", cases, (2.0, 4.0, None, None))
    score(project, "six", cases[:2], (4.0, 3.0))
    summary = combine(project.db, project.id, "some", "mean", ["one", "two", "six"], quorum=2)
    assert {case: found[0] for case, found in verdicts(project, "some").items()} == {
        cases[0]: pytest.approx(7 / 3),
        cases[1]: 3.5,
    }
    assert verdicts(project, "some")[cases[1]][3] == "the raters differed; 2 of 3 raters"
    assert (summary.made, summary.incomplete) == (2, 1)
    assert summary.left_out == {"a rater's verdict failed": 2}
    assert "made without all raters: 1" in summary.lines()


def test_dawid_and_skene_weigh_each_rater_by_what_they_get_right(project_db: Path) -> None:
    """Two good raters among five: they are told from the three who mostly guess, who outvote them in a majority."""
    project = new_project(project_db)
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 4, 400)
    cases = texts(project, 400)
    for name, skill in (("a", 0.95), ("b", 0.9), ("c", 0.5), ("d", 0.45), ("e", 0.4)):
        wrong = rng.integers(1, 4, 400)
        said = np.where(rng.random(400) < skill, truth, wrong).astype(float)
        score(project, name, cases, tuple(said.tolist()))
    summary = combine(project.db, project.id, "jury", "dawid-skene", ["c", "a", "d", "b", "e"])
    combine(project.db, project.id, "vote", "majority", ["a", "b", "c", "d", "e"])

    def right(rater: str) -> int:
        found = verdicts(project, rater)
        return sum(
            case in found and found[case][0] == true for case, true in zip(cases, truth.tolist(), strict=True)
        )

    assert right("jury") > right("vote") + 20
    (line,) = summary.notes
    assert line.startswith("explanation, accuracy: estimated accuracy: c ")
    assert line in summary.lines()
    low, high = project.db.rows(
        "SELECT min(confidence), max(confidence) FROM verdicts WHERE rule LIKE 'dawid-skene%'"
    )[0]
    assert 1 / 3 < low < high <= 1
    assert project.db.value("SELECT count(confidence) FROM verdicts WHERE rule LIKE 'majority%'") == 0


@pytest.mark.parametrize("labels", [(1.0, 5.0), (1.0, 2.0, 3.0, 4.0, 5.0)], ids=["two", "five"])
def test_dawid_and_skene_take_a_crowd_of_whom_nobody_judged_everything(
    project_db: Path, labels: tuple[float, ...]
) -> None:
    """Every case that somebody judged has a verdict, or is counted as a split vote; who is below chance is named."""
    project = new_project(project_db)
    rng = np.random.default_rng(5)
    cases = texts(project, 120)
    truth = rng.choice(labels, 120)
    judged: set[int] = set()
    for name in "abcdefg":
        said = np.where(rng.random(120) < (0.05 if name == "g" else 0.85), truth, rng.choice(labels, 120))
        some = sorted(rng.choice(120, 50, replace=False).tolist())
        judged |= set(some)
        score(project, name, [cases[at] for at in some], tuple(said[some].tolist()))
    summary = combine(project.db, project.id, "crowd", "dawid-skene", list("abcdefg"))
    found = verdicts(project, "crowd")
    assert len(found) + summary.left_out.get("a split vote", 0) == len(judged)
    assert set(summary.left_out) <= {"a split vote"}
    right = [
        found[case][0] == true for case, true in zip(cases, truth.tolist(), strict=True) if case in found
    ]
    assert np.mean(right) > 0.85
    (note,) = summary.notes
    accuracy = {name: int(share) for name, share in re.findall(r"(\w) (\d+)%", note)}
    assert accuracy["g"] < min(share for name, share in accuracy.items() if name != "g")
