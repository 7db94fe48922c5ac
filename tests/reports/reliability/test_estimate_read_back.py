"""What human estimates say follows from the labels and the verdicts: computed again on any data, and at the level."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import t as student

from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.reliability.human_estimates import (
    Balance,
    EstimateOptions,
    balance_notes,
    human_estimates_table,
)
from tests.support.verdicts import Project, give, judge_lists, list_case, new_project

Values = npt.NDArray[np.float64]
SYSTEMS = ("x", "y", "z")
LABELS = {"Good": 2.0, "Partial": 1.0, "Poor": 0.0}


def _drawn(draw: int) -> dict[str, tuple[Values, Values]]:
    """By system the judge's verdicts and the labels, NaN where nobody labelled; those of some systems were chosen."""
    rng = np.random.default_rng(draw)
    users = (8, 24, 40)[draw % 3]
    given = {}
    for system in SYSTEMS[: 1 + draw % 3]:
        said = rng.integers(0, 3, users).astype(float)
        truth = np.where(rng.random(users) < 0.6, said, rng.integers(0, 3, users))
        chosen = rng.random(users) < (np.where(said > 0, 0.8, 0.1) if rng.random() < 0.4 else 0.5)
        said[rng.random(users) < 0.05] = np.nan
        given[system] = said, np.where(chosen, truth, np.nan)
    return given


def _project(path: Path, given: dict[str, tuple[Values, Values]]) -> Project:
    made = new_project(path)
    for system, (said, truth) in given.items():
        cases = [list_case(made, f"{system}{at:02}", system) for at in range(said.size)]
        judge_lists(
            made, "llm", {c: None if v != v else v for c, v in zip(cases, said.tolist(), strict=True)}
        )
        give(made, "anna", {c: v for c, v in zip(cases, truth.tolist(), strict=True) if v == v})
    return made


def _p(said: Values, truth: Values) -> float | None:
    """Student's test of the judge's means on labelled cases and on the others, one case a user; below .05 the
    permutation test, where its p is larger; None with fewer than ten.
    """
    sides = [said[~np.isnan(said) & there] for there in (~np.isnan(truth), np.isnan(truth))]
    fewest = min(side.size for side in sides)
    error = sum(side.var(ddof=1) / side.size for side in sides) if fewest > 1 else 0.0
    if fewest < 10 or not error:
        return None
    return float(2 * student.sf(abs(sides[0].mean() - sides[1].mean()) / np.sqrt(error), fewest - 1))


def _claims(p_values: dict[str, float | None]) -> tuple[dict[str, str], int]:
    """What is below the level after Holm's correction, with p as printed, and the number of tests."""
    known = sorted((p, where) for where, p in p_values.items() if p is not None)
    highest, claims = 0.0, {}
    for rank, (p, where) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        if highest < 0.05:
            claims[where] = f"{highest:.2g}"
    return claims, len(known)


def _named(table: Table) -> dict[str, tuple[str, str]]:
    pattern = r"^(.*): the judge rates the labelled cases differently from the others \(p = ([\d.e-]+)( after .*)?\):"
    told = (re.match(pattern, note) for note in table.notes)
    return {words.group(1): (words.group(2), words.group(3) or "") for words in told if words}


@pytest.mark.parametrize("draw", range(12))
def test_what_is_unbalanced_is_what_the_verdicts_show(project_db: Path, draw: int) -> None:
    given = _drawn(draw)
    made = _project(project_db, given)
    for measure in ("share", "mean"):
        options = EstimateOptions("llm", "anna", "pointwise", measure=measure)
        table = human_estimates_table(made.db, made.id, options)
        if measure == "mean":
            p_values = {f"{system}, overall": _p(said, truth) for system, (said, truth) in given.items()}
        else:
            p_values = {
                f"{system}, overall, {name}": _p(np.where(np.isnan(said), np.nan, said == label), truth)
                for system, (said, truth) in given.items()
                for name, label in LABELS.items()
            }
        claims, tests = _claims(p_values)
        named = _named(table)
        assert {where: p for where, (p, _) in named.items()} == claims
        after = f" after Holm's correction for {tests} tests" if tests > 1 else ""
        assert all(words == after for _, words in named.values())
        for row in table.rows:
            said, truth = given[str(row["system"])]
            judged = ~np.isnan(said)
            turned = (lambda v: v) if measure == "mean" else (lambda v, at=LABELS[str(row["label"])]: v == at)
            people, judge = turned(truth[judged & ~np.isnan(truth)]), turned(said[judged])
            if row["source"] != "both":
                expected = people if row["source"] == "people" else judge
                assert row["value"] == (pytest.approx(np.mean(expected)) if expected.size else None)
            if row["source"] != "judge":
                assert row["n_labelled"] == people.size
        lost = {s: int((np.isnan(said) & ~np.isnan(truth)).sum()) for s, (said, truth) in given.items()}
        told = [re.match(r"(\w), overall: (\d+) labels? of cases without a verdict", n) for n in table.notes]
        assert {m.group(1): int(m.group(2)) for m in told if m} == {s: n for s, n in lost.items() if n}


def test_some_of_the_samples_drawn_above_are_unbalanced_and_some_are_not() -> None:
    p_values = [{system: _p(*sides) for system, sides in _drawn(draw).items()} for draw in range(12)]
    assert {bool(_claims(p)[0]) for p in p_values} == {True, False}


@pytest.mark.parametrize(("p", "named"), [(0.0499, True), (0.05, False), (0.0501, False), (None, False)])
def test_a_sample_is_unbalanced_below_the_level_only(p: float | None, named: bool) -> None:
    notes = list(balance_notes([Balance("x, overall", p)]))
    assert bool(notes) is named


@pytest.mark.parametrize(("p", "named"), [(0.0249, ["x"]), (0.025, [])])
def test_the_other_parts_are_corrected_for(p: float, named: list[str]) -> None:
    looked_at = [Balance("x", p), Balance("y", 0.6)]
    assert [note.split(":")[0] for note in balance_notes(looked_at)] == named
