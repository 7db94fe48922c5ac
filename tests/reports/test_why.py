"""The words of reasons that go with either of two systems: planted ones are found, and nothing else."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import fisher_exact as scipy_fisher
from scipy.stats import hypergeom

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.why import Argument, phrase_rows, read
from recjudge_tui.stats.hypotheses import benjamini_hochberg
from recjudge_tui.stats.text import fisher_exact, log_odds
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    judge_pairs,
    judge_with_reasons,
    list_case,
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


def test_planted_phrases_go_with_their_side_and_words_of_both_with_none(project: Project) -> None:
    found = table(project, "why")
    rows = {row["what"]: row for row in found.rows}
    variety, fresh = rows["offers more variety"], rows["fresh theme"]
    assert (variety["goes_with"], variety["users"], variety["users_against"]) == ("a", 12, 0)
    assert (fresh["goes_with"], fresh["users"], fresh["users_against"]) == ("b", 12, 0)
    # said of the list, wherever it was shown
    assert variety["said_of"] == "a 24"
    assert rows["repeats sequels"]["p_fdr"] == 1.0
    # either list, in half of the reasons each; a sentence about both counts for none
    assert rows["repeats sequels"]["said_of"] == "b 24"
    assert variety["p"] == pytest.approx(2 * hypergeom.pmf(12, 24, 12, 12))
    assert "“offers more variety” (12 users, 0 against)" in found.answer
    assert not {"set", "list", "first", "second"} & {word for what in rows for word in str(what).split()}


def test_a_word_that_one_side_never_says_does_not_go_with_it() -> None:
    """Most reasons favour neither and say it, so the prior leans to the side with one reason; the other side says it."""
    said = [Argument(0, 0, 1, {"other": 0})]
    said += [Argument(user, user, 0, {"common": 0}) for user in range(1, 60)]
    said += [Argument(user, user, -1, {"common": 0} if user < 66 else {"rare": 0}) for user in range(60, 100)]
    rows = {row["what"]: row for row in phrase_rows(said, ("a", "b"), ("a", "b"))}
    assert (rows["common"]["goes_with"], rows["common"]["users"], rows["common"]["example"]) == ("b", 6, 60)


def test_one_side_alone_has_no_phrases(project: Project) -> None:
    alone = [Argument(user, user, 1, {"variety": 0}) for user in range(USERS)]
    assert list(phrase_rows(alone, ("a", "b"), ("a", "b"))) == []


def test_the_other_order_of_the_systems_mirrors_the_table(project: Project) -> None:
    straight = {r["what"]: r for r in table(project, "why", systems=("a", "b")).rows}
    turned = {r["what"]: r for r in table(project, "why", systems=("b", "a")).rows}
    assert straight.keys() == turned.keys()
    for what, row in straight.items():
        assert turned[what]["z"] == pytest.approx(-float(str(row["z"])))
        assert turned[what]["p"] == row["p"]


def test_where_a_judge_parts_from_people(project: Project) -> None:
    cases = project.db.column("SELECT id FROM cases ORDER BY id")
    # people always prefer a, so the judge parts from them where it found a fresh theme in b
    give(project, "anna", dict.fromkeys(cases, 1.0), protocol_name="pairwise")
    for other in ("anna", "people"):
        rows = {r["what"]: r for r in table(project, "why", rater="llm", against=other).rows}
        assert rows["fresh theme"]["goes_with"] == f"parting from {other}"
        assert rows["offers more variety"]["goes_with"] == f"agreeing with {other}"


def test_lists_judged_alone_are_told_apart_by_what_is_said_of_one_of_them(tmp_path: Path) -> None:
    project = new_project(tmp_path / "r.db")
    lists = {list_case(project, f"u{user}", system): system for user in range(10) for system in "ab"}
    judge_lists(project, "llm", {case: 2.0 if system == "a" else 0.0 for case, system in lists.items()})
    for case, system in lists.items():
        text = "Fits the taste. Already owned." if system == "b" else "Fits the taste."
        project.db.execute(
            "UPDATE answers SET reasoning = ? WHERE call_id IN (SELECT id FROM calls WHERE case_id = ?)",
            (text, case),
        )
    project.db.connection.commit()
    rows = {row["what"]: row for row in table(project, "why").rows}
    assert (rows["already owned"]["goes_with"], rows["already owned"]["users"]) == ("b", 10)
    assert rows["already owned"]["p"] == pytest.approx(2 / 2**10)
    # said of both lists of every user
    assert "fits" not in rows


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


def test_titles_systems_and_places_are_no_phrases() -> None:
    found = read(
        "Heat and Alien suit them, als-2 less; List B, though, has crime. The former is a set a bit dull.",
        ["Heat (1995)", "Alien", "als-2"],
    )
    assert found["crime"] == -1
    assert found["dull"] == 1
    assert not {"heat", "alien", "als-2", "former", "list", "als"} & found.keys()


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
