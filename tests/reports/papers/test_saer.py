"""What SAER's page concludes from small sets of verdicts that one can count by hand."""

from __future__ import annotations

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


def page_of(project: Project, stages: Stages) -> Page:
    return saer_page(Opened.numbered(project.db, project.id), stages)


WON: Both = (1.0, 1.0)


def test_a_page_in_json_holds_every_table_as_scripts_know_it(project: Project) -> None:
    page: Page = page_of(project, both(project, ("a", "b"), {("a", "b"): [WON] * 12}, RATED))
    found = json.loads(render_page(page, "json").text)
    assert list(found) == ["title", "lead", "tables", "settings"]
    assert "a leads" in found["lead"][0] or "a is" in found["lead"][0], found["lead"]
    assert "Both stages put a first." in found["lead"]
    assert any("how far this judge can be trusted" in line for line in found["lead"])
    assert found["settings"]["runs"] == [1, 2]
    total = found["tables"][-1]["rows"][-1]
    assert (total["stage"], total["calls"], total["cost_usd"]) == ("together", 64, None)


def test_nothing_harmful_is_written_in_any_format_whatever_a_system_is_called(project: Project) -> None:
    bad = sorted({*(name for name in HOSTILE if name and "\x00" not in name and len(name) < 200)})
    for name in bad:
        first, second = sorted((name, "~plain"))
        alone = {list_case(project, "u1", name): 2.0, list_case(project, "u1", "~plain"): 0.0}
        pair = {pair_case(project, "u1", first, second): WON}
        give_lists = judge_lists(project, f"j {name}", alone)
        page = page_of(project, Stages(f"j {name}", give_lists, judge_pairs(project, f"j {name}", pair)))
        for fmt in FORMATS:
            text = render_page(page, fmt, Screen(100)).text
            assert not any(c in text for c in "\x1b\x07\x9b\x85\u202e\u200b\r"), (fmt, name)
            assert fmt not in ("html", "md") or "<script>" not in text
