"""The tables of a comparison of systems: ranking, Q matrix, Q against metrics, protocols side by side, pairs of means."""

from __future__ import annotations

from collections.abc import Callable

from recjudge_tui.domain.protocols import compares_lists, with_unit
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.scales import protocols_meeting
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.leaderboard.leaderboard import (
    LeaderboardOptions,
    board_ratings,
    leaderboard_table,
    ranked_questions,
)
from recjudge_tui.reports.leaderboard.mean_scores import mean_pairs_table
from recjudge_tui.reports.leaderboard.q_matrix import q_matrix_table
from recjudge_tui.reports.leaderboard.q_metrics import q_metrics_table
from recjudge_tui.reports.side_by_side import side_by_side_table
from recjudge_tui.stats.defaults import TOP_K
from recjudge_tui.store.database import Database

RANKING, PAIRS = "ranking", "pairs"
_Build = Callable[[Database, int, LeaderboardOptions, int], Table]
METRICS = "metrics"
_TABLES: dict[str, _Build] = {
    "matrix": q_matrix_table,
    METRICS: q_metrics_table,
    "side-by-side": side_by_side_table,
}
TABLES = (RANKING, *_TABLES)


def arena_table(
    db: Database, project_id: int, options: LeaderboardOptions, table: str = RANKING, k: int | None = None
) -> Table:
    """One of TABLES, or PAIRS for a protocol of single lists or texts; `k` is the cutoff of the offline
    metrics, which only table METRICS has (default TOP_K).

    Raises UsageError for an unknown table, one that does not fit the protocol or has no use for `k`, and whatever
    `leaderboard_table` raises.
    """
    if k is not None and table != METRICS:
        raise UsageError(
            f"k is the cutoff of offline metrics, which table “{table}” does not have",
            next_step=f"Leave k out, or choose the table “{METRICS}”.",
        )
    if table == RANKING:
        return leaderboard_table(db, project_id, options)
    if table not in (*TABLES, PAIRS):
        raise UsageError(f"no table “{table}”", f"Available: {', '.join((*TABLES, PAIRS))}.")
    if options.crowd and table != "matrix":
        raise UsageError(
            f"table “{table}” is not available for a crowd", next_step="Use the ranking or --table matrix."
        )
    protocols_meeting(options.protocol)
    if table == PAIRS:
        return _means_of_pairs(db, project_id, options)
    if not compares_lists(options.protocol):
        raise UsageError(
            f"table “{table}” needs verdicts on two lists, which {options.protocol} does not give",
            next_step=f"Use {' or '.join(with_unit('pair'))}.",
        )
    return _TABLES[table](db, project_id, options, TOP_K if k is None else k)


def _means_of_pairs(db: Database, project_id: int, options: LeaderboardOptions) -> Table:
    if compares_lists(options.protocol):
        raise UsageError(
            f"table “{PAIRS}” compares means, and {options.protocol} compares lists itself",
            next_step="Use --table matrix.",
        )
    ratings = board_ratings(db, project_id, options)
    questions = ranked_questions(ratings, options.protocol)
    return mean_pairs_table(db, project_id, ratings, questions, options.protocol, options.selection.groups)
