"""Explanations by their keys: a row a text, its scores side by side, and a decision on the one under the cursor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.store.schema import connect
from recjudge_tui.tui.case import CasePanel
from recjudge_tui.tui.verdict_list import VerdictList
from tests.support.app.driving import filter_by, press, running, shown
from tests.support.app.golden import judged_films
from tests.support.app.projects import make_explanations, make_project


@pytest.fixture
def films(project_db: Path) -> Path:
    """40 texts about films with the scores of the user and of two people, judged by the rules."""
    judged_films(project_db)
    return project_db


def rows(pilot: Pilot[Any]) -> VerdictList:
    return pilot.app.screen.query_one(VerdictList)


def chosen(pilot: Pilot[Any]) -> tuple[str, str]:
    verdict = rows(pilot).verdict
    return verdict.aspect, verdict.rater


def log(path: Path) -> list[tuple[str, str, str]]:
    sql = """SELECT l.action, v.aspect, r.name FROM triage_log l JOIN verdicts v ON v.id = l.verdict_id
             JOIN raters r ON r.id = v.rater_id ORDER BY l.id"""
    with connect(path) as db:
        return [tuple(row) for row in db.rows(sql)]


async def test_left_and_right_go_from_score_to_score_and_on_to_the_next_text(films: Path) -> None:
    async with running(films, "films", (120, 40)) as pilot:
        await filter_by(pilot, "judge:rules")
        await press(pilot, "right", "right")
        assert chosen(pilot) == ("accuracy", "rules")
        assert "on accuracy" in shown(pilot)
        assert "ACCU" in shown(pilot)
        await press(pilot, "j")
        assert (rows(pilot).cursor, chosen(pilot)[0]) == (1, "accuracy")
        await press(pilot, "right", "right")
        assert (rows(pilot).cursor, chosen(pilot)[0]) == (2, "persuasiveness")
        await press(pilot, "left")
        assert (rows(pilot).cursor, chosen(pilot)[0]) == (1, "satisfaction")
        await press(pilot, "g", *["left"] * 5)
        assert (rows(pilot).cursor, chosen(pilot)[0]) == (0, "persuasiveness")


async def test_decisions_are_about_the_score_under_the_cursor(films: Path) -> None:
    async with running(films, "films", (120, 40)) as pilot:
        await filter_by(pilot, "judge:rules")
        await press(pilot, "right", "c", "v", "5")
        assert log(films) == [("accept", "transparency", "rules"), ("override", "accuracy", "rules")]
        assert chosen(pilot)[0] == "satisfaction"
        line = next(line for line in shown(pilot).splitlines() if "│▌" in line)
        assert "✓" in line
        assert "→5" in line
        assert "2/160 triaged" in shown(pilot)
        await press(pilot, "u")
        assert chosen(pilot)[0] == "accuracy"
        assert "→5" not in shown(pilot)
        await press(pilot, "g", "left", "left", "n")
        assert chosen(pilot)[0] == "accuracy"


async def test_the_reasons_of_all_raters_are_read_beside_it(project_db: Path) -> None:
    make_explanations(project_db, make_project(project_db), scores={"anna": {"accuracy": 2.0}})
    with connect(project_db) as db:
        db.execute(
            "UPDATE verdicts SET note = 'names no [/film]' WHERE protocol = 'explanation' AND run_id IS NULL"
        )
    async with running(project_db, "movies", (120, 60)) as pilot:
        await filter_by(pilot, "judge:rules-text")
        text = pilot.app.screen.query_one(CasePanel).text()
        assert "transparency 2  Why transparency" in text
        assert "Reasons of anna" in text
        assert "accuracy 2  names no [/film]" in text
