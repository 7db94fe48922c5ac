"""`recjudge leaderboard`."""

from __future__ import annotations

from pathlib import Path

import click

from recjudge_tui.cli.options import db_option, open_db, project_option, put_table, table_options


@click.command()
@project_option
@click.option("--protocol", required=True, metavar="P", help="pointwise, pairwise, ...")
@click.option("--rater", metavar="R", help="Only this rater. Default: everyone.")
@click.option("--aspect", metavar="A", help="Only this aspect.")
@click.option(
    "--method",
    default="",
    metavar="NAME",
    help="q or winrate for pairs of lists (default q); share for single lists and texts.",
)
@db_option
@table_options
def leaderboard(
    project: str,
    protocol: str,
    rater: str | None,
    aspect: str | None,
    method: str,
    db: str | None,
    fmt: str | None,
    out: Path | None,
) -> None:
    """Which system is judged better: wins, ties, losses and Q by system, or the shares of labels.

    Ties include position ties (the two orders disagreed); failed verdicts stand outside n.

    \b
    Example:
      recjudge leaderboard -p movies --protocol pairwise
      recjudge leaderboard -p movies --protocol pointwise --rater rules --format md
    """
    from recjudge_tui.reports.leaderboard import LeaderboardOptions, leaderboard_table
    from recjudge_tui.store.projects import project_id

    options = LeaderboardOptions(protocol, rater=rater, aspect=aspect, method=method)
    with open_db(db) as database:
        put_table(leaderboard_table(database, project_id(database, project), options), fmt, out)
