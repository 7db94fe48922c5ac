"""Confusion: the labels of one rater by the labels of another."""

from __future__ import annotations

from recjudge_tui.domain.selection import CaseSelection as ChosenCases
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.project import Project
from recjudge_tui.reports.agreement import cell_cases, confusion_table
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.declare import REPORTS, Options, checked
from recjudge_tui.reports.figures.data import FigureContent, FigureData, whole
from recjudge_tui.reports.figures.marks import Bold, CaseSelection, Grid, GridCell, Sentence
from recjudge_tui.reports.figures.options import (
    Choice,
    FigureContext,
    FigureOptions,
    Topic,
    choice,
    verdict_filter,
)
from recjudge_tui.reports.figures.words import name_text, share_text
from recjudge_tui.store.database import Database


def choices(context: FigureContext, options: FigureOptions) -> dict[str, Choice]:
    truth = context.people[0] if context.people else ""
    rater = choice("rater", options.rater, context.raters, options)
    others = [name for name in context.raters if name != rater.value]
    return {"rater": rater, "truth": choice("truth", options.truth, others, options, truth)}


def content(context: FigureContext, chosen: dict[str, str]) -> FigureContent:
    """One row per cell, as in `confusion_table`. Raises RecjudgeError without a second rater."""
    if not chosen["truth"]:
        raise RecjudgeError("a confusion table needs a second rater")
    rater, truth, topic = chosen["rater"], chosen["truth"], context.topic
    table = confusion_table(
        Project.numbered(context.db, context.project_id), _options(topic, rater, truth, context.selection)
    )
    if table.rows:
        # the report uses the later rater of a pair as the reference, independent of the user's order
        rater, truth = str(table.rows[0]["rater_a"]), str(table.rows[0]["rater_b"])
    n = whole(table.rows[0]["n"]) if table.rows else 0
    title = f"{rater} (down) against {truth} (across), n={n:,}"
    caption = (
        f"Labels of {name_text(rater)} (rows) by label of {name_text(truth)} (columns): {topic.text()},"
        f" n = {n:,} cases that both judged. Each cell: the count and its share of the row; the shade is that share."
    )
    return FigureContent(title, caption, table)


def _options(topic: Topic, rater: str, truth: str, selection: ChosenCases) -> Options:
    given = {"protocol": topic.protocol, "aspect": topic.aspect, "raters": (rater, truth)}
    return Options(checked(REPORTS["agreement"], given), selection)


def marks(data: FigureData) -> Grid:
    rows = data.rows
    labels = tuple(dict.fromkeys(str(row["label_a"]) for row in rows))
    row_sums = tuple(sum(whole(row["count"]) for row in rows if row["label_a"] == label) for label in labels)
    totals = dict(zip(labels, row_sums, strict=True))
    cells = {}
    for row in rows:
        a, b, count = str(row["label_a"]), str(row["label_b"]), whole(row["count"])
        share = count / totals[a] if totals[a] else None
        cells[a, b] = GridCell(share, f"{count:,}", "" if share is None else f"{share:.0%}", a == b, row)
    return Grid(
        labels,
        labels,
        cells,
        row_title=str(rows[0]["rater_a"]),
        column_title=str(rows[0]["rater_b"]),
        below_title="share of the row",
        row_sums=row_sums,
        column_sums=tuple(
            sum(whole(row["count"]) for row in rows if row["label_b"] == label) for label in labels
        ),
    )


def sentence(_: FigureData, row: Row) -> Sentence:
    labels = f"{name_text(row['rater_a'], 40)} {name_text(row['label_a'], 30)}, "
    labels += f"{name_text(row['rater_b'], 40)} {name_text(row['label_b'], 30)}"
    count, n, share = whole(row["count"]), whole(row["n"]), row["share"]
    # pairs without a common side are in the table twice
    total = round(count / share) if isinstance(share, float) and share > 0 else n
    of = f"{n:,} cases" if total == n else f"{total:,} counts, two for each of {n:,} cases"
    return (Bold(labels), f": {count:,} of {of}", share_text(share))


def cases(db: Database, project_id: int, data: FigureData, row: Row) -> CaseSelection:
    a, b = str(row["rater_a"]), str(row["rater_b"])
    options = _options(data.topic, a, b, data.selection)
    return CaseSelection(
        verdict_filter(db, project_id, data.topic, a, b),
        tuple(cell_cases(Project.numbered(db, project_id), row, options)),
        f"{a} {row['label_a']}, {b} {row['label_b']}",
    )
