"""`recjudge metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.declared import occasion_options
from recjudge_tui.cli.options import names, project_option, segment_option, systems_option
from recjudge_tui.cli.report_command import project_report
from recjudge_tui.stats.defaults import TOP_K

if TYPE_CHECKING:
    from recjudge_tui.domain.occasions import OccasionFilter
    from recjudge_tui.domain.selection import CaseSelection
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@click.command()
@project_option
@click.option(
    "--k", type=click.IntRange(1), default=TOP_K, show_default=True, help="How many items of a list count."
)
@click.option(
    "--metrics",
    "wanted",
    metavar="A,B,...",
    help="Only these metrics, in this order. Default: all but title_ild, near_duplicates, category_coverage.",
)
@click.option(
    "--table",
    type=click.Choice(("means", "pairs")),
    default="means",
    show_default=True,
    help="pairs: the difference of each two systems, with its test.",
)
@systems_option
@segment_option()
@occasion_options
@project_report
def metrics(
    database: Database,
    project_id: int,
    k: int,
    wanted: str | None,
    table: str,
    systems: tuple[str, ...],
    by: str | None,
    occasions: OccasionFilter,
) -> Table:
    """Show offline metrics against held-out events. One row per system and metric, with intervals over users.

    An item is relevant if it was held out without a value (a purchase, a click), was judged above 0 (qrels), or
    has another value above 0 that is at least the user's mean. The gain of an item is 1 if relevant in ndcg, its
    value in ndcg_explicit, and 2^value - 1 in ndcg_exp; the discount is log2(rank + 1). MAP divides by all relevant
    items, map_min by at most K of them. AUC uses all scored candidates of the file, regardless of K.

    The notes below the table say which neighbours in the ranking by a metric differ: an exact sign-flip test over the
    users of both systems, with Holm's correction for all pairs and metrics of the table. With fewer metrics, the test
    can show more.

    \b
    Example:
      recjudge metrics -p movies --k 10
      recjudge metrics -p movies --metrics auc,ndcg --format csv -o metrics.csv
      recjudge metrics -p movies --metrics ndcg --table pairs
      recjudge metrics -p shop --metrics ndcg --by activity --from 2024-05-01
    """
    from recjudge_tui.reports.common.segments import segmented
    from recjudge_tui.reports.measured_lists import METRICS
    from recjudge_tui.reports.metrics import metric_pairs_table, metrics_table

    build = metric_pairs_table if table == "pairs" else metrics_table

    def measured(chosen: CaseSelection) -> Table:
        return build(database, project_id, k, metrics=names(wanted) or METRICS, among=systems, chosen=chosen)

    return segmented(database, project_id, measured, by=by, occasions=occasions, of_lists=True)
