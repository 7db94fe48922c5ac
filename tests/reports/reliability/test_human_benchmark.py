"""The human benchmark of SAER (Liu et al., SIGIR 2026): its Table 2 rebuilt from constructed labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from recjudge_tui.cli.results.agreement import agreement
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.raters.consensus import make_consensus
from recjudge_tui.reports.agreement.agreement import AgreementOptions, agreement_table
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.reports.reliability.benchmark_table import benchmark_table
from recjudge_tui.reports.reliability.human_benchmark import human_benchmark, pair_counts_table
from recjudge_tui.reports.reliability.position import position_table, raw_counts_table
from recjudge_tui.reports.reliability.strictness import strictness_table
from tests.support.verdicts import Project, give, judge_lists, judge_pairs, list_case, new_project, pair_case

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
    table = leaderboard_table(project.db, project.id, LeaderboardOptions("pairwise", raters=("llm",)))
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
    assert row["ci_low"] == pytest.approx(0.8258, abs=1e-4)
    assert 0.91 < float(str(row["ci_high"])) < 0.93


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
    assert row["note"] == "agrees on 69 of the 84 cases where the reference preferred a system"


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


@pytest.fixture
def judged(project: Project) -> Project:
    """With 60 lists of 30 users as well, of which ben rates ten of the last twenty otherwise than anna."""
    cases = [list_case(project, f"u{i:03}", system) for i in range(30) for system in ("alpha", "beta")]
    values = [float(i % 3) for i in range(60)]
    give(project, "anna", dict(zip(cases, values, strict=True)))
    give(project, "ben", dict(zip(cases, [*values[:50], *([1.0] * 10)], strict=True)))
    judge_lists(project, "llm", dict(zip(cases, values, strict=True)))
    make_consensus(project.db, project.id, "people-lists", "strict", ["anna", "ben"])
    return project


def test_the_whole_report(judged: Project) -> None:
    lists, pairs, strictness, shares, counts, position = human_benchmark(
        judged.db, judged.id, "llm", ("anna", "ben"), "people-lists", "people"
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
    assert {(row["rater"], row["protocol"]) for row in strictness.rows} == {
        (rater, protocol) for rater in ("anna", "ben", "llm") for protocol in ("pointwise", "pairwise")
    }


def test_strictness_is_the_mean_difference_from_the_others(judged: Project) -> None:
    table = strictness_table(judged.db, judged.id, ("llm",), ("anna", "ben"))
    anna = row_of(table, rater="anna", protocol="pointwise", figure="bias")
    ben = row_of(table, rater="ben", protocol="pointwise", figure="bias")
    # anna's last ten values are 2 0 1 2 0 1 2 0 1 2, ben's are all 1
    assert anna["value"] == pytest.approx(1 / 60)
    assert ben["value"] == pytest.approx(-1 / 60)
    assert (anna["against"], anna["n"]) == ("the other annotators", 60)
    low, high = anna["ci_low"], anna["ci_high"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert low < 1 / 60 < high
    judge = row_of(table, rater="llm", protocol="pointwise", figure="bias")
    # the judge said what anna said: half her distance from ben
    assert (judge["value"], judge["against"]) == (pytest.approx(1 / 120), "the annotators")
    poor = row_of(table, rater="ben", protocol="pointwise", label="Poor")
    assert (poor["count"], poor["value"], poor["n"]) == (17, pytest.approx(17 / 60), 60)


def test_a_strict_annotator_is_found_and_one_alone_has_no_bias(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [list_case(project, f"u{i:02}") for i in range(40)]
    give(project, "mild", dict.fromkeys(cases, 2.0))
    give(project, "hard", {case: float(at % 2) for at, case in enumerate(cases)})
    give(project, "late", {cases[0]: 1.0})
    table = strictness_table(project.db, project.id, (), ("mild", "hard", "late"))
    hard = row_of(table, rater="hard", figure="bias")
    # on the first case the two others gave 2 and 1
    assert hard["value"] == pytest.approx(-(1.5 + 39 * 2 - 20) / 40)
    assert isinstance(hard["ci_high"], float)
    assert hard["ci_high"] < -1
    assert row_of(table, rater="mild", label="Good")["value"] == 1
    alone = strictness_table(project.db, project.id, (), ("mild",))
    bias = row_of(alone, figure="bias")
    assert (bias["value"], bias["note"]) == (None, "no case that another annotator also judged")


def test_the_benchmark_in_one_table(judged: Project) -> None:
    """The figures of SAER's Table 2 by the command."""
    words = ["-p", "films", "--db", str(judged.db.path), "--format", "json", "--benchmark"]
    done = CliRunner().invoke(agreement, [*words, "--truth", "people-lists,people"])
    assert done.exit_code == 0, done.output
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]

    def one(**wanted: object) -> dict[str, Any]:
        (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
        return found

    assert one(figure="concurrence")["value"] == 69 / 84
    verdicts = {name: one(figure=f"{name}, verdicts") for name in ("wins", "losses", "ties", "true_ties")}
    assert [row["count"] for row in verdicts.values()] == [103, 66, 31, 7]
    assert verdicts["ties"]["value"] == 31 / 200
    assert [one(figure=f"{name}, calls")["count"] for name in ("wins", "losses", "ties")] == [228, 154, 18]
    assert one(figure="consistency")["value"] == 0.88
    assert one(figure="bias", rater="ben", protocol="pointwise")["value"] == pytest.approx(-1 / 60)
    assert one(part="strictness", rater="anna", protocol="pairwise", label="Tie")["value"] == pytest.approx(
        58 / 200
    )
    assert one(part="agreement", rater="llm", protocol="pointwise", figure="qwk")["of"] == "people-lists"
    # with one consensus of each sort nobody needs to name them
    assert CliRunner().invoke(agreement, words).exit_code == 0


def test_who_takes_part_must_be_clear(judged: Project) -> None:
    judge_lists(judged, "other", {list_case(judged, "u000", "alpha"): 1.0})
    with pytest.raises(UsageError, match="needs exactly one judge"):
        benchmark_table(judged.db, judged.id)
    table = benchmark_table(judged.db, judged.id, ("llm",))
    assert table.settings["annotators"] == ["anna", "ben"]
    assert "other" not in {row["rater"] for row in table.rows}
    make_consensus(judged.db, judged.id, "majority", "majority", ["anna", "ben"])
    with pytest.raises(UsageError, match="several raters could be the consensus"):
        benchmark_table(judged.db, judged.id, ("llm",))
    with pytest.raises(NotFoundError):
        benchmark_table(judged.db, judged.id, ("llm",), ("nobody",))


def test_without_a_consensus_people_stand_beside_the_judge(project_db: Path) -> None:
    project = new_project(project_db)
    case = list_case(project, "u")
    with pytest.raises(UsageError, match="needs exactly one judge"):
        benchmark_table(project.db, project.id)
    judge_lists(project, "llm", {case: 1.0})
    with pytest.raises(UsageError, match="no annotator"):
        benchmark_table(project.db, project.id)
    give(project, "anna", {case: 1.0})
    table = benchmark_table(project.db, project.id)
    assert table.notes[0] == "no consensus of pointwise labels: “recjudge rater consensus” creates one"
    assert {row["part"] for row in table.rows} == {"strictness", "shares"}
