"""Label shares: the labels that one rater gave each system, as stacked bars."""

from __future__ import annotations

from collections.abc import Iterable

from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.figures.data import FigureContent, FigureData, real, rows_by_system, whole
from recjudge_tui.reports.figures.marks import Bar, Bold, CaseSelection, Part, Sentence, StackedBars
from recjudge_tui.reports.figures.options import Choice, FigureContext, FigureOptions, choice, verdict_filter
from recjudge_tui.reports.figures.words import INTERVAL, interval_text, n_text, name_text, note_text
from recjudge_tui.store.database import Database


def choices(context: FigureContext, options: FigureOptions) -> dict[str, Choice]:
    return {"rater": choice("rater", options.rater, context.raters, options)}


def content(context: FigureContext, chosen: dict[str, str]) -> FigureContent:
    """One row per system and label, as in `share_table`."""
    topic, rater = context.topic, chosen["rater"]
    table = context.report("leaderboard", rater=rater, method="share")
    caption = (
        f"Shares of the labels that {name_text(rater)} gave each system: {topic.text()},"
        f" {n_text(table.rows, 'verdicts per system')}; failed verdicts are not in n. Under each share its {INTERVAL},"
        f" if there is room ({_interval_kinds(table.notes)})."
    )
    return FigureContent(f"Shares of labels by system: {rater}, {topic.text()}", caption, table)


def _interval_kinds(notes: tuple[str, ...]) -> str:
    kinds = [note for note in notes if "interval" in note.lower()]
    return "; ".join(kinds) or "over users"


def marks(data: FigureData) -> StackedBars:
    labels = tuple(dict.fromkeys(str(row["label"]) for row in data.rows))
    bars = []
    for system, rows in rows_by_system(data.rows).items():
        by_label = {str(row["label"]): row for row in rows}
        parts = tuple(_part(by_label.get(label)) for label in labels)
        bars.append(Bar(system, whole(rows[0]["n"]), parts, rows[0]))
    return StackedBars(tuple(bars), labels, x="share of verdicts")


def _part(row: Row | None) -> Part:
    return Part(0.0) if row is None else Part(*(real(row[key]) for key in ("share", "ci_low", "ci_high")))


def sentence(data: FigureData, row: Row) -> Sentence:
    return shares_sentence(rows_by_system(data.rows)[str(row["system"])])


def shares_sentence(rows: Iterable[Row]) -> Sentence:
    """The labels that one rater gave one system; `rows` has one row per label."""
    rows = list(rows)
    shares = ", ".join(
        f"{name_text(row['label'], 20)} {interval_text(row, 'share', percent=True)}" for row in rows
    )
    note = next((text for row in rows if (text := note_text(row))), "")
    first = rows[0]
    return (
        Bold(name_text(first["system"], 40)),
        f" by {name_text(first['rater'], 40)}: {shares}, n={first['n']}{note}",
    )


def cases(db: Database, project_id: int, data: FigureData, row: Row) -> CaseSelection:
    return CaseSelection(
        verdict_filter(db, project_id, data.topic, str(row["rater"]), system=str(row["system"]))
    )
