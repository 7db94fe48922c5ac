"""The benefit of more raters: the mean of every subset of K raters against a truth, by the size of the subset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from recjudge_tui.domain.roles import COMBINED
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.agreement.agreement import settings_of, side_of
from recjudge_tui.reports.common.comparison import Side, align
from recjudge_tui.reports.common.missing_notes import untimed_notes
from recjudge_tui.reports.common.orientation import Orientation, both_sides, orientation
from recjudge_tui.reports.common.pairing import (
    ALL,
    AgreementOptions,
    Pair,
    check_aspect,
    check_fill,
    check_options,
    label_sets,
    pairs_of,
    questions_in,
)
from recjudge_tui.reports.common.scales import categories, combined_notes, is_metric
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.combining.ensembles import MOST_RATERS, SizeFigures, subset_figures
from recjudge_tui.stats.registry import CORRELATIONS, NO_ORDER
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import (
    CaseColumns,
    Question,
    Ratings,
    load_questions,
    project_questions,
    project_raters,
)

# above this number of rows only Pearson is fast enough, because it needs no pass over the rows for each subset
_MOST_WORK = 300_000_000
_RULE = (
    "only cases with a value from the truth and all these raters count, so that all sizes use the same cases"
)
_COLUMNS = (
    Column("aspect", "Aspect"),
    Column("protocol", "Protocol", minor=True),
    Column("level", "Level"),
    Column("stat", "Statistic", "statistic"),
    Column("size", "Raters", "int"),
    Column("subsets", "Subsets", "int"),
    Column("min", "Lowest", "float"),
    Column("q1", "25 %", "float", minor=True),
    Column("median", "Median", "float", minor=True),
    Column("q3", "75 %", "float", minor=True),
    Column("mean", "Mean", "float"),
    Column("max", "Highest", "float"),
    Column("best", "Best set", minor=True),
    Column("worst", "Worst set", minor=True),
    Column("n", "n", "int"),
    Column("note", "Note"),
)


def ensembles_table(db: Database, project_id: int, options: AgreementOptions) -> Table:
    """One row per aspect, level, statistic and size N: the figures of all subsets of N raters, with the best and worst
    set.

    The mean of a subset is correlated with `truth`; `stats` are correlations (default Pearson). `raters` empty:
    everyone on the truth's scale who is not made from other raters. Raises UsageError without a truth, with fewer than
    two or more than 15 raters, for a metric among them, for another statistic, or if the work is too large.
    """
    _check(options)
    check_options(db, project_id, options)
    questions, raters = project_questions(db, project_id), project_raters(db, project_id)
    check_aspect(questions, raters, options)
    chosen = options.raters or tuple(
        rater.name for rater in raters.values() if rater.kind not in COMBINED and not is_metric(rater)
    )
    scaled = [name for name in options.raters if is_metric(raters[name])]
    if scaled:
        raise UsageError(
            f"{', '.join(scaled)}: a metric has its own scale and cannot be averaged with other raters"
        )
    pairs = pairs_of(questions, raters, replace(options, raters=chosen))
    ratings = load_questions(db, project_id, questions_in(pairs), options.selection)
    check_fill(label_sets(db, project_id, ratings, pairs), options)
    rows: list[Row] = []
    notes: list[str] = [
        *combined_notes([raters[name] for name in (options.truth,) if name]),
        _RULE,
        *untimed_notes(ratings),
    ]
    unordered = categories(db, project_id)
    for alike in _by_question(pairs):
        if (alike[0].protocol, alike[0].aspect) in unordered:
            notes.append(f"{alike[0].protocol}, {alike[0].aspect}: {NO_ORDER}")
            continue
        rows += _rows(ratings, alike, options, notes)
    if not rows and not any(NO_ORDER in note for note in notes):
        notes.append("no two raters answered a question that the truth answered")
    settings = settings_of(options) | {"raters": list(chosen)}
    return Table("Ensembles", _COLUMNS, tuple(rows), tuple(notes), settings)


def _check(options: AgreementOptions) -> None:
    if options.truth is None:
        raise UsageError("ensembles need a truth to compare with", next_step="Name it with --truth.")
    if options.by_system:
        raise UsageError("ensembles cannot be split by system")
    for stat in options.stats:
        if stat not in (*CORRELATIONS, ALL):
            raise UsageError(
                f"“{stat}” does not apply to means of raters", f"Correlations do: {', '.join(CORRELATIONS)}."
            )
    if options.truth in options.raters:
        raise UsageError(f"“{options.truth}” cannot be both the truth and a member")
    if len(options.raters) == 1:
        raise UsageError("an ensemble needs at least two raters")
    _bounded(options.raters)


def _bounded(raters: Sequence[str]) -> None:
    if len(raters) > MOST_RATERS:
        raise UsageError(
            f"{len(raters)} raters have {2 ** len(raters) - 1:,} subsets: too many to compute",
            f"Every further rater doubles them; {MOST_RATERS} have {2**MOST_RATERS - 1:,}.",
            f"Name at most {MOST_RATERS} with --raters.",
        )


def _by_question(pairs: list[Pair]) -> Iterator[list[Pair]]:
    """The pairs with the truth, by question, if at least two raters answered it."""
    by_question: dict[tuple[str, Question, str], list[Pair]] = {}
    for pair in pairs:
        by_question.setdefault((pair.protocol, pair.b, pair.aspect), []).append(pair)
    yield from (alike for alike in by_question.values() if len({pair.a.rater for pair in alike}) > 1)


def _rows(ratings: Ratings, alike: list[Pair], options: AgreementOptions, notes: list[str]) -> Iterator[Row]:
    members = [pair.a for pair in alike]
    names = [question.rater for question in members]
    _bounded(names)
    values, truth, missing, other, seen = _table(ratings, alike, options)
    stats = CORRELATIONS if ALL in options.stats else tuple(dict.fromkeys(options.stats)) or ("pearson",)
    where = f"{alike[0].protocol}, {alike[0].aspect}"
    if missing:
        notes.append(f"{where}: {missing} left out because one of the raters has no value")
    notes += [f"{where}: {note}" for note in (seen.words(), *other) if note]
    complete = int((~np.isnan(truth) & ~np.isnan(values).any(axis=0)).sum())
    for level in options.levels:
        groups = _groups(ratings.cases, level)
        if groups is not None and seen.mirrored:
            groups = np.concatenate([groups, groups])
        for stat in stats:
            _workable(stat, len(names), complete)
            for figures in subset_figures(stat, both_sides(values, seen), both_sides(truth, seen), groups):
                yield {
                    "aspect": alike[0].aspect,
                    "protocol": alike[0].protocol,
                    "level": level,
                    "stat": stat,
                    **_cells(figures, names),
                    "n": complete,
                }


def _table(
    ratings: Ratings, alike: list[Pair], options: AgreementOptions
) -> tuple[FloatArray, FloatArray, str, list[str], Orientation]:
    """Values (raters, cases) of the members and of the truth, the number of incomplete cases with a truth, and of
    cases about other lists; and the side from which pairs in the complete cases are seen.
    """
    sides: list[Side] = [side_of(ratings, pair.a, options) for pair in alike]
    met = align(ratings.cases, [*sides, side_of(ratings, alike[0].b, options)])
    values = np.where(met.included, met.values, np.nan)
    known = ~np.isnan(values[-1])
    lacking = int((known & np.isnan(values[:-1]).any(axis=0)).sum())
    total = int(known.sum())
    missing = f"{lacking:,} of {total:,} cases with a truth ({lacking / total:.1%})" if lacking else ""
    complete = np.logical_not(np.isnan(values).any(axis=0))
    seen = orientation(ratings.cases, np.arange(complete.size), complete)
    return values[:-1], values[-1], missing, met.left_out, seen


def _groups(cases: CaseColumns, level: str) -> IntArray | None:
    return {"dataset": None, "user": cases.user, "pair": cases.pair}[level]


def _workable(stat: str, raters: int, rows: int) -> None:
    work = (2**raters - 1) * rows
    if stat != "pearson" and work > _MOST_WORK:
        raise UsageError(
            f"{stat} of {2**raters - 1:,} subsets over {rows:,} cases would take too long",
            next_step="Use pearson, or name fewer raters with --raters.",
        )


def _cells(figures: SizeFigures, names: list[str]) -> Row:
    first, median, third = figures.quartiles or (None, None, None)
    undefined = f"{figures.undefined} of {figures.subsets} sets undefined" if figures.undefined else ""
    return {
        "size": figures.size,
        "subsets": figures.subsets,
        "min": figures.low,
        "q1": first,
        "median": median,
        "q3": third,
        "mean": figures.mean,
        "max": figures.high,
        "best": " + ".join(names[at] for at in figures.best),
        "worst": " + ".join(names[at] for at in figures.worst),
        "note": undefined,
    }
