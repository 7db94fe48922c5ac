"""Q and metric: Q of each system against an offline metric."""

from __future__ import annotations

from recjudge_tui.domain.selection import Selection
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.reports.figures.data import FigureContent, FigureData, real
from recjudge_tui.reports.figures.marks import Bold, CaseSelection, Point, Reference, Scatter, Sentence
from recjudge_tui.reports.figures.options import Choice, FigureContext, FigureOptions, choice, verdict_filter
from recjudge_tui.reports.figures.words import (
    CI,
    INTERVAL,
    UNDEFINED,
    count_text,
    interval_text,
    n_text,
    name_text,
    note_text,
)
from recjudge_tui.reports.metrics import METRICS, JudgedLists
from recjudge_tui.reports.side_by_side import NATURAL
from recjudge_tui.shapes import base
from recjudge_tui.stats.defaults import TOP_K
from recjudge_tui.stats.retrieval import NO_CUTOFF
from recjudge_tui.store.database import Database

_METRIC_COLUMNS = (Column("metric", "Metric"), Column("measured", "Measured", "float", decimals=4))


def choices(context: FigureContext, options: FigureOptions) -> dict[str, Choice]:
    rater = choice("rater", options.rater, context.raters, options)
    measured = (
        _measured(context, rater.value)
        if rater.value
        else table_of(Project.numbered(context.db, context.project_id), "metrics")
    )
    names = list(dict.fromkeys(_metric_name(row) for row in measured.rows if isinstance(row["value"], float)))
    natural = NATURAL.get(context.topic.aspect, "")
    default = next((name for name in names if natural and name in (natural, f"{natural}@{TOP_K}")), "")
    return {
        "rater": rater,
        "metric": choice("metric", options.metric, names, options, default),
    }


def content(context: FigureContext, chosen: dict[str, str]) -> FigureContent:
    """One row per ranked system with both a finite Q and the metric: its leaderboard row with `measured`."""
    topic, rater, metric = context.topic, chosen["rater"], chosen["metric"]
    board = context.report("leaderboard", rater=rater, method="q")
    related = context.report("leaderboard", rater=rater, table="metrics")
    measured = _measured(context, rater)
    rows = _rows_with_metric(board, measured, metric)
    correlations = [_correlation(row) for row in related.rows if _metric_name(row) == metric]
    columns = (*(c for c in board.columns if c.name != "opponent"), *_METRIC_COLUMNS)
    notes = (*correlations, *related.notes, *measured.notes)
    caption = (
        f"Q of each system judged by {name_text(rater)} ({topic.text()}) against its {metric},"
        f" {n_text(rows, 'pairs of lists per system')}. Bars: {INTERVAL} of Q over users. {'. '.join(correlations)}."
    )
    title = f"Q by {rater} against {metric or 'an offline metric'}"
    return FigureContent(title, caption, Table("Q and metric", columns, tuple(rows), notes, board.settings))


def _measured(context: FigureContext, rater: str) -> Table:
    """The metrics of the lists that the rater judged."""
    project = Project.numbered(context.db, context.project_id)
    chosen = base(project, Selection(context.topic.protocol, context.topic.aspect, (rater,), cases=context.selection))
    judged = JudgedLists(project, chosen.ratings.cases)
    at = chosen.ratings.verdicts[chosen.questions[0]].row
    rows: list[Row] = [
        {"system": system, "metric": metric, "k": None if metric in NO_CUTOFF else TOP_K, "value": value}
        for metric in METRICS
        for system, value in judged.values(at, metric).items()
    ]
    return Table("Metrics", tuple(Column(name, name) for name in ("system", "metric", "k", "value")), tuple(rows))


def _rows_with_metric(board: Table, measured: Table, metric: str) -> list[Row]:
    values = {str(row["system"]): row["value"] for row in measured.rows if _metric_name(row) == metric}
    return [
        {name: cell for name, cell in row.items() if name != "opponent"}
        | {"metric": metric, "measured": values[str(row["system"])]}
        for row in board.rows
        if row["opponent"] is None
        and isinstance(row["q"], float)
        and isinstance(values.get(str(row["system"])), float)
    ]


def _correlation(row: Row) -> str:
    """How well Q and the metric agree across systems."""
    r, p = row["pearson"], row["p"]
    order = "rank the systems alike" if row["same_order"] else "do not rank the systems alike"
    note = f"; {row['note']}" if row["note"] else ""
    if not isinstance(r, float) or not isinstance(p, float):
        systems = f"{row['n']} system{'' if row['n'] == 1 else 's'}"
        return f"Q and {_metric_name(row)} {order}; no correlation, {systems}{note}"
    return (
        f"Pearson's r of Q and {_metric_name(row)} {r:.4f}, p {p:.4f}, {row['n']} systems; they {order}{note}"
    )


def _metric_name(row: Row) -> str:
    return str(row["metric"]) if row["k"] is None else f"{row['metric']}@{row['k']}"


def marks(data: FigureData) -> Scatter:
    points = tuple(
        Point(
            str(row["system"]),
            real(row["measured"]) or 0.0,
            real(row["q"]),
            real(row["ci_low"]),
            real(row["ci_high"]),
            row,
        )
        for row in data.rows
    )
    return Scatter(
        points,
        x=data.chosen("metric"),
        y="Q",
        interval=CI,
        even=Reference(1.0, about="Q = 1, as many wins as losses"),
    )


def sentence(_: FigureData, row: Row) -> Sentence:
    measured = row["measured"]
    value = f"{measured:.4f}" if isinstance(measured, float) else UNDEFINED
    return (
        Bold(name_text(row["system"], 40)), ": Q ", Bold(interval_text(row, "q")),
        f", {name_text(row['metric'], 30)} {value}, n={count_text(row['n'])}", note_text(row),
    )  # fmt: skip


def cases(db: Database, project_id: int, data: FigureData, row: Row) -> CaseSelection:
    return CaseSelection(
        verdict_filter(db, project_id, data.topic, str(row["rater"]), system=str(row["system"]))
    )
