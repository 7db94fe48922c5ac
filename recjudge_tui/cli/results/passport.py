"""`recjudge passport`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import project_option
from recjudge_tui.cli.report_command import project_report

if TYPE_CHECKING:
    from recjudge_tui.cli.report_command import Report
    from recjudge_tui.store.database import Database

_PAGES = ("text", "md", "html")


@click.command()
@click.argument("rater", metavar="RATER")
@project_option
@project_report
def passport(database: Database, project_id: int, rater: str) -> Callable[[str], Report]:
    """Print one page about a judge: trust, preferences, cost.

    The page shows agreement with people, position bias, adversarial pairs, consistency when asked again, failures
    by reason, preference for long texts and popular items (in total, and beyond people's own), price, latency,
    prompts and the served model. For a figure that was not measured, it names the command that measures it. JSON,
    CSV and LaTeX contain the same figures as one table with one row per figure.

    \b
    Example:
      recjudge passport -p movies rules
      recjudge passport -p movies ollama:llama3.1:8b -o passport.html
    """
    from recjudge_tui.reports.documents.passport import passport_page, passport_table

    table = passport_table(database, project_id, rater)
    return lambda fmt: passport_page(table) if fmt in _PAGES else table
