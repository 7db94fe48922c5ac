"""The Q matrix, Q against offline metrics, and the protocols side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.records import Event, Item, RankedItem, Slate
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.leaderboard.arena import TABLES, arena_table
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions
from recjudge_tui.reports.leaderboard.q_metrics import METRICS, correlation_rows
from recjudge_tui.stats.agreement import association
from recjudge_tui.store.imports.loading import add_events, add_items, add_slate
from tests.support.battles import battles
from tests.support.verdicts import (
    Project,
    give,
    import_target,
    judge_lists,
    list_case,
    new_project,
    pair_case,
)

SYSTEMS = ("s0", "s1", "s2")
ITEMS = ("good", "fair", "poor", "none")


@pytest.fixture
def project(project_db: Path) -> Project:
    """Three systems: s0 lists the item held out first, s1 second, s2 third; s0 wins most, s2 least."""
    project = new_project(project_db)
    with project.db.transaction():
        target = import_target(project)
        add_items(target, [Item(item_id=name, title=name, category=name) for name in ITEMS])
        for user in range(4):
            add_events(target, [Event(user_id=f"u{user}", type="heldout_rating", item_id="good", value=5.0)])
            for place, system in enumerate(SYSTEMS):
                order = [name for name in ITEMS if name != "good"]
                order.insert(place, "good")
                items = tuple(RankedItem(item_id=name, score=9.0 - at) for at, name in enumerate(order))
                add_slate(target, Slate(user_id=f"u{user}", system=system, items=items))
    pairs = {("s0", "s1"): (12, 4, 4), ("s0", "s2"): (15, 3, 2), ("s1", "s2"): (10, 5, 5)}
    for aspect in ("overall", "satisfaction", "inspiration"):
        battles(project, pairs, rater="llm", protocol="arena", aspect=aspect, kind="judge")
    return project


def table(project: Project, name: str, protocol: str = "arena", k: int | None = None, **more: Any) -> Table:
    options = LeaderboardOptions(protocol, **more)
    return arena_table(project.db, project.id, options, name, k)


def test_the_matrix_has_a_row_for_each_two_systems_both_ways(project: Project) -> None:
    found = table(project, "matrix", aspect="overall")
    rows = {(row["system"], row["opponent"]): row for row in found.rows}
    assert [(row["system"], row["opponent"]) for row in found.rows] == [
        ("s0", "s1"), ("s0", "s2"), ("s1", "s0"), ("s1", "s2"), ("s2", "s0"), ("s2", "s1"),
    ]  # fmt: skip
    assert rows["s0", "s1"]["q"] == 2.0
    assert rows["s1", "s0"]["q"] == 0.5
    assert (rows["s0", "s2"]["wins"], rows["s0", "s2"]["ties"], rows["s0", "s2"]["losses"]) == (15, 3, 2)
    assert rows["s2", "s0"]["n"] == 20


def test_a_user_counts_once_in_the_sign_test(project: Project) -> None:
    """u0 prefers s1 in three cases of their own item; the others prefer s0 once each."""
    from recjudge_tui.store.cases.cases import CaseKey, ensure_case

    with project.db.transaction():
        mine = [
            ensure_case(project.db, project.id, CaseKey("pair", "u0", "s0", "s1", item_id=f"i{at}"))
            for at in range(3)
        ]
    others = [pair_case(project, f"u{at}", "s0", "s1") for at in range(1, 6)]
    give(project, "anna", dict.fromkeys(mine, -1.0) | dict.fromkeys(others, 1.0), protocol_name="pairwise")
    row = table(project, "matrix", "pairwise", raters=("anna",)).rows[0]
    assert (row["wins"], row["losses"], row["users_for"], row["users_against"]) == (5, 3, 5, 1)
    assert row["p"] == pytest.approx(2 * 7 / 64)


def test_two_systems_have_a_matrix_too_and_failures_stand_outside(project: Project) -> None:
    cases = [pair_case(project, f"w{at}", "s0", "s1") for at in range(3)]
    give(project, "ben", dict(zip(cases, (1.0, None, None), strict=True)), protocol_name="pairwise")
    rows = table(project, "matrix", "pairwise", raters=("ben",)).rows
    assert [(row["system"], row["n"], row["failed"], row["q"]) for row in rows] == [
        ("s0", 1, 2, None), ("s1", 1, 2, 0.0),
    ]  # fmt: skip
    assert "never lost" in str(rows[0]["note"])


def test_verdicts_without_their_lists_have_no_metrics(project: Project) -> None:
    """The project has lists, but none behind these verdicts."""
    battles(project, {("p", "q"): (3, 0, 1)}, rater="counted")
    found = table(project, "metrics", "pairwise", raters=("counted",))
    assert (
        "counted, overall: no list behind its verdicts is stored, so there is nothing to measure"
        in found.notes
    )
    assert not any("no lists yet" in note for note in found.notes)


def test_q_against_metrics(project: Project) -> None:
    found = table(project, "metrics", k=3)
    overall = {row["metric"]: row for row in found.rows if row["aspect"] == "overall"}
    assert tuple(overall) == METRICS
    assert [row["k"] for row in overall.values()] == [None, 3, 3, 3]
    for name in ("auc", "ndcg", "ndcg_explicit"):
        row = overall[name]
        value = row["pearson"]
        assert isinstance(value, float)
        assert 0.8 < value <= 1
        assert (row["n"], row["same_order"]) == (3, True)
        assert isinstance(row["p"], float)
    assert overall["urd"]["pearson"] is None  # every list has the same spread of categories
    assert "same for all systems" in str(overall["urd"]["note"])
    natural = {(row["aspect"], row["metric"]) for row in found.rows if row["natural"]}
    assert natural == {("inspiration", "urd"), ("satisfaction", "ndcg_explicit")}


def test_fewer_than_three_systems_have_no_correlation(project: Project) -> None:
    battles(project, {("s0", "s1"): (3, 1, 1)}, rater="anna")
    rows = table(project, "metrics", "pairwise", raters=("anna",)).rows
    assert {row["pearson"] for row in rows} == {None}
    assert all("three are needed" in str(row["note"]) for row in rows)


@pytest.mark.parametrize(
    ("q", "r", "p"),
    [
        ((2.9501, 2.0607, 1.985, 1.56), 0.9001, 0.0998),
        ((2.3123, 2.0828, 1.9162, 1.7215), 0.9530, 0.0469),
        ((1.8119, 1.4991, 1.7283, 1.4571), 0.7443, 0.2556),
    ],
    ids=["GPT-4o", "DeepSeek", "Llama"],
)
def test_auc_against_q_on_mind_as_published(q: tuple[float, ...], r: float, p: float) -> None:
    """r as printed; the printed p assumes normal figures, and ours counts the 24 orders of four systems."""
    names = ("NRMS", "LightGCN", "SASRec", "DeepFM")
    auc = dict(zip(names, (0.5004, 0.4990, 0.4985, 0.4956), strict=True))
    row = correlation_rows("judge", "overall", dict(zip(names, q, strict=True)), {"auc": auc}, 5)[0]
    assert row["pearson"] == pytest.approx(r, abs=2e-4)
    assert row["p"] == association(list(auc.values()), list(q)).p
    assert float(str(row["p"])) >= max(2 / 24, p / 2)
    assert (row["n"], row["same_order"]) == (4, q == tuple(sorted(q, reverse=True)))


def test_a_system_without_a_figure_is_left_out_and_named() -> None:
    q = {"a": 2.0, "b": None, "c": 1.0, "d": 0.5}
    rows = correlation_rows("judge", "overall", q, {"auc": {"a": 0.6, "b": 0.5, "c": 0.55}}, 5)
    auc, ndcg = rows[0], rows[1]
    assert (auc["n"], auc["note"]) == (
        2,
        "2 systems have both figures: three are needed; no finite Q: b; no metric: d",
    )
    assert "no metric" in str(ndcg["note"])


def test_side_by_side_on_one_scale(project: Project) -> None:
    lists = {list_case(project, f"u{user}", system): 0.0 for user in range(4) for system in SYSTEMS}
    scores = {"s0": 0.9, "s1": 0.7, "s2": 0.5}
    give(
        project,
        "llm",
        {case: scores[SYSTEMS[at % 3]] for at, case in enumerate(lists)},
        protocol_name="absolute",
        kind="judge",
    )
    rows = table(project, "side-by-side", aspect="overall").rows
    assert [row["system"] for row in rows] == list(SYSTEMS)
    assert [row["absolute"] for row in rows] == pytest.approx([0.9, 0.7, 0.5])
    assert [row["absolute_scaled"] for row in rows] == pytest.approx([1, 0.5, 0])
    assert [row["q_scaled"] for row in rows][::2] == [1.0, 0.0]
    assert [row["auc_scaled"] for row in rows] == pytest.approx([1, 0.5, 0])
    assert [(row["n_absolute"], row["n_q"], row["n_auc"]) for row in rows] == [(4, 40, 4)] * 3
    assert any("our choice" in note for note in table(project, "side-by-side").notes)


def test_side_by_side_needs_three_systems_for_one_scale(project: Project) -> None:
    battles(project, {("s0", "s1"): (3, 1, 1)}, rater="anna")
    rows: tuple[Row, ...] = table(project, "side-by-side", "pairwise", raters=("anna",)).rows
    assert [row["q_scaled"] for row in rows] == [None, None]
    assert [row["q"] for row in rows] == [2.0, 0.5]
    assert all("at least 3 systems" in str(row["note"]) for row in rows)
    assert all("no absolute scores" in str(row["note"]) for row in rows)


def test_absolute_scores_of_the_same_judge_under_another_name_are_found(project: Project) -> None:
    from recjudge_tui.store.runs.judges import newest_judges

    judge_lists(project, "rules", {list_case(project, "u0", system): 2.0 for system in SYSTEMS}, kind="rules")
    assert newest_judges(project.db, project.id) == {"rules": "rules"}
    project.db.execute("UPDATE verdicts SET protocol = 'absolute' WHERE protocol = 'pointwise'")
    project.db.execute(
        "INSERT INTO raters (project_id, name, kind, created_at) VALUES (?, 'rules-2', 'rules', 'now')",
        (project.id,),
    )
    battles(project, {("s0", "s1"): (3, 1, 1)}, rater="rules-2", protocol="arena", kind="rules")
    unmatched = table(project, "side-by-side", raters=("rules-2",)).rows
    assert all(row["absolute"] is None for row in unmatched)
    project.db.execute(
        """INSERT INTO runs (project_id, rater_id, prompt_id, protocol, judge, settings, state, created_at)
           SELECT project_id, (SELECT id FROM raters WHERE name = 'rules-2'), prompt_id, 'arena', judge, settings,
             state, created_at FROM runs LIMIT 1"""
    )
    rows = {row["system"]: row for row in table(project, "side-by-side", raters=("rules-2",)).rows}
    assert rows["s0"]["absolute"] == 2.0
    assert rows["s0"]["absolute_rater"] == "rules"


def test_invalid_options_and_empty_projects(project: Project) -> None:
    with pytest.raises(UsageError, match="no table"):
        table(project, "circle")
    for name in TABLES:
        with pytest.raises(UsageError):
            table(project, name, "duel")
        with pytest.raises(NotFoundError):
            table(project, name, raters=("nobody",))
    with pytest.raises(UsageError, match="two lists"):
        table(project, "matrix", "pointwise")
    for name in ("matrix", "metrics", "side-by-side"):
        with pytest.raises(UsageError, match="there are no verdicts on an aspect"):
            table(project, name, aspect="nothing", raters=("llm",))
    project.db.execute("DELETE FROM verdicts")
    for name in ("matrix", "metrics", "side-by-side"):
        empty = table(project, name, raters=("llm",))
        assert empty.rows == ()
        nothing = (
            "there are no verdicts yet" if name == "side-by-side" else "no pair of lists has been judged yet"
        )
        assert nothing in empty.notes[0]
