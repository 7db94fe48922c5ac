"""Tables and figures of many systems: the ends are shown, what lies between is named, nothing is lost."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from pathlib import Path

import pytest

from recjudge_tui.reports.common.table import Screen, render
from recjudge_tui.reports.figures.loading import figure_data, figure_marks
from recjudge_tui.reports.figures.marks import Grid
from recjudge_tui.reports.figures.options import FigureOptions
from recjudge_tui.reports.leaderboard.arena import arena_table
from recjudge_tui.reports.leaderboard.large_boards import first_and_last, next_to, readable
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions
from tests.support.commands import ran
from tests.support.verdicts import Project, give, new_project, pair_case

SYSTEMS = [f"system-{at:03}" for at in range(100)]


@pytest.fixture(scope="module")
def hundred(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A hundred systems, the first the best: each met the next, and the ends met each other."""
    project = new_project(tmp_path_factory.mktemp("hundred") / "h.db")
    met = [*pairwise(SYSTEMS), *((a, b) for a in SYSTEMS[:4] for b in SYSTEMS[-4:])]
    verdicts = {}
    for at, (a, b) in enumerate(met):
        for user in range(3):
            verdicts[pair_case(project, f"u{user}", a, b)] = (
                -1.0 if (at + user) % 100 < SYSTEMS.index(a) else 1.0
            )
    give(project, "anna", verdicts, protocol_name="pairwise")
    return project


@pytest.mark.parametrize("table", ["matrix", "ranking"])
def test_the_ends_are_shown_and_what_lies_between_is_named(hundred: Project, table: str) -> None:
    whole = arena_table(hundred.db, hundred.id, LeaderboardOptions("pairwise"), table)
    short = readable(whole)
    ranking = list(dict.fromkeys(str(row["system"]) for row in whole.rows if row.get("opponent")))
    pairs = [row for row in short.rows if row.get("opponent") is not None]
    shown = {str(row["system"]) for row in pairs}
    assert {str(row["opponent"]) for row in pairs} <= set(first_and_last(ranking))
    assert set(ranking[:4]) & shown
    assert set(ranking[-4:]) & shown
    for name in ranking:
        assert (name in short.notes[0]) != (name in first_and_last(ranking))
    assert "92 of 100 systems are not shown" in short.notes[0]
    assert f"all {len(whole.rows):,} rows" in short.notes[1]
    # the ranking itself is whole
    assert len(short.rows) - len(pairs) == (100 if table == "ranking" else 0)
    text = render(short, "text", Screen(width=80)).text
    assert max(map(len, text.splitlines())) <= 80


def test_other_formats_are_whole_and_systems_can_be_chosen(
    hundred: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "leaderboard",
        "-p",
        "films",
        "--db",
        str(hundred.db.path),
        "--protocol",
        "pairwise",
        "--table",
        "matrix",
    ]
    code, out, err = ran(capsys, *words, "--format", "csv")
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len({row["system"] for row in rows}) == 100
    code, out, err = ran(capsys, *words, "--systems", ",".join(SYSTEMS[40:52]))
    assert code == 0, err
    assert all(name in out for name in SYSTEMS[40:52])
    assert "are not shown" not in out


def test_few_systems_are_all_shown(project_db: Path) -> None:
    project = new_project(project_db)
    cases = {pair_case(project, "u", a, b): 1.0 for a, b in pairwise(SYSTEMS[:10])}
    give(project, "anna", cases, protocol_name="pairwise")
    table = arena_table(project.db, project.id, LeaderboardOptions("pairwise"), "matrix")
    assert readable(table) is table


def test_the_figure_shows_the_ends_or_the_systems_next_to_one(hundred: Project) -> None:
    ends = figure_data(hundred.db, hundred.id, "q-matrix", FigureOptions())
    grid = figure_marks(ends)
    assert isinstance(grid, Grid)
    ranking = list(dict.fromkeys(str(row["system"]) for row in ends.rows))
    assert grid.rows == (*ranking[:6], *ranking[-6:])
    assert "12 of 100 systems are drawn" in ends.caption
    assert ranking[50] in ends.notes[0]
    assert len({row["system"] for row in ends.rows}) == 100
    near = figure_marks(figure_data(hundred.db, hundred.id, "q-matrix", FigureOptions(system=ranking[50])))
    assert isinstance(near, Grid)
    assert near.rows == tuple(ranking[44:56])


@pytest.mark.parametrize(("chosen", "expected"), [("a", "abc"), ("b", "abc"), ("d", "cde"), ("e", "cde")])
def test_the_neighbours_of_the_first_and_the_last_are_on_one_side(chosen: str, expected: str) -> None:
    assert "".join(next_to("abcde", chosen, 3)) == expected
    assert "".join(next_to("ab", "a", 3)) == "ab"
