"""Plans from assumptions and from what verdicts show."""

from __future__ import annotations

from typing import Any

import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.declare import make
from tests.support.verdicts import Project


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


def test_what_a_difference_is_on_the_leaderboard_is_said() -> None:
    table = make(None, "plan", difference=(0.05,), consistency=0.8)
    said = "55 % among the 80 % of pairs that are judged alike in both orders is 54 % on the leaderboard"
    assert said in table.notes
    assert not any("leaderboard" in note for note in make(None, "plan", difference=(0.05,)).notes)


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
