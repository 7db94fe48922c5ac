"""What changed between two raters: counts by hand, the test that fits, and whether the changes went towards people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.store.prompts import prompt_text, read_prompt, store_prompt
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    list_case,
    table,
)


def compare(project: Project, first: str = "anna", second: str = "ben", **options: Any) -> Table:
    return table(project, "compare", first=first, second=second, **options)


def only(project: Project, *raters: str, **options: Any) -> Row:
    (row,) = compare(project, *raters, **options).rows
    return row


def lists(project: Project, first: Sequence[float | None], second: Sequence[float | None]) -> list[int]:
    """Two people on the lists of as many users."""
    cases = [list_case(project, f"u{at}") for at in range(len(first))]
    for name, values in (("anna", first), ("ben", second)):
        give(project, name, dict(zip(cases, values, strict=True)))
    return cases


def test_a_prompt_that_moved_cases_towards_people(project: Project) -> None:
    rng = np.random.default_rng(3)
    cases = [list_case(project, f"u{at}") for at in range(60)]
    truth = rng.integers(0, 3, 60).astype(float)
    old, new = (np.where(rng.random(60) < right, truth, rng.integers(0, 3, 60)) for right in (0.3, 0.8))
    judge_lists(project, "v1", dict(zip(cases, old.tolist(), strict=True)))
    judge_lists(project, "v2", dict(zip(cases, new.tolist(), strict=True)))
    give(project, "people", dict(zip(cases, truth.tolist(), strict=True)), kind="consensus")
    found = compare(project, "v1", "v2")
    moved = found.facts["towards"]
    nearer = np.abs(new - truth) < np.abs(old - truth)
    assert (moved["truth"], moved["n"], moved["towards"]) == ("people", 60, int(nearer.sum()))
    kappas = [cohen_kappa_score(side, truth, weights="quadratic") for side in (old, new)]
    assert (moved["before"], moved["after"]) == pytest.approx(kappas)
    assert moved["change"] == pytest.approx(kappas[1] - kappas[0])
    assert found.answer.startswith(
        f"v2 moved {nearer.sum()} of 60 cases towards people (quadratic weighted κ"
    )
    # between people nobody is the reference, unless one is named
    assert "towards" not in compare(project, "v1", "people").facts
    assert "towards" in compare(project, "v1", "people", truth="v2").facts


def test_runs_by_number_with_prompts_and_settings(project: Project, tmp_path: Path) -> None:
    cases = [list_case(project, f"u{at}") for at in range(4)]
    first = judge_lists(project, "v1", dict.fromkeys(cases, 2.0))
    file = tmp_path / "mine.toml"
    text = prompt_text(project.db, "pointwise-media").replace("at best", "at the very best")
    file.write_text(text, encoding="utf-8")
    store_prompt(project.db, read_prompt(file))
    second = judge_lists(project, "v2", dict.fromkeys(cases, 1.0))
    more = judge_lists(project, "v2", {list_case(project, "later"): 0.0})
    project.db.execute("UPDATE runs SET judge = json_set(judge, '$.spec', 'random') WHERE id = ?", (second,))
    sides = f"run:{first}", f"run:{second}"
    row = only(project, *sides)
    assert (row["rater_a"], row["rater_b"]) == (f"v1 (run {first})", f"v2 (run {second})")
    assert (row["n"], row["down"], row["only_b"]) == (4, 4, 0)
    differ = "the runs differ in judge spec: rules -> random; prompt: pointwise-media@1 -> pointwise-media@2"
    assert differ in compare(project, *sides).notes
    assert only(project, "v1", f"run:{more}")["n"] == 0
