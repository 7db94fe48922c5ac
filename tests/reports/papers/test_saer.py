"""What SAER's page concludes from small sets of verdicts that one can count by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.common.page import Page, render_page
from recjudge_tui.reports.papers.saer import Stages, saer_page
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


def page_of(project: Project, stages: Stages) -> Page:
    return saer_page(Opened.numbered(project.db, project.id), stages)


WON: Both = (1.0, 1.0)
RATED = {"a": [2.0] * 15 + [0.0] * 5, "b": [2.0] * 5 + [0.0] * 15}


def test_a_page_in_json_holds_every_table_as_scripts_know_it(project: Project) -> None:
    page: Page = page_of(project, both(project, ("a", "b"), {("a", "b"): [WON] * 12}, RATED))
    found = json.loads(render_page(page, "json").text)
    assert list(found) == ["title", "lead", "tables", "settings"]
    assert found["lead"][0].startswith("a leads")
    assert any("how far this judge can be trusted" in line for line in found["lead"])
    assert found["settings"]["runs"] == [1, 2]
    costs = found["tables"][-1]["rows"]
    assert [(row["protocol"], row["calls"], row["cost_usd"]) for row in costs] == [
        ("pairwise", 24, None), ("pointwise", 40, None),
    ]  # fmt: skip
