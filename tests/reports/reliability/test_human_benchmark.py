"""A judge against people as SAER reports it (Liu et al., SIGIR 2026): its Table 2 rebuilt from constructed labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.people.raters import combine
from recjudge_tui.reports.common.table import Table
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    judge_pairs,
    list_case,
    new_project,
    only,
    pair_case,
    table,
)

A, TIE, B = 1.0, 0.0, -1.0
SIDES = ("Co-occurrence", "Embedding", "Tie")

# what the judge said in the orders a-b and b-a, and for how many of the 200 pairs
SAID = (((A, A), 103), ((B, B), 66), ((TIE, TIE), 7), ((A, B), 20), ((A, TIE), 2), ((B, TIE), 2))
# where both annotators pointed the same way: their direction, the judge's two answers, how many
DIRECTED = ((A, (A, A), 40), (B, (B, B), 29), (A, (B, B), 6), (A, (A, B), 5), (B, (TIE, TIE), 4))


@pytest.fixture
def project(project_db: Path) -> Project:
    project = new_project(project_db)
    cases = [pair_case(project, f"u{i:03}", "alpha", "beta") for i in range(200)]
    said = [answers for answers, times in SAID for _ in range(times)]
    judge_pairs(project, "llm", dict(zip(cases, said, strict=True)))
    anna, ben = _labels(cases, said)
    give(project, "anna", anna, protocol_name="pairwise")
    give(project, "ben", ben, protocol_name="pairwise")
    combine(project.db, project.id, "people", "conservative", ["anna", "ben"])
    return project


def _labels(
    cases: list[int], said: list[tuple[float, float]]
) -> tuple[dict[int, float | None], dict[int, float | None]]:
    """Two annotators who agree on a direction in 84 pairs, on a tie in half of the others, and else differ."""
    left = dict(zip(cases, said, strict=True))
    anna: dict[int, float | None] = {}
    ben: dict[int, float | None] = {}
    for direction, answers, times in DIRECTED:
        for case in [case for case, both in left.items() if both == answers][:times]:
            anna[case] = ben[case] = direction
            del left[case]
    for number, case in enumerate(left):
        anna[case], ben[case] = (TIE, TIE) if number % 2 else (A, B)
    return anna, ben


def benchmark(project: Project, *raters: str, truth: str | None = None) -> Table:
    return table(project, "agreement", benchmark=True, raters=raters, truth=truth)


@pytest.fixture
def judged(project: Project) -> Project:
    """With 60 lists of 30 users as well, of which ben rates ten of the last twenty otherwise than anna."""
    cases = [list_case(project, f"u{i:03}", system) for i in range(30) for system in ("alpha", "beta")]
    values = [float(i % 3) for i in range(60)]
    give(project, "anna", dict(zip(cases, values, strict=True)))
    give(project, "ben", dict(zip(cases, [*values[:50], *([1.0] * 10)], strict=True)))
    judge_lists(project, "llm", dict(zip(cases, values, strict=True)))
    combine(project.db, project.id, "people-lists", "strict", ["anna", "ben"])
    return project


def test_a_failed_order_is_no_tie(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [pair_case(project, f"u{i}") for i in range(3)]
    judge_pairs(project, "llm", {cases[0]: (A, A), cases[1]: (A, None), cases[2]: (None, None)})
    verdicts, calls = table(project, "robustness position", rater="llm", counts=True).rows
    assert [verdicts[name] for name in ("wins", "ties", "losses", "n", "failed")] == [1, 0, 0, 1, 2]
    assert (calls["wins"], calls["n"], calls["failed"]) == (3, 3, 3)


def test_the_benchmark_in_one_table(judged: Project) -> None:
    made = benchmark(judged, "llm", "anna", "ben", truth="people-lists,people")
    assert only(made, of="llm concurs where people gives a direction")["value"] == pytest.approx(
        100 * 69 / 84
    )
    assert only(made, of="llm: alpha, beta", figure="position consistency")["value"] == 88
    adjudicated = [
        only(made, of="llm Adjudicated (N=200): alpha, beta", figure=name)["value"] for name in SIDES
    ]
    raw = [only(made, of="llm Raw (N=400 calls): alpha, beta", figure=name)["value"] for name in SIDES]
    assert (adjudicated, raw) == ([51.5, 33, 15.5], [57, 38.5, 4.5])
    kappa = only(made, of="llm–people-lists", figure="weighted kappa")["value"]
    assert made.answer == f"llm–people-lists: weighted kappa {kappa:.2f}."
    # with one consensus of each sort nobody needs to name them
    assert benchmark(judged).rows == made.rows
