"""`recjudge diversity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import project_option
from recjudge_tui.cli.report_command import project_report
from recjudge_tui.stats.defaults import TOP_K

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@click.command()
@project_option
@click.option(
    "--rater",
    metavar="R",
    default="",
    help="Only this rater. Default: all that judged lists.",
)
@click.option(
    "--truth",
    metavar="T",
    help="Test instead whether raters favour uniform lists more than this rater does.",
)
@click.option(
    "--k", type=click.IntRange(1), default=TOP_K, show_default=True, help="How many items of a list count."
)
@project_report
def diversity(database: Database, project_id: int, rater: str, truth: str | None, k: int) -> Table:
    """Show how varied each system's lists are. Also shows how they were rated (pointwise, absolute).

    ild: how much the items of a list differ in their categories, pair by pair. title_ild: the same for the words of
    their titles. near_duplicates: the share of items that repeat an item above them, or have 60 % of the title words
    and, where known, a category in common with one. category_coverage: the share of all categories that a list shows.

    --truth measures the semantic-similarity bias (Liu et al., SIGIR 2026): how much more a rater's ratings rise with
    the uniformity (1 - ild) of a list than those of the truth, as the difference of two slopes over the same lists.
    Above 0, the rater favours uniform lists more. Reported over all lists and within systems; intervals are over
    users.

    \b
    Example:
      recjudge diversity -p movies --k 10
      recjudge diversity -p movies --rater rules --truth people
    """

    if truth is None:
        from recjudge_tui.reports.leaderboard.diversity import diversity_table

        return diversity_table(database, project_id, k, rater)
    from recjudge_tui.reports.reliability.homogeneity_bias import homogeneity_bias_table

    return homogeneity_bias_table(database, project_id, truth, rater, k)
