"""The leaderboard by Bradley and Terry, and what it says of neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recjudge_tui.reports.common.table import Row, Screen, Table, render
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.reports.leaderboard.q_matrix import q_matrix_table
from recjudge_tui.stats.ranking import APART, LOST_ALL, WON_ALL
from tests.support.battles import battles
from tests.support.verdicts import Project, give, new_project, pair_case


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def board(project: Project, method: str = "bt", protocol: str = "pairwise", **more: Any) -> Table:
    options = LeaderboardOptions(protocol, method=method, **more)
    return leaderboard_table(project.db, project.id, options)


def by_system(table: Table) -> dict[object, Row]:
    return {row["system"]: row for row in table.rows}


def test_ratings_with_intervals_on_the_scale(project: Project) -> None:
    battles(project, {("x", "y"): (100, 0, 10)})
    rows = by_system(board(project, ties="half"))
    assert [rows[name]["score"] for name in "xy"] == pytest.approx([1200, 800])
    assert [rows[name]["rank"] for name in "xy"] == [1, 2]
    low, high = rows["x"]["ci_low"], rows["x"]["ci_high"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert 1100 < low < 1200 < high < 1350
    assert rows["x"]["q"] == 10.0


def test_ties_are_an_option_and_named(project: Project) -> None:
    battles(project, {("x", "y"): (40, 40, 20)})
    davidson, half = board(project), board(project, ties="half")
    assert by_system(davidson)["x"]["score"] == pytest.approx(1000 + 200 * np.log10(2))
    assert by_system(half)["x"]["score"] == pytest.approx(1000 + 200 * np.log10(60 / 40))
    assert davidson.settings["ties"] == "davidson"
    assert half.settings["ties"] == "half"
    assert any("tie parameter 1.414" in note for note in davidson.notes)


def test_systems_without_a_finite_rating_say_why_and_keep_their_place(project: Project) -> None:
    battles(
        project,
        {
            ("a", "b"): (5, 0, 4), ("b", "c"): (5, 0, 4), ("a", "c"): (4, 0, 5),
            ("a", "best"): (0, 0, 3), ("b", "worst"): (3, 0, 0), ("p", "q"): (1, 0, 1),
        },
    )  # fmt: skip
    table = board(project)
    rows = by_system(table)
    assert {name: rows[name]["note"] for name in ("best", "worst", "p", "q")} == {
        "best": WON_ALL, "worst": LOST_ALL, "p": APART, "q": APART,
    }  # fmt: skip
    assert all(rows[name]["score"] is None for name in ("best", "worst", "p", "q"))
    assert [rows[name]["score"] for name in "abc"] == pytest.approx([1000] * 3)
    assert all(row["opponent"] is None for row in table.rows)
    assert [(row["system"], row["rank"]) for row in table.rows] == [
        ("best", 1), ("a", 2), ("b", 2), ("c", 2), ("worst", 5), ("p", None), ("q", None),
    ]  # fmt: skip


def test_places_of_systems_that_are_not_connected(project: Project) -> None:
    battles(project, {("a", "b"): (6, 0, 4), ("a", "best"): (0, 0, 3), ("b", "worst"): (3, 0, 0)})
    assert [(row["system"], row["rank"]) for row in board(project).rows] == [
        ("best", 1), ("a", 2), ("b", 3), ("worst", 4),
    ]  # fmt: skip


@pytest.mark.parametrize("other", [(1, 0, 1), (3, 0, 1)], ids=["a smaller island", "an equal one"])
def test_bradley_terry_ranks_the_largest_island(project: Project, other: tuple[int, int, int]) -> None:
    """Of two islands alike neither; each row left out says why."""
    battles(project, {("a", "b"): (3, 0, 1), ("p", "q"): other})
    rows = by_system(board(project))
    expected = {"a": 1, "b": 2, "p": None, "q": None} if other == (1, 0, 1) else dict.fromkeys("abpq")
    assert {name: row["rank"] for name, row in rows.items()} == expected
    assert all(row["note"] and row["score"] is None for row in rows.values() if row["rank"] is None)


def test_systems_that_no_result_orders_have_no_rank_and_a_note_names_them(project: Project) -> None:
    battles(project, {("a", "b"): (4, 0, 4), ("a", "c"): (0, 0, 8), ("b", "d"): (0, 0, 8)})
    table = board(project)
    assert {row["system"]: row["rank"] for row in table.rows} == {"a": 3, "b": 3, "c": None, "d": None}
    (note,) = (note for note in table.notes if "no rank for" in note)
    assert (
        "no rank for c, d: for each, there is a system that the results put neither above nor below it"
        in note
    )
    battles(project, {("c", "d"): (3, 0, 0)})
    table = board(project)
    assert {row["system"]: row["rank"] for row in table.rows} == {"a": 3, "b": 3, "c": 1, "d": 2}
    assert not any("no rank for" in note for note in table.notes)


@pytest.mark.parametrize("loser", ["a", "z"])
def test_a_system_that_lost_all_has_an_interval_against_its_opponent(project: Project, loser: str) -> None:
    """Whether its name sorts before or after the other's."""
    lost_all = {("a", "m"): (0, 0, 8)} if loser == "a" else {("m", "z"): (8, 0, 0)}
    battles(project, lost_all | {("m", "p"): (4, 0, 4)})
    (lost,) = (row for row in board(project, "q").rows if (row["system"], row["opponent"]) == (loser, "m"))
    assert (lost["q"], lost["ci_low"], lost["note"]) == (0.0, 0.0, "")
    assert lost["ci_high"] == pytest.approx(1 / 0.025 ** (1 / 8) - 1)


@pytest.mark.parametrize("method", ["q", "winrate"])
def test_systems_that_never_met_are_named(project: Project, method: str) -> None:
    battles(project, {("a", "b"): (3, 1, 2), ("b", "c"): (3, 1, 2)})
    (note,) = (note for note in board(project, method).notes if "never met" in note)
    assert "1 of 3 pairs of systems never met (a and c): their ranks depend on different opponents" in note
    battles(project, {("a", "c"): (0, 1, 0)})
    assert not any("never met" in note for note in board(project, method).notes)


def test_all_separable(project: Project) -> None:
    battles(project, {("x", "y"): (80, 4, 20)})
    notes = board(project).notes
    assert "anna, overall: all neighbours are separable with 104 users" in notes
    assert not any("Connor" in note for note in notes)


def test_more_cases_do_what_was_promised(project: Project) -> None:
    """The same shares with the number of cases asked for are separable at once or nearly so."""
    battles(project, {("x", "y"): (30, 0, 20)})
    (line,) = (note for note in board(project).notes if "not separable" in note)
    more = int(line.split("about ")[1].split(" more")[0].replace(",", ""))
    assert 100 < more < 300  # (50 + n') with 60 % wins: 199 in all
    scale = (50 + more) / 50
    battles(project, {("x", "y"): (round(30 * scale), 0, round(20 * scale))}, rater="ben")
    assert any(note.startswith("ben, overall: all neighbours are separable") for note in board(project).notes)


def test_arena_aspects_each_have_a_ranking(project: Project) -> None:
    for aspect, counts in (("overall", (9, 0, 3)), ("inspiration", (3, 0, 9))):
        battles(project, {("x", "y"): counts}, rater="llm", protocol="arena", aspect=aspect, kind="judge")
    table = board(project, protocol="arena")
    assert [(row["aspect"], row["system"]) for row in table.rows if row["rank"] == 1] == [
        ("overall", "x"), ("inspiration", "y"),
    ]  # fmt: skip
    only = board(project, protocol="arena", aspect="inspiration")
    assert {row["aspect"] for row in only.rows} == {"inspiration"}


def test_the_built_in_rules_are_named_for_what_they_are(project: Project) -> None:
    battles(project, {("x", "y"): (9, 0, 3)}, rater="rules", kind="rules")
    battles(project, {("x", "y"): (9, 0, 3)})
    told = [note for note in board(project).notes if "not a language model" in note]
    assert told == ["rules is not a language model: the published guidelines written as code"]
    assert not any("not a language model" in note for note in board(project, raters=("anna",)).notes)


def test_failed_verdicts_count_nowhere(project: Project) -> None:
    battles(project, {("x", "y"): (9, 2, 3)})
    before = by_system(board(project))["x"]["score"]
    give(
        project,
        "anna",
        {pair_case(project, f"v{at}", "x", "y"): None for at in range(5)},
        protocol_name="pairwise",
    )
    after = by_system(board(project))["x"]
    assert after["score"] == before
    assert (after["n"], after["failed"]) == (14, 5)


def test_a_rater_who_only_failed(project: Project) -> None:
    give(project, "anna", {pair_case(project, "u", "x", "y"): None}, protocol_name="pairwise")
    for method in ("q", "winrate", "bt"):
        rows = board(project, method).rows
        assert [(row["n"], row["failed"], row["score"], row["rank"]) for row in rows] == [
            (0, 1, None, None)
        ] * 2
        assert all(row["note"] for row in rows)


def test_one_user_has_no_interval(project: Project) -> None:
    give(
        project,
        "anna",
        {pair_case(project, "u", "x", "y"): 1.0, pair_case(project, "u", "y", "z"): 0.0},
        protocol_name="pairwise",
    )
    table = board(project, "winrate")
    assert all(row["ci_low"] is None for row in table.rows)
    assert any("at least two" in str(row["note"]) for row in table.rows)


@pytest.mark.parametrize("method", ["q", "winrate", "bt"])
def test_three_systems_fit_side_by_side_on_80_columns(project: Project, method: str) -> None:
    names = "cooccurrence", "embedding", "popularity"
    met = {(a, b): (71, 61, 68) for a in names for b in names if a < b}
    battles(project, met, rater="gpt-4o-mini", kind="judge")
    lines = render(board(project, method), "text", Screen(80)).text.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("embedding ") for line in lines) == (3 if method in ("q", "winrate") else 1)


def test_the_q_matrix_fits_side_by_side_on_80_columns(project: Project) -> None:
    names = "cooccurrence", "embedding", "popularity"
    met = {(a, b): (71, 61, 68) for a in names for b in names if a < b}
    battles(project, met, rater="gpt-4o-mini", kind="judge")
    table = q_matrix_table(project.db, project.id, LeaderboardOptions("pairwise"))
    lines = render(table, "text", Screen(80)).text.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("embedding ") for line in lines) == 2
    assert any("(Holm)" in line for line in lines[:5]), "the p that counts is never the one that goes"
