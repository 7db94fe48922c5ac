"""`recjudge rater kind`: what an imported rater is."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.store.schema import connect
from tests.support.app.projects import make_project
from tests.support.runs import load, ran


def _kind(path: Path, name: str) -> str:
    with connect(path) as db:
        return str(db.value("SELECT kind FROM raters WHERE name = ?", (name,)))


def test_a_person_with_a_models_name(project_db: Path) -> None:
    with connect(project_db) as db:
        load(db, "labels", [("rater", "user_id", "system", "value"), ("judge anna", "u", "s", "Good")])
    assert _kind(project_db, "judge anna") == "judge"
    words = ("rater", "kind", "judge anna", "annotator", "-p", "films", "--db", project_db)
    assert ran(*words) == (0, "", "rater “judge anna” is of kind annotator\n")
    assert _kind(project_db, "judge anna") == "annotator"


@pytest.mark.parametrize(("make", "why"), [("metric", "kind metric"), ("run", "A run used it")])
def test_raters_made_by_recjudge_keep_their_kind(project_db: Path, make: str, why: str) -> None:
    make_project(project_db)
    with connect(project_db) as db:
        project = db.value("SELECT name FROM projects")
        rater = db.value("SELECT name FROM raters WHERE id = (SELECT min(rater_id) FROM runs)")
        if make == "metric":
            db.execute("UPDATE raters SET kind = 'metric' WHERE name = 'anna'")
            rater = "anna"
        before = _kind(project_db, rater)
    code, _, err = ran("rater", "kind", rater, "annotator", "-p", project, "--db", project_db)
    assert code == 2
    assert why in err
    assert _kind(project_db, rater) == before
