"""Runs: how well each run agrees with a truth, in the order of their start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.selection import Selection
from recjudge_tui.domain.text import one_line
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_columns
from recjudge_tui.reports.common.scales import categories, rater_notes, statistic_of
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.figures.data import FigureContent, FigureData, real, whole
from recjudge_tui.reports.figures.marks import Bold, CaseSelection, Point, Reference, Sentence, Trend
from recjudge_tui.reports.figures.options import Choice, FigureContext, FigureOptions, choice, verdict_filter
from recjudge_tui.reports.figures.words import (
    CI,
    INTERVAL,
    count_text,
    interval_text,
    n_text,
    name_text,
    note_text,
)
from recjudge_tui.reports.rater_pairs import People, by_labels, label_sets, pair_estimates
from recjudge_tui.shapes import Meeting, Met, meet
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.registry import CORRELATIONS, STATISTICS, label_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.changes import RunCases, cases_by_run
from recjudge_tui.store.verdicts.ratings import run_verdicts

_COLUMNS = (
    Column("run", "Run", "text"),
    Column("started", "Started", "time"),
    Column("rater", "Rater"),
    Column("truth", "Against"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("stat", "Statistic"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("ceiling", "People", "float", minor=True),
    Column("n", "n", "int"),
    Column("verdicts", "Verdicts", "int", minor=True),
    Column("note", "Note"),
)


def choices(context: FigureContext, options: FigureOptions) -> dict[str, Choice]:
    facts = protocol_facts(context.topic.protocol)
    ordered = context.topic not in categories(context.db, context.project_id)
    fitting = [
        name
        for name, statistic in STATISTICS.items()
        if (statistic.correlation or facts.labels or not ordered)
        and (facts.of_pairs or not statistic.directed)
    ]
    default = statistic_of(context.db, context.project_id, *context.topic)
    return {
        "truth": choice("truth", options.truth, context.people, options),
        "stat": choice("statistic", options.stat, fitting, options, default),
    }


def content(context: FigureContext, chosen: dict[str, str]) -> FigureContent:
    """One row per run of the question's protocol, oldest first."""
    truth, stat, topic = chosen["truth"], chosen["stat"], context.topic
    table = _runs_table(context, truth, stat)
    caption = (
        f"{label_of(stat)} of each run with {name_text(truth)}: {topic.text()}, {n_text(table.rows, 'cases per run')};"
        f" bars: {INTERVAL} over users. {_ceiling_text(table.rows)}"
    )
    return FigureContent(f"{label_of(stat)} of each run with {truth}, {CI}", caption.strip(), table)


def _runs_table(context: FigureContext, truth: str, stat: str) -> Table:
    """The statistic of each run's own verdicts with `truth`, even if a later run of its rater judged the same cases;
    undefined if they share no case."""
    db, project, topic = context.db, context.project_id, context.topic
    judged = [
        run
        for run in cases_by_run(db, project, topic.protocol, topic.aspect)
        if not context.named or run.rater in context.named
    ]
    asked = Selection(topic.protocol, topic.aspect, readers=True, cases=context.selection)
    met = meet(Project.numbered(db, project), asked, truth)
    names = {run.rater for run in judged}
    meetings = {m.a.rater: m for m in met.meetings if m.a.rater in names and m.a.protocol == topic.protocol}
    labels, people, raters = label_sets(met), People(met), met.ratings.raters
    rows: list[Row] = []
    for run in judged:
        meeting = meetings.get(run.rater)
        estimate = undefined(f"{run.rater} and {truth} share no question")
        top = None
        if meeting is not None:
            own = run_verdicts(db, run.id, topic.aspect, met.ratings.cases)
            of_run = replace(
                met, ratings=replace(met.ratings, verdicts={**met.ratings.verdicts, meeting.a: own})
            )
            estimate = _run_estimate(of_run, meeting, labels[meeting], run, stat)
            if stat in CORRELATIONS or by_labels(meeting, met):
                human = people.ceiling(
                    meeting, met.pairs(meeting).complete, labels[meeting], (stat,), "dataset"
                )
                top = human.people[stat].value if stat in human.people else None
        rows.append(_row(run, estimate, top, topic.protocol, topic.aspect, truth, stat))
    notes = tuple(
        rater_notes(raters[name] for name in (truth, *(run.rater for run in judged)) if name in raters)
    )
    if not rows:
        notes = (f"no run has judged {topic.text()} yet",)
    return Table(
        "Agreement over runs", _COLUMNS, tuple(rows), notes, {"protocol": topic.protocol, "truth": truth}
    )


def _run_estimate(
    met: Met, meeting: Meeting, labels: list[float] | None, run: RunCases, stat: str
) -> Estimate:
    if stat not in CORRELATIONS and not by_labels(meeting, met):
        return undefined("a scale without labels")
    both = met.pairs(meeting, np.isin(met.ratings.cases.ids, run.cases)).complete
    if both.n == 0:
        return undefined("no case that both judged" if run.cases else "no verdict is from this run")
    estimate = pair_estimates(both, labels, (stat,))[stat]
    return replace(estimate, note=join_notes(estimate.note, both.seen.words()))


def _row(
    run: RunCases, estimate: Estimate, top: float | None, protocol: str, aspect: str, truth: str, stat: str
) -> Row:
    return {
        "run": str(run.id),
        "started": run.started,
        "rater": run.rater,
        "truth": truth,
        "protocol": protocol,
        "aspect": aspect,
        "stat": stat,
        "value": estimate.value,
        "ci_low": estimate.ci_low,
        "ci_high": estimate.ci_high,
        "ceiling": top,
        "n": estimate.n,
        "verdicts": len(run.cases),
        "note": estimate.note,
    }


def _ceiling(rows: tuple[Row, ...]) -> float | None:
    """The agreement between people; the same for every run."""
    return next((top for row in rows if (top := real(row["ceiling"])) is not None), None)


def _ceiling_text(rows: tuple[Row, ...]) -> str:
    top = _ceiling(rows)
    return "" if top is None else f"Dashed line: agreement between people ({top:.3f})."


def marks(data: FigureData) -> Trend:
    points = tuple(_point(at, row) for at, row in enumerate(data.rows))
    undefined = tuple(
        f"run {row['run']} ({row['rater']}) has no value: {row['note']}"
        for row in data.rows
        if row["value"] is None
    )
    top = _ceiling(data.rows)
    return Trend(
        points,
        x="run",
        y=label_of(data.chosen("stat")),
        interval=CI,
        ceiling=None if top is None else Reference(top, "people", f"agreement between people, {top:.3f}"),
        notes=undefined,
    )


def _point(at: int, row: Row) -> Point:
    value, low, high = (real(row[key]) for key in ("value", "ci_low", "ci_high"))
    details = (str(row["started"])[:10], f"n={whole(row['n']):,}")
    return Point(str(row["run"]), at, value, low, high, row, group=str(row["rater"]), details=details)


def sentence(data: FigureData, row: Row) -> Sentence:
    started = one_line(str(row["started"])[:16].replace("T", " "))
    return (
        Bold(f"run {row['run']}, {name_text(row['rater'], 40)}, {started}"),
        f": {label_of(data.chosen('stat'))} with {name_text(row['truth'], 40)} ",
        Bold(interval_text(row, "value")),
        f", n={count_text(row['n'])} of its {count_text(row['verdicts'])} verdicts",
        note_text(row),
    )


def cases(db: Database, project_id: int, data: FigureData, row: Row) -> CaseSelection:
    runs = cases_by_run(db, project_id, *data.topic)
    return CaseSelection(
        verdict_filter(db, project_id, data.topic, str(row["rater"]), str(row["truth"])),
        next((run.cases for run in runs if str(run.id) == row["run"]), ()),
        f"run {row['run']}",
    )
