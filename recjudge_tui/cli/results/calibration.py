"""`recjudge calibration`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import FiniteRange, db_option, project_option, put_table, table_options
from recjudge_tui.cli.report_command import open_project
from recjudge_tui.stats.defaults import BINS, COVERAGE

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.reports.reliability.uncertainty import Uncertainty, UncertaintyOptions

TABLES = ("error", "reliability", "sets", "cases")


@click.command()
@project_option
@click.option("--rater", required=True, metavar="R", help="The judge to examine.")
@click.option(
    "--truth", required=True, metavar="T", help="The person (or consensus) whose labels are the reference."
)
@click.option("--protocol", metavar="P", help="pointwise, pairwise, ... Default: all that both answered.")
@click.option("--aspect", metavar="A", help="Only this aspect.")
@click.option(
    "--coverage", type=FiniteRange(0, 1, min_open=True, max_open=True), default=COVERAGE, show_default=True,
    help="How often a label set should contain the reference label.",
)  # fmt: skip
@click.option(
    "--method", type=click.Choice(["isotonic", "temperature"]), default="isotonic", show_default=True,
    help="isotonic: any rising curve (Zadrozny and Elkan 2002); temperature: one number, for few labels"
    " (Guo et al. 2017).",
)  # fmt: skip
@click.option(
    "--bins",
    type=click.IntRange(1, 100),
    default=BINS,
    show_default=True,
    help="The number of confidence bins.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The seed for splitting users.")
@click.option("--cases", type=click.IntRange(1), metavar="N", help="List the first N cases to look at.")
@click.option(
    "--show", type=click.Choice(TABLES), help="Only this table. Required for -o and formats other than text."
)
@db_option
@table_options
def calibration(
    project: str,
    rater: str,
    truth: str,
    protocol: str | None,
    aspect: str | None,
    coverage: float,
    method: str,
    bins: int,
    seed: int,
    cases: int | None,
    show: str | None,
    db: str | None,
    fmt: str | None,
    out: Path | None,
) -> None:
    """Check how reliable a judge's confidence is. Also shows which labels its verdicts leave possible.

    error: expected calibration error before and after calibration. reliability: how often verdicts of each
    confidence are right. sets: label sets, which contain the reference label as often as --coverage says (split
    conformal prediction over users; Lee, Barber and Willett 2023). cases: the cases with more than one possible
    label, which should be read first. A case is calibrated on the labels of other users.

    \b
    Example:
      recjudge calibration -p movies --rater qwen --truth anna --protocol pointwise
      recjudge calibration -p movies --rater qwen --truth anna --show cases --cases 50 --format csv
    """
    from recjudge_tui.reports.reliability.uncertainty import UncertaintyOptions, uncertainties

    if show is None and (out is not None or fmt not in (None, "text")):
        raise click.UsageError(
            f"several tables can only be printed as text; choose one with --show ({', '.join(TABLES)})"
        )
    options = UncertaintyOptions(rater, truth, protocol, aspect, coverage, method, bins, seed=seed)
    with open_project(db, project) as (database, identity):
        results = uncertainties(database, identity, options)
    for place, name in enumerate((show,) if show else TABLES if cases else TABLES[:-1]):
        if place:
            click.echo()
        put_table(_table(name, results, options, cases), fmt, out)


def _table(name: str, results: list[Uncertainty], options: UncertaintyOptions, cases: int | None) -> Table:
    from recjudge_tui.reports.reliability import calibration as reports

    if name == "cases":
        return reports.cases_table(results, options, cases)
    tables = {
        "error": reports.error_table,
        "reliability": reports.reliability_table,
        "sets": reports.sets_table,
    }
    return tables[name](results, options)
