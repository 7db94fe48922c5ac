"""Trend: how one rater judged each system, period after period."""

from __future__ import annotations

from dataclasses import replace
from typing import cast, get_args

from recjudge_tui.domain.occasions import OVER, Over, period_order
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.declare import on_cases
from recjudge_tui.reports.figures.data import FigureContent, FigureData, real, rows_by_system
from recjudge_tui.reports.figures.marks import Bold, CaseSelection, Lines, Point, Reference, Sentence, Series
from recjudge_tui.reports.figures.options import Choice, FigureContext, FigureOptions, choice, verdict_filter
from recjudge_tui.reports.figures.words import CI, INTERVAL, interval_text, n_text, name_text, note_text
from recjudge_tui.reports.trend import FLAGS, WIN_RATE
from recjudge_tui.store.database import Database
from recjudge_tui.store.occasions import case_periods, has_dated_cases

_EVEN = Reference(0.5, "even", "as many wins as losses")


def choices(context: FigureContext, options: FigureOptions) -> dict[str, Choice]:
    usual: Over = "day" if has_dated_cases(context.db, context.project_id) else "import"
    return {
        "rater": choice("rater", options.rater, context.raters, options),
        "over": choice("period", options.over, OVER, options, usual),
    }


def content(context: FigureContext, chosen: dict[str, str]) -> FigureContent:
    """One row per system and period, as the trend has them."""
    topic, rater, over = context.topic, chosen["rater"], _over(chosen["over"])
    table = on_cases(
        Project.numbered(context.db, context.project_id),
        "trend",
        replace(context.selection, systems=()),
        over=over,
        protocol=topic.protocol,
        rater=rater,
        aspect=topic.aspect,
        metrics=("none",),
        of=context.selection.systems,
    )
    judged = [row for row in table.rows if row["rater"] == rater and row["system"] is not None]
    of_systems = [row for row in judged if row["opponent"] is None and row["figure"] != FLAGS]
    figures = list(dict.fromkeys(str(row["figure"]) for row in of_systems))
    rows = tuple(row for row in of_systems if row["figure"] == figures[0])
    changes = [f"{change['period']}: {change['change']}" for change in _changes(table, rater)]
    figure = figures[0].replace("_", " ") if rows else ""
    caption = (
        f"Each system by {over}, judged by {name_text(rater)} ({topic.text()}): {figure}, {INTERVAL} over"
        f" users; {n_text(rows, 'verdicts per system and ' + over)}; failed verdicts are not in n."
    )
    if len(figures) > 1:
        caption = f"{caption} The other categories are in the table (recjudge trend)."
    title = f"Trend by {over}: {topic.text()}, {figure} by {rater}, {CI}"
    if changes:
        caption = f"{caption} {'; '.join(changes)}."
    return FigureContent(title, caption, replace(table, rows=rows, notes=(*changes, *table.notes)))


def _changes(table: Table, rater: str) -> list[dict[str, str]]:
    """The periods from which on another model or prompt answers for the rater."""
    changes = cast(list[dict[str, str]], table.settings["changes"])
    return [change for change in changes if change["rater"] == rater]


def marks(data: FigureData) -> Lines:
    periods = tuple(sorted({str(row["period"]) for row in data.rows}, key=period_order))
    places = {period: float(at) for at, period in enumerate(periods)}
    series = tuple(
        Series(
            system,
            tuple(
                Point(
                    str(row["period"]), places[str(row["period"])],
                    real(row["value"]), real(row["ci_low"]), real(row["ci_high"]), row, group=system,
                )
                for row in rows
            ),
            data.chosen("over"),
        )
        for system, rows in rows_by_system(data.rows).items()
    )  # fmt: skip
    even = _EVEN if data.rows[0]["figure"] == WIN_RATE else None
    figure = str(data.rows[0]["figure"]).replace("_", " ")
    changes = {
        places[change["period"]]: change["now"]
        for change in _changes(data.table, data.chosen("rater"))
        if change["period"] in places
    }
    return Lines(series, periods, x=data.chosen("over"), y=figure, interval=CI, even=even, changes=changes)


def sentence(_: FigureData, row: dict[str, object]) -> Sentence:
    return (
        Bold(f"{name_text(row['system'], 40)}, {row['period']}"),
        f", judged by {name_text(row['rater'], 40)}: {str(row['figure']).replace('_', ' ')} ",
        Bold(interval_text(row, "value")),
        f", n={row['n']}, {row['failed']} failed outside n",
        note_text(row, "value"),
    )


def cases(db: Database, project_id: int, data: FigureData, row: dict[str, object]) -> CaseSelection:
    periods = case_periods(db, project_id, _over(data.chosen("over")))
    here = tuple(case for case, period in periods.items() if period == row["period"])
    filter_text = verdict_filter(db, project_id, data.topic, str(row["rater"]), system=str(row["system"]))
    return CaseSelection(filter_text, here, str(row["period"]))


def _over(text: str) -> Over:
    return next(over for over in get_args(Over) if over == text)
