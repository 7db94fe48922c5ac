"""Cost against accuracy of every set of judges."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from recjudge_tui.cli.results.cost import cost
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.raters.ensemble import make_ensemble
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.reliability.ensemble_costs import EnsembleCostOptions, ensemble_costs_table
from recjudge_tui.stats.agreement import percent, qwk
from recjudge_tui.stats.combining.consensus import majority
from tests.support.verdicts import Project, give, judge_lists, list_case, new_project

SKILLS = {"dear": 0.95, "fair": 0.75, "poor": 0.5}
PRICES = {"dear": 0.05, "fair": 0.01, "poor": 0.02}
ITEMS = 60


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


def by_ensemble(table: Table) -> dict[str, Row]:
    return {str(row["jury"]): row for row in table.rows}


def test_every_set_with_its_agreement_and_the_sum_of_its_costs(project: Project) -> None:
    found = by_ensemble(ensemble_costs_table(project.db, project.id, EnsembleCostOptions("people")))
    values = said()
    assert len(found) == 7
    for size in (1, 2, 3):
        for members in combinations(sorted(SKILLS), size):
            row = found[" + ".join(members)]
            joint = majority([values[name] for name in members], size)
            assert row["cost_per_case"] == pytest.approx(sum(PRICES[name] for name in members))
            assert row["value"] == pytest.approx(qwk(joint, values["people"], (0, 1, 2)))
            assert row["n"] == int((~np.isnan(joint)).sum())
            assert row["answered"] == pytest.approx(float((~np.isnan(joint)).mean()))
            assert (row["size"], row["stat"], row["rule"]) == (size, "qwk", "majority")
            assert row["ci_low"] is not None or "no interval" in str(row["note"])


def test_the_cheapest_first_and_what_is_worth_its_money(project: Project) -> None:
    table = ensemble_costs_table(project.db, project.id, EnsembleCostOptions("people", stat="percent"))
    costs = [row["cost_per_case"] for row in table.rows]
    assert costs == sorted(costs, key=lambda cost: cost if isinstance(cost, float) else 0.0)
    found = by_ensemble(table)
    assert found["fair"]["efficient"] is True
    # dearer than `fair` and worse
    assert found["poor"]["efficient"] is False
    # nobody who answers always agrees more
    assert found["dear"]["efficient"] is True
    assert found["dear"]["value"] == pytest.approx(percent(said()["dear"], said()["people"]))


def test_dawid_and_skene_and_the_mean(project: Project) -> None:
    learnt = by_ensemble(
        ensemble_costs_table(project.db, project.id, EnsembleCostOptions("people", rule="dawid-skene"))
    )
    assert learnt["dear + fair"]["note"] == "dawid-skene needs 3 judges"
    assert learnt["dear + fair"].get("value") is None
    assert learnt["dear + fair + poor"]["answered"] == 1
    means = ensemble_costs_table(project.db, project.id, EnsembleCostOptions("people", rule="mean"))
    assert {row["stat"] for row in means.rows} == {"pearson"}
    assert {row["answered"] for row in means.rows} == {1.0}


def test_an_unknown_price_stays_unknown_and_a_person_has_their_own(project: Project) -> None:
    project.db.execute(
        """UPDATE calls SET cost_usd = NULL WHERE run_id =
           (SELECT ru.id FROM runs ru JOIN raters r ON r.id = ru.rater_id WHERE r.name = 'fair')"""
    )
    cases = [list_case(project, f"u{at:02}") for at in range(ITEMS)]
    give(project, "anna", dict.fromkeys(cases, 1.0) | {cases[0]: 2.0})
    options = EnsembleCostOptions("people", raters=("anna", "fair", "dear"), human_price=0.111)
    found = by_ensemble(ensemble_costs_table(project.db, project.id, options))
    assert found["fair"]["cost_per_case"] is None
    assert "cost unknown" in str(found["fair"]["note"])
    assert "efficient" not in found["fair"]
    assert found["dear + anna"]["cost_per_case"] == pytest.approx(0.161)


def test_invalid_key_settings(project: Project) -> None:
    make_ensemble(project.db, project.id, "all", "mean", ["fair", "poor"])
    for options in (
        EnsembleCostOptions("people", rule="median"),
        EnsembleCostOptions("people", stat="magic"),
        EnsembleCostOptions("people", rule="mean", stat="qwk"),
        EnsembleCostOptions("people", raters=("people", "fair")),
        EnsembleCostOptions("people", raters=("all", "fair")),
        EnsembleCostOptions("people", human_price=0),
        EnsembleCostOptions("people", aspect="bogus"),
    ):
        with pytest.raises(UsageError):
            ensemble_costs_table(project.db, project.id, options)
    with pytest.raises(NotFoundError):
        ensemble_costs_table(project.db, project.id, EnsembleCostOptions("nobody"))
    for at in range(9):
        give(project, f"judge{at}", {list_case(project, "u00"): 1.0}, kind="judge")
    with pytest.raises(UsageError, match="judges make 4,095 ensembles"):
        ensemble_costs_table(project.db, project.id, EnsembleCostOptions("people"))


def test_without_a_judge_there_is_no_ensemble(project_db: Path) -> None:
    project = new_project(project_db)
    for name in ("anna", "ben"):
        give(project, name, {list_case(project, "u"): 1.0})
    table = ensemble_costs_table(project.db, project.id, EnsembleCostOptions("anna"))
    assert table.rows == ()
    assert table.notes == ("no judge answered a question that the truth answered",)


def test_the_command(project: Project) -> None:
    path = str(project.db.path)
    words = ["-p", "films", "--db", path, "--format", "json"]
    done = CliRunner().invoke(cost, [*words, "--truth", "people", "--rule", "mean", "--raters", "dear,fair"])
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["rows"]) == 3
    with pytest.raises(click.UsageError):
        CliRunner().invoke(cost, [*words, "--rule", "mean"], standalone_mode=False, catch_exceptions=False)
