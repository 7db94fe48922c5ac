"""The trend of systems: periods, figures, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.occasions import Over
from recjudge_tui.domain.records import Event, ImportKind, RankedItem, Slate
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.trend.chosen_periods import period_range
from recjudge_tui.reports.trend.trend import TrendOptions, trend_table
from recjudge_tui.store.cases.cases import CaseKey, ensure_case
from recjudge_tui.store.imports.imports import begin_import
from recjudge_tui.store.imports.loading import Target, add_events, add_slate
from recjudge_tui.store.projects.experiments import Outcome, add_outcome
from tests.support.verdicts import Project, cases_of, give, new_project

DAYS = ("2026-01-31", "2026-02-01", "2026-02-02")
USERS = ("u1", "u2", "u3")


def served(project: Project, kind: Any, user: str, day: str, a: str, b: str = "") -> int:
    when = f"{day}T08:00:00+00:00" if day else ""
    with project.db.transaction():
        return ensure_case(project.db, project.id, CaseKey(kind, user, a, b, served_at=when))


def rows_of(project: Project, **options: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in trend_table(project.db, project.id, TrendOptions(**options)).rows]


def values(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


@pytest.fixture
def lists(tmp_path: Path) -> Project:
    project = new_project(tmp_path / "a.db")
    cases = [served(project, "list", user, day, "x") for day in DAYS for user in USERS]
    give(project, "judge", cases_of(cases, [2, 2, 1, 2, 0, 0, 2, 2, None]), kind="judge")
    return project


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ("day", [("2026-01-31", 2 / 3, 3, 0), ("2026-02-01", 1 / 3, 3, 0), ("2026-02-02", 1.0, 2, 1)]),
        ("week", [("2026-W05", 0.5, 6, 0), ("2026-W06", 1.0, 2, 1)]),
        ("month", [("2026-01", 2 / 3, 3, 0), ("2026-02", 0.6, 5, 1)]),
    ],
)
def test_share_of_the_best_label_by_period(lists: Project, over: str, expected: list[Any]) -> None:
    rows = rows_of(lists, over=over)
    assert {(row["figure"], row["system"], row["rater"]) for row in rows} == {("share of Good", "x", "judge")}
    found = values(rows, "period", "value", "n", "failed")
    assert found == [(period, pytest.approx(value), n, failed) for period, value, n, failed in expected]
    assert all(row["ci_low"] <= row["value"] <= row["ci_high"] for row in rows)


def test_lists_without_a_time_are_counted_and_shown_by_import_only(lists: Project) -> None:
    give(lists, "judge", {served(lists, "list", "u9", "", "x"): 2.0}, kind="judge")
    table = trend_table(lists.db, lists.id, TrendOptions())
    assert sum(int(str(row["n"])) for row in table.rows) == 8
    assert "judge, pointwise overall: 1 of 10 verdicts left out: their lists have no served_at" in " ".join(
        table.notes
    )
    assert any("--over import" in note for note in table.notes)


def test_by_import_a_list_belongs_to_the_first_that_brought_it(tmp_path: Path) -> None:
    project = new_project(tmp_path / "a.db")
    first, second = (imported(project, "lists") for _ in range(2))
    bring(first, "u1", "x", "ab")
    bring(first, "u2", "x", "ab")
    bring(second, "u1", "x", "ba")
    bring(second, "u2", "x", "ab")
    slates = [row[0] for row in project.db.rows("SELECT id FROM slates ORDER BY id")]
    assert len(slates) == 3
    with project.db.transaction():
        cases = [
            ensure_case(project.db, project.id, CaseKey("list", user, "x", slate_a=slate))
            for user, slate in zip(("u1", "u2", "u1"), slates, strict=True)
        ]
    give(project, "judge", cases_of(cases, [2, 2, 0]), kind="judge")
    rows = rows_of(project, over="import")
    assert values(rows, "period", "value", "n") == [
        (f"import {first.import_id}", 1.0, 2),
        (f"import {second.import_id}", 0.0, 1),
    ]


def test_by_day_lists_that_a_later_import_replaced_are_left_out_and_counted(tmp_path: Path) -> None:
    project = new_project(tmp_path / "a.db")
    for items, user in (("ab", "u1"), ("ab", "u2"), ("ba", "u1")):
        bring(imported(project, "lists"), user, "x", items, DAYS[0])
    when = f"{DAYS[0]}T08:00:00+00:00"
    with project.db.transaction():
        cases = [
            ensure_case(project.db, project.id, CaseKey("list", user, "x", slate_a=slate, served_at=when))
            for slate, user in project.db.rows("SELECT id, user_id FROM slates ORDER BY id")
        ]
    give(project, "judge", cases_of(cases, [0, 2, 2]), kind="judge")
    table = trend_table(project.db, project.id, TrendOptions())
    assert [(row["value"], row["n"]) for row in table.rows] == [(1.0, 2)]
    assert (
        "judge, pointwise overall: verdicts left out, because a later import replaced their lists: 1"
        in table.notes
    )
    assert sum(row["n"] for row in rows_of(project, over="import")) == 3
    # what is measured stands beside what was judged of the same lists
    with project.db.transaction():
        held_out = [Event(user_id=user, type="heldout_click", item_id="b") for user in ("u1", "u2")]
        add_events(imported(project, "events"), held_out)
    measured = rows_of(project, metrics=("hit_rate",), k=1)[1:]
    assert values(measured, "figure", "value", "n") == [("hit_rate@1", 0.5, 2)]
    measured = [
        row for row in rows_of(project, over="import", metrics=("hit_rate",), k=1) if not row["rater"]
    ]
    assert values(measured, "period", "value", "n") == [
        ("import 1", 0.0, 1), ("import 2", 0.0, 1), ("import 3", 1.0, 1),
    ]  # fmt: skip


def test_pairs_give_win_rates_of_systems_and_of_each_two(tmp_path: Path) -> None:
    project = new_project(tmp_path / "a.db")
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    cases = [served(project, "pair", user, "2026-02-01", *pair) for pair in pairs for user in USERS]
    give(
        project,
        "judge",
        cases_of(cases, [1, 1, 0, 1, 1, 1, -1, -1, 0]),
        protocol_name="pairwise",
        kind="judge",
    )
    rows = rows_of(project)
    assert values(rows, "system", "opponent", "value", "n") == [
        ("a", None, pytest.approx(5.5 / 6), 6),
        ("b", None, pytest.approx(1 / 6), 6),
        ("c", None, pytest.approx(2.5 / 6), 6),
        ("a", "b", pytest.approx(2.5 / 3), 3),
        ("a", "c", 1.0, 3),
        ("b", "c", pytest.approx(0.5 / 3), 3),
    ]
    # of two of them, their own pairs count; of one, all its pairs
    assert values(rows_of(project, systems=("a", "b")), "system", "opponent", "value", "n") == [
        ("a", None, pytest.approx(2.5 / 3), 3), ("b", None, pytest.approx(0.5 / 3), 3),
    ]  # fmt: skip
    assert values(rows_of(project, systems=("b",)), "system", "opponent", "value", "n") == [
        ("b", None, pytest.approx(1 / 6), 6),
    ]  # fmt: skip


def test_flags_are_shown_beside_judged_figures(lists: Project) -> None:
    lists.db.execute("UPDATE verdicts SET flag_count = 3 WHERE case_id = 1")
    rows = [row for row in rows_of(lists) if row["figure"] == "flags"]
    assert values(rows, "period", "value", "n") == [(DAYS[0], 1.0, 3), (DAYS[1], 0.0, 3), (DAYS[2], 0.0, 2)]


def imported(project: Project, kind: ImportKind) -> Target:
    source = begin_import(project.db, project.id, kind, "plain", "all.csv", "0")
    return Target(db=project.db, project_id=project.id, import_id=source, since=source)


def bring(target: Target, user: str, system: str, items: str, day: str = "") -> None:
    ranked = tuple(RankedItem(item_id=item) for item in items)
    when = f"{day}T08:00:00+00:00" if day else ""
    with target.db.transaction():
        add_slate(target, Slate(user_id=user, system=system, items=ranked, served_at=when))


def test_offline_metrics_of_each_day_stand_beside(tmp_path: Path) -> None:
    project = new_project(tmp_path / "a.db")
    target = imported(project, "lists")
    with project.db.transaction():
        add_events(target, [Event(user_id=user, type="heldout_click", item_id="b") for user in ("u1", "u2")])
    for user, items, day in (("u1", "ba", DAYS[0]), ("u2", "ab", DAYS[0]), ("u1", "ac", DAYS[1])):
        bring(target, user, "x", items, day)
    rows = rows_of(project, metrics=("hit_rate", "mrr"), k=2)
    assert values(rows, "figure", "period", "value", "n") == [
        ("hit_rate@2", DAYS[0], 1.0, 2), ("hit_rate@2", DAYS[1], 0.0, 1),
        ("mrr@2", DAYS[0], 0.75, 2), ("mrr@2", DAYS[1], 0.0, 1),
    ]  # fmt: skip
    assert {row["figure"] for row in rows_of(project)} == {"ndcg@10"}
    assert rows_of(project, metrics=()) == []
    with pytest.raises(UsageError, match="Available: auc, ndcg"):
        rows_of(project, metrics=("ndgc",))


def test_live_outcomes_are_shown_beside_judged_figures(lists: Project) -> None:
    add_outcome(lists.db, lists.id, Outcome("june", "x", "y", 1000, 1000, 30, 20))
    lists.db.execute("UPDATE outcomes SET created_at = '2026-02-02T10:00:00+00:00'")
    rows = [row for row in rows_of(lists) if row["rater"] is None]
    assert values(rows, "figure", "period", "system", "opponent", "value", "n") == [
        ("click_rate", "2026-02-02", "x", None, 0.03, 1000),
        ("click_rate", "2026-02-02", "y", None, 0.02, 1000),
        ("lift", "2026-02-02", "x", "y", pytest.approx(0.5), 2000),
    ]
    assert all("live experiment june" in row["note"] for row in rows)


def test_from_and_to_take_whole_months_and_single_days(lists: Project) -> None:
    assert values(rows_of(lists, since="2026-02"), "period") == [(DAYS[1],), (DAYS[2],)]
    assert values(rows_of(lists, until="2026-01"), "period") == [(DAYS[0],)]
    assert values(rows_of(lists, since=DAYS[1], until=DAYS[1]), "period") == [(DAYS[1],)]


@pytest.mark.parametrize(
    ("over", "since", "until", "first", "last"),
    [
        ("day", "2026-W10", "2026-W10", "2026-03-02", "2026-03-08"),
        ("day", "2026-02", "2026-02", "2026-02-01", "2026-02-28"),
        ("day", "2026", "2026", "2026-01-01", "2026-12-31"),
        ("week", "2026-03-04", "2026-03-04", "2026-W10", "2026-W10"),
        ("week", "2026-03", "2026-12", "2026-W09", "2026-W53"),
        ("month", "2026-03-31", "2026-04-01", "2026-03", "2026-04"),
        ("month", "", "2026-W01", "", "2026-01"),
        ("import", "9", "import 10", "import 9", "import 10"),
    ],
)
def test_periods_are_named_in_any_length(over: Over, since: str, until: str, first: str, last: str) -> None:
    assert period_range(over, since, until) == (first, last)


def test_imports_are_ordered_by_number() -> None:
    later = period_range("import", "9", "")
    assert [number for number in (2, 9, 10, 100) if later.has(f"import {number}")] == [9, 10, 100]


@pytest.mark.parametrize(
    ("over", "since", "until", "says"),
    [
        ("day", "last week", "", "“last week” is not a period"),
        ("week", "2026-W60", "", "“2026-W60” is not a period"),
        ("month", "", "2026-13", "“2026-13” is not a period"),
        ("import", "2026-03", "", "is not the number of an import"),
        ("week", "2026-05", "2026-03", "--from 2026-05 is after --to 2026-03"),
        ("import", "10", "9", "--from 10 is after --to 9"),
    ],
)
def test_periods_that_do_not_fit(over: Over, since: str, until: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        period_range(over, since, until)


def test_words_that_do_not_fit(lists: Project) -> None:
    with pytest.raises(NotFoundError, match="Available: x"):
        rows_of(lists, systems=("z",))
    with pytest.raises(UsageError, match="no protocol"):
        rows_of(lists, protocol="guess")
    with pytest.raises(NotFoundError):
        rows_of(lists, rater="nobody")
