"""What a judged case costs, and cost against accuracy of every set of judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recjudge_tui.reports.common.table import Row, Table
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    judge_pairs,
    list_case,
    new_project,
    pair_case,
    table,
)

SKILLS = {"dear": 0.95, "fair": 0.75, "poor": 0.5}
PRICES = {"dear": 0.05, "fair": 0.01, "poor": 0.02}
ITEMS = 60


def cost(project: Project, **options: Any) -> Table:
    return table(project, "cost", **options)


@pytest.fixture
def judged(project_db: Path) -> Project:
    project = new_project(project_db)
    pairs = [pair_case(project, f"u{i}") for i in range(4)]
    judge_pairs(project, "llm", {case: (1.0, 1.0 if at else None) for at, case in enumerate(pairs)})
    lists = [list_case(project, f"u{i}") for i in range(3)]
    judge_lists(project, "llm", dict(zip(lists, (2.0, 1.0, None), strict=True)))
    return project


def row(project: Project, protocol: str, human: float | None = None) -> Row:
    (found,) = cost(project, protocol=protocol, human_price=human).rows
    return found


def price(project: Project, usd: float, where: str = "1") -> None:
    project.db.execute(
        f"UPDATE calls SET cost_usd = ?, tokens_in = 100, tokens_out = 20 WHERE state = 'done' AND {where}",
        (usd,),
    )


def test_cost_of_a_case_and_its_ratio_to_a_person(judged: Project) -> None:
    price(judged, 0.01)
    found = row(judged, "pairwise", 0.111)
    # 8 calls of which 1 failed before it cost anything; 4 cases were judged, one of them in one order only
    assert (found["rater"], found["prompt"], found["cases"], found["calls"]) == (
        "llm",
        "pairwise-media@1",
        4,
        8,
    )
    assert (found["calls_per_case"], found["cost_per_case"]) == (2, pytest.approx(0.07 / 4))
    assert found["human_ratio"] == pytest.approx(0.07 / 4 / 0.111)
    assert found["tokens_per_case"] == pytest.approx(7 * 120 / 4)
    judged.db.execute("UPDATE calls SET cost_usd = 0.04 WHERE state = 'failed'")
    failed = row(judged, "pointwise")
    assert (failed["cases"], failed["calls"], failed["cost_per_case"]) == (2, 3, pytest.approx(0.06 / 2))
    assert "1 cases failed" in str(failed["note"])
    assert cost(judged).answer.startswith("A case costs $0.02")


def test_an_unknown_price_stays_unknown(judged: Project) -> None:
    price(judged, 0.01, "list_order = 'ab'")
    found = row(judged, "pairwise", 0.111)
    assert (found["cost_usd"], found["cost_per_case"], found["human_ratio"]) == (None, None, None)
    assert "price unknown for 3 of 7 calls" in str(found["note"])
    assert "of 2 rows the cost is unknown" in cost(judged).answer or "No cost is known" in cost(judged).answer


# ---- sets of judges --------------------------------------------------------------------------------------------------


def said() -> dict[str, list[float]]:
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 3, ITEMS)
    found = {"people": truth.astype(float).tolist()}
    for rater, skill in SKILLS.items():
        guess = rng.integers(0, 3, ITEMS)
        found[rater] = np.where(rng.random(ITEMS) < skill, truth, guess).astype(float).tolist()
    return found


@pytest.fixture
def project(project_db: Path) -> Project:
    project = new_project(project_db)
    cases = [list_case(project, f"u{at:02}") for at in range(ITEMS)]
    for rater, values in said().items():
        given: dict[int, float | None] = dict(zip(cases, values, strict=True))
        if rater == "people":
            give(project, rater, given)
            continue
        run = judge_lists(project, rater, given)
        project.db.execute("UPDATE calls SET cost_usd = ? WHERE run_id = ?", (PRICES[rater], run))
    return project
