"""Ensembles: the correlation of the mean of 1 to K raters with a truth."""

from __future__ import annotations

from collections.abc import Sequence

from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.declare import on_cases
from recjudge_tui.reports.figures.data import FigureContent, FigureData, real, whole
from recjudge_tui.reports.figures.marks import Band, Bold, CaseSelection, Point, Sentence
from recjudge_tui.reports.figures.options import Choice, FigureContext, FigureOptions, choice, verdict_filter
from recjudge_tui.reports.figures.words import (
    LEVEL_NAMES,
    UNDEFINED,
    count_text,
    n_text,
    name_text,
    note_text,
)
from recjudge_tui.stats.registry import CORRELATIONS, label_of
from recjudge_tui.store.database import Database


def choices(context: FigureContext, options: FigureOptions) -> dict[str, Choice]:
    return {
        "truth": choice("truth", options.truth, context.people, options),
        "level": choice("level", options.level, LEVEL_NAMES, options),
        "stat": choice("statistic", options.stat, CORRELATIONS, options),
    }


def content(context: FigureContext, chosen: dict[str, str]) -> FigureContent:
    """One row per size, as in `ensembles_table`."""
    topic, truth, stat, level = context.topic, chosen["truth"], chosen["stat"], chosen["level"]
    given = {
        "protocol": topic.protocol, "aspect": topic.aspect, "truth": truth, "stats": (stat,), "levels": (level,),
        "raters": tuple(name for name in context.named if name != truth),
    }  # fmt: skip
    project = Project.numbered(context.db, context.project_id)
    table = on_cases(project, "agreement", context.selection, ensembles=True, **given)
    caption = (
        f"Means of 1 to {len(table.rows)} raters against {name_text(truth)}: {topic.text()}, {n_text(table.rows)}."
        f" {label_of(stat)}, {LEVEL_NAMES[level]}. Line: mean over all sets of that size; band: lowest to highest"
        f" set (a range over sets, not a confidence interval). Quartiles by number of raters: {_quartiles(table.rows)}."
    )
    title = f"Means of 1 to {len(table.rows)} raters against {truth}: lowest, mean, highest"
    return FigureContent(title, caption, table)


def _quartiles(rows: Sequence[Row]) -> str:
    """The first quartile, the median and the third of every size that has several sets."""
    return "; ".join(
        f"{whole(row['size'])}: {row['q1']:.2f}, {row['median']:.2f}, {row['q3']:.2f}"
        for row in rows
        if row["q1"] is not None and whole(row["subsets"]) > 1
    )


def marks(data: FigureData) -> Band:
    points = tuple(
        Point("", whole(row["size"]), real(row["mean"]), real(row["min"]), real(row["max"]), row,
              details=(f"{whole(row['subsets'])} sets",))
        for row in data.rows
        if real(row["mean"]) is not None
    )  # fmt: skip
    stat = f"{label_of(data.chosen('stat'))}, {LEVEL_NAMES[data.chosen('level')]}"
    return Band(points, x="raters", y=stat, line="mean", band="lowest to highest set")


def sentence(_: FigureData, row: Row) -> Sentence:
    def value(key: str) -> str:
        number = row[key]
        return f"{number:.3f}" if isinstance(number, float) else UNDEFINED

    sets = count_text(row["subsets"])
    return (
        Bold(f"{count_text(row['size'])} of the raters, {sets} {'set' if sets == '1' else 'sets'}"),
        f": mean {value('mean')}, n={count_text(row['n'])}\n",
        f"highest {value('max')}: {name_text(row['best'], 200)}\n",
        f"lowest {value('min')}: {name_text(row['worst'], 200)}\n",
        f"half of the sets from {value('q1')} to {value('q3')}, median {value('median')}",
        note_text(row),
    )


def cases(db: Database, project_id: int, data: FigureData, row: Row) -> CaseSelection:
    raters = str(row["best"]).split(" + ")
    return CaseSelection(verdict_filter(db, project_id, data.topic, *raters, data.chosen("truth")))
