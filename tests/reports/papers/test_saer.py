"""What SAER's page concludes from small sets of verdicts that one can count by hand."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from scipy.stats import binomtest

from recjudge_tui.reports.common.page import Page, render_page
from recjudge_tui.reports.common.table import FORMATS, Screen
from recjudge_tui.reports.papers.saer import saer_page
from recjudge_tui.reports.papers.saer_conclusion import Stages
from tests.support.hostile import HOSTILE
from tests.support.verdicts import Project, judge_lists, judge_pairs, list_case, new_project, pair_case

Both = tuple[float | None, float | None]


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def both(
    project: Project,
    systems: tuple[str, ...],
    pairs: Mapping[tuple[str, str], Sequence[Both]],
    lists: Mapping[str, Sequence[float | None]],
) -> Stages:
    """A judge's two finished runs: by system the values of its lists, by pair the answers in both orders."""
    alone = {
        list_case(project, f"u{n}", system): value
        for system in systems
        for n, value in enumerate(lists[system])
    }
    together = {
        pair_case(project, f"u{n}", *two): answers
        for two, found in pairs.items()
        for n, answers in enumerate(found)
    }
    first = judge_lists(project, "judge", alone)
    return Stages("judge", first, judge_pairs(project, "judge", together) if together else None)


def lead(project: Project, stages: Stages) -> str:
    return "\n".join(saer_page(project.db, project.id, stages).lead)


WON: Both = (1.0, 1.0)
LOST: Both = (-1.0, -1.0)
TIED: Both = (0.0, 0.0)
FLIPPED: Both = (1.0, -1.0)
BROKEN: Both = (None, 1.0)
RATED = {"a": [2.0] * 15 + [0.0] * 5, "b": [2.0] * 5 + [0.0] * 15}


def test_a_clear_winner_is_named_with_its_rate_interval_and_counts(project: Project) -> None:
    told = lead(
        project,
        both(project, ("a", "b"), {("a", "b"): [WON] * 14 + [LOST] * 2 + [TIED] + [FLIPPED] * 3}, RATED),
    )
    assert told.startswith("a is judged better than b: win rate 80.0 % (95 % CI ")
    assert "Of 20 pairs a won 14, lost 2, tied 4 (3 of these because the two orders disagreed)." in told
    assert "Rated alone: a Good 75.0 % (95 % CI 50.9 to 91.3), Poor 25.0 %" in told
    assert "Both stages put a first." in told
    assert "No person judged any of these cases" in told
    assert "It took 80 calls, 0.0 s and an unknown price." in told


def test_two_inseparable_systems_are_reported_as_such(project: Project) -> None:
    told = lead(project, both(project, ("a", "b"), {("a", "b"): [WON] * 9 + [LOST] * 11}, RATED))
    assert told.startswith("b and a cannot be told apart: b has win rate 55.0 % (95 % CI ")
    assert "more users would separate them" in told
    assert "Alone, a is Good most often; in pairs, no system is shown to be first." in told


def test_stages_that_point_apart_disagree(project: Project) -> None:
    told = lead(project, both(project, ("a", "b"), {("a", "b"): [LOST] * 18 + [WON] * 2}, RATED))
    assert "The stages disagree: alone, a is Good most often; in pairs, b is better." in told


def _adjusted_sign_tests(
    pairs: Mapping[tuple[str, str], Sequence[Both]],
) -> dict[tuple[str, str], tuple[float, int]]:
    """Holm-adjusted two-sided p and the lead of the first, counted by hand."""
    split = {two: (sum(x == WON for x in got), sum(x == LOST for x in got)) for two, got in pairs.items()}
    tests = {two: binomtest(won, won + lost).pvalue for two, (won, lost) in split.items() if won + lost}
    out, highest = {}, 0.0
    for rank, two in enumerate(sorted(tests, key=lambda two: tests[two])):
        highest = max(highest, min(1.0, (len(tests) - rank) * tests[two]))
        out[two] = (highest, split[two][0] - split[two][1])
    return out


@pytest.mark.parametrize("seed", range(12))
def test_no_sentence_contradicts_another_or_the_counts(project: Project, seed: int) -> None:
    rng = random.Random(seed)
    n, weights = rng.choice((1, 2, 5, 12)), [rng.random() + 0.05 for _ in range(4)]
    systems = ("a", "b", "c")[: rng.choice((2, 3))]
    pairs = {two: rng.choices((WON, LOST, TIED, FLIPPED), weights, k=n) for two in combinations(systems, 2)}
    rated = {system: rng.choices((2.0, 1.0, 0.0), weights[:3], k=n) for system in systems}
    page = saer_page(project.db, project.id, both(project, systems, pairs, rated))
    told = "\n".join(page.lead)
    first = re.findall(r"^(\w+) is judged better than", told, re.M)
    same = re.findall(r"Both stages put (\w+) first", told)
    apart = re.findall(r"alone, (\w+) is Good most often; in pairs, (\w+) is better", told)
    assert len(first) <= 1
    assert not same or (same == first and not apart)
    assert all(alone != paired and [paired] == first for alone, paired in apart)
    assert first or "is shown to be first" in told
    for system in first:
        others = [answers for two, answers in pairs.items() if system in two]
        sign = {two: 1 if two[0] == system else -1 for two in pairs if system in two}
        won = sum(
            sign[two] * (a + b) / 2 for two, answers in pairs.items() if system in two for a, b in answers
            if a is not None and b is not None and a == b
        )  # fmt: skip
        assert others
        assert won > 0
        assert f"{system} and" not in told.split(":")[0]
    if all(answers == (0.0, 0.0) for found in pairs.values() for answers in found):
        assert not first
        assert not same


def test_where_all_pairs_went_one_way_the_interval_has_a_width(project: Project) -> None:
    told = lead(project, both(project, ("a", "b"), {("a", "b"): [WON] * 10}, RATED))
    assert told.startswith(
        "a is judged better than b: win rate 100.0 % (95 % CI 69.2 to 100.0), a tie counting half."
    )


def test_three_wins_of_three_prove_nothing(project: Project) -> None:
    told = lead(project, both(project, ("a", "b"), {("a", "b"): [WON] * 3}, RATED))
    assert told.startswith("a and b cannot be told apart: a has win rate 100.0 % (95 % CI 29.2 to 100.0)")


def test_all_ties_and_one_user_and_nothing_but_failures(project_db: Path) -> None:
    for n, (answers, said) in enumerate(
        [
            ([TIED] * 8, "a and b cannot be told apart: a has win rate 50.0 %"),
            ([WON], "a and b cannot be told apart: a has win rate 100.0 % (no interval)"),
            ([BROKEN] * 3, "No pair of lists got a verdict"),
        ]
    ):
        project = new_project(project_db.with_name(f"{n}.db"))
        told = lead(project, both(project, ("a", "b"), {("a", "b"): answers}, RATED))
        assert told.startswith(said), told
    assert "3 calls failed and are not in any figure" in told


def test_with_more_systems_neighbours_are_told_apart_or_not(project: Project) -> None:
    pairs = {
        ("a", "b"): [WON] * 18 + [LOST] * 2,
        ("a", "c"): [WON] * 17 + [LOST] * 3,
        ("b", "c"): [WON, LOST] * 10,
    }
    rated = {**RATED, "c": RATED["b"]}
    told = lead(project, both(project, ("a", "b", "c"), pairs, rated)).splitlines()
    assert told[0].startswith("a is judged better than c, the next in the ranking: win rate 87.5 %")
    assert "c and b cannot be told apart." in told[1]
    assert told[2].startswith("Win rates are over all opponents")


def test_who_was_left_out_is_named_and_a_second_stage_that_was_not_run(project: Project) -> None:
    stages = both(project, ("a", "b"), {}, RATED)
    short = Stages("judge", stages.first, None, {"b": 0.75}, 0.5, "fewer than two systems are left (a)")
    told = lead(project, short)
    assert told.startswith("The second stage was not run: fewer than two systems are left (a).")
    assert "Left out of the pairs, for more than 50 % of the lists Poor: b (75.0 %)." in told
    assert [t.title for t in saer_page(project.db, project.id, short).tables] == [
        "Every list alone: shares of labels", "Cost and time",
    ]  # fmt: skip


def test_nothing_harmful_is_written_in_any_format_whatever_a_system_is_called(project: Project) -> None:
    bad = sorted({*(name for name in HOSTILE if name and "\x00" not in name and len(name) < 200)})
    for name in bad:
        first, second = sorted((name, "~plain"))
        alone = {list_case(project, "u1", name): 2.0, list_case(project, "u1", "~plain"): 0.0}
        pair = {pair_case(project, "u1", first, second): WON}
        give_lists = judge_lists(project, f"j {name}", alone)
        page = saer_page(
            project.db, project.id, Stages(f"j {name}", give_lists, judge_pairs(project, f"j {name}", pair))
        )
        for fmt in FORMATS:
            text = render_page(page, fmt, Screen(100)).text
            assert not any(c in text for c in "\x1b\x07\x9b\x85\u202e\u200b\r"), (fmt, name)
            assert fmt not in ("html", "md") or "<script>" not in text


def test_a_page_in_json_holds_every_table_as_scripts_know_it(project: Project) -> None:
    page: Page = saer_page(project.db, project.id, both(project, ("a", "b"), {("a", "b"): [WON] * 4}, RATED))
    found = json.loads(render_page(page, "json").text)
    assert list(found) == ["title", "lead", "tables", "settings"]
    known = ["title", "columns", "rows", "notes", "settings"]
    assert all(list(t) in (known, [*known, "facts"]) for t in found["tables"])
    assert found["settings"]["runs"] == [1, 2]
    total = found["tables"][-1]["rows"][-1]
    assert (total["stage"], total["calls"], total["cost_usd"]) == ("together", 48, None)
