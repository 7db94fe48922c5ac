"""`recjudge cost`."""

from __future__ import annotations

from pathlib import Path

import click

from recjudge_tui.cli.options import db_option, open_db, project_option, put_table, table_options


@click.command()
@project_option
@click.option(
    "--human-price", type=float, metavar="USD", help="What a person is paid for one case, to compare with."
)
@db_option
@table_options
def cost(project: str, human_price: float | None, db: str | None, fmt: str | None, out: Path | None) -> None:
    """What a judged case costs, by judge and prompt form: calls, dollars, and the ratio to a person's price.

    A price that is not known stays unknown; cases answered from earlier replies are left out and counted.

    \b
    Example:
      recjudge cost -p movies --human-price 0.111
    """
    from recjudge_tui.reports.cost import cost_table
    from recjudge_tui.store.projects import project_id

    with open_db(db) as database:
        put_table(cost_table(database, project_id(database, project), human_price), fmt, out)
