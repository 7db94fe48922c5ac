"""Which paper's table belongs to a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import NotFoundError
from recjudge_tui.importers.load import import_files
from recjudge_tui.reports.papers.of_project import paper_table
from tests.support.verdicts import Project, give, new_project, pair_case


def predictions(project: Project, folder: Path, *systems: str) -> None:
    for system in systems:
        path = folder / f"{system}-ml-1m.csv"
        path.write_text("user_id,item_id,label,predict\n1,10,1,0.9\n1,11,0,0.4\n", encoding="utf-8")
        import_files(project.db, "films", [path], "lists", layout="recsys-arena")


def test_predictions_of_recsys_arena(project_db: Path, tmp_path: Path) -> None:
    project = new_project(project_db)
    predictions(project, tmp_path, "nrms", "fm")
    give(project, "ann", {pair_case(project, "1", "x", "y"): 1.0}, protocol_name="arena", kind="judge")
    with pytest.raises(NotFoundError, match="ann has compared no lists with a system called FM"):
        paper_table(project.db, project.id)
    give(project, "qwen", {pair_case(project, "1", "fm", "nrms"): -1.0}, protocol_name="arena", kind="judge")
    table = paper_table(project.db, project.id)
    (row,) = (row for row in table.rows if row.get("judge") == "qwen" and row["figure"] == "win")
    assert (row["system"], row["recomputed"], row["n"]) == ("nrms", 100, 1)
    assert not any(row.get("judge") == "ann" for row in table.rows)


def test_other_data_belong_to_no_paper(project_db: Path) -> None:
    with pytest.raises(NotFoundError, match="does not contain the data of a paper"):
        paper_table(new_project(project_db).db, 1)
