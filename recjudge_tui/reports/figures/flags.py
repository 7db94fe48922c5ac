"""Flags: the issues that one rater finds in the lists of each system, as a table, as intervals, or by rank."""

from __future__ import annotations

from dataclasses import replace

from recjudge_tui.domain.filters import Term, parse_filter
from recjudge_tui.domain.selection import Selection
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.declare import on_cases
from recjudge_tui.reports.figures.data import FigureContent, FigureData, real, rows_by_system, whole
from recjudge_tui.reports.figures.marks import (
    Bold,
    CaseSelection,
    Estimate,
    Forest,
    Grid,
    GridCell,
    Lines,
    Point,
    Sentence,
    Series,
)
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
from recjudge_tui.reports.flags import flagged_cases
from recjudge_tui.shapes import ANY_ISSUE
from recjudge_tui.store.database import Database

TABLE, INTERVALS, RANKS = "table", "intervals", "ranks"
_OF = ("lists", "items")


def choices(context: FigureContext, options: FigureOptions) -> dict[str, Choice]:
    return {
        "rater": choice("rater", options.rater, context.raters, options),
        "of": choice("unit", options.of, _OF, options),
        "show": choice("form", options.show, (TABLE, INTERVALS, RANKS), options),
    }


def content(context: FigureContext, chosen: dict[str, str]) -> FigureContent:
    """One row per system and kind of issue, or rank."""
    topic, rater = context.topic, chosen["rater"]
    project, by = (
        Project.numbered(context.db, context.project_id),
        "rank" if chosen["show"] == RANKS else "issue",
    )
    options = {"protocol": topic.protocol, "of": chosen["of"], "by": "rank" if by == "rank" else "system"}
    # all raters, so that the shares of people stand beside those of a judge
    table = on_cases(project, "flags", context.selection, raters=context.named, **options)
    rows = tuple(row for row in table.rows if row["rater"] == rater)
    if not rows:
        table = on_cases(project, "flags", context.selection, raters=(rater,), **options)
    unit = "items" if by == "rank" else chosen["of"]
    caption = (
        f"Share of {unit} that {name_text(rater)} flagged, by system and {by}: {topic.text()},"
        f" {n_text(rows, f'{unit} per share')}; {INTERVAL} over users; failed verdicts are not in n."
    )
    return FigureContent(
        f"Flagged {unit} by system: {rater}, {topic.text()}", caption, replace(table, rows=rows)
    )


def marks(data: FigureData) -> Grid | Forest | Lines:
    form = data.chosen("show")
    return _ranks(data) if form == RANKS else _intervals(data) if form == INTERVALS else _table(data)


def _table(data: FigureData) -> Grid:
    cells = {(str(row["issue"]), str(row["system"])): _cell(row) for row in data.rows}
    issues, systems = (tuple(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    return Grid(issues, systems, cells, row_title="issue", column_title="system", below_title=CI)


def _cell(row: Row) -> GridCell:
    share, low, high = (real(row[key]) for key in ("share", "ci_low", "ci_high"))
    below = "" if low is None or high is None else f"[{low:.1%}, {high:.1%}]"
    return GridCell(share, UNDEFINED if share is None else f"{share:.1%}", below, row=row)


def _intervals(data: FigureData) -> Forest:
    """The issues one below the other, each with an interval for every system."""
    issues = list(dict.fromkeys(str(row["issue"]) for row in data.rows))
    rows = sorted(data.rows, key=lambda row: issues.index(str(row["issue"])))
    estimates = tuple(
        Estimate(
            str(row["issue"]), str(row["system"]), real(row["share"]), real(row["ci_low"]), real(row["ci_high"]),
            whole(row["n"]), str(row["note"] or ""), row,
        )
        for row in rows
    )  # fmt: skip
    return Forest(estimates, x=f"share of {data.chosen('of')}")


def _ranks(data: FigureData) -> Lines:
    ranks = sorted({whole(row["rank"]) for row in data.rows})
    places = {rank: float(at) for at, rank in enumerate(ranks)}
    series = tuple(
        Series(
            system,
            tuple(
                Point(
                    str(row["rank"]), places[whole(row["rank"])],
                    real(row["share"]), real(row["ci_low"]), real(row["ci_high"]), row, group=system,
                )
                for row in rows
            ),
            "rank",
        )
        for system, rows in rows_by_system(data.rows).items()
    )  # fmt: skip
    return Lines(series, tuple(map(str, ranks)), x="rank", y="share of items flagged", interval=CI)


def sentence(data: FigureData, row: Row) -> Sentence:
    by_rank = "rank" in row
    unit = "items" if by_rank else data.chosen("of")
    where = f" at rank {row['rank']}" if by_rank else ""
    people = row["people"]
    beside = f"; people {people:.1%}, n={count_text(row['people_n'])}" if isinstance(people, float) else ""
    return (
        Bold(f"{name_text(row['system'], 40)}, {_issue_text(row)}{where}"),
        f", flagged by {name_text(row['rater'], 40)}: ",
        Bold(interval_text(row, "share", percent=True)),
        f" of {unit}, {count_text(row['count'])} of n={count_text(row['n'])}{beside}",
        note_text(row, "share"),
    )


def _issue_text(row: Row) -> str:
    return "any issue" if row["issue"] == ANY_ISSUE else name_text(row["issue"], 40)


def cases(db: Database, project_id: int, data: FigureData, row: Row) -> CaseSelection:
    """The lists in which the rater flagged this issue."""
    rater, system, issue = (str(row[key]) for key in ("rater", "system", "issue"))
    text = verdict_filter(db, project_id, data.topic, rater, system=system)
    rank = whole(row["rank"]) if "rank" in row else None
    # the rater may not know an issue that only others flag
    selection = Selection(str(row["protocol"]), raters=(rater,), cases=data.selection)
    ids = (
        flagged_cases(Project.numbered(db, project_id), selection, row, data.chosen("of"))
        if row["count"]
        else ()
    )
    filter_text = (
        parse_filter(text)._replace(terms=(*parse_filter(text).terms, Term("flag", ":", issue))).text()
    )
    return CaseSelection(filter_text, ids, f"{issue}, {system}" + (f", rank {rank}" if rank else ""))
