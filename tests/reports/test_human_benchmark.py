"""The human benchmark of SAER (Liu et al., SIGIR 2026): its Table 2 rebuilt from constructed labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.reports.agreement import AgreementOptions, agreement_table
from recjudge_tui.reports.human_benchmark import human_benchmark, pair_counts_table
from recjudge_tui.reports.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.reports.position import position_table, raw_counts_table
from recjudge_tui.reports.table import Row, Table
from recjudge_tui.running.consensus import make_consensus
from tests.reports.building import Project, give, judge_lists, judge_pairs, list_case, new_project, pair_case

A, TIE, B = 1.0, 0.0, -1.0

# what the judge said in the orders a-b and b-a, and for how many of the 200 pairs
SAID = (
    ((A, A), 103),
    ((B, B), 66),
    ((TIE, TIE), 7),
    ((A, B), 20),
    ((A, TIE), 2),
    ((B, TIE), 2),
)
# where both annotators pointed the same way: their direction, the judge's two answers, how many
DIRECTED = (
    (A, (A, A), 40),
    (B, (B, B), 29),
    (A, (B, B), 6),
    (A, (A, B), 5),
    (B, (TIE, TIE), 4),
)


@pytest.fixture
def project(project_db: Path) -> Project:
    project = new_project(project_db)
    cases = [pair_case(project, f"u{i:03}", "alpha", "beta") for i in range(200)]
    said = [answers for answers, times in SAID for _ in range(times)]
    judge_pairs(project, "llm", dict(zip(cases, said, strict=True)))
    anna, ben = _labels(cases, said)
    give(project, "anna", anna, protocol_name="pairwise")
    give(project, "ben", ben, protocol_name="pairwise")
    make_consensus(project.db, project.id, "people", "conservative", ["anna", "ben"])
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


def row_of(table: Table, **wanted: object) -> Row:
    return next(row for row in table.rows if all(row[name] == value for name, value in wanted.items()))


def test_adjudicated_counts(project: Project) -> None:
    table = leaderboard_table(project.db, project.id, LeaderboardOptions("pairwise", rater="llm"))
    row = row_of(table, system="alpha", opponent=None)
    assert (row["wins"], row["losses"], row["ties"], row["n"]) == (103, 66, 31, 200)
    assert row["position_ties"] == 24
    assert row["failed"] == 0
    assert row["rank"] == 1
    assert row["q"] == pytest.approx((103 + 31) / (66 + 31))


def test_raw_counts_and_consistency(project: Project) -> None:
    (row,) = raw_counts_table(project.db, project.id).rows
    assert (row["wins"], row["losses"], row["ties"], row["n"]) == (228, 154, 18, 400)
    assert (row["system"], row["opponent"], row["pairs"]) == ("alpha", "beta", 200)
    assert row["consistency"] == 0.88
    assert row["ci_low"] == pytest.approx(0.828, abs=1e-3)
    assert row["ci_high"] == pytest.approx(0.918, abs=1e-3)


def test_position_and_true_ties(project: Project) -> None:
    (row,) = position_table(project.db, project.id).rows
    assert (row["pairs"], row["consistent"]) == (200, 176)
    assert (row["position_ties"], row["true_ties"]) == (24, 7)
    # A then B is Set 1 both times; A then tie is Set 1 once; B in the order a-b is Set 2
    assert (row["set_1"], row["set_2"]) == (42, 2)
    assert row["set_1_share"] == pytest.approx(42 / 44)


def test_concurrence(project: Project) -> None:
    table = agreement_table(project.db, project.id, AgreementOptions(raters=("llm",), truth="people"))
    row = row_of(table, stat="concurrence")
    assert row["n"] == 84
    assert row["value"] == 69 / 84
    assert f"{row['value']:.1%}" == "82.1%"
    assert row["note"] == "69 of 84 cases where the reference points a way"


def test_both_counts_in_one_table(project: Project) -> None:
    verdicts, calls = pair_counts_table(project.db, project.id, "llm").rows
    assert [verdicts[name] for name in ("wins", "losses", "ties", "true_ties", "position_ties", "n")] == [
        103, 66, 31, 7, 24, 200,
    ]  # fmt: skip
    assert [calls[name] for name in ("wins", "losses", "ties", "n")] == [228, 154, 18, 400]
    assert verdicts["consistency"] == 0.88


def test_a_failed_order_is_no_tie(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [pair_case(project, f"u{i}") for i in range(3)]
    judge_pairs(project, "llm", {cases[0]: (A, A), cases[1]: (A, None), cases[2]: (None, None)})
    row = row_of(
        leaderboard_table(project.db, project.id, LeaderboardOptions("pairwise")), system="a", opponent=None
    )
    assert (row["wins"], row["ties"], row["losses"], row["n"], row["failed"]) == (1, 0, 0, 1, 2)
    (raw,) = raw_counts_table(project.db, project.id).rows
    assert (raw["wins"], raw["n"], raw["failed"], raw["pairs"]) == (3, 3, 3, 1)


def test_the_whole_report(project: Project) -> None:
    cases = [list_case(project, f"u{i:03}", system) for i in range(30) for system in ("alpha", "beta")]
    values = [float(i % 3) for i in range(60)]
    give(project, "anna", dict(zip(cases, values, strict=True)))
    give(project, "ben", dict(zip(cases, [*values[:50], *([1.0] * 10)], strict=True)))
    judge_lists(project, "llm", dict(zip(cases, values, strict=True)))
    make_consensus(project.db, project.id, "people-lists", "strict", ["anna", "ben"])
    lists, pairs, shares, counts, position = human_benchmark(
        project.db, project.id, "llm", ("anna", "ben"), "people-lists", "people"
    )
    assert [(row["rater_a"], row["rater_b"], row["stat"]) for row in lists.rows] == [
        ("anna", "ben", "qwk"), ("anna", "ben", "percent"),
        ("llm", "people-lists", "qwk"), ("llm", "people-lists", "percent"),
    ]  # fmt: skip
    assert row_of(pairs, stat="concurrence")["value"] == 69 / 84
    assert {(row["system"], row["rater"]) for row in shares.rows} == {
        (system, rater) for system in ("alpha", "beta") for rater in ("anna", "ben", "llm", "people-lists")
    }
    assert len(counts.rows) == 2
    assert len(position.rows) == 1
