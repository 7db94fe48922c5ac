"""The project to use when none is given."""

from __future__ import annotations

import os

import click

PROJECT_VARIABLE = "RECJUDGE_PROJECT"


def default_project() -> str | None:
    """RECJUDGE_PROJECT, else the only project, whose name is then printed on stderr.

    Raises click.UsageError if there is no project, or several, which it names.
    """
    ctx = click.get_current_context()
    if named := os.environ.get(PROJECT_VARIABLE):
        return named
    if ctx.resilient_parsing:
        return None
    projects = _projects(ctx)
    if len(projects) > 1:
        raise click.UsageError(
            f"name the project with -p, or in {PROJECT_VARIABLE}; available: {', '.join(projects)}", ctx
        )
    if not projects:
        raise click.UsageError(
            "there is no project yet; “recjudge import FILE -p NAME --as items” creates one", ctx
        )
    from recjudge_tui.domain.text import safe_text

    click.echo(f"project: {safe_text(projects[0])}, the only one", err=True)
    return projects[0]


def _projects(ctx: click.Context) -> list[str]:
    """The projects of the database that the command line names; nothing where there is no file."""
    from recjudge_tui.settings import database_path
    from recjudge_tui.store.projects import project_names
    from recjudge_tui.store.schema import connect

    path = database_path(ctx.params.get("db") or ctx.find_root().params.get("db"))
    if not path.exists():
        return []
    with connect(path) as db:
        return [name for _, name in project_names(db)]
