"""`recjudge metrics`."""

from __future__ import annotations

from pathlib import Path

import click

from recjudge_tui.cli.options import db_option, open_db, project_option, put_table, table_options


@click.command()
@project_option
@click.option("--k", type=click.IntRange(1), default=10, show_default=True, help="How much of a list counts.")
@db_option
@table_options
def metrics(project: str, k: int, db: str | None, fmt: str | None, out: Path | None) -> None:
    """Offline metrics of every system's lists against held-out events, users resampled.

    Relevant is an item held out without a value (a purchase, a click), or with a value of at least the
    user's mean. ndcg counts relevant items, ndcg_explicit the values themselves, ndcg_exp 2^value - 1.
    AUC is over all scored candidates of the file, whatever K is.

    \b
    Example:
      recjudge metrics -p movies --k 10
    """
    from recjudge_tui.reports.metrics import metrics_table
    from recjudge_tui.store.projects import project_id

    with open_db(db) as database:
        put_table(metrics_table(database, project_id(database, project), k), fmt, out)
