"""Agreement of all people, or of all chosen raters, together, even if not everybody judged everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.agreement.agreement import nothing, settings_of
from recjudge_tui.reports.common.comparison import Side, align
from recjudge_tui.reports.common.estimate_cells import estimate_cells, interval_columns
from recjudge_tui.reports.common.missing_notes import untimed_notes
from recjudge_tui.reports.common.orientation import (
    Orientation,
    labels_seen,
    orientation,
    orientation_notes,
)
from recjudge_tui.reports.common.pairing import (
    ALL,
    AgreementOptions,
    by_labels,
    check_aspect,
    check_options,
    compared_questions,
    label_sets,
    pairs_of,
    questions_in,
)
from recjudge_tui.reports.common.scales import (
    categories,
    is_people,
    protocol_questions,
    rater_notes,
    scale_notes,
)
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.stats.agreement import many_raters_estimates
from recjudge_tui.stats.registry import MANY_RATERS, NO_ORDER
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import (
    Question,
    Rater,
    Ratings,
    load_questions,
    project_questions,
    project_raters,
)

USUAL = ("alpha_ordinal", "fleiss", "ac2")
_COLUMNS = (
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("raters", "Raters", "int"),
    Column("names", "Names", minor=True),
    Column("stat", "Statistic"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("ratings", "Verdicts", "int"),
    Column("users", "Users", "int", minor=True),
    Column("note", "Note"),
)
_ABOUT = "of all raters together; n: the cases that two or more of them judged; interval over users"


def together_table(db: Database, project_id: int, options: AgreementOptions) -> Table:
    """One row per question and statistic of all people together, or of the chosen raters if any are.

    `stats`: names of MANY_RATERS or `all`; `truth`, `levels` and `by_system` are ignored. Failed verdicts are left out.
    Raises as `agreement_table`, and UsageError if fewer than two raters are chosen.
    """
    stats, named = _stats(options.stats), bool(options.stats)
    if len(options.raters) == 1:
        raise UsageError("agreement needs at least two raters", next_step="Name them with --raters A,B,...")
    options = replace(options, stats=(), truth=None)
    check_options(db, project_id, options)
    questions, raters = project_questions(db, project_id), project_raters(db, project_id)
    check_aspect(questions, raters, options)
    usual = compared_questions(db, project_id, questions, raters, options)
    chosen = options.raters or tuple(name for name, rater in raters.items() if is_people(rater))
    pairs = pairs_of(usual.kept, raters, replace(options, raters=chosen)) if len(chosen) > 1 else []
    ratings = load_questions(db, project_id, questions_in(pairs), options.selection)
    labels = label_sets(db, project_id, ratings, pairs)
    unordered = categories(db, project_id)
    alike: dict[tuple[str, str], dict[str, Question]] = {}
    scales: dict[tuple[str, str], list[float] | None] = {}
    for pair in pairs:
        if by_labels(pair, ratings):
            where = pair.protocol, pair.aspect
            scales[where] = labels[pair]
            for question in (pair.a, pair.b):
                alike.setdefault(where, {}).setdefault(question.rater, question)
    rows: list[Row] = []
    notes: list[str] = []
    seen: dict[str, Orientation] = {}
    for (protocol, aspect), by_rater in alike.items():
        known = scales[protocol, aspect]
        about = f"{protocol}, {aspect}"
        if known is None or len(known) > MOST_LABELS:
            notes.append(f"{about}: scores without labels have no figure of all raters together")
            continue
        here: Row = {"protocol": protocol, "aspect": aspect}
        fitting = _fitting(stats, named, (protocol, aspect) in unordered)
        figures, seen[about] = _figures(ratings, by_rater, known, fitting, options)
        rows += [{**here, **row} for row in figures]
        refused = [stat for stat in stats if stat not in fitting]
        if named and refused:
            notes.append(f"{about}: no {', '.join(refused)}: {NO_ORDER}")
    notes = [_ABOUT, *orientation_notes(seen), *notes, *untimed_notes(ratings)]
    notes += usual.notes(protocol_questions(questions, raters, options.protocol))
    notes += scale_notes(db, project_id, alike)
    notes += rater_notes(ratings.raters[name] for by_rater in alike.values() for name in by_rater)
    if not rows:
        notes = [*notes[1:], _nothing(usual.kept, raters, options)]
    return Table("Agreement of all together", _COLUMNS, tuple(rows), tuple(notes), settings_of(options))


def _stats(named: Sequence[str]) -> tuple[str, ...]:
    for name in named:
        if name not in (*MANY_RATERS, ALL):
            raise UsageError(
                f"no statistic “{name}” of all raters together",
                f"Available: {', '.join(MANY_RATERS)}, {ALL}.",
            )
    return tuple(MANY_RATERS) if ALL in named else tuple(dict.fromkeys(named)) or USUAL


def _fitting(stats: tuple[str, ...], named: bool, nominal: bool) -> tuple[str, ...]:
    """The statistics that fit a question; those of categories without an order are the nominal ones."""
    if not nominal:
        return stats
    return tuple(stat for stat in (stats if named else MANY_RATERS) if MANY_RATERS[stat].nominal)


def _figures(
    ratings: Ratings,
    by_rater: Mapping[str, Question],
    labels: list[float],
    stats: tuple[str, ...],
    options: AgreementOptions,
) -> tuple[list[Row], Orientation]:
    sides = [Side(ratings.raters[name], ratings.verdicts[question]) for name, question in by_rater.items()]
    values = align(ratings.cases, sides).values
    rows = np.flatnonzero((~np.isnan(values)).sum(axis=0) > 0)
    how = orientation(ratings.cases, rows)
    given = values[:, rows] * how.turn + 0.0
    known = labels_seen(labels, how) or labels
    items = np.broadcast_to(rows, given.shape).ravel()
    users = ratings.cases.user[rows]
    estimates = many_raters_estimates(
        given.ravel(),
        items,
        ratings.cases.user[items],
        known,
        stats,
        mirrored=how.mirrored,
    )
    who: Row = {
        "raters": len(by_rater),
        "names": ", ".join(by_rater),
        "ratings": int((~np.isnan(given)).sum()),
        "users": np.unique(users).size,
    }
    return [{**who, "stat": stat, **estimate_cells(estimates[stat])} for stat in stats], how


def _nothing(questions: Sequence[Question], raters: Mapping[str, Rater], options: AgreementOptions) -> str:
    if not options.raters and sum(is_people(raters[name]) for name in {q.rater for q in questions}) < 2:
        return "fewer than two people have judged this project: choose raters with --raters A,B,..."
    return nothing(questions, raters, options)
