"""Calibration: how often a judge is right at each confidence, before and after calibration."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recjudge_tui.domain.selection import EVERY_CASE
from recjudge_tui.domain.selection import CaseSelection as ChosenCases
from recjudge_tui.project import Project
from recjudge_tui.reports.calibration import GIVEN, STAGES, error_table, reliability_table, stated_confidences
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.figures.data import FigureContent, FigureData, real, whole
from recjudge_tui.reports.figures.marks import Bold, CaseSelection, Curves, Point, Sentence, Series
from recjudge_tui.reports.figures.options import (
    Choice,
    FigureContext,
    FigureOptions,
    choice,
    chosen_values,
    judge_and_truth,
    verdict_filter,
)
from recjudge_tui.reports.figures.words import CI, INTERVAL, count_text, interval_text, name_text, note_text
from recjudge_tui.stats.defaults import BINS
from recjudge_tui.store.database import Database

_METHODS = ("isotonic", "temperature")


def choices(context: FigureContext, options: FigureOptions) -> dict[str, Choice]:
    return judge_and_truth(context, options) | {
        "method": choice("method", options.method, _METHODS, options),
        "stage": choice("stage", options.stage, STAGES, options),
    }


def content(context: FigureContext, chosen: dict[str, str]) -> FigureContent:
    """One row per stage and non-empty bin, as in `reliability_table`."""
    topic, rater, truth = context.topic, chosen["rater"], chosen["truth"]
    project = Project.numbered(context.db, context.project_id)
    stated = stated_confidences(
        project, rater, truth, protocol=topic.protocol, aspect=topic.aspect, method=chosen["method"],
        cases=context.selection,
    )  # fmt: skip
    table, errors = reliability_table(stated), error_table(stated)
    errors_by_stage = {str(row["stage"]): _error_text(row) for row in errors.rows if row["stat"] == "ece"}
    n = sum(whole(row["n"]) for row in table.rows if row["stage"] == GIVEN)
    notes = (*(f"{stage}: {text}" for stage, text in errors_by_stage.items() if text), *table.notes)
    caption = (
        f"How often {name_text(rater)} gives the label of {name_text(truth)} at each confidence: {topic.text()},"
        f" n = {n:,} labelled verdicts, up to {BINS} bins; bars: {INTERVAL} over users."
        f" Calibrated ({chosen['method']}) by labels of other users."
        f" {'. '.join(f'{stage.capitalize()}: {text}' for stage, text in errors_by_stage.items() if text)}."
    )
    title = f"Calibration of {rater} against {truth}, n={n}"
    return FigureContent(title, caption, Table(table.title, table.columns, table.rows, notes, table.settings))


def _error_text(row: Row) -> str:
    value, low, high = (real(row[key]) for key in ("value", "ci_low", "ci_high"))
    if value is None:
        return ""
    interval = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
    return f"expected calibration error {value:.3f}{interval}, n = {whole(row['n']):,}"


def marks(data: FigureData) -> Curves:
    series = tuple(
        Series(stage, tuple(_point(row) for row in data.rows if row["stage"] == stage), f"confidence {stage}")
        for stage in STAGES
        if any(row["stage"] == stage for row in data.rows)
    )
    return Curves(
        series,
        front=data.chosen("stage"),
        x="confidence (mean of the bin)",
        y="share right",
        interval=CI,
        diagonal="perfect calibration",
        counts="verdicts",
    )


def _point(row: Row) -> Point:
    value, low, high = (real(row[key]) for key in ("accuracy", "ci_low", "ci_high"))
    bounds = (real(row["low"]) or 0.0, real(row["high"]) or 0.0)
    return Point("", real(row["confidence"]) or 0.0, value, low, high, row, count=whole(row["n"]), bin=bounds)


def sentence(_: FigureData, row: Row) -> Sentence:
    return (
        Bold(_bin_name(row)),
        f", mean {real(row['confidence']) or 0.0:.1%}: right in ",
        Bold(interval_text(row, "accuracy", percent=True)),
        f", n={count_text(row['n'])} verdicts, gap {real(row['gap']) or 0.0:+.3f}",
        note_text(row),
    )


def _bin_name(row: Row) -> str:
    return f"confidence {real(row['low']) or 0.0:.2f} to {real(row['high']) or 0.0:.2f} {row['stage']}"


def cases(db: Database, project_id: int, data: FigureData, row: Row) -> CaseSelection:
    chosen = chosen_values(data.choices)
    return CaseSelection(
        verdict_filter(db, project_id, data.topic, chosen["rater"], chosen["truth"]),
        cases_of_bin(db, project_id, chosen, row, data.selection),
        _bin_name(row),
    )


def cases_of_bin(
    db: Database,
    project_id: int,
    chosen: Mapping[str, str],
    row: Row,
    selection: ChosenCases = EVERY_CASE,
) -> tuple[int, ...]:
    """The cases behind one row, by id."""
    stated = stated_confidences(
        Project.numbered(db, project_id), chosen["rater"], chosen["truth"], protocol=str(row["protocol"]),
        aspect=str(row["aspect"]), method=chosen["method"], cases=selection,
    )  # fmt: skip
    ids: list[int] = []
    for group in stated:
        confidence = group.confidence if row["stage"] == GIVEN else group.calibrated
        known = ~np.isnan(group.truth) & ~np.isnan(confidence)
        # equal bins; the last one includes 1
        place = np.minimum((confidence[known] * BINS).astype(np.int64), BINS - 1)
        ids += group.case[known][place == round((real(row["low"]) or 0.0) * BINS)].tolist()
    return tuple(ids)
