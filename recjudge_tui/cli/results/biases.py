"""`recjudge biases`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import names, project_option
from recjudge_tui.cli.report_command import project_report
from recjudge_tui.stats.defaults import TOP_K

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@click.command()
@project_option
@click.option("--rater", metavar="R", help="Only this rater. Default: all but metrics.")
@click.option(
    "--truth",
    metavar="T",
    help="Also the slope beyond this rater's, on the same cases; of several (A,B) beyond their mean.",
)
@click.option("--protocol", metavar="P", help="pointwise, pairwise, ... Default: all.")
@click.option("--aspect", metavar="A", help="Only this aspect. Default: overall, of texts all.")
@click.option(
    "--k", type=click.IntRange(1), default=TOP_K, show_default=True, help="How many items of a list count."
)
@project_report
def biases(
    database: Database,
    project_id: int,
    rater: str | None,
    truth: str | None,
    protocol: str | None,
    aspect: str | None,
    k: int,
) -> Table:
    """Show whether raters favour longer, more popular or more uniform lists and texts.

    Each row is the slope of a rating on one covariate within users: how many points the rating rises with one standard
    deviation more. With --truth also the slope beyond the truth's, as the semantic-similarity bias of SAER (Liu et al.,
    SIGIR 2026) and length-controlled judging (Dubois et al. 2024) ask for. Position is a report of its own:
    “recjudge robustness position”.

    \b
    Example:
      recjudge biases -p movies --rater rules --truth people
      recjudge biases -p movies --protocol pairwise
    """
    from recjudge_tui.reports.reliability.biases import biases_table

    return biases_table(
        database, project_id, (rater,) if rater else (), names(truth), protocol=protocol, aspect=aspect, k=k
    )
