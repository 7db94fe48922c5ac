from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.reports.project_agreement import project_agreement
from recjudge_tui.store.database import connect
from tests.tui.factory import make_project


def test_kappa_of_the_judge_with_an_annotator(project_db: Path) -> None:
    """A,Tie,B,A,Tie against B,A,B,B,A: kappa = 1 - sum(d²)·n / sum of d² over all pairs of the marginals."""
    project = make_project(project_db)
    with connect(project_db) as db:
        found = project_agreement(db, project)
    judged, given = (1, 0, -1, 1, 0), (-1, 1, -1, -1, 1)
    observed = sum((a - b) ** 2 for a, b in zip(judged, given, strict=True)) * 5
    expected = sum((a - b) ** 2 for a in judged for b in given)
    assert found is not None
    assert found.value == pytest.approx(1 - observed / expected)
    assert (found.n, found.judge, found.people) == (5, "qwen2.5:14b", "anna")


def test_undefined_and_absent(project_db: Path) -> None:
    project = make_project(project_db)
    with connect(project_db) as db:
        db.execute("UPDATE verdicts SET value = 1.0 WHERE state = 'ok'")
        found = project_agreement(db, project)
        assert found is not None
        assert found.value is None
        db.execute("DELETE FROM runs")
        assert project_agreement(db, project) is None
