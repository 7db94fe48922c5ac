"""The paper whose data a project holds, and its printed table with the project's own raters below it."""

from __future__ import annotations

from recjudge_tui.errors import NotFoundError
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.papers.arena import arena_table
from recjudge_tui.reports.papers.arena_own import OwnSystems, own_rows
from recjudge_tui.reports.papers.zhang2024 import ScoresSource, holds_release, zhang_table
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports.imports import imported_layouts
from recjudge_tui.store.projects.projects import project_name

_ARENA_LAYOUT = "recsys-arena"


def paper_table(db: Database, project_id: int) -> Table:
    """Zhang et al.'s tables for a project of their released data, RecSys Arena's for one of its predictions, with every
    judge of the project.

    Raises NotFoundError for a project of other data, or where nothing has been judged against the baseline.
    """
    name = project_name(db, project_id)
    source = ScoresSource(db, project_id, name)
    if holds_release(source):
        return zhang_table(source, own=source)
    if any(layout.partition(",")[0] == _ARENA_LAYOUT for layout in imported_layouts(db, project_id)):
        return arena_table(own=own_rows(OwnSystems(db, project_id, name), ()))
    raise NotFoundError(
        f"the project {name} does not contain the data of a paper",
        "The papers with released data are RecSys Arena and Zhang et al. (2024).",
        "“recjudge reproduce” shows the printed figures of all papers.",
    )
