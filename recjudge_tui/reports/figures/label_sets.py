"""Label sets: how many labels are possible for a verdict, by the label that the judge gave."""

from __future__ import annotations

import numpy as np

from recjudge_tui.domain.selection import CaseSelection as ChosenCases
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.common.orientation import sided
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.figures.data import FigureContent, FigureData, whole
from recjudge_tui.reports.figures.marks import Bold, CaseSelection, Grid, GridCell, Sentence
from recjudge_tui.reports.figures.options import FigureContext, Topic, judge_and_truth, verdict_filter
from recjudge_tui.reports.figures.words import count_text, name_text, share_text
from recjudge_tui.reports.reliability.calibration import no_sets
from recjudge_tui.reports.reliability.uncertainty import (
    Uncertainty,
    UncertaintyOptions,
    uncertainties,
)
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.defaults import COVERAGE
from recjudge_tui.store.database import Database

_NOTE = (
    "a set contains the reference label with the stated coverage, for any user; first read the verdicts whose set"
    " has more than one label; “recjudge calibration” prints all of them"
)
_COLUMNS = (
    Column("rater_a", "Rater"),
    Column("rater_b", "Against"),
    Column("labels", "Labels", "int"),
    Column("label", "Verdict"),
    Column("value", "Value", "float", minor=True),
    Column("count", "Count", "int"),
    Column("n", "n", "int"),
    Column("share", "Share", "share"),
)

choices = judge_and_truth


def content(context: FigureContext, chosen: dict[str, str]) -> FigureContent:
    """One row per size of set and label of the verdict."""
    topic, rater, truth = context.topic, chosen["rater"], chosen["truth"]
    sets = found_sets(context.db, context.project_id, topic, rater, truth, context.selection)
    rows = tuple(set_rows(sets, rater, truth))
    table = Table("Label sets", _COLUMNS, rows, (_NOTE,), {"coverage": COVERAGE})
    n = whole(rows[0]["n"]) if rows else 0
    caption = (
        f"Number of possible labels for the verdicts of {name_text(rater)} (rows), by the label given (columns):"
        f" {topic.text()}, n = {n:,} verdicts. Each cell: the count and its share of the column. Sets contain the label"
        f" of {name_text(truth)} in {COVERAGE:.0%} of cases of a new user (split conformal prediction)."
    )
    if sets.seen.words() and not sets.seen.mirrored:
        caption = f"{caption} {sets.seen.words()}."
    return FigureContent(f"Labels in the sets of {rater} (down), verdict (across), n={n}", caption, table)


def marks(data: FigureData) -> Grid:
    rows = data.rows
    labels = tuple(dict.fromkeys(str(row["label"]) for row in rows))
    totals = {label: sum(whole(row["count"]) for row in rows if row["label"] == label) for label in labels}
    cells = {}
    for row in rows:
        label, count = str(row["label"]), whole(row["count"])
        share = count / totals[label] if totals[label] else None
        below = "" if share is None else f"{share:.0%}"
        several = bool(count) and row["labels"] != 1
        cells[_size_name(row), label] = GridCell(share, f"{count:,}", below, several, row)
    return Grid(
        tuple(dict.fromkeys(_size_name(row) for row in rows)),
        labels,
        cells,
        row_title="size of the set",
        column_title="label given",
        below_title="share of the column",
    )


def _size_name(row: Row) -> str:
    return f"{row['labels']} label{'' if row['labels'] == 1 else 's'}"


def sentence(_: FigureData, row: Row) -> Sentence:
    size = "one label" if row["labels"] == 1 else f"{count_text(row['labels'])} labels"
    verdict = f"{name_text(row['rater_a'], 40)} {name_text(row['label'], 30)}, a set of {size}"
    counts = f": {count_text(row['count'])} of {count_text(row['n'])} verdicts"
    return (Bold(verdict), counts, share_text(row["share"]))


def cases(db: Database, project_id: int, data: FigureData, row: Row) -> CaseSelection:
    rater, truth = str(row["rater_a"]), str(row["rater_b"])
    sets = found_sets(db, project_id, data.topic, rater, truth, data.selection)
    return CaseSelection(
        verdict_filter(db, project_id, data.topic, rater),
        cases_of(sets, row),
        f"{rater} {row['label']}, sets of {row['labels']}",
    )


def found_sets(
    db: Database, project_id: int, topic: Topic, rater: str, truth: str, selection: ChosenCases
) -> Uncertainty:
    """One question's verdicts with their label sets. Raises RecjudgeError if they cannot be computed."""
    options = UncertaintyOptions(
        rater, truth, protocol=topic.protocol, aspect=topic.aspect, resamples=0, selection=selection
    )
    judges = uncertainties(db, project_id, options)
    if lacks := no_sets(judges):
        raise RecjudgeError(lacks[0])
    return judges[0]


def set_rows(question: Uncertainty, rater: str, truth: str) -> list[Row]:
    """A row for each size of set (largest first) and label of the verdict: `labels`, `label`, `value`, `count`, `n`,
    `share`. Of pairs without a common side a label and its mirror are one."""
    size, n, given = question.sets.size, int(question.value.size), _given(question)
    names = dict(zip(question.labels, question.names, strict=True))
    shown = sided(names) if question.seen.mirrored else names
    rows: list[Row] = []
    for labels in sorted({int(number) for number in size}, reverse=True):
        for value, name in shown.items():
            count = int(((size == labels) & (given == value)).sum())
            rows.append(
                {
                    "rater_a": rater, "rater_b": truth, "labels": labels, "label": name, "value": value,
                    "count": count, "n": n, "share": count / n,
                }
            )  # fmt: skip
    return rows


def _given(question: Uncertainty) -> FloatArray:
    """The values of the verdicts, from the side from which pairs are seen."""
    return np.abs(question.value) if question.seen.mirrored else question.value * question.seen.turn + 0.0


def cases_of(question: Uncertainty, row: Row) -> tuple[int, ...]:
    """The cases behind one row of `set_rows`, by id."""
    here = (question.sets.size == row["labels"]) & (_given(question) == row["value"])
    return tuple(int(case) for case in np.unique(question.case[here]))
