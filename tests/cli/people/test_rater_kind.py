"""`recjudge rater kind`: what an imported rater is."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.store.schema import connect
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
