"""Projects."""

from __future__ import annotations

import sqlite3

from recjudge_tui.errors import ConstraintError, NotFoundError, UsageError
from recjudge_tui.store.database import Database, now
from recjudge_tui.store.facts import about_systems, held_out_type, shown_event
from recjudge_tui.store.names import sane_name


def create_project(db: Database, name: str) -> int:
    """Create a project. Raises UsageError for an empty or taken name."""
    name = sane_name(name, "the project")
    if not name:
        raise UsageError("a project needs a name")
    try:
        return db.insert("INSERT INTO projects (name, created_at) VALUES (?, ?)", (name, now()))
    except ConstraintError as error:
        raise UsageError(f"a project “{name}” exists already") from error


def find_project(db: Database, name: str) -> int | None:
    identity: int | None = db.value("SELECT id FROM projects WHERE name = ?", (name.strip(),))
    return identity


def project_id(db: Database, name: str) -> int:
    """The project's id. Raises NotFoundError naming the existing projects."""
    identity = find_project(db, name)
    if identity is None:
        names = [row[0] for row in db.rows("SELECT name FROM projects ORDER BY name LIMIT 20")]
        hint = (
            f"Available: {', '.join(names)}."
            if names
            else "There are none yet: “recjudge import” creates one."
        )
        raise NotFoundError(f"no project “{name}”", hint)
    return identity


def only_project(db: Database) -> int | None:
    """The id of the project of a database with exactly one; else None."""
    identities = [row[0] for row in db.rows("SELECT id FROM projects LIMIT 2")]
    return identities[0] if len(identities) == 1 else None


def project_overview(db: Database, project_id: int | None = None) -> list[sqlite3.Row]:
    """One row per project (of all, or of one), by name: its counts, its newest run (`last_run`, `state`) and its active run
    (`running`)."""
    return db.rows(
        f"""
        SELECT p.id, p.name, p.created_at,
          (SELECT count(*) FROM cases c WHERE c.project_id = p.id) AS cases,
          (SELECT count(*) FROM verdicts v WHERE v.project_id = p.id) AS verdicts,
          (SELECT count(*) FROM verdicts v
            WHERE v.project_id = p.id AND v.flag_count > 0 AND {about_systems("v.protocol")}) AS flagged,
          (SELECT count(*) FROM runs ru WHERE ru.project_id = p.id) AS runs,
          (SELECT count(*) FROM imports i WHERE i.project_id = p.id AND i.undone_at IS NULL) AS imports,
          (SELECT max(ru.created_at) FROM runs ru WHERE ru.project_id = p.id) AS last_run,
          (SELECT ru.state FROM runs ru WHERE ru.project_id = p.id ORDER BY ru.id DESC LIMIT 1) AS state,
          (SELECT ru.id FROM runs ru WHERE ru.project_id = p.id AND ru.state = 'running' ORDER BY ru.id DESC LIMIT 1)
            AS running
        FROM projects p WHERE ?1 IS NULL OR p.id = ?1 ORDER BY p.name""",
        (project_id,),
    )


def project_counts(db: Database, identity: int) -> sqlite3.Row:
    """The numbers of items, users, events, heldout (events), slates, explanations and imports of a project."""
    row = db.row(
        f"""
        SELECT
          (SELECT count(DISTINCT item_id) FROM items WHERE project_id = :p) AS items,
          (SELECT count(DISTINCT user_id) FROM users WHERE project_id = :p) AS users,
          (SELECT count(*) FROM events WHERE project_id = :p AND {shown_event()}) AS events,
          (SELECT count(*) FROM events WHERE project_id = :p AND {held_out_type()}) AS heldout,
          (SELECT count(*) FROM v_current_slates WHERE project_id = :p) AS slates,
          (SELECT count(*) FROM v_current_explanations WHERE project_id = :p) AS explanations,
          (SELECT count(*) FROM imports WHERE project_id = :p AND undone_at IS NULL) AS imports
        """,
        {"p": identity},
    )
    assert row is not None
    return row


def project_name(db: Database, project_id: int) -> str:
    """The project's name. Raises NotFoundError when it no longer exists."""
    name: str | None = db.value("SELECT name FROM projects WHERE id = ?", (project_id,))
    if name is None:
        raise NotFoundError("this project no longer exists", "It was deleted in the meantime.")
    return name


def project_names(db: Database) -> list[tuple[int, str]]:
    """(id, name) of every project, by name; fast enough for the first screen."""
    return [(row[0], row[1]) for row in db.rows("SELECT id, name FROM projects ORDER BY name")]
