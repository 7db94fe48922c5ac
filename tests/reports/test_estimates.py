"""Estimates of what people would say, on small databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recjudge_tui.reports.common.table import Table
from recjudge_tui.stats.planning import prediction_powered_mean
from tests.support.verdicts import (
    Project,
    give,
    judge_pairs,
    new_project,
    only,
    pair_case,
    table,
)


def estimated(project: Project, protocol: str, rater: str = "llm", **options: Any) -> Table:
    return table(project, "estimate", **({"rater": rater, "truth": "anna", "protocol": protocol} | options))


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


def test_win_rates_of_a_pair(pairs: tuple[Project, list[float], list[float]]) -> None:
    project, truth, said = pairs
    made = estimated(project, "pairwise")
    assert [(row["system"], row["opponent"], row["source"]) for row in made.rows] == [
        ("a", "b", source) for source in ("people", "judge", "both")
    ]
    human = np.array([*truth[:30], *[np.nan] * 70])
    expected = prediction_powered_mean((human + 1) / 2, (np.array(said) + 1) / 2, range(100))
    both, people, judge = (only(made, source=source) for source in ("both", "people", "judge"))
    figures = expected.powered
    assert (both["value"], both["ci_low"], both["ci_high"]) == (
        figures.value,
        figures.ci_low,
        figures.ci_high,
    )
    assert (both["n_labelled"], both["n_judged"], both["saved"]) == (30, 100, expected.saved)
    assert (people["value"], judge["value"]) == (expected.human.value, expected.judge.value)
    assert (judge["n_labelled"], people["n_judged"]) == (None, None)
    assert f"which saves {expected.saved} labels" in made.answer


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
