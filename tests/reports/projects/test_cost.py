"""What a judged case costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.table import Row, Screen, render
from recjudge_tui.reports.projects.cost import cost_table
from tests.support.verdicts import Project, judge_lists, judge_pairs, list_case, new_project, pair_case


@pytest.fixture
def project(project_db: Path) -> Project:
    project = new_project(project_db)
    pairs = [pair_case(project, f"u{i}") for i in range(4)]
    judge_pairs(project, "llm", {case: (1.0, 1.0 if at else None) for at, case in enumerate(pairs)})
    lists = [list_case(project, f"u{i}") for i in range(3)]
    judge_lists(project, "llm", dict(zip(lists, (2.0, 1.0, None), strict=True)))
    return project


def row(project: Project, protocol: str, human: float | None = None) -> Row:
    (found,) = [r for r in cost_table(project.db, project.id, human).rows if r["protocol"] == protocol]
    return found


def price(project: Project, usd: float, where: str = "1") -> None:
    project.db.execute(
        f"UPDATE calls SET cost_usd = ?, tokens_in = 100, tokens_out = 20 WHERE state = 'done' AND {where}",
        (usd,),
    )


def test_cost_of_a_case_and_its_ratio_to_a_person(project: Project) -> None:
    price(project, 0.01)
    found = row(project, "pairwise", 0.111)
    # 8 calls of which 1 failed before it cost anything; 4 cases were judged, one of them in one order only
    assert (found["rater"], found["prompt"], found["cases"], found["calls"]) == (
        "llm",
        "pairwise-media@1",
        4,
        8,
    )
    assert found["calls_per_case"] == 2
    assert found["cost_per_case"] == pytest.approx(0.07 / 4)
    assert found["human_ratio"] == pytest.approx(0.07 / 4 / 0.111)
    assert found["tokens_per_case"] == pytest.approx(7 * 120 / 4)
    assert found["ci_low"] is not None


def test_failed_cases_are_counted_and_what_they_cost_is_in(project: Project) -> None:
    price(project, 0.01)
    project.db.execute("UPDATE calls SET cost_usd = 0.04 WHERE state = 'failed'")
    found = row(project, "pointwise")
    assert (found["cases"], found["calls"]) == (2, 3)
    assert found["cost_per_case"] == pytest.approx(0.06 / 2)
    assert found["human_ratio"] is None
    assert "1 cases failed" in str(found["note"])


def test_an_unknown_price_stays_unknown(project: Project) -> None:
    price(project, 0.01, "list_order = 'ab'")
    found = row(project, "pairwise", 0.111)
    assert (found["cost_usd"], found["cost_per_case"], found["human_ratio"]) == (None, None, None)
    assert "price unknown for 3 of 7 calls" in str(found["note"])
    assert found["calls_per_case"] == 2


def test_cached_replies_and_unfinished_cases_are_left_out(project: Project) -> None:
    price(project, 0.01)
    (first, second) = [
        r[0] for r in project.db.rows("SELECT id FROM calls WHERE list_order = 'ba' LIMIT 2 OFFSET 1")
    ]
    project.db.execute("UPDATE calls SET cached_from = 1 WHERE id = ?", (first,))
    project.db.execute("UPDATE calls SET state = 'planned' WHERE id = ?", (second,))
    found = row(project, "pairwise")
    assert (found["cases"], found["calls"]) == (2, 4)
    assert found["cost_per_case"] == pytest.approx(0.03 / 2)
    assert "1 cases with cached replies left out" in str(found["note"])


def test_forms_of_a_prompt_are_listed_separately(project: Project) -> None:
    price(project, 0.01)
    other = judge_lists(project, "llm", {list_case(project, "u9"): 2.0})
    project.db.execute(
        """UPDATE runs SET settings = json_set(settings, '$.aspects', 'single', '$.shots', 'one') WHERE id = ?""",
        (other,),
    )
    forms = {
        (row["aspects"], row["shots"], row["cases"])
        for row in cost_table(project.db, project.id).rows
        if row["protocol"] == "pointwise"
    }
    assert ("single", "one", 1) in forms
    assert len(forms) == 2


def test_nothing_judged_and_impossible_prices(project_db: Path) -> None:
    project = new_project(project_db)
    assert cost_table(project.db, project.id).notes == ("no run has judged a case yet",)
    for human in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError):
            cost_table(project.db, project.id, human)


def test_the_price_of_a_case_is_shown_on_80_columns(project: Project) -> None:
    price(project, 0.0)
    lines = render(cost_table(project.db, project.id, 0.111), "text", Screen(80)).text.splitlines()
    assert max(map(len, lines)) <= 80
    (head,) = (line for line in lines if "person" in line)
    assert "case   case" in head
