"""The log of live experiments beside what the raters had said."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.projects.experiments import OutcomeOptions, outcomes_table, prediction_log_table
from recjudge_tui.stats.intervals import clopper_pearson
from recjudge_tui.store.projects.experiments import Outcome, add_outcome
from tests.support.verdicts import Project, give, list_case, new_project, pair_case

FEW = OutcomeOptions()


@pytest.fixture
def project(project_db: Path) -> Project:
    """`sure` prefers a of a and b, `other` b; both rate a's lists; on a and c `sure` is even."""
    project = new_project(project_db)
    pairs = [pair_case(project, f"u{at}") for at in range(20)]
    give(
        project,
        "sure",
        dict.fromkeys(pairs[:16], 1.0) | dict.fromkeys(pairs[16:], -1.0),
        protocol_name="pairwise",
    )
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
    table = prediction_log_table(project.db, project.id, FEW)
    return [row for row in table.rows if all(row[name] == value for name, value in wanted.items())]


def test_each_rater_points_or_does_not(project: Project) -> None:
    add(project, "june", "a", "b", (150, 100))
    sure, other, lists = (rows_of(project, rater=name)[0] for name in ("sure", "other", "lists"))
    assert (sure["winner"], sure["measure"], sure["judged"]) == ("a", "win rate", 0.8)
    assert (sure["pointed"], sure["hit"], sure["sure"]) == ("a", True, True)
    assert (other["pointed"], other["hit"], other["judged"], other["n"]) == ("b", False, 0.0, 19)
    assert (lists["pointed"], lists["hit"], lists["measure"]) == ("a", True, "difference of means")
    assert lists["judged"] == pytest.approx(1.0)


def test_the_systems_may_stand_the_other_way_round(project: Project) -> None:
    add(project, "june", "b", "a", (100, 150))
    row = rows_of(project, rater="sure")[0]
    assert (row["winner"], row["judged"], row["pointed"], row["hit"]) == ("a", pytest.approx(0.2), "a", True)


def test_the_running_hit_rate(project: Project) -> None:
    add(project, "one", "a", "b", (150, 100))
    add(project, "undecided", "a", "b", (101, 100))
    add(project, "two", "a", "b", (100, 150))
    add(project, "even", "a", "c", (150, 100))
    told = [(r["experiment"], r["hit"], r["hits"], r["decided"]) for r in rows_of(project, rater="sure")]
    assert told == [
        ("one", True, 1, 1), ("undecided", None, 1, 1), ("two", False, 1, 2), ("even", False, 1, 3),
    ]  # fmt: skip
    last = rows_of(project, rater="sure", experiment="even")[0]
    expected = clopper_pearson(1, 3)
    assert (last["pointed"], last["hit_rate"]) == ("even", expected.value)
    assert (last["hit_low"], last["hit_high"]) == (expected.ci_low, expected.ci_high)


def test_one_experiment_still_counts_those_before_it(project: Project) -> None:
    add(project, "one", "a", "b", (150, 100))
    add(project, "two", "a", "b", (100, 150))
    table = prediction_log_table(project.db, project.id, OutcomeOptions("two"))
    assert {row["experiment"] for row in table.rows} == {"two"}
    assert [row["decided"] for row in table.rows if row["rater"] == "sure"] == [2]
    with pytest.raises(NotFoundError, match="three"):
        prediction_log_table(project.db, project.id, OutcomeOptions("three"))


def test_the_experiments_themselves(project: Project) -> None:
    add(project, "june", "a", "b", (150, 100))
    add(project, "unknown", "x", "y", (0, 0))
    table = outcomes_table(project.db, project.id, FEW)
    june, unknown = table.rows
    assert (june["rate_a"], june["lift"], june["winner"]) == (0.15, pytest.approx(0.5), "a")
    assert (june["same_way"], june["judges"]) == (2, 3)
    assert (unknown["lift"], unknown["z"], unknown["p"], unknown["winner"]) == (None, None, None, None)
    assert "never clicked" in str(unknown["note"])
    assert (unknown["same_way"], unknown["judges"]) == (None, 0)
    assert any(note.startswith("sure (pairwise): predicted the winner in 1 of 1") for note in table.notes)


def test_in_sentences_for_one_experiment(project: Project) -> None:
    add(project, "june", "a", "b", (150, 100))
    notes = outcomes_table(project.db, project.id, OutcomeOptions("june")).notes
    assert any(n.startswith("sure (pairwise, win rate): 0.800 [") and n.endswith("same way") for n in notes)
    assert any(n.startswith("other (") and n.endswith("points to b: the other way") for n in notes)


def test_nothing_yet(project: Project) -> None:
    table = outcomes_table(project.db, project.id, FEW)
    assert table.rows == ()
    assert "outcome add" in table.notes[0]
    assert prediction_log_table(project.db, project.id, FEW).rows == ()


def test_one_who_judged_one_system_only_has_no_verdict(project: Project) -> None:
    give(project, "half", {list_case(project, "u0", "a"): 2.0})
    add(project, "june", "a", "b", (150, 100))
    row = rows_of(project, rater="half")[0]
    assert (row["pointed"], row["hit"], row["decided"]) == (None, None, 0)
    assert "only one of the two systems" in str(row["note"])
