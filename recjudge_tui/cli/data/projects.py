"""`recjudge project`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from recjudge_tui.cli.names import default_project
from recjudge_tui.cli.options import db_option, narrate, open_db
from recjudge_tui.cli.report_command import report_command

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database

Command = TypeVar("Command", bound=Callable[..., object])


def _named(command: Command) -> Command:
    """The project's name, by its place or with -p."""
    option = click.option("-p", "--project", metavar="PROJECT", help="The same as NAME.")
    return click.argument("name", required=False)(option(command))


def _one_name(name: str | None, project: str | None) -> str:
    """The one that is given, else the default project."""
    if name and project and name != project:
        raise click.UsageError(f"“{name}” and “{project}” are two projects; name one")
    return name or project or default_project() or ""


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
    from recjudge_tui.reports.listings import projects

    return projects(database)


@project.command()
@click.argument("name")
@db_option
def new(name: str, db: str | None) -> None:
    """Create an empty project.

    \b
    Example:
      recjudge project new movies
    """
    from recjudge_tui.store.projects import create_project

    with open_db(db) as database:
        create_project(database, name)
    narrate(f"project “{name}” created; next, import data: recjudge import FILE -p {name} --as items")


@project.command()
@_named
@report_command
def show(database: Database, name: str | None, project: str | None) -> Table:
    """Show what a project contains: data, systems, raters, runs.

    \b
    Example:
      recjudge project show movies
    """
    from recjudge_tui.project import Project
    from recjudge_tui.reports.listings import project as contents

    return contents(Project.named(database, _one_name(name, project)))


@project.command()
@_named
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@db_option
def delete(name: str | None, project: str | None, yes: bool, db: str | None) -> None:
    """Delete a project and everything in it.

    \b
    Example:
      recjudge project delete movies --yes
    """
    from recjudge_tui.store.projects import delete_project, project_id

    if not (name or project):
        raise click.UsageError("name the project")
    name = _one_name(name, project)
    with open_db(db) as database:
        project_id(database, name)
        if not yes:
            click.confirm(f"Delete “{name}” with all its data, runs and verdicts?", abort=True, err=True)
        delete_project(database, name)
    narrate(f"project “{name}” deleted")
