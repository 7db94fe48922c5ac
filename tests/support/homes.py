"""All parts of a project's home at once; screens read them one by one."""

from __future__ import annotations

from recjudge_tui.reports.home import Home, with_next_part
from recjudge_tui.store.database import Database


def project_home(db: Database, project_id: int) -> Home:
    home = Home()
    while home.missing_part is not None:
        home = with_next_part(db, project_id, home)
    return home
