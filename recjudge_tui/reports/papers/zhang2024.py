"""The tables of Zhang et al. (2024): every printed figure, what the released data give, and the user's own raters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from recjudge_tui.domain.published import ZHANG_ASPECTS
from recjudge_tui.domain.roles import FIRST_HAND
from recjudge_tui.errors import NotFoundError
from recjudge_tui.reports.common.scales import rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.costs import spent_a_case
from recjudge_tui.reports.papers.published import (
    AS_PRINTED,
    DOES_NOT_FOLLOW,
    NOT_COMPARED,
    PrintedFigure,
    Publication,
    Range,
    as_printed,
    compared,
    exactly,
    publication,
    rounded,
    tally_notes,
)
from recjudge_tui.reports.papers.zhang_evaluators import (
    ANNOTATORS,
    AVERAGE,
    BOTH,
    LEVELS,
    ROUGE_1,
    TEXT_METRICS,
    Evaluator,
    Figure,
    FillValues,
    annotators,
    figures_of,
    scores_of,
    text_metrics,
    truth_of,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports.imports import imported_layouts
from recjudge_tui.store.verdicts.ratings import Rater, Ratings, load_ratings

PAPER = "zhang2024"
COST = "cost ($)"
CLOSE = "within 0.1"
_TOLERANCE = 0.1 + 1e-9
_DECIMALS = 2
_HALF = 0.005
_PROMPTS = {"Single-Aspect Prompt": "single", "Multiple-Aspect Prompt": "multiple"}
_NEEDS_DATA = "needs --data"
_NO_DATA = "give the released data with --data, or -p with a project that was imported from it"
_NO_MARKUP = (
    "this figure is computed from HTML, which the import turned into text: give the folder with --data"
)
_NO_CONVENTIONS = "the paper names neither tokens nor smoothing; these conventions were found by trial"
_NO_SEED = "the paper names neither the range nor the seed of its random scores"
_NO_MODEL = "the model's replies are not released"
_NO_PRICES = "the tokens and prices behind it are not printed"
_OTHER_FIGURE = "the data give a different figure"
PAPERS_WAY = FillValues()
_COLUMNS = (
    Column("table", "Table", minor=True),
    Column("aspect", "Aspect"),
    Column("section", "Section", minor=True),
    Column("evaluator", "Evaluator"),
    Column("level", "Level"),
    Column("printed", "Printed"),
    Column("published", "As number", "float", minor=True, decimals=6, trimmed=True),
    Column("recomputed", "Computed", "float", decimals=6, trimmed=True),
    Column("difference", "Diff.", "float", minor=True, decimals=4, trimmed=True),
    Column("result", "Result"),
    Column("n", "n", "int"),
    Column("groups", "Groups", "int"),
    Column("groups_undefined", "Undefined", "int", minor=True),
    Column("note", "Note"),
)
# the printed figures of one evaluator, by aspect and level
_Line = Mapping[tuple[str, str], PrintedFigure]


class ScoresSource(NamedTuple):
    """A project with explanations and scores: the released data, or the user's own. `markup`: its texts keep their
    HTML."""

    db: Database
    project_id: int
    name: str
    markup: bool = False


def holds_release(source: ScoresSource) -> bool:
    """Whether the project was imported from the released data."""
    return any(layout.partition(",")[0] == PAPER for layout in imported_layouts(source.db, source.project_id))


def zhang_table(
    released: ScoresSource | None,
    missing: FillValues = PAPERS_WAY,
    own: ScoresSource | None = None,
    raters: Sequence[str] = (),
) -> Table:
    """Table 1 (Pearson's r with the users' scores in percent, by evaluator, aspect and level) and Table 2 (costs), 305
    figures; then the raters of the user's own project, or those of `raters`.

    `released` holds the paper's data; without it the figures stand as printed. Raises NotFoundError if `own` has no
    scores by the users themselves, or no explanation was judged by one of `raters`.
    """
    paper = publication(PAPER)
    lines = _lines(paper)
    evaluators: dict[str, Evaluator] = {}
    rows: list[Row] = []
    notes: list[str] = []
    ratings = None if released is None else _ratings(released)
    if released is not None and ratings is not None:
        evaluators = {evaluator.name: evaluator for evaluator in _evaluators(released, ratings)}
        notes += _missing_notes(ratings, missing)
    for (section, name), line in lines.items():
        evaluator = evaluators.get(name)
        figures = figures_of(ratings, evaluator, missing) if ratings and evaluator else {}
        rows += _printed_rows(section, name, line, evaluator, figures)
    costs = [_cost(figure) for figure in paper.figures if figure.table == "2"]
    notes = [
        f"{len(rows)} + {len(costs)} printed figures",
        *tally_notes([*rows, *costs], "section"),
        *notes,
    ]
    if ratings and ROUGE_1 in evaluators:
        figures = figures_of(ratings, evaluators[ROUGE_1], missing)
        rows += _own_rows("Reference-based Metric", ROUGE_1, figures, {}, "not in the paper")
    if own is not None:
        rows += _rater_rows(own, raters, missing, lines, notes)
        costs += _own_costs(own, raters)
    rows += costs
    notes += _few_groups(rows)
    notes += [
        "Pearson's r with the users' own scores in percent; an average is that of the four aspects",
        "follows: rounded to the printed decimals; text metrics are compared within 0.1",
    ]
    settings: dict[str, object] = {
        "paper": paper.source, "missing_truth": missing.truth, "missing_judge": missing.judge,
        "project": own and own.name, "raters": list(raters),
    }  # fmt: skip
    return Table(f"Reproduced: {paper.source}", _COLUMNS, tuple(rows), (*notes, *paper.remarks), settings)


def _evaluators(released: ScoresSource, ratings: Ratings) -> Iterator[Evaluator]:
    yield from annotators(ratings)
    if released.markup:
        yield from text_metrics(released.db, released.project_id, ratings)
    else:
        lacking = Evaluator("", {}, Rater(0, "", "metric"), _NEEDS_DATA, _NO_MARKUP)
        yield from (lacking._replace(name=name) for name in TEXT_METRICS)


def _ratings(source: ScoresSource) -> Ratings:
    return load_ratings(source.db, source.project_id, protocols=("explanation",), newest=False)


def _lines(paper: Publication) -> dict[tuple[str, str], dict[tuple[str, str], PrintedFigure]]:
    lines: dict[tuple[str, str], dict[tuple[str, str], PrintedFigure]] = {}
    for figure in paper.figures:
        if figure.table == "1":
            key = (figure.where["section"], figure.where["evaluator"])
            lines.setdefault(key, {})[figure.name, figure.where["level"]] = figure
    return lines


def _printed_rows(
    section: str,
    name: str,
    line: _Line,
    evaluator: Evaluator | None,
    figures: Mapping[str, Mapping[str, Figure]],
) -> Iterator[Row]:
    for aspect in (*ZHANG_ASPECTS, AVERAGE):
        for level in LEVELS:
            printed = line[aspect, level]
            figure = figures.get(aspect, {}).get(level)
            row: Row = {
                "aspect": aspect,
                "section": section,
                "evaluator": _label(section, name),
                "level": level,
            }
            if figure is not None and figure.value is not None:
                yield row | _recomputed(printed, figure, name)
            elif aspect == AVERAGE:
                yield row | _mean_of_aspects(printed, [line[aspect, level] for aspect in ZHANG_ASPECTS])
            else:
                yield row | as_printed(printed, *_why(section, name, evaluator, figure))


def _label(section: str, name: str) -> str:
    """The evaluator's name; a model stands in two sections."""
    return f"{name} ({_PROMPTS[section]})" if section in _PROMPTS else name


def _recomputed(printed: PrintedFigure, figure: Figure, name: str) -> Row:
    value = rounded(figure.value or 0.0, _DECIMALS)
    row = compared(printed, exactly(value)) | _cells(figure)
    if row["result"] != DOES_NOT_FOLLOW:
        return row
    if name in TEXT_METRICS and abs(value - printed.value) <= _TOLERANCE:
        return row | {"result": CLOSE, "note": _NO_CONVENTIONS}
    return row | {"note": _OTHER_FIGURE}


def _cells(figure: Figure) -> Row:
    return {
        "recomputed": None if figure.value is None else rounded(figure.value, _DECIMALS),
        "n": figure.n,
        "groups": figure.groups,
        "groups_undefined": figure.undefined,
    }


def _mean_of_aspects(printed: PrintedFigure, aspects: list[PrintedFigure]) -> Row:
    mean = sum(aspect.value for aspect in aspects) / len(aspects)
    row = compared(printed, Range(mean, mean - _HALF, mean + _HALF), "the four printed figures")
    return row | {"note": row["note"] or "the mean of the four printed figures"}


def _why(section: str, name: str, evaluator: Evaluator | None, figure: Figure | None) -> tuple[str, str]:
    """Why nothing was recomputed, and the result that says so."""
    if figure is not None:
        return "undefined: one side is constant", "undefined"
    if evaluator is not None and evaluator.needs:
        return evaluator.why, evaluator.needs
    if name in (*ANNOTATORS, BOTH, *TEXT_METRICS):
        return _NO_DATA, _NEEDS_DATA
    return _NO_SEED if section == "Random" else _NO_MODEL, AS_PRINTED


def _cost(figure: PrintedFigure) -> Row:
    row: Row = {"aspect": COST, "section": "Cost", "evaluator": figure.where["evaluator"], "level": None}
    return row | as_printed(figure, _NO_PRICES)


def _rater_rows(
    own: ScoresSource,
    raters: Sequence[str],
    missing: FillValues,
    lines: Mapping[tuple[str, str], _Line],
    notes: list[str],
) -> Iterator[Row]:
    """The raters of the user's project against the users' scores in that project."""
    ratings = _ratings(own)
    if truth_of(ratings) is None:
        raise NotFoundError(
            f"the project {own.name} has no scores by the users themselves",
            next_step="Import them as labels of a rater called user.",
        )
    judged = dict.fromkeys(q.rater for q in ratings.verdicts if q.aspect in ZHANG_ASPECTS)
    if absent := [name for name in raters if name not in judged]:
        raise NotFoundError(
            f"“{absent[0]}” has judged no explanation of the project {own.name}",
            f"These have: {', '.join(judged)}.",
            "Run a judge first: recjudge run explanation.",
        )
    chosen: list[Rater] = [ratings.raters[name] for name in raters] or [
        rater for rater in (ratings.raters[name] for name in judged) if rater.kind not in FIRST_HAND
    ]
    models = [line for (section, _), line in lines.items() if section in _PROMPTS]
    for rater in chosen:
        evaluator = Evaluator(rater.name, scores_of(ratings, rater.name), rater)
        figures = figures_of(ratings, evaluator, missing)
        yield from _own_rows(_section(own), rater.name, figures, models)
    notes += rater_notes(chosen)


def _section(own: ScoresSource) -> str:
    return f"Project {own.name}"


def _own_rows(
    section: str,
    name: str,
    figures: Mapping[str, Mapping[str, Figure]],
    models: Iterable[_Line],
    note: str = "",
) -> Iterator[Row]:
    """Figures that the paper does not have, with their place among the `models` it prints."""
    for aspect in (*ZHANG_ASPECTS, AVERAGE):
        for level in LEVELS:
            figure = figures.get(aspect, {}).get(level)
            row: Row = {
                "table": "Table 1",
                "aspect": aspect,
                "section": section,
                "evaluator": name,
                "level": level,
            }
            if figure is None:
                yield row | {"result": NOT_COMPARED, "note": "no scores"}
            elif figure.value is None:
                yield (
                    row | _cells(figure) | {"result": NOT_COMPARED, "note": "undefined: one side is constant"}
                )
            else:
                place = _place(figure.value, [line[aspect, level].value for line in models])
                yield row | _cells(figure) | {"result": NOT_COMPARED, "note": note or place}


def _place(value: float, printed: Sequence[float]) -> str:
    below = sum(value > other for other in printed)
    return f"higher than {below} of the {len(printed)} printed figures of models"


def _own_costs(own: ScoresSource, raters: Sequence[str]) -> Iterator[Row]:
    for (rater, protocol), cost in spent_a_case(own.db, own.project_id).items():
        if protocol == "explanation" and (not raters or rater in raters):
            row: Row = {
                "table": "Table 2",
                "aspect": COST,
                "section": _section(own),
                "evaluator": rater,
                "level": None,
            }
            note = "" if cost is not None else "the price of this judge is unknown"
            yield row | {"recomputed": cost, "result": NOT_COMPARED, "note": note}


def _few_groups(rows: Iterable[Row]) -> list[str]:
    """The means that rest on fewer than half of their groups, because one side is constant in the others."""
    by_evaluator: dict[object, list[str]] = {}
    for row in rows:
        groups, undefined = row.get("groups"), row.get("groups_undefined")
        if isinstance(groups, int) and isinstance(undefined, int) and 2 * undefined > groups:
            figure = f"{row['aspect']} {row['level']} on {groups - undefined} of {groups}"
            by_evaluator.setdefault(row["evaluator"], []).append(figure)
    return [
        f"{evaluator}: one side is constant in most groups, so {', '.join(figures)}"
        for evaluator, figures in by_evaluator.items()
    ]


def _missing_notes(ratings: Ratings, missing: FillValues) -> Iterator[str]:
    """How many of the users' scores were missing."""
    truth = truth_of(ratings)
    if truth is None:
        return
    cases = ratings.cases.ids.size
    given = sum(verdicts.row.size for verdicts in scores_of(ratings, truth.name).values())
    if absent := len(ZHANG_ASPECTS) * cases - given:
        instead = "left out" if missing.truth is None else f"replaced by {missing.truth:g}"
        yield f"{absent:,} of the users' {len(ZHANG_ASPECTS) * cases:,} scores are missing: {instead}"
