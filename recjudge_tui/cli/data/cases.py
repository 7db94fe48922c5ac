"""`recjudge cases`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.declared import report_commands
from recjudge_tui.cli.options import db_option, narrate, project_option
from recjudge_tui.cli.report_command import open_project, report_command

if TYPE_CHECKING:
    from recjudge_tui.cli.report_command import Report
    from recjudge_tui.store.database import Database


@click.group(commands=report_commands("cases"))
def cases() -> None:
    """List or show cases, and manage saved filters. Cases are the things that are judged."""


@cases.command()
@click.argument("case_id", metavar="ID", type=int)
@click.option("-p", "--project", metavar="PROJECT", help="The project of the case, whose id is enough.")
@report_command
def show(database: Database, case_id: int, project: str | None) -> Callable[[str], Report]:
    """Show one case: the user, the lists with their flagged items, and every verdict with its reasoning.

    \b
    Example:
      recjudge cases show 12
      recjudge cases show 12 --plain
    """
    from recjudge_tui.reports.cases import case_page, case_report
    from recjudge_tui.store.cases import case_row
    from recjudge_tui.store.projects import project_id

    if project and case_row(database, case_id)["project_id"] != project_id(database, project):
        raise click.UsageError(f"case {case_id} is not of project “{project}”")
    return lambda fmt: case_page(database, case_id) if fmt == "text" else case_report(database, case_id)


@cases.group(commands=report_commands("cases filters"))
def filters() -> None:
    """List, save or delete filters of the verdict list. In the app, press F to use them."""


@filters.command()
@project_option
@click.argument("name")
@click.argument("filter_text", metavar="FILTER")
@db_option
def save(project: str, name: str, filter_text: str, db: str | None) -> None:
    """Save FILTER under NAME, replacing any filter of that name.

    \b
    Example:
      recjudge cases filters save -p movies doubtful 'why:swap conf<.6'
    """
    from recjudge_tui.store.projects import save_filter

    with open_project(db, project) as (database, identity):
        replaced = save_filter(database, identity, name, filter_text)
    narrate(f"filter “{name.strip()}” {'replaced' if replaced else 'saved'}")


@filters.command()
@project_option
@click.argument("name")
@db_option
def delete(project: str, name: str, db: str | None) -> None:
    """Delete a saved filter.

    \b
    Example:
      recjudge cases filters delete -p movies doubtful
    """
    from recjudge_tui.store.projects import delete_filter

    with open_project(db, project) as (database, identity):
        delete_filter(database, identity, name)
    narrate(f"filter “{name.strip()}” deleted")
