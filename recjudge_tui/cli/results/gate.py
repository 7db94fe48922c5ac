"""`recjudge gate`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import FORMATS, FiniteRange, names, project_option
from recjudge_tui.cli.report_command import ReportWithExit, project_report
from recjudge_tui.stats.defaults import LEVEL

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.reports.reliability.gate_options import Bound
    from recjudge_tui.store.database import Database

# for machines that run tests, beside the formats of every table
MACHINE_FORMATS = ("junit", "github")


@click.command()
@project_option
@click.option(
    "--rater",
    required=True,
    metavar="R",
    help="The rater that must meet the bounds, or run:ID for one of its runs.",
)
@click.option("--truth", metavar="RATER", help="The rater to measure agreement with.")
@click.option(
    "--at-least", multiple=True, metavar="NAME=X",
    help="NAME: qwk, kappa, percent, ... (as in agreement --stat; needs --truth), win_rate (needs --systems),"
    " failure_rate. Repeatable.",
)  # fmt: skip
@click.option(
    "--at-most", multiple=True, metavar="NAME=X", help="An upper bound, written the same way. Repeatable."
)
@click.option(
    "--certain",
    is_flag=True,
    help="The whole interval must meet a bound, not only the figure. If some bounds are not met, the others count as"
    " met only after Holm's correction.",
)
@click.option(
    "--against",
    metavar="R",
    help="The rater of an earlier run, or run:ID: check that nothing got worse. The same lists are compared case by"
    " case, other lists of one occasion with each other, and lists of other times user by user. Give the rater itself"
    " to compare its newest run, with the run before, or new lists with those they replaced.",
)
@click.option(
    "--stat", "stats", metavar="NAME,...",
    help="With --against: the figures that must not get worse. Default: failure_rate, with --truth also qwk (pearson"
    " for scores without labels), with --systems also win_rate.",
)  # fmt: skip
@click.option("--systems", metavar="A,B", help="For win_rate: A's rate of wins over B; a tie counts half.")
@click.option(
    "--protocol", metavar="P", help="Only this protocol; arena is compared with people's pairwise labels."
)
@click.option("--aspect", metavar="A", help="Only this aspect. Default: all; each must meet the bounds.")
@click.option(
    "--level", type=FiniteRange(0, 1, min_open=True, max_open=True), default=LEVEL, show_default=True,
    metavar="L", help="Confidence level of the intervals.",
)  # fmt: skip
@partial(project_report, formats=(*FORMATS, *MACHINE_FORMATS))
def gate(
    database: Database,
    project_id: int,
    rater: str,
    truth: str | None,
    at_least: tuple[str, ...],
    at_most: tuple[str, ...],
    certain: bool,
    against: str | None,
    stats: str | None,
    systems: str | None,
    protocol: str | None,
    aspect: str | None,
    level: float,
) -> ReportWithExit:
    """Check bounds, and that nothing got worse, in CI.

    Exit 0 if every bound is met and nothing got worse, 3 if not, 1 if a change cannot be measured.

    A bound on an undefined figure is not met. With --against, a figure got worse if the interval of its change excludes
    zero in the bad direction, after Holm's correction for all figures and aspects of the table. The interval leaves the
    same users out of both runs (the jackknife; Efron and Stein 1981). The table also shows which models were served then
    and now.

    \b
    Example:
      recjudge gate -p movies --rater qwen --truth people --at-least qwk=0.6 --at-most failure_rate=0.02
      recjudge gate -p movies --rater qwen-june --against qwen-may --truth people
      recjudge gate -p movies --rater qwen --systems new,old --at-least win_rate=0.5 --certain
      recjudge gate -p movies --rater qwen --against qwen --format junit -o gate.xml
      recjudge gate -p movies --rater run:15 --against run:14 --systems new,old
    """
    from recjudge_tui.reports.reliability.gate import gate_table
    from recjudge_tui.reports.reliability.gate_formats import github_text, junit_text
    from recjudge_tui.reports.reliability.gate_options import GateOptions

    bounds = [_bound(text, True) for text in at_least] + [_bound(text, False) for text in at_most]
    options = GateOptions(
        rater=rater,
        bounds=tuple(bounds),
        against=against,
        stats=names(stats),
        truth=truth,
        systems=names(systems),
        protocol=protocol,
        aspect=aspect,
        certain=certain,
        level=level,
    )
    table = gate_table(database, project_id, options)
    texts = dict(zip(MACHINE_FORMATS, (junit_text, github_text), strict=True))
    return _with_exit(table)._replace(report=lambda fmt: texts[fmt](table) if fmt in texts else table)


def _bound(text: str, least: bool) -> Bound:
    from recjudge_tui.reports.reliability.gate_options import Bound

    name, sign, number = text.partition("=")
    try:
        return Bound(name.strip(), float(number), least)
    except ValueError as error:
        given = text if sign else f"{text} (no “=”)"
        option = "--at-least" if least else "--at-most"
        raise click.UsageError(f"{option} {given}: expected a name and a number, as in qwk=0.6") from error


def _with_exit(table: Table) -> ReportWithExit:
    from recjudge_tui.reports.reliability.gate_exit import gate_exit

    return ReportWithExit(table, *gate_exit(table))
