"""Q against offline metrics, over systems: how similarly a judge and a metric rank systems."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.missing_notes import earlier_notes, no_pairs
from recjudge_tui.reports.common.scales import is_metric, origin_notes, rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.leaderboard.battles import battles
from recjudge_tui.reports.leaderboard.judged_lists import JudgedLists
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, board_ratings, ranked_questions
from recjudge_tui.reports.leaderboard.scores import q_of
from recjudge_tui.stats.agreement import association, orders_agree
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.stats.hypotheses import holm
from recjudge_tui.store.database import Database

METRICS = ("auc", "ndcg", "ndcg_explicit", "urd")
# the metric that measures the quality an aspect asks about (RecSys Arena)
NATURAL = {"inspiration": "urd", "satisfaction": "ndcg_explicit"}
_COLUMNS = (
    Column("rater", "Rater"),
    Column("aspect", "Aspect"),
    Column("metric", "Metric"),
    Column("k", "k", "int"),
    Column("pearson", "Pearson", "float", decimals=4),
    *interval_columns(),
    Column("p", "p", "float", decimals=4),
    Column("p_holm", "p (Holm)", "float", decimals=4, minor=True),
    Column("n", "Systems", "int"),
    Column("same_order", "Same order"),
    Column("natural", "Natural"),
    Column("note", "Note"),
)
_NOTES = (
    "the metrics are those of the lists that the rater judged, so that both are about the same lists",
    (
        "Pearson's r of Q and the metric over the systems that have both; p: two-sided permutation test over systems, which"
        " cannot be below .05 with three; interval by Fisher's z from four systems on"
    ),
    (
        "p (Holm): adjusted over the metrics of one rater and aspect; with few systems even a large r may be "
        "due to chance"
    ),
    (
        "same order: Q and the metric rank the systems alike; natural: the metric measures what the aspect asks"
        " (inspiration: urd, satisfaction: ndcg_explicit)"
    ),
)
_NOTHING_JUDGED = "no list behind its verdicts is stored, so there is nothing to measure"
Values = Mapping[str, Mapping[str, float | None]]


def q_metrics_table(db: Database, project_id: int, options: LeaderboardOptions, k: int) -> Table:
    """One row per rater, aspect and metric of METRICS at `k`. Raters that are metrics appear only if named.

    Raises whatever `board_ratings` raises.
    """
    ratings = board_ratings(db, project_id, options)
    questions = [
        question
        for question in ranked_questions(ratings, options.protocol)
        if options.raters or not is_metric(ratings.raters[question.rater])
    ]
    judged = JudgedLists(db, project_id, ratings.cases)
    rows: list[Row] = []
    unmeasured: list[str] = []
    for question in questions:
        contests = battles(ratings, question, 0)
        q = q_of(contests.counts.total.tallies())
        figures = {
            name: None if np.isnan(value) else float(value)
            for name, value in zip(contests.systems, q, strict=True)
        }
        at = ratings.verdicts[question].row
        measured = judged.metrics(at, k, METRICS)
        rows += correlation_rows(
            question.rater, question.aspect, figures, metric_values(measured), k, options.selection.groups
        )
        unmeasured += [] if measured.rows else [f"{question.rater}, {question.aspect}: {_NOTHING_JUDGED}"]
        if left_out := judged.not_judged(at):
            unmeasured.append(
                f"{question.rater}: {left_out:,} current lists that it has not judged are not measured"
            )
    notes = list(_NOTES) if rows else [no_pairs(ratings)]
    notes += dict.fromkeys(unmeasured)
    notes += earlier_notes(ratings, questions)
    notes += rater_notes(ratings.raters[question.rater] for question in questions)
    notes += origin_notes(db, project_id, questions)
    settings = {"protocol": options.protocol, "k": k}
    return Table(f"Q against metrics: {options.protocol}", _COLUMNS, tuple(rows), tuple(notes), settings)


def metric_values(measured: Table) -> dict[str, dict[str, float | None]]:
    """metric -> system -> value, from a table of metrics."""
    out: dict[str, dict[str, float | None]] = {}
    for row in measured.rows:
        value = row["value"]
        out.setdefault(str(row["metric"]), {})[str(row["system"])] = (
            value if isinstance(value, float) else None
        )
    return out


def correlation_rows(
    rater: str, aspect: str, q: Mapping[str, float | None], measured: Values, k: int, groups: int = 1
) -> list[Row]:
    """The correlation of Q (by system) with each metric of METRICS (metric -> system -> value)."""
    systems = sorted(q)
    rows: list[Row] = []
    for metric in METRICS:
        values = [measured.get(metric, {}).get(system) for system in systems]
        figures = [q[system] for system in systems]
        correlation = association(figures, values)
        rows.append(
            {
                "rater": rater,
                "aspect": aspect,
                "metric": metric,
                "k": None if metric == "auc" else k,
                "pearson": correlation.value,
                **interval_cells(correlation),
                "p": correlation.p,
                "n": correlation.n,
                "same_order": orders_agree(figures, values),
                "natural": NATURAL.get(aspect) == metric,
                "note": join_notes(correlation.note, _left_out(systems, q, measured.get(metric, {}))),
            }
        )
    adjusted = holm([_number(row["p"]) for row in rows], groups)
    return [row | {"p_holm": p} for row, p in zip(rows, adjusted, strict=True)]


def _left_out(systems: list[str], q: Mapping[str, float | None], values: Mapping[str, float | None]) -> str:
    no_q = [system for system in systems if q[system] is None]
    no_metric = [system for system in systems if values.get(system) is None]
    return join_notes(
        f"no finite Q: {', '.join(no_q)}" if no_q else "",
        ""
        if not no_metric
        else "no metric"
        if no_metric == systems
        else f"no metric: {', '.join(no_metric)}",
    )


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None
