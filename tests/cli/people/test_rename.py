"""`rater rename` and `runs rename`, and numbers of runs that are not given twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.app.projects import make_project
from tests.support.runs import ran


@pytest.fixture
def path(project_db: Path) -> Path:
    make_project(project_db, "movies")
    return project_db


def test_a_rater_keeps_its_verdicts_and_what_is_made_from_it(path: Path) -> None:
    assert ran("rater", "combine", "people", "--rule", "conservative", "anna", "bert", "--db", path)[0] == 0
    code, _, err = ran("rater", "rename", "anna", " Anna, 1st ", "--db", path)
    assert (code, "rater “anna” is now called “Anna, 1st”" in err) == (0, True)
    rows = json.loads(ran("rater", "list", "--db", path, "--format", "json")[1])["rows"]
    raters = {row["name"]: row for row in rows}
    assert raters["Anna, 1st"]["verdicts"] == raters["bert"]["verdicts"]
    assert raters["people"]["recipe"] == "conservative of Anna, 1st, bert"
    again = ran("rater", "combine", "people", "--rule", "conservative", "Anna, 1st", "bert", "--db", path)
    assert again[0] == 0


def test_a_run_can_be_named_and_its_name_removed(path: Path) -> None:
    assert ran("runs", "rename", 1, "before the new prompt", "--db", path)[0] == 0
    shown = json.loads(ran("runs", "list", "--db", path, "--format", "json")[1])["rows"]
    assert [row["name"] for row in shown if row["id"] == 1] == ["before the new prompt"]
    assert ran("runs", "rename", 1, "", "--db", path)[2] == "run 1 has no name\n"
    assert ran("runs", "rename", 99, "x", "--db", path)[0] == 1
