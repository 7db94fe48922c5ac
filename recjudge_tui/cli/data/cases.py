"""`recjudge cases`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.data.filters import filters
from recjudge_tui.cli.options import project_option
from recjudge_tui.cli.report_command import project_report, report_command

if TYPE_CHECKING:
    from recjudge_tui.cli.report_command import Report
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@click.group()
def cases() -> None:
    """List or show cases, and manage saved filters. Cases are the things that are judged."""


cases.add_command(filters)


@cases.command("list")
@project_option
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Show only the first N.")
@project_report
def list_(database: Database, project_id: int, limit: int | None) -> Table:
    """List the cases of a project with the number of verdicts on each.

    \b
    Example:
      recjudge cases list -p movies --limit 20
    """
    from recjudge_tui.reports.projects.overview import cases_table

    return cases_table(database, project_id, limit)


@cases.command()
@click.argument("case_id", metavar="ID", type=int)
@report_command
def show(database: Database, case_id: int) -> Callable[[str], Report]:
    """Show one case: the user, the lists with their flagged items, and every verdict with its reasoning.

    \b
    Example:
      recjudge cases show 12
      recjudge cases show 12 --plain
    """
    from recjudge_tui.reports.projects.overview import case_page
    from recjudge_tui.reports.verdicts.case_tables import case_report

    return lambda fmt: case_page(database, case_id) if fmt == "text" else case_report(database, case_id)
