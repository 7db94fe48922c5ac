"""Estimates of what people would say, on small databases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.reliability.human_estimates import EstimateOptions, human_estimates_table
from recjudge_tui.stats.planning import ALL_LABELLED, NO_LABELS, prediction_powered_mean
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    judge_pairs,
    list_case,
    new_project,
    pair_case,
    text_case,
)


def only(table: Table, **wanted: object) -> Row:
    found = [row for row in table.rows if all(row[name] == value for name, value in wanted.items())]
    assert len(found) == 1, found
    return found[0]


def pairs(path: Path) -> tuple[Project, list[float], list[float]]:
    """100 users, a against b; the judge on all, anna on the first 30."""
    project = new_project(path)
    rng = np.random.default_rng(3)
    cases = [pair_case(project, f"u{at:03}") for at in range(100)]
    truth = rng.choice([1.0, 0.0, -1.0], 100, p=[0.5, 0.2, 0.3]).tolist()
    said = [value if rng.random() < 0.9 else -value for value in truth]
    judge_pairs(project, "llm", {case: (value, value) for case, value in zip(cases, said, strict=True)})
    give(project, "anna", dict(zip(cases[:30], truth, strict=False)), protocol_name="pairwise")
    return project, truth, said


def test_win_rates_of_a_pair(project_db: Path) -> None:
    project, truth, said = pairs(project_db)
    table = human_estimates_table(project.db, project.id, EstimateOptions("llm", "anna", "pairwise"))
    assert [(row["system"], row["opponent"], row["source"]) for row in table.rows] == [
        ("a", "b", source) for source in ("people", "judge", "both")
    ]
    human = np.array([*truth[:30], *[np.nan] * 70])
    expected = prediction_powered_mean((human + 1) / 2, (np.array(said) + 1) / 2, range(100))
    both = only(table, source="both")
    assert (both["value"], both["ci_low"], both["ci_high"]) == (
        expected.powered.value, expected.powered.ci_low, expected.powered.ci_high,
    )  # fmt: skip
    assert (both["n_labelled"], both["n_judged"], both["saved"]) == (30, 100, expected.saved)
    assert expected.saved is not None
    assert expected.saved > 5
    assert only(table, source="people")["value"] == expected.human.value
    assert only(table, source="judge")["value"] == expected.judge.value
    assert only(table, source="judge")["n_labelled"] is None
    assert only(table, source="people")["n_judged"] is None


def test_seen_from_the_other_system_everything_is_turned(project_db: Path) -> None:
    project, _, _ = pairs(project_db)
    one = human_estimates_table(
        project.db, project.id, EstimateOptions("llm", "anna", "pairwise", system="a")
    )
    other = human_estimates_table(
        project.db, project.id, EstimateOptions("llm", "anna", "pairwise", system="b")
    )
    for row, turned in zip(one.rows, other.rows, strict=True):
        assert (row["system"], turned["system"]) == ("a", "b")
        assert float(str(row["value"])) + float(str(turned["value"])) == pytest.approx(1)
        assert float(str(row["ci_low"])) + float(str(turned["ci_high"])) == pytest.approx(1)
    shares = human_estimates_table(
        project.db, project.id, EstimateOptions("llm", "anna", "pairwise", measure="share")
    )
    told = [float(str(row["value"])) for row in shares.rows if row["source"] == "judge"]
    assert [row["label"] for row in shares.rows if row["source"] == "judge"] == ["win", "tie", "loss"]
    assert sum(told) == pytest.approx(1)


def test_more_than_two_systems_stand_against_all_and_each_other(project_db: Path) -> None:
    project = new_project(project_db)
    wins: dict[int, tuple[float | None, float | None]] = {}
    for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
        for at in range(40):
            value = 1.0 if (at + len(wins)) % 3 else -1.0
            wins[pair_case(project, f"u{at:02}", first, second)] = (value, value)
    judge_pairs(project, "llm", wins)
    labels = {case: both[0] for at, (case, both) in enumerate(wins.items()) if at % 40 < 20}
    give(project, "anna", labels, protocol_name="pairwise")
    table = human_estimates_table(project.db, project.id, EstimateOptions("llm", "anna", "pairwise"))
    assert [(row["system"], row["opponent"]) for row in table.rows if row["source"] == "both"] == [
        ("a", None), ("a", "b"), ("a", "c"), ("b", None), ("b", "c"), ("c", None),
    ]  # fmt: skip
    over_all = only(table, system="b", opponent=None, source="both")
    assert (over_all["n_labelled"], over_all["n_judged"]) == (40, 80)


def test_shares_and_means_of_lists(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [list_case(project, f"u{at:02}", "xy"[at % 2]) for at in range(80)]
    said = [float(at * 7 % 3) for at in range(80)]
    judge_lists(project, "llm", dict(zip(cases, said, strict=True)))
    give(project, "anna", dict(zip(cases[:40], said[1:], strict=False)))
    table = human_estimates_table(project.db, project.id, EstimateOptions("llm", "anna", "pointwise"))
    assert [row["label"] for row in table.rows if row["system"] == "x" and row["source"] == "both"] == [
        "Good", "Partial", "Poor",
    ]  # fmt: skip
    means = human_estimates_table(
        project.db, project.id, EstimateOptions("llm", "anna", "pointwise", measure="mean", system="x")
    )
    human = np.where(np.arange(0, 80, 2) < 40, np.array([*said[1:], 0.0])[::2], np.nan)
    expected = prediction_powered_mean(human, said[::2], range(40), scale=(0, 2))
    assert only(means, source="both")["value"] == expected.powered.value
    assert only(means, source="both")["ci_high"] == expected.powered.ci_high
    assert only(means, source="both")["measure"] == "mean"


def test_the_estimate_from_hidden_labels_is_shown_for_comparison(project_db: Path) -> None:
    project, truth, _ = pairs(project_db)
    options = EstimateOptions("llm", "anna", "pairwise", labelled_users=20)
    table = human_estimates_table(project.db, project.id, options)
    assert only(table, source="both")["n_labelled"] == 20
    whole = only(table, source="all labels")
    assert whole["n_labelled"] == 30
    assert whole["value"] == pytest.approx((np.array(truth[:30]).mean() + 1) / 2)
    again = human_estimates_table(project.db, project.id, options)
    assert again.rows == table.rows
    with pytest.raises(UsageError, match="there are 30"):
        human_estimates_table(
            project.db, project.id, EstimateOptions("llm", "anna", "pairwise", labelled_users=31)
        )


def test_failed_verdicts_and_labels_without_one_are_left_out_and_said(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [list_case(project, f"u{at:02}") for at in range(30)]
    judge_lists(project, "llm", {case: None if at < 3 else float(at % 3) for at, case in enumerate(cases)})
    give(project, "anna", {case: float(at % 2) for at, case in enumerate(cases[:15])})
    table = human_estimates_table(
        project.db, project.id, EstimateOptions("llm", "anna", "pointwise", measure="mean")
    )
    assert only(table, source="both")["n_labelled"] == 12
    assert only(table, source="both")["n_judged"] == 27
    assert "x, overall: 3 labels of cases without a verdict of llm left out" in table.notes


def test_a_sample_that_is_none_is_pointed_out(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [list_case(project, f"u{at:03}") for at in range(100)]
    judge_lists(project, "llm", {case: 2.0 if at < 30 else float(at % 2) for at, case in enumerate(cases)})
    give(project, "anna", {case: float(at % 3) for at, case in enumerate(cases[:30])})
    table = human_estimates_table(
        project.db, project.id, EstimateOptions("llm", "anna", "pointwise", measure="mean")
    )
    assert any("differently from the others" in note for note in table.notes)


def test_all_labelled_and_none_labelled(project_db: Path) -> None:
    project = new_project(project_db)
    cases = [list_case(project, f"u{at:02}", "xy"[at % 2]) for at in range(40)]
    judge_lists(project, "llm", {case: float(at // 2 % 3) for at, case in enumerate(cases)})
    give(project, "anna", {case: float(at // 2 % 3) for at, case in enumerate(cases) if at % 2 == 0})
    table = human_estimates_table(
        project.db, project.id, EstimateOptions("llm", "anna", "pointwise", measure="mean")
    )
    assert (only(table, system="x", source="both")["value"], only(table, system="x", source="both")["note"]) == (
        None, ALL_LABELLED,
    )  # fmt: skip
    assert only(table, system="x", source="people")["value"] is not None
    assert only(table, system="y", source="people")["note"] == NO_LABELS
    assert only(table, system="y", source="judge")["value"] is not None


def test_a_metric_can_replace_the_judge(project_db: Path) -> None:
    project = new_project(project_db)
    rng = np.random.default_rng(0)
    cases = [text_case(project, f"u{at:02}", "i", "s") for at in range(90)]
    truth = rng.integers(1, 6, 90).astype(float)
    give(
        project, "rouge", dict(zip(cases, (truth / 50 + rng.normal(0, 0.01, 90)).tolist(), strict=True)),
        protocol_name="explanation", kind="metric",
    )  # fmt: skip
    give(
        project, "anna", dict(zip(cases[:30], truth.tolist(), strict=False)),
        protocol_name="explanation", aspect="accuracy",
    )  # fmt: skip
    table = human_estimates_table(project.db, project.id, EstimateOptions("rouge", "anna", "explanation"))
    both = only(table, source="both", aspect="accuracy")
    assert float(str(both["power"])) > 10
    assert int(str(both["saved"])) > 10
    assert 1 < float(str(both["ci_low"])) < float(str(both["ci_high"])) < 5


def test_invalid_requests(project_db: Path) -> None:
    project, _, _ = pairs(project_db)
    for wrong in (
        EstimateOptions("llm", "llm", "pairwise"),
        EstimateOptions("llm", "anna", "bogus"),
        EstimateOptions("llm", "anna", "pointwise"),
        EstimateOptions("llm", "anna", "pairwise", measure="mean"),
        EstimateOptions("llm", "anna", "pairwise", measure="median"),
        EstimateOptions("llm", "anna", "pairwise", system="z"),
        EstimateOptions("llm", "anna", "pairwise", aspect="bogus"),
    ):
        with pytest.raises(UsageError):
            human_estimates_table(project.db, project.id, wrong)
    with pytest.raises(NotFoundError):
        human_estimates_table(project.db, project.id, EstimateOptions("nobody", "anna", "pairwise"))
