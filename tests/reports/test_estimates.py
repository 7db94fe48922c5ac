"""Estimates of what people would say, on small databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.stats.planning import prediction_powered_mean
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


def estimated(project: Project, protocol: str, rater: str = "llm", **options: Any) -> Table:
    opened = Opened.numbered(project.db, project.id)
    return table_of(opened, "estimate", **({"rater": rater, "truth": "anna", "protocol": protocol} | options))


def only(table: Table, **wanted: object) -> Row:
    (found,) = [row for row in table.rows if all(row[name] == value for name, value in wanted.items())]
    return found


@pytest.fixture
def pairs(project_db: Path) -> tuple[Project, list[float], list[float]]:
    """100 users, a against b; the judge on all, anna on the first 30."""
    project = new_project(project_db)
    rng = np.random.default_rng(3)
    cases = [pair_case(project, f"u{at:03}") for at in range(100)]
    truth = rng.choice([1.0, 0.0, -1.0], 100, p=[0.5, 0.2, 0.3]).tolist()
    said = [value if rng.random() < 0.9 else -value for value in truth]
    judge_pairs(project, "llm", {case: (value, value) for case, value in zip(cases, said, strict=True)})
    give(project, "anna", dict(zip(cases[:30], truth, strict=False)), protocol_name="pairwise")
    return project, truth, said


def lists(path: Path, users: int, judged: list[float | None], labelled: dict[int, float]) -> Project:
    """Lists of systems x and y in turn, judged in order, some of them labelled."""
    project = new_project(path)
    cases = [list_case(project, f"u{at:03}", "xy"[at % 2]) for at in range(users)]
    judge_lists(project, "llm", dict(zip(cases, judged, strict=True)))
    give(project, "anna", {cases[at]: value for at, value in labelled.items()})
    return project


def test_win_rates_of_a_pair(pairs: tuple[Project, list[float], list[float]]) -> None:
    project, truth, said = pairs
    table = estimated(project, "pairwise")
    assert [(row["system"], row["opponent"], row["source"]) for row in table.rows] == [
        ("a", "b", source) for source in ("people", "judge", "both")
    ]
    human = np.array([*truth[:30], *[np.nan] * 70])
    expected = prediction_powered_mean((human + 1) / 2, (np.array(said) + 1) / 2, range(100))
    both, people, judge = (only(table, source=source) for source in ("both", "people", "judge"))
    figures = expected.powered
    assert (both["value"], both["ci_low"], both["ci_high"]) == (
        figures.value,
        figures.ci_low,
        figures.ci_high,
    )
    assert (both["n_labelled"], both["n_judged"], both["saved"]) == (30, 100, expected.saved)
    assert (people["value"], judge["value"]) == (expected.human.value, expected.judge.value)
    assert (judge["n_labelled"], people["n_judged"]) == (None, None)
    assert f"which saves {expected.saved} labels" in table.answer


def test_seen_from_the_other_system_everything_is_turned(
    pairs: tuple[Project, list[float], list[float]],
) -> None:
    one, other = (estimated(pairs[0], "pairwise", system=name) for name in "ab")
    for row, turned in zip(one.rows, other.rows, strict=True):
        assert (row["system"], turned["system"]) == ("a", "b")
        assert float(str(row["value"])) + float(str(turned["value"])) == pytest.approx(1)
        assert float(str(row["ci_low"])) + float(str(turned["ci_high"])) == pytest.approx(1)
    shares = [
        row for row in estimated(pairs[0], "pairwise", measure="share").rows if row["source"] == "judge"
    ]
    assert [row["label"] for row in shares] == ["win", "tie", "loss"]
    assert sum(float(str(row["value"])) for row in shares) == pytest.approx(1)


def test_shares_and_means_of_lists(project_db: Path) -> None:
    said = [float(at * 7 % 3) for at in range(80)]
    project = lists(project_db, 80, [*said], dict(enumerate(said[1:41])))
    shares = [
        r["label"]
        for r in estimated(project, "pointwise").rows
        if (r["system"], r["source"]) == ("x", "both")
    ]
    assert shares == ["Good", "Partial", "Poor"]
    human = np.where(np.arange(0, 80, 2) < 40, np.array([*said[1:], 0.0])[::2], np.nan)
    expected = prediction_powered_mean(human, said[::2], range(40), scale=(0, 2)).powered
    both = only(estimated(project, "pointwise", measure="mean", system="x"), source="both")
    assert (both["value"], both["ci_high"], both["measure"]) == (expected.value, expected.ci_high, "mean")


def test_a_metric_can_replace_the_judge(project_db: Path) -> None:
    project = new_project(project_db)
    rng = np.random.default_rng(0)
    cases = [text_case(project, f"u{at:02}", "i", "s") for at in range(90)]
    truth = rng.integers(1, 6, 90).astype(float)
    scores = dict(zip(cases, (truth / 50 + rng.normal(0, 0.01, 90)).tolist(), strict=True))
    give(project, "rouge", scores, protocol_name="explanation", kind="metric")
    labels = dict(zip(cases[:30], truth.tolist(), strict=False))
    give(project, "anna", labels, protocol_name="explanation", aspect="accuracy")
    both = only(estimated(project, "explanation", "rouge"), source="both", aspect="accuracy")
    assert float(str(both["power"])) > 10
    assert int(str(both["saved"])) > 10
    assert 1 < float(str(both["ci_low"])) < float(str(both["ci_high"])) < 5
