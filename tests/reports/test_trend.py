"""The trend of systems: periods, lines that join like with like, what is left out, and another model or prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.figures.declared import figure
from recjudge_tui.store.cases import CaseKey, ensure_case
from tests.support.verdicts import Project, cases_of, give, judge_lists, new_project, table

DAYS = ("2026-01-31", "2026-02-01", "2026-02-02")
USERS = ("u1", "u2", "u3")
CHANGE = "served model changed: judge-2@abcdef, before judge-1"


def served(project: Project, kind: Any, user: str, day: str, a: str, b: str = "", context: str = "") -> int:
    when = f"{day}T08:00:00+00:00" if day else ""
    with project.db.transaction():
        return ensure_case(project.db, project.id, CaseKey(kind, user, a, b, context=context, served_at=when))


def rows_of(project: Project, *names: str, **options: Any) -> list[Any]:
    """The rows, or these cells of each."""
    rows = table(project, "trend", **options).rows
    return [tuple(row[name] for name in names) for row in rows] if names else [dict(row) for row in rows]


def test_a_line_joins_the_same_pair_or_ratings_of_periods_in_which_all_met(tmp_path: Path) -> None:
    project = new_project(tmp_path / "a.db")
    met = {DAYS[0]: [("a", "b"), ("a", "c"), ("b", "c")], DAYS[1]: [("a", "b")]}
    outcomes = {("a", "b"): [1, 1, -1], ("a", "c"): [1, -1, 1], ("b", "c"): [-1, 1, 0]}
    for day, pairs in met.items():
        cases = [served(project, "pair", user, day, *pair) for pair in pairs for user in USERS]
        given = cases_of(cases, [value for pair in pairs for value in outcomes[pair]])
        give(project, "judge", given, protocol_name="pairwise", kind="judge")
    rows = rows_of(project, "period", "system", "opponent", "figure", "value", "n")
    assert [row for row in rows if row[3] == "win_rate"] == [
        (DAYS[0], "a", "b", "win_rate", pytest.approx(2 / 3), 3),
        (DAYS[1], "a", "b", "win_rate", pytest.approx(2 / 3), 3),
        (DAYS[0], "a", "c", "win_rate", pytest.approx(2 / 3), 3),
        (DAYS[0], "b", "c", "win_rate", pytest.approx(0.5), 3),
    ]
    # on the second day c met nobody, so no rating stands beside those of the first
    ratings = {row[:2]: row[4] for row in rows if row[3] == "rating"}
    assert {key for key, value in ratings.items() if value is None} == {(DAYS[1], "a"), (DAYS[1], "b")}
    board = table(project, "leaderboard", protocol="pairwise", method="bt", to=DAYS[0]).rows
    assert {row["system"]: ratings[DAYS[0], row["system"]] for row in board} == pytest.approx(
        {row["system"]: row["score"] for row in board}
    )
    # of two systems, their own pair counts, from both sides; of one, all its pairs, from its side
    cells = ("period", "system", "opponent", "value")
    assert rows_of(project, *cells, systems=("a", "b"), to=DAYS[0]) == [
        (DAYS[0], "a", None, pytest.approx(2 / 3)), (DAYS[0], "b", None, pytest.approx(1 / 3)),
    ]  # fmt: skip
    own = [row for row in rows_of(project, *cells, systems=("b",), to=DAYS[0]) if row[2]]
    assert own == [(DAYS[0], "b", "a", pytest.approx(1 / 3)), (DAYS[0], "b", "c", pytest.approx(0.5))]


# ---- another model or prompt -----------------------------------------------------------------------------------------


@pytest.fixture
def nights(tmp_path: Path) -> Project:
    """Two lists a day, at home and in the search, judged in a run each day; the last one by another model."""
    project = new_project(tmp_path / "a.db")
    for day in DAYS:
        home, search = (served(project, "list", "u1", day, "x", context=name) for name in ("home", "search"))
        judge_lists(project, "judge", {home: 2.0, search: 0.0})
    project.db.execute("""UPDATE runs SET identity = '{"name": "judge-1"}'""")
    project.db.execute(
        """UPDATE runs SET identity = '{"name": "judge-2", "digest": "abcdef"}' WHERE id = 3"""
    )
    return project


def test_the_period_of_another_model_has_a_note_a_setting_and_a_mark(nights: Project) -> None:
    told = dict(rows_of(nights, "period", "note"))
    assert [CHANGE in told[day] for day in DAYS] == [False, False, True]
    assert table(nights, "trend").settings["changes"] == [{
        "period": DAYS[2], "rater": "judge", "protocol": "pointwise", "aspect": "overall",
        "change": CHANGE, "now": "judge-2@abcdef",
    }]  # fmt: skip
    assert CHANGE not in dict(rows_of(nights, "period", "note", over="month"))["2026-02"]
    asked = {"protocol": "pointwise", "rater": "judge", "over": "day"}
    data = figure(Opened.numbered(nights.db, nights.id), "trend", asked)
    assert f"{DAYS[2]}: {CHANGE}" in data.caption
    marks = data.marks
    assert marks.changes == {2.0: "judge-2@abcdef"}
    shares = [rows_of(nights, "value", context=(name,)) for name in ("home", "search")]
    assert shares == [[(1.0,)] * 3, [(0.0,)] * 3]
