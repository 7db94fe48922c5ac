"""Plans from assumptions and from what verdicts show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.declare import make
from tests.support.verdicts import Project, give, judge_pairs, list_case, pair_case

ANSWERS = [(1.0, 1.0)] * 10 + [(0.0, 0.0)] * 5 + [(-1.0, -1.0)] * 5 + [(1.0, -1.0)] * 4 + [(None, 1.0)]


def planned(project: Project | None, *differences: float, **options: Any) -> list[Row]:
    opened = None if project is None else Opened.numbered(project.db, project.id)
    given = {"difference": differences or (0.1,)} | options
    return list(make(opened, "plan", **given).rows)  # type: ignore[union-attr]


def test_published_sample_sizes() -> None:
    """Connor 1987 for McNemar's test, and one more case of a user by Kish's design effect 1 + (m - 1) icc."""
    assert [row["needed"] for row in planned(None, 0.1, 0.05)] == [194, 783]
    (row,) = planned(None, 0.1, cases_per_user=5, icc=0.1)
    assert row["design_effect"] == pytest.approx(1.4)
    assert (row["users_needed"], row["needed"], row["calls_needed"]) == (55, 275, 550)
    (shares,) = planned(None, 0.1, protocol="pointwise", share=0.3, correlation=0.2)
    assert shares["needed"] == 289


@pytest.mark.parametrize(
    "options",
    [
        {"ties": 0.9},
        {"protocol": "pointwise", "difference": (0.6,), "share": 0.5},
        {"protocol": "pointwise", "ties": 0.1},
        {"share": 0.5},
        {"protocol": "absolute"},
        {"protocol": "duel"},
        {"systems": ("a",)},
        {"rater": "rules"},
        {"difference": ("x",)},
        {"power": 1.0},
    ],
)
def test_what_cannot_be_planned_for(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        planned(None, **options)


def test_ties_and_consistency_are_measured(project: Project) -> None:
    cases = [pair_case(project, f"u{at}") for at in range(25)]
    judge_pairs(project, "llm", dict(zip(cases, ANSWERS, strict=True)))
    (row,) = planned(project)
    assert (row["rater"], row["system"], row["opponent"], row["n"], row["users"]) == ("llm", "a", "b", 24, 24)
    assert (row["ties"], row["consistency"], row["seen"]) == (
        5 / 20,
        pytest.approx(20 / 24),
        pytest.approx(0.125),
    )
    assert row["needed"] == planned(None, ties=5 / 20, consistency=20 / 24)[0]["needed"]
    assert 0.1 < float(str(row["power_at_hand"])) < 0.8
    assert float(str(row["detectable"])) > 0.1
    assert "few users (24)" in str(row["note"])
    assert planned(project, ties=0.0, consistency=1.0)[0]["needed"] == 194


def test_shares_are_paired_by_user(project: Project) -> None:
    first = [2.0, 2, 2, 0, 0, 2, 1, 2, 0, 2]
    second = [2.0, 2, 0, 0, 0, 2, 0, 0, 1, 2]
    for system, values in (("a", first), ("b", second)):
        cases = [list_case(project, f"u{at}", system) for at in range(10)]
        give(project, "anna", dict(zip(cases, values, strict=True)))
    (row,) = planned(project, protocol="pointwise")
    hits = np.equal([first, second], 2.0)
    phi = float(np.corrcoef(hits)[0, 1])
    assert (row["system"], row["opponent"], row["label"], row["share"]) == ("a", "b", "Good", 0.4)
    assert (row["correlation"], row["seen"]) == (pytest.approx(phi), pytest.approx(0.2))
    assert row["needed"] == planned(None, protocol="pointwise", share=0.4, correlation=phi)[0]["needed"]
    turned = planned(project, protocol="pointwise", systems=("b", "a"))[0]
    assert (turned["system"], turned["share"], turned["seen"]) == ("b", 0.6, pytest.approx(-0.2))
