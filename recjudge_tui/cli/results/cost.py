"""`recjudge cost`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import names, project_option
from recjudge_tui.cli.report_command import project_report

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.stats.combining.consensus import Rule
    from recjudge_tui.store.database import Database


@click.command()
@project_option
@click.option(
    "--human-price", type=float, metavar="USD", help="Price of one case judged by a person, for comparison."
)
@click.option(
    "--truth",
    metavar="RATER",
    help="Show each set of judges instead, with its cost and its agreement with this rater.",
)
@click.option(
    "--rule",
    type=click.Choice(["majority", "mean", "dawid-skene"]),
    help="How a set of judges is combined, as in “recjudge rater combine”. Default: majority.",
)
@click.option(
    "--raters",
    metavar="A,B,...",
    help="The judges to choose among, at most 8. Default: all judges.",
)
@click.option("--protocol", metavar="P", help="Only this protocol.")
@click.option("--aspect", metavar="A", help="Only this aspect.")
@click.option("--stat", metavar="NAME", help="The statistic of agreement. Default: qwk; pearson for means.")
@project_report
def cost(
    database: Database,
    project_id: int,
    human_price: float | None,
    truth: str | None,
    rule: Rule | None,
    raters: str | None,
    protocol: str | None,
    aspect: str | None,
    stat: str | None,
) -> Table:
    """Show the cost of a judged case by judge and prompt. Calls, dollars, and the ratio to a person's price.

    Unknown prices are shown as unknown. Cases answered from earlier replies are left out and counted. With --truth,
    the table compares sets of judges, the cheapest first: cost, agreement with that rater, how often a set answers,
    and whether another set is both better and cheaper.

    \b
    Example:
      recjudge cost -p movies --human-price 0.111
      recjudge cost -p movies --truth people --rule dawid-skene --aspect overall
    """

    if truth is None and (rule or raters or protocol or aspect or stat):
        raise click.UsageError("--rule, --raters, --protocol, --aspect and --stat need --truth")
    if truth is None:
        from recjudge_tui.reports.projects.cost import cost_table

        return cost_table(database, project_id, human_price)
    from recjudge_tui.reports.reliability.ensemble_costs import EnsembleCostOptions, ensemble_costs_table

    options = EnsembleCostOptions(
        truth=truth,
        rule=rule or "majority",
        raters=names(raters),
        protocol=protocol,
        aspect=aspect,
        stat=stat or "",
        human_price=human_price,
    )
    return ensemble_costs_table(database, project_id, options)
