"""The note on a run that stops when it is decided, where there are many systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.reports.early_stopping import run_stopping_status
from recjudge_tui.runs.engine import work
from recjudge_tui.store.runs import run_row
from recjudge_tui.store.schema import connect
from tests.support.runs import make_project, planned
from tests.support.verdicts import Project, table


def test_of_many_pairs_those_nearest_to_even_are_shown(
    project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path / "config"))
    with connect(project_db) as db:
        project = make_project(db, users=30, systems=("a", "b", "c", "d", "e", "f"))
        run = planned(db, JudgeSpec(spec="random"), "pointwise", until="decided")
        work(db.path, run)
        stands = run_stopping_status(db, run_row(db, run))
        board = table(Project(db, project), "leaderboard", protocol="pointwise")
        (note,) = (note for note in board.notes if "checked after every user" in note)
    assert stands is not None
    assert len(stands.compared) == 15
    assert "95% for all 15 pairs together" in note
    assert "not decided after all 30 users: " in note
    assert "; 5 more pairs, further apart. " in note
    reach = [max(pair.low - pair.even, pair.even - pair.high) for pair in stands.compared]
    shown = [
        r
        for r, p in zip(reach, stands.compared, strict=True)
        if f"{p.system_a} against {p.system_b}," in note
    ]
    assert len(shown) == 10
    assert max(shown) <= sorted(reach)[9]
