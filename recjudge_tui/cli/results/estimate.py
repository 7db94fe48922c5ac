"""`recjudge estimate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import project_option
from recjudge_tui.cli.report_command import project_report

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@click.command()
@project_option
@click.option(
    "--rater",
    required=True,
    metavar="JUDGE",
    help="The judge with many verdicts.",
)
@click.option("--truth", required=True, metavar="PERSON", help="The person with a few labels.")
@click.option("--protocol", required=True, metavar="P", help="pointwise, pairwise, explanation, ...")
@click.option("--aspect", metavar="A", help="Only this aspect.")
@click.option("--system", metavar="S", help="Only this system. For pairs, count the wins of this system.")
@click.option(
    "--measure", type=click.Choice(["win_rate", "share", "mean"]),
    help="Default: win_rate for pairs of lists, share of each match label, mean of scores.",
)  # fmt: skip
@click.option(
    "--labelled-users", type=click.IntRange(1), metavar="N",
    help="Use the labels of N users drawn at random and hide the rest, to see what fewer labels would have "
         "shown.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for --labelled-users.")
@project_report
def estimate(
    database: Database,
    project_id: int,
    rater: str,
    truth: str,
    protocol: str,
    aspect: str | None,
    system: str | None,
    measure: str | None,
    labelled_users: int | None,
    seed: int,
) -> Table:
    """Estimate people's verdict from a few labels and a judge. The judge's many verdicts supplement the labels.

    Prints three estimates with 95 % intervals: from the labels alone, from the judge alone, and from both by
    prediction-powered inference (PPI++; Angelopoulos, Duchi and Zrnic 2023). The last one is valid however bad the
    judge is; a better judge makes its interval narrower. The column Saved shows how many labels this replaces. The
    labelled cases must be a random sample of the judged cases.

    \b
    Example:
      recjudge estimate -p movies --rater qwen --truth anna --protocol pairwise
      recjudge estimate -p movies --rater qwen --truth anna --protocol pointwise --labelled-users 20
    """
    from recjudge_tui.reports.reliability.human_estimates import EstimateOptions, human_estimates_table

    options = EstimateOptions(rater, truth, protocol, aspect, system, measure or "", labelled_users, seed)
    return human_estimates_table(database, project_id, options)
