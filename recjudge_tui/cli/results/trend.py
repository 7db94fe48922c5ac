"""`recjudge trend`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import names, project_option
from recjudge_tui.cli.report_command import project_report
from recjudge_tui.cli.setting_options import setting_options
from recjudge_tui.domain.occasions import OVER, Over
from recjudge_tui.stats.defaults import TOP_K

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@click.command()
@project_option
@click.option(
    "--over",
    type=click.Choice(OVER),
    default="day",
    show_default=True,
    help="Days, ISO weeks or months (UTC) in which lists were served, or the imports in which they came.",
)
@click.option(
    "--systems", "--system", metavar="A,B,...",
    help="Only these systems, and pairs of two of them; with one system, all its pairs. Default: all.",
)  # fmt: skip
@click.option("--protocol", metavar="P", help="Only this protocol. Default: all.")
@click.option("--rater", metavar="R", help="Only this rater. Default: all but metrics.")
@click.option("--aspect", metavar="A", help="Only this aspect. Default: overall, where a rater gave it.")
@click.option(
    "--metrics", "metric_names", metavar="A,B,...",
    help="Offline metrics to show; “none” for none. Default: ndcg, where events are held out.",
)  # fmt: skip
@click.option(
    "--k", type=click.IntRange(1), default=TOP_K, show_default=True, help="How many items of a list count in metrics."
)  # fmt: skip
@setting_options("contexts")
@click.option(
    "--from",
    "since",
    metavar="PERIOD",
    default="",
    help="The first period: 2026-03, 2026-W10, 2026-03-31; by import, its number.",
)
@click.option("--to", "until", metavar="PERIOD", default="", help="The last period, written the same way.")
@project_report
def trend(
    database: Database,
    project_id: int,
    over: Over,
    systems: str | None,
    protocol: str | None,
    rater: str | None,
    aspect: str | None,
    metric_names: str | None,
    k: int,
    contexts: tuple[str, ...],
    since: str,
    until: str,
) -> Table:
    """Show each system's figures over time.

    The judged figures of each system and pair, with offline metrics, flags and live outcomes.

    Pairs are shown as win rates, labels as the share of the best label, scores as their mean. Lists are dated by
    served_at; those without one are counted and left out (--over import shows them). Experiments appear on the day
    their result was recorded. A note marks each period in which another model or prompt version answered than before.

    \b
    Example:
      recjudge trend -p shop --over week
      recjudge trend -p shop --protocol pairwise --systems new,old --format csv -o trend.csv
    """
    from recjudge_tui.domain.occasions import OccasionFilter
    from recjudge_tui.reports.trend.trend import TrendOptions, trend_table

    metrics = () if metric_names == "none" else names(metric_names) or None
    options = TrendOptions(
        over, protocol, rater, aspect, names(systems), metrics, k, since, until,
        OccasionFilter(tuple(dict.fromkeys(contexts))),
    )  # fmt: skip
    return trend_table(database, project_id, options)
