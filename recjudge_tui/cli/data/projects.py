"""`recjudge project`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import db_option, narrate, open_db
from recjudge_tui.cli.report_command import report_command

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@click.group()
def project() -> None:
    """List, create, show or delete projects."""


@project.command("list")
@report_command
def list_(database: Database) -> Table:
    """List all projects and what they contain.

    \b
    Example:
      recjudge project list
    """
    from recjudge_tui.reports.projects.overview import projects_table

    return projects_table(database)


@project.command()
@click.argument("name")
@db_option
def new(name: str, db: str | None) -> None:
    """Create an empty project.

    \b
    Example:
      recjudge project new movies
    """
    from recjudge_tui.store.projects.projects import create_project

    with open_db(db) as database:
        create_project(database, name)
    narrate(f"project “{name}” created; next, import data: recjudge import FILE -p {name} --as items")


@project.command()
@click.argument("name")
@report_command
def show(database: Database, name: str) -> Table:
    """Show what a project contains: data, systems, raters, runs.

    \b
    Example:
      recjudge project show movies
    """
    from recjudge_tui.reports.projects.overview import project_table
    from recjudge_tui.store.projects.projects import project_id

    return project_table(database, project_id(database, name))


@project.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@db_option
def delete(name: str, yes: bool, db: str | None) -> None:
    """Delete a project and everything in it.

    \b
    Example:
      recjudge project delete movies --yes
    """
    from recjudge_tui.store.projects.deletion import delete_project
    from recjudge_tui.store.projects.projects import project_id

    with open_db(db) as database:
        project_id(database, name)
        if not yes:
            click.confirm(f"Delete “{name}” with all its data, runs and verdicts?", abort=True, err=True)
        delete_project(database, name)
    narrate(f"project “{name}” deleted")
