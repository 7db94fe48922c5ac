"""`recjudge leaderboard`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import click

from recjudge_tui.cli.options import (
    names,
    project_option,
    readers_option,
    segment_option,
    systems_option,
)
from recjudge_tui.cli.report_command import project_report
from recjudge_tui.cli.setting_options import occasion_options
from recjudge_tui.stats.defaults import TOP_K

if TYPE_CHECKING:
    from collections.abc import Callable

    from recjudge_tui.domain.occasions import OccasionFilter
    from recjudge_tui.domain.selection import CaseSelection
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@click.command()
@project_option
@click.option("--protocol", required=True, metavar="P", help="pointwise, pairwise, arena, ...")
@click.option("--rater", metavar="R", help="Only this rater.")
@click.option(
    "--raters",
    metavar="A,B,...",
    help="Only these raters, with one leaderboard each. Default: see --readers.",
)
@readers_option
@click.option(
    "--crowd",
    metavar="A,B,...|all",
    help="One board from the verdicts of these raters, or of all annotators: users and raters are clusters of the"
    " intervals.",
)
@click.option("--aspect", metavar="A", help="Only this aspect.")
@click.option(
    "--method",
    default="",
    metavar="NAME",
    help="q, winrate or bt for pairs of lists (default q); share or mean for single lists and texts"
    " (default share, for absolute and explanation mean).",
)
@click.option(
    "--table",
    type=click.Choice(("ranking", "matrix", "metrics", "side-by-side", "pairs")),
    default="ranking",
    show_default=True,
    help="For pairs of lists also matrix: Q of each system against each other; metrics: Q against offline "
    "metrics; side-by-side: absolute scores, Q and AUC. For single lists and texts also pairs: the difference of each "
    "two systems' means, with its test.",
)
@click.option(
    "--ties",
    type=click.Choice(("davidson", "half")),
    default="davidson",
    show_default=True,
    help="How bt counts a tie: Davidson's model, or half a win for each.",
)
@click.option(
    "--k",
    type=click.IntRange(1),
    help=f"Cutoff of the offline metrics of --table metrics.  [default: {TOP_K}]",
)  # fmt: skip
@systems_option
@segment_option()
@occasion_options
@project_report
def leaderboard(
    database: Database,
    project_id: int,
    protocol: str,
    rater: str | None,
    raters: str | None,
    crowd: str | None,
    readers: bool,
    aspect: str | None,
    method: str,
    table: str,
    ties: Literal["davidson", "half"],
    k: int | None,
    systems: tuple[str, ...],
    by: str | None,
    occasions: OccasionFilter,
) -> Callable[[str], Table]:
    """Rank the systems by wins, Q or shares of labels.

    Ties include position ties (the two orders disagreed); failed verdicts are not part of n. The notes say which
    neighbours in the ranking differ significantly, and about how many more cases the others need. Means of scores are
    tested over the users of both systems. bt is the Bradley-Terry model: 400 points are odds
    of 10:1 and the mean is 1000.

    With more than 10 systems, the text output shows the pairs of the first 4 and the last 4; --systems chooses
    others, and the other formats have all pairs.

    \b
    Example:
      recjudge leaderboard -p movies --protocol pairwise
      recjudge leaderboard -p movies --protocol arena --method bt --ties half
      recjudge leaderboard -p movies --protocol arena --aspect overall --table matrix
      recjudge leaderboard -p movies --protocol pointwise --raters rules,anna --format md
      recjudge leaderboard -p movies --protocol pairwise --crowd all --method bt
      recjudge leaderboard -p films --protocol explanation --table pairs
      recjudge leaderboard -p shop --protocol pairwise --by segment --context home --from 2024-05-01 --to 2024-05-31
    """
    from recjudge_tui.reports.common.segments import segmented
    from recjudge_tui.reports.leaderboard.arena import arena_table
    from recjudge_tui.reports.leaderboard.large_boards import readable
    from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions

    named = (*((rater,) if rater else ()), *names(raters))
    options = LeaderboardOptions(
        protocol, raters=named, aspect=aspect, method=method, ties=ties,
        crowd=names(crowd),
        readers=readers,
    )  # fmt: skip

    def board(chosen: CaseSelection) -> Table:
        return arena_table(database, project_id, replace(options, selection=chosen), table, k)

    whole = segmented(database, project_id, board, by=by, occasions=occasions, systems=systems)
    return lambda fmt: readable(whole) if fmt in ("text", "plain") else whole
