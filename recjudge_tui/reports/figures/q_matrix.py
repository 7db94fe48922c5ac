"""Q matrix: Q of each system against each of its opponents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.figures.data import FigureContent, FigureData, real
from recjudge_tui.reports.figures.marks import Bold, CaseSelection, Grid, GridCell, Sentence
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
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.store.cases.cases import cases_between
from recjudge_tui.store.data.catalogue import known_systems
from recjudge_tui.store.database import Database

# a Q of 4, or of a quarter, has the strongest shade
_STRONGEST = math.log(4)


# a grid of more systems cannot be read: the first and the last of the ranking, or those next to a chosen one
_MOST, _ENDS = 14, 6
_FIRST_AND_LAST = "first and last"


def choices(context: FigureContext, options: FigureOptions) -> dict[str, Choice]:
    chosen = {"rater": choice("rater", options.rater, context.raters, options)}
    names = sorted(known_systems(context.db, context.project_id))
    if len(names) > _MOST or options.system:
        chosen["system"] = choice("system", options.system, (_FIRST_AND_LAST, *names), options)
    return chosen


def content(context: FigureContext, chosen: dict[str, str]) -> FigureContent:
    """One row per system and opponent, as in `q_matrix_table`."""
    topic, rater = context.topic, chosen["rater"]
    table = context.report("leaderboard", rater=rater, table="matrix")
    caption = (
        f"Q = (wins + ties) / (losses + ties) of the row's system against the column's, judged by {name_text(rater)}:"
        f" {topic.text()}, {n_text(table.rows, 'pairs of lists per cell')}. In brackets: {INTERVAL} over"
        f" users; bold: p < {ALPHA:g}, the test of the leaderboard, Holm-adjusted."
    )
    systems = _ranked(table.rows)
    shown = _shown(systems, chosen.get("system", ""))
    if len(shown) < len(systems):
        between = [one_line(name, 40) for name in systems if name not in shown]
        left_out = f"{len(between)} of {len(systems)} systems are not shown: {', '.join(between)}"
        caption += f" {len(shown)} of {len(systems)} systems are drawn."
        table = replace(table, notes=(left_out, *table.notes))
    return FigureContent(f"Q of the system down against the one across, judged by {rater}", caption, table)


def _ranked(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["system"]) for row in rows))


def _shown(systems: Sequence[str], chosen: str) -> tuple[str, ...]:
    if chosen in systems:
        start = min(max(0, systems.index(chosen) - _ENDS), max(0, len(systems) - 2 * _ENDS))
        return tuple(systems[start : start + 2 * _ENDS])
    return tuple(systems) if len(systems) <= _MOST else (*systems[:_ENDS], *systems[-_ENDS:])


def marks(data: FigureData) -> Grid:
    system = data.choices.get("system")
    systems = _shown(_ranked(data.rows), system.value if system else "")
    cells = {(str(row["system"]), str(row["opponent"])): _cell(row) for row in data.rows}
    return Grid(
        systems, systems, cells, row_title="system", column_title="against", signed=True, below_title=CI
    )


def _cell(row: Row) -> GridCell:
    q, low, high, p = (real(row[key]) for key in ("q", "ci_low", "ci_high", "p_holm"))
    shade = None if q is None else math.log(q) / _STRONGEST if q > 0 else -1.0
    interval = "" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"
    text = UNDEFINED if q is None else f"{q:.2f}"
    return GridCell(shade, text, interval, p is not None and p < ALPHA, row)


def sentence(_: FigureData, row: Row) -> Sentence:
    systems = f"{name_text(row['system'], 40)} against {name_text(row['opponent'], 40)}"
    counts = f"{count_text(row['wins'])} won, {count_text(row['ties'])} tied"
    if row["position_ties"]:
        counts += f" ({count_text(row['position_ties'])} by position)"
    counts += f", {count_text(row['losses'])} lost, {count_text(row['failed'])} failed outside n"
    p, adjusted = row["p"], row["p_holm"]
    test = f"; sign test over users p {p:.2g}" if isinstance(p, float) else ""
    test += f", Holm {adjusted:.2g}" if isinstance(adjusted, float) else ""
    return (Bold(systems), ": Q ", Bold(interval_text(row, "q")), f", {counts}{test}", note_text(row))


def cases(db: Database, project_id: int, data: FigureData, row: Row) -> CaseSelection:
    return CaseSelection(
        verdict_filter(db, project_id, data.topic, str(row["rater"])),
        tuple(cases_between(db, project_id, str(row["system"]), str(row["opponent"]))),
        f"{row['system']} against {row['opponent']}",
    )
