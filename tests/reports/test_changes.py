"""What changed between two raters: counts by hand, the test that fits, and whether the changes went towards people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.stats.hypotheses import bowker, sign_flip_test, stuart_maxwell
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


def test_counts_by_hand_and_what_stands_outside_n(project: Project) -> None:
    lists(project, [2, 2, 1, 0, None, 1, None, 2], [2, 0, 2, 1, 1, None, None, 1])
    give(project, "anna", {list_case(project, f"a{at}"): 1.0 for at in range(2)})
    give(project, "ben", {list_case(project, f"b{at}"): 1.0 for at in range(3)})
    row = only(project)
    counted = [row[name] for name in ("n", "changed", "up", "down", "only_a", "only_b", "failed")]
    assert counted == [5, 4, 2, 2, 2, 3, 3]
    assert (row["share"], row["up_is"], row["down_is"]) == (0.8, "milder", "harsher")
    assert (row["mean_a"], row["mean_b"], row["difference"]) == pytest.approx((7 / 5, 6 / 5, -1 / 5))
    assert compare(project).answer.startswith("ben differs from anna on 4 of 5 cases: 2 milder, 2 harsher")


def test_the_test_is_the_one_that_fits(project: Project) -> None:
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 3, 90).astype(float), rng.choice(3, 90, p=[0.6, 0.3, 0.1]).astype(float)
    lists(project, first.tolist(), second.tolist())
    counts = np.zeros((3, 3), dtype=int)
    np.add.at(counts, (first.astype(int), second.astype(int)), 1)
    row, back = only(project), only(project, "ben", "anna")
    assert (row["test"], row["df"], row["p_symmetry"]) == (
        "Stuart-Maxwell",
        2,
        pytest.approx(bowker(counts).p),
    )
    assert row["p"] == row["p_holm"] == pytest.approx(stuart_maxwell(counts).p)
    assert (back["up"], back["down"], back["p"]) == (row["down"], row["up"], pytest.approx(row["p"]))


@pytest.mark.parametrize("low", [0.0, 1.0])
def test_changes_between_two_labels_are_tested_exactly(project: Project, low: float) -> None:
    """Whichever two they are, and though a third was given and never changed."""
    changed = [(2.0, low)] * 9 + [(low, 2.0)] * 2 + [(2.0, 2.0)] * 5 + [(1.0 - low, 1.0 - low)] * 4
    lists(project, [a for a, _ in changed], [b for _, b in changed])
    row = only(project)
    assert (row["test"], row["p"]) == ("McNemar, exact", pytest.approx(binomtest(2, 11).pvalue))


def test_where_users_have_several_cases_each_user_counts_once(project: Project) -> None:
    """Ten users with four lists each: the changes of a user are alike, so forty changes are not forty tests."""
    cases = [list_case(project, f"u{at}", f"s{system}") for at in range(10) for system in range(4)]
    users = np.repeat(np.arange(10), 4)
    give(project, "anna", dict.fromkeys(cases, 1.0))
    give(project, "ben", dict(zip(cases, np.where(users < 3, 0.0, 2.0).tolist(), strict=True)))
    row = only(project)
    assert (row["test"], row["up"], row["down"]) == ("sign flips over users", 28, 12)
    assert (row["users_up"], row["users_down"], row["p_symmetry"]) == (7, 3, None)
    assert row["p"] == pytest.approx(sign_flip_test([1.0] * 7 + [-1.0] * 3))
    give(project, "carl", dict(zip(cases, [0.0, 2.0] * 20, strict=True)))
    row = only(project, "anna", "carl")
    assert (row["changed"], row["test"], row["p"], row["p_holm"]) == (40, None, None, None)
    assert "no user has more changes in one direction" in str(row["note"])


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
