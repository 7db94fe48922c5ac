"""`recjudge methods`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import project_option, raters_option, split_names
from recjudge_tui.cli.report_command import project_report

if TYPE_CHECKING:
    from recjudge_tui.cli.report_command import Output, Report
    from recjudge_tui.store.database import Database

_TEXTS = ("text", "md", "latex")


@click.command()
@project_option
@raters_option
@click.option(
    "--statistics",
    metavar="NAME,...",
    callback=split_names,
    help="Also define these, such as bt, alpha_ordinal or recall; all: every one that this project's data allow.",
)
@click.option("--bibtex", is_flag=True, help="Only the works cited, for a .bib file.")
@project_report
def methods(
    database: Database, project_id: int, raters: tuple[str, ...], statistics: tuple[str, ...], bibtex: bool
) -> Output:
    """Write the methods paragraphs of a paper.

    They state the judges with their served models and dates, the prompts with version and hash, what was shown and how
    replies were sampled, cases, users and occasions, failures and how they count, the people, and the statistics
    with their settings. Works are cited in the form of the format: Pandoc's in md, natbib's in latex. JSON, CSV and HTML
    also have a table of the runs.

    \b
    Example:
      recjudge methods -p movies
      recjudge methods -p movies --raters qwen,anna,ben -o methods.tex
      recjudge methods -p movies --statistics bt,alpha_ordinal
      recjudge methods -p movies --bibtex -o references.bib
    """
    from recjudge_tui.reports.methods import methods as methods_of
    from recjudge_tui.reports.methods import methods_page, methods_text

    described = methods_of(database, project_id, raters, statistics)
    if bibtex:
        return described.bibtex

    def report(fmt: str) -> Report:
        return methods_text(described, fmt) if fmt in _TEXTS else methods_page(described)

    return report
