"""The words of reasons that go with either of two systems: planted ones are found, and nothing else."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import fisher_exact as scipy_fisher

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.why import Argument, phrase_rows
from recjudge_tui.stats.hypotheses import benjamini_hochberg
from recjudge_tui.stats.text import fisher_exact, log_odds
from tests.support.verdicts import (
    Project,
    give,
    judge_pairs,
    judge_with_reasons,
    new_project,
    pair_case,
    table,
)

USERS = 24


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = new_project(tmp_path / "r.db")
    variety = "{a} offers more variety. {b} repeats sequels; the genres are equally close."
    fresh = "{b} stays with a fresh theme, while {a} repeats sequels."
    judge_with_reasons(made, "llm", [fresh, variety] * (USERS // 2))
    return made


def test_a_word_that_one_side_never_says_does_not_go_with_it() -> None:
    """Most reasons favour neither and say it, so the prior leans to the side with one reason; the other side says it."""
    said = [Argument(0, 0, 1, {"other": 0})]
    said += [Argument(user, user, 0, {"common": 0}) for user in range(1, 60)]
    said += [Argument(user, user, -1, {"common": 0} if user < 66 else {"rare": 0}) for user in range(60, 100)]
    rows = {row["what"]: row for row in phrase_rows(said, ("a", "b"), ("a", "b"))}
    assert (rows["common"]["goes_with"], rows["common"]["users"], rows["common"]["example"]) == ("b", 6, 60)


def test_where_a_judge_parts_from_people(project: Project) -> None:
    cases = project.db.column("SELECT id FROM cases ORDER BY id")
    # people always prefer a, so the judge parts from them where it found a fresh theme in b
    give(project, "anna", dict.fromkeys(cases, 1.0), protocol_name="pairwise")
    for other in ("anna", "people"):
        rows = {r["what"]: r for r in table(project, "why", rater="llm", against=other).rows}
        assert rows["fresh theme"]["goes_with"] == f"parting from {other}"
        assert rows["offers more variety"]["goes_with"] == f"agreeing with {other}"


def test_one_side_or_none_is_said_and_nothing_is_found(tmp_path: Path) -> None:
    project = new_project(tmp_path / "r.db")
    with pytest.raises(UsageError, match="nobody gave any reasons"):
        table(project, "why")
    cases = [pair_case(project, f"u{user}") for user in range(8)]
    judge_pairs(project, "llm", {case: (1.0, 1.0) if case % 8 else (1.0, 0.0) for case in cases})
    found = table(project, "why")
    assert "there is nothing to compare" in found.answer
    give(project, "anna", {cases[0]: 1.0}, protocol_name="pairwise")
    with pytest.raises(UsageError, match="no reasons"):
        table(project, "why", rater="anna")
    with pytest.raises(UsageError, match="aspect “charm”"):
        table(project, "why", aspect="charm")


def test_log_odds_are_the_formula_of_monroe_and_others() -> None:
    first, second, background = (np.array(x) for x in ([30, 5, 65], [10, 5, 185], [40, 20, 240]))
    delta, z = log_odds(first, second, background)
    weight = 300 / 100
    prior = weight * 40 / 301
    a = math.log((30 + prior) / (100 + weight - 30 - prior))
    b = math.log((10 + prior) / (200 + weight - 10 - prior))
    assert delta[0] == pytest.approx(a - b)
    assert z[0] == pytest.approx((a - b) / math.sqrt(1 / (30 + prior) + 1 / (10 + prior)))
    assert log_odds(second, first, background)[1] == pytest.approx(-z)


def test_fisher_is_twice_the_smaller_tail() -> None:
    ours = fisher_exact(np.array([8, 1, 3]), 10, np.array([2, 1, 3]), 12)
    for p, (a, b) in zip(ours, ((8, 2), (1, 1), (3, 3)), strict=True):
        sides = [
            scipy_fisher([[a, 10 - a], [b, 12 - b]], alternative=way).pvalue for way in ("less", "greater")
        ]
        assert p == pytest.approx(min(1.0, 2 * min(sides)))


def test_false_discovery_as_in_the_paper() -> None:
    # Benjamini and Hochberg 1995, section 3.2: four of fifteen are rejected at .05
    from scipy.stats import false_discovery_control

    p = [.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .3240, .4262, .5719, .6528, .7590, 1.0]  # fmt: skip
    adjusted = benjamini_hochberg([*p[8:], None, *p[:8]])
    assert adjusted[7] is None
    assert [*adjusted[8:], *adjusted[:7]] == pytest.approx(false_discovery_control(p))
    assert sum(q is not None and q <= 0.05 for q in adjusted) == 4
