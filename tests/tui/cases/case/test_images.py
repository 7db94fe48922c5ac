"""The images of a case in the terminal: drawn where they can be, else named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recjudge_tui.runs.engine import work
from recjudge_tui.store.case_detail import CaseDetail, case_detail
from recjudge_tui.store.database import Database
from recjudge_tui.tui import case as drawing
from recjudge_tui.tui.case import HEIGHT, WIDTH, case_content
from recjudge_tui.tui.widgets import UNICODE
from tests.support.images import illustrated
from tests.support.runs import make_project, planned, server_judge
from tests.support.stub_server import answer, completion, serving

REPLY = json.dumps({"reasoning": "r", "category": "Good Match", "flagged_items": [], "winner": "Set 1"})


@pytest.fixture
def case(db: Database, tmp_path: Path) -> CaseDetail:
    make_project(db, users=1)
    illustrated(db, tmp_path / "data", count=30)
    with serving(
        lambda line, _: answer(200, completion(REPLY)) if "POST" in line else answer(404, {})
    ) as stub:
        run = planned(db, server_judge(stub.url), images=True, limit=1)
        work(db.path, run)
    return case_detail(db, db.value("SELECT id FROM verdicts WHERE run_id = ?", (run,)))


def test_images_are_drawn_under_their_names(case: CaseDetail) -> None:
    shown = case_content(case, 100, UNICODE)
    lines = shown.plain.splitlines()
    start = next(n for n, line in enumerate(lines) if "Images shown" in line)
    titles = [item.title for item in case.slates[0][1].items]
    assert all(title in lines[start + 1] for title in titles)
    rows = [line for line in lines[start + 2 :] if "▀" in line]
    assert len(rows) == HEIGHT
    # the pictures are 60 x 90 pixels: as high as there is room, and less wide
    assert {row.count("▀") for row in rows} == {11 * len(titles)}
    assert all(len(line) <= 100 for line in rows)
    colours = {span.style.foreground for span in shown.spans if hasattr(span.style, "foreground")}
    assert len([colour for colour in colours if colour]) >= len(set(titles)) // 2


@pytest.mark.parametrize("width", [1, 10, WIDTH, 45, 200])
def test_any_width_will_do(case: CaseDetail, width: int) -> None:
    shown = case_content(case, width, UNICODE).plain
    assert shown.count("▀") == HEIGHT * 11 * len(case.slates[0][1].items)


def test_names_stand_where_nothing_can_be_drawn(case: CaseDetail, monkeypatch: pytest.MonkeyPatch) -> None:
    named = [case_content(case, 100, UNICODE, draw=False)]
    with monkeypatch.context() as terminal:
        terminal.setenv("RECJUDGE_ASCII", "1")
        named.append(case_content(case, 100, UNICODE))
    drawing.drawn.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    named.append(case_content(case, 100, UNICODE))
    drawing.drawn.cache_clear()
    for shown in named:
        lines = shown.plain.splitlines()
        start = next(n for n, line in enumerate(lines) if "Images shown" in line)
        assert lines[start + 1] == f"1 {case.slates[0][1].items[0].title}"
        assert "▀" not in shown.plain


def test_a_case_without_images_has_no_such_part(case: CaseDetail) -> None:
    assert "Images shown" not in case_content(case._replace(images={}), 100, UNICODE).plain
