"""`recjudge flags`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import names, project_option, segment_option, systems_option
from recjudge_tui.cli.report_command import project_report
from recjudge_tui.cli.setting_options import occasion_options

if TYPE_CHECKING:
    from recjudge_tui.domain.occasions import OccasionFilter
    from recjudge_tui.domain.selection import CaseSelection
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.reports.flags.project_flags import Of
    from recjudge_tui.store.database import Database


@click.command()
@project_option
@click.option(
    "--protocol",
    metavar="P",
    help="Only this protocol, such as pointwise. Default: all that judge single lists.",
)
@click.option(
    "--raters",
    metavar="A,B,...",
    help="Only these raters. Default: all that were asked for flags.",
)
@click.option(
    "--of",
    type=click.Choice(("lists", "items")),
    default="lists",
    show_default=True,
    help="What a share counts: lists with a flag, or flagged items among those shown.",
)
@click.option(
    "--issue",
    metavar="NAME",
    help="Only this kind of issue; “any” counts all kinds together. Default: “any” and each kind; by rank, “any”.",
)
@click.option(
    "--agreement",
    is_flag=True,
    help="How often raters flag the same items: precision, recall, F1, kappa, and the same issue.",
)
@click.option("--truth", metavar="RATER", help="--agreement: compare everyone with this rater.")
@systems_option
@segment_option("“system” (the default); “rank”: the share of items at each place of the lists.")
@occasion_options
@project_report
def flags(
    database: Database,
    project_id: int,
    protocol: str | None,
    raters: str | None,
    of: Of,
    issue: str | None,
    agreement: bool,
    truth: str | None,
    systems: tuple[str, ...],
    by: str | None,
    occasions: OccasionFilter,
) -> Table:
    """Show which issues are flagged in each system's lists. By rater, and beside people.

    Counts the items that judges and people flag in single lists: by kind of issue the share of lists, of items, or of
    the items at each rank, with 95 % intervals over users. Failed verdicts are not part of n. With --agreement:
    which items two raters flag, and for which issue.

    \b
    Example:
      recjudge flags -p shop
      recjudge flags -p shop --of items --raters rules,anna --by segment
      recjudge flags -p shop --by rank --issue off-category
      recjudge flags -p shop --agreement --truth anna --format json
    """
    from recjudge_tui.reports.common.segments import segmented
    from recjudge_tui.reports.flags.project_flags import FlagOptions

    if truth is not None and not agreement:
        raise click.UsageError("--truth needs --agreement")
    if agreement and (by == "rank" or of != "lists"):
        raise click.UsageError("--agreement is about items; it cannot be combined with --by rank or --of")
    options = FlagOptions(protocol, names(raters), of, by == "rank", issue, truth)

    def table(chosen: CaseSelection) -> Table:
        from recjudge_tui.reports.flags.agreement import flag_agreement_table
        from recjudge_tui.reports.flags.kinds import kinds_table

        report = flag_agreement_table if agreement else kinds_table
        return report(database, project_id, replace(options, selection=chosen))

    return segmented(
        database,
        project_id,
        table,
        by=None if by in ("system", "rank") else by,
        occasions=occasions,
        systems=systems,
        empty="not judged for flagged items",
    )
