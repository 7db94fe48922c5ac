"""`recjudge robustness`."""

from __future__ import annotations

from pathlib import Path

import click

from recjudge_tui.cli.options import db_option, open_db, project_option, put_table, table_options


@click.group()
def robustness() -> None:
    """How far a judge can be pushed: position."""


@robustness.command()
@project_option
@click.option("--rater", metavar="R", help="One rater's pairs: adjudicated verdicts beside single calls.")
@db_option
@table_options
def position(project: str, rater: str | None, db: str | None, fmt: str | None, out: Path | None) -> None:
    """What the order of the two lists does: consistency, true and position-dependent ties, the favoured set.

    With --rater the raw counts (two calls a pair) stand beside the adjudicated ones.

    \b
    Example:
      recjudge robustness position -p movies
      recjudge robustness position -p movies --rater rules
    """
    from recjudge_tui.reports.human_benchmark import pair_counts_table
    from recjudge_tui.reports.position import position_table
    from recjudge_tui.store.projects import project_id
    from recjudge_tui.store.raters import rater_row

    with open_db(db) as database:
        identity = project_id(database, project)
        if rater is None:
            put_table(position_table(database, identity), fmt, out)
            return
        rater_row(database, identity, rater)
        put_table(pair_counts_table(database, identity, rater), fmt, out)
