"""Live experiments beside what the raters had said."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.common.table import Row
from recjudge_tui.stats.intervals import clopper_pearson
from recjudge_tui.store.projects import Outcome, add_outcome
from tests.builder import Built
from tests.support.verdicts import Project, give, list_case, new_project, pair_case, table


@pytest.fixture
def project(project_db: Path) -> Project:
    """`sure` prefers a of a and b, `other` b; both rate a's lists; on a and c `sure` is even."""
    project = new_project(project_db)
    pairs = [pair_case(project, f"u{at}") for at in range(20)]
    wins = dict.fromkeys(pairs[:16], 1.0) | dict.fromkeys(pairs[16:], -1.0)
    give(project, "sure", wins, protocol_name="pairwise")
    give(project, "other", dict.fromkeys(pairs, -1.0) | {pairs[0]: None}, protocol_name="pairwise")
    further = [pair_case(project, f"u{at}", "a", "c") for at in range(4)]
    give(project, "sure", dict(zip(further, (1.0, -1.0, 0.0, 0.0), strict=True)), protocol_name="pairwise")
    for at in range(20):
        good, poor = list_case(project, f"u{at}", "a"), list_case(project, f"u{at}", "b")
        give(project, "lists", {good: 2.0 - at % 2, poor: float(at % 2)})
    return project


def add(project: Project, name: str, first: str, second: str, clicks: tuple[int, int]) -> None:
    add_outcome(project.db, project.id, Outcome(name, first, second, 1000, 1000, *clicks))


def rows_of(project: Project, **wanted: object) -> list[Row]:
    rows = table(project, "outcome show", judges=True).rows
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def test_the_running_hit_rate(project: Project) -> None:
    add(project, "one", "a", "b", (150, 100))
    add(project, "undecided", "a", "b", (101, 100))
    add(project, "two", "a", "b", (100, 150))
    add(project, "even", "a", "c", (150, 100))
    told = [(r["experiment"], r["hit"], r["hits"], r["decided"]) for r in rows_of(project, rater="sure")]
    assert told == [
        ("one", True, 1, 1),
        ("undecided", None, 1, 1),
        ("two", False, 1, 2),
        ("even", False, 1, 3),
    ]
    last = rows_of(project, rater="sure", experiment="even")[0]
    expected = clopper_pearson(1, 3)
    assert (last["pointed"], last["hit_rate"]) == ("even", expected.value)
    assert (last["hit_low"], last["hit_high"]) == (expected.ci_low, expected.ci_high)
    alone = table(project, "outcome show", name="two", judges=True)
    assert [row["decided"] for row in alone.rows if row["rater"] == "sure"] == [2]
    with pytest.raises(NotFoundError, match="three"):
        table(project, "outcome show", name="three")


@pytest.mark.parametrize(
    ("impressions", "clicks"),
    [("5000000,5000000", "30950,26150"), ("5e6,5000000.0", "0.619%,0.523%"), ("5e6,5e6", "0.00619,0.00523")],
)
def test_saers_experiment_whatever_the_decimals(project: Project, impressions: str, clicks: str) -> None:
    """Liu et al. (SIGIR 2026): 0.619 % against 0.523 %, a lift of 18.4 %."""
    built = Built(project.db.path, "films")
    dates = "--from 2025-06-01 --to 2025-06-28 --users-a 410000 --users-b 408000"
    line = f"outcome add -p films --systems new,old --impressions {impressions} --clicks {clicks} {dates} --name june"
    (row,) = built.table(line)["rows"]
    assert (row["clicks_a"], row["clicks_b"]) == (30950, 26150)
    assert row["lift"] == pytest.approx(0.18355640535372848)
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(0.1642858388), pytest.approx(0.2031459269))
    assert row["z"] == pytest.approx(20.145, abs=5e-4)
    assert (row["began_at"][:10], row["ended_at"][:10]) == ("2025-06-01", "2025-06-28")
    assert (row["users_a"], row["users_b"]) == (410000, 408000)
    with pytest.raises(UsageError, match="exists already"):
        built.run(line)
    built.done("outcome delete june -p films")
    assert table(project, "outcome show").rows == ()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--systems a,a --impressions 9,9 --clicks 1,1", "two different systems"),
        ("--systems a,b --impressions 9 --clicks 1,1", "two numbers"),
        ("--systems a,b --impressions 9,0 --clicks 1,0", "never shown"),
        ("--systems a,b --impressions 9,9 --clicks 10,1", "more clicks"),
        ("--systems a,b --impressions 9.5,9 --clicks 1,1", "whole number"),
        ("--systems a,b --impressions 9,9 --clicks x,1", "rate such as"),
        ("--systems a,b --impressions 9,9 --clicks 1,1 --users-a 10", "cannot have been shown to 10 users"),
    ],
)
def test_an_impossible_experiment_is_refused(project: Project, words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Built(project.db.path, "films").run(f"outcome add -p films {words}")
    assert table(project, "outcome show").rows == ()
