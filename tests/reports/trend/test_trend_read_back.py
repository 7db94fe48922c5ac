"""What a trend says in words and figures follows from the verdicts: computed again on any nights and any lists."""

from __future__ import annotations

import numpy as np
import pytest

from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.trend.trend import TrendOptions, trend_table
from recjudge_tui.store.cases.cases import CaseKey, ensure_case
from tests.support.verdicts import Project, give, new_project

NIGHTS = ("2026-05-01", "2026-05-02", "2026-05-03", "2026-05-08")


def _counts_its_intervals(table: Table) -> None:
    shown = sum(row["ci_low"] is not None for row in table.rows)
    counted = [note for note in table.notes if "about one in 20, or fewer, misses" in note]
    assert [note.split(" ")[0] for note in counted] == ([str(shown)] if shown > 1 else [])


def test_periods_hold_the_verdicts_of_their_lists_and_the_others_are_counted(
    project_db_path: Project,
) -> None:
    project = project_db_path
    rng = np.random.default_rng(1)
    values: dict[int, float | None] = {}
    of: dict[int, tuple[str, str]] = {}
    with project.db.transaction():
        for at in range(60):
            day, system = ("", *NIGHTS)[rng.integers(0, 5)], ("x", "y")[at % 2]
            when = f"{day}T08:00:00+00:00" if day else ""
            case = ensure_case(project.db, project.id, CaseKey("list", f"u{at:02}", system, served_at=when))
            values[case] = None if rng.random() < 0.1 else float(rng.integers(0, 3))
            of[case] = day, system
    give(project, "llm", values, kind="judge")
    table = trend_table(project.db, project.id, TrendOptions())
    for row in table.rows:
        here = [values[case] for case, where in of.items() if where == (row["period"], row["system"])]
        known = [value for value in here if value is not None]
        assert row["value"] == pytest.approx(np.mean(np.equal(known, 2.0)))
        assert (row["n"], row["failed"]) == (len(known), len(here) - len(known))
    assert {(row["period"], row["system"]) for row in table.rows} == {w for w in of.values() if w[0]}
    undated = sum(not day for day, _ in of.values())
    assert any(f"{undated} of 60 verdicts left out: their lists have no served_at" in n for n in table.notes)
    _counts_its_intervals(table)


@pytest.fixture
def project_db_path(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return new_project(tmp_path_factory.mktemp("dated") / "a.db")


@pytest.mark.parametrize(("systems", "counted"), [(("x",), False), (("x", "y"), True)])
def test_one_interval_needs_no_warning(
    project_db_path: Project, systems: tuple[str, ...], counted: bool
) -> None:
    project = project_db_path
    with project.db.transaction():
        cases = [
            ensure_case(
                project.db, project.id,
                CaseKey("list", f"u{at}", system, served_at=f"{NIGHTS[0]}T08:00:00+00:00"),
            )
            for at in range(12)
            for system in systems
        ]  # fmt: skip
    give(project, "llm", {case: float(at % 3) for at, case in enumerate(cases)}, kind="judge")
    table = trend_table(project.db, project.id, TrendOptions())
    assert any("misses the true value" in note for note in table.notes) is counted
    _counts_its_intervals(table)
