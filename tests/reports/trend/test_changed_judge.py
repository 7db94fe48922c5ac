"""A trend marks the periods in which another model or prompt version answers, and takes only the lists of a context."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.figures.declared import figure
from recjudge_tui.reports.figures.files import draw_picture
from recjudge_tui.reports.figures.marks import Lines
from recjudge_tui.reports.trend.trend import TrendOptions, trend_table
from recjudge_tui.store.cases.cases import CaseKey, ensure_case
from recjudge_tui.tui.figures.render import draw, plot_rows
from recjudge_tui.tui.kit.glyphs import ASCII, UNICODE
from tests.support.commands import ran
from tests.support.verdicts import Project, judge_lists, new_project

DAYS = ("2026-02-01", "2026-02-02", "2026-02-03")
CHANGE = "served model changed: judge-2@abcdef, before judge-1"


@pytest.fixture
def nights(tmp_path: Path) -> Project:
    """Two lists a day, at home and in the search, judged in a run each day; the last one by another model."""
    project = new_project(tmp_path / "a.db")
    for day in DAYS:
        when = f"{day}T08:00:00+00:00"
        with project.db.transaction():
            cases = [
                ensure_case(
                    project.db, project.id, CaseKey("list", "u1", "x", context=context, served_at=when)
                )
                for context in ("home", "search")
            ]
        judge_lists(project, "judge", {cases[0]: 2.0, cases[1]: 0.0})
    project.db.execute("""UPDATE runs SET identity = '{"name": "judge-1"}'""")
    project.db.execute(
        """UPDATE runs SET identity = '{"name": "judge-2", "digest": "abcdef"}' WHERE id = 3"""
    )
    return project


def notes(project: Project, **options: object) -> dict[str, str]:
    rows = trend_table(project.db, project.id, TrendOptions(**options)).rows  # type: ignore[arg-type]
    return {str(row["period"]): str(row["note"]) for row in rows}


def test_the_period_of_another_model_has_a_note_and_stands_in_the_settings(nights: Project) -> None:
    told = notes(nights)
    assert [CHANGE in told[day] for day in DAYS] == [False, False, True]
    assert CHANGE not in notes(nights, over="month")["2026-02"]
    (change,) = trend_table(nights.db, nights.id, TrendOptions()).settings["changes"]  # type: ignore[misc]
    assert change == {
        "period": DAYS[2], "rater": "judge", "protocol": "pointwise", "aspect": "overall",
        "change": CHANGE, "now": "judge-2@abcdef",
    }  # fmt: skip


def test_another_prompt_is_a_change_and_an_unknown_model_is_none(nights: Project) -> None:
    nights.db.execute("UPDATE runs SET identity = NULL WHERE id <> 3")
    assert not any("changed" in note for note in notes(nights).values())
    nights.db.execute(
        """INSERT INTO prompts (name, version, protocol, digest, content, origin, created_at)
           SELECT name, 9, protocol, 'other', content, origin, created_at FROM prompts
           WHERE id = (SELECT prompt_id FROM runs WHERE id = 2)"""
    )
    nights.db.execute("UPDATE runs SET prompt_id = (SELECT max(id) FROM prompts) WHERE id = 2")
    told = notes(nights)
    assert "prompt changed: pointwise-media@9, before pointwise-media@1" in told[DAYS[1]]
    assert "prompt changed: pointwise-media@1, before pointwise-media@9" in told[DAYS[2]]


def test_the_figure_has_the_change_on_its_axis(nights: Project) -> None:
    asked = {"protocol": "pointwise", "rater": "judge", "over": "day"}
    data = figure(Opened.numbered(nights.db, nights.id), "trend", asked)
    assert f"{DAYS[2]}: {CHANGE}" in data.caption
    marks = data.marks
    assert isinstance(marks, Lines)
    assert marks.changes == {2.0: "judge-2@abcdef"}
    for look, arrow in ((UNICODE, "↑"), (ASCII, "^")):
        drawn = draw(marks, len(plot_rows(marks)) - 1, 70, 16, look).plain.splitlines()
        assert len(drawn) == 16
        assert drawn[-1].split() == [f"[{arrow}", "judge-2@abcdef]"]
    assert b"judge-2@abcdef" in draw_picture(data, "svg").content


def test_a_trend_of_one_context(nights: Project, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("trend", "-p", "films", "--db", str(nights.db.path), "--format", "csv", "--context")
    for context, share in (("home", 1.0), ("search", 0.0)):
        _, text, _ = ran(capsys, *command, context)
        assert [float(row["value"]) for row in csv.DictReader(text.splitlines())] == [share] * 3
    code, _, error = ran(capsys, *command, "garden")
    assert code == 1
    assert "no context “garden”" in error
