"""What the order of the two lists does: by pair of systems, aspect and gap in quality."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.reliability.position import PositionOptions, position_table
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.opening import connect
from tests.support.runs import make_project, planned, server_judge
from tests.support.servers.process import ServerProcess
from tests.support.verdicts import Project, give, judge_lists, judge_pairs, list_case, new_project, pair_case

GAP = PositionOptions(by_gap=True)


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def rated(project: Project, pairs: dict[str, tuple[float, float]], rater: str = "llm") -> dict[str, int]:
    """Pairs of lists of a and b by user, each list rated pointwise; the pair cases by user."""
    judge_lists(
        project,
        rater,
        {
            list_case(project, user, system): value
            for user, values in pairs.items()
            for system, value in zip("ab", values, strict=True)
        },
    )
    return {user: pair_case(project, user) for user in pairs}


def whole(rows: tuple[Row, ...]) -> Row:
    (row,) = [row for row in rows if row.get("gap") is None]
    return row


def test_a_judge_that_always_takes_the_first_set_favours_it_wholly(project: Project) -> None:
    judge_pairs(project, "llm", {pair_case(project, f"u{n}"): (1.0, -1.0) for n in range(8)})
    (row,) = position_table(project.db, project.id).rows
    assert (row["favoured"], row["favour"], row["consistency"], row["position_ties"]) == (
        "Set 1",
        1.0,
        0.0,
        8,
    )


def test_one_favoured_pair_of_systems_among_three_needs_more_than_alone(project: Project) -> None:
    def favoured(users: int) -> list[object]:
        answers = {pair_case(project, f"u{n}"): (1.0, -1.0) for n in range(users)}
        rest = {
            pair_case(project, f"u{n}", *names): (1.0, 1.0)
            for n in range(users)
            for names in (("a", "c"), ("b", "c"))
        }
        judge_pairs(project, f"alone{users}", answers)
        judge_pairs(project, f"three{users}", answers | rest)
        tables = [
            position_table(project.db, project.id, options=PositionOptions(rater=f"{name}{users}"))
            for name in ("alone", "three")
        ]
        assert "Holm's correction for 3 rows" in " ".join(tables[1].notes)
        return [table.rows[0]["favoured"] for table in tables]

    # six users alone are just enough, as in the sign test
    assert favoured(6) == ["Set 1", ""]
    assert favoured(10) == ["Set 1", "Set 1"]


def test_net_share_counts_all_calls_and_systems_cancel_out(project: Project) -> None:
    answers = [(1.0, 1.0), (1.0, 1.0), (0.0, -1.0), (-1.0, 1.0), (0.0, 0.0), (None, 1.0)]
    judge_pairs(project, "llm", {pair_case(project, f"u{n}"): both for n, both in enumerate(answers)})
    (row,) = position_table(project.db, project.id).rows
    # of ten calls: b-a asked, b preferred is Set 1; a-b asked, b preferred is Set 2, and a preferred second is Set 2
    assert row["favour"] == pytest.approx((0 + 0 + 0.5 - 1 + 0) / 5)
    assert row["favour"] == pytest.approx((3 - 4) / 10)
    assert (row["favoured"], row["true_ties"], row["position_ties"], row["pairs"]) == ("", 1, 2, 5)


def test_a_judge_without_position_bias_favours_neither_set(project: Project) -> None:
    judge_pairs(project, "llm", {pair_case(project, f"u{n}"): (1.0, 1.0) for n in range(8)})
    (row,) = position_table(project.db, project.id).rows
    assert (row["favoured"], row["favour"], row["consistency"]) == ("", 0.0, 1.0)


def test_rows_by_gap_show_where_position_decides(project: Project) -> None:
    near = {f"n{n}": (1.0, 1.0) for n in range(8)}
    far = {f"f{n}": (2.0, 0.0) for n in range(3)}
    cases = rated(project, near | far)
    judge_pairs(project, "llm", {cases[u]: (1.0, -1.0) for u in near} | {cases[u]: (1.0, 1.0) for u in far})
    table = position_table(project.db, project.id, options=GAP)
    assert [(row.get("gap"), row["pairs"], row["consistency"]) for row in table.rows] == [
        (None, 11, 3 / 11), (0.0, 8, 0.0), (2.0, 3, 1.0),
    ]  # fmt: skip
    assert [row["favoured"] for row in table.rows[1:]] == ["Set 1", ""]
    assert any(note.startswith("gap:") for note in table.notes)


def test_pairs_with_an_unrated_or_failed_list_have_no_gap(project: Project) -> None:
    cases = rated(project, {"u0": (2.0, 1.0), "u1": (1.0, 0.0)})
    judge_lists(project, "other", {list_case(project, "u2", "a"): None})
    cases |= {user: pair_case(project, user) for user in ("u2", "u3")}
    judge_pairs(project, "llm", dict.fromkeys(cases.values(), (1.0, 1.0)))
    rows = position_table(project.db, project.id, options=GAP).rows
    assert whole(rows)["pairs"] == 4
    assert [(row["gap"], row["pairs"]) for row in rows if row.get("gap") is not None] == [(1.0, 2)]


def test_the_gap_may_be_another_raters(project: Project) -> None:
    people = {
        list_case(project, f"u{n}", system): value
        for n in range(3)
        for system, value in (("a", 2.0), ("b", 1.0))
    }
    give(project, "anna", people)
    judge_pairs(project, "llm", {pair_case(project, f"u{n}"): (1.0, 1.0) for n in range(3)})
    own = position_table(project.db, project.id, options=GAP)
    assert len(own.rows) == 1
    assert any("--quality" in note for note in own.notes)
    by_anna = position_table(project.db, project.id, options=PositionOptions(by_gap=True, quality="anna"))
    assert [row.get("gap") for row in by_anna.rows] == [None, 1.0]


def test_one_rater_alone(project: Project) -> None:
    for name in ("llm", "other"):
        judge_pairs(project, name, {pair_case(project, "u0"): (1.0, 1.0)})
    rows = position_table(project.db, project.id, options=PositionOptions(rater="other")).rows
    assert [row["rater"] for row in rows] == ["other"]


def test_arena_by_aspect_on_a_real_run(project_db: Path, openai_server: ServerProcess) -> None:
    with connect(project_db) as db:
        project = make_project(db, users=6)
        for protocol in ("pointwise", "arena"):
            run_id = planned(db, server_judge(openai_server.url), protocol)
            assert work(db.path, run_id).state == "done"
        table = position_table(db, project, "arena", options=GAP)
        aspects = {str(row["aspect"]) for row in table.rows}
        assert {"overall", "accuracy", "transparency"} <= aspects
        assert {row["pairs"] for row in table.rows if row.get("gap") is None} == {6}
        for aspect in aspects:
            by_gap = [r for r in table.rows if r["aspect"] == aspect and r.get("gap") is not None]
            assert sum(int(str(row["pairs"])) for row in by_gap) == 6
        one = position_table(db, project, "arena", options=PositionOptions(aspect="impact"))
        assert [row["aspect"] for row in one.rows] == ["impact"]
