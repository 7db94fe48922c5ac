"""Systems ranked by the mean score from each rater."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.missing_notes import earlier_notes
from recjudge_tui.reports.common.scales import rules_notes, value_bounds
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.stats.ranking.win_rates import ranks
from recjudge_tui.stats.resampling.intervals import mean_estimate
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import Question, Ratings

_COLUMNS = (
    Column("system", "System"),
    Column("rater", "Rater"),
    Column("aspect", "Aspect"),
    Column("rank", "Rank", "int"),
    Column("score", "Mean", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("users", "Users", "int", minor=True),
    Column("failed", "Failed", "int"),
    Column("note", "Note"),
)
ABOUT = "score = mean over the cases of a system, interval over users; failed verdicts are not in n"


def mean_table(
    db: Database,
    project_id: int,
    ratings: Ratings,
    questions: Sequence[Question],
    protocol: str,
    *,
    resamples: int,
    seed: int,
) -> Table:
    """One row per aspect, rater and system, best first; no row for a system without cases."""
    rows = [
        row for question in questions for row in _ranked(db, project_id, ratings, question, resamples, seed)
    ]
    about_rules = rules_notes(ratings.raters[question.rater] for question in questions)
    notes = (
        (ABOUT, *earlier_notes(ratings, questions), *about_rules) if rows else ("there are no verdicts yet",)
    )
    settings = {"protocol": protocol, "method": "mean", "resamples": resamples, "seed": seed}
    return Table(f"Mean scores: {protocol}", _COLUMNS, tuple(rows), notes, settings)


def _ranked(
    db: Database, project_id: int, ratings: Ratings, question: Question, resamples: int, seed: int
) -> list[Row]:
    verdicts, cases = ratings.verdicts[question], ratings.cases
    bounds = value_bounds(db, project_id, question, verdicts.value)
    of = cases.system_a[verdicts.row]
    rows: list[Row] = []
    for system in np.unique(of):
        values = verdicts.value[of == system]
        users = cases.user[verdicts.row[of == system]]
        estimate = mean_estimate(values, users, bounds, resamples=resamples, seed=seed)
        rows.append(
            {
                "system": cases.systems[int(system)],
                "rater": question.rater,
                "aspect": question.aspect,
                "score": estimate.value,
                **interval_cells(estimate),
                "n": estimate.n,
                "users": np.unique(users[~np.isnan(values)]).size,
                "failed": int(np.isnan(values).sum()),
                "note": estimate.note if estimate.value is None or estimate.ci_low is None else "",
            }
        )
    for row, place in zip(rows, ranks([_score(row) for row in rows]), strict=True):
        row["rank"] = place
    return sorted(rows, key=lambda row: (row["rank"] is None, row["rank"] or 0, str(row["system"])))


def _score(row: Row) -> float | None:
    score = row["score"]
    return score if isinstance(score, float) else None
