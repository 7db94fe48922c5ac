"""Systems ranked by the mean score from each rater."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.missing_notes import earlier_notes, no_verdicts
from recjudge_tui.reports.common.scales import categories, rater_notes, scale_notes, value_bounds
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.leaderboard.mean_pairs import (
    PAIR_COLUMNS,
    MeasuredPairs,
    SystemMeans,
    compared,
    occasions,
    pair_notes,
    pair_rows,
)
from recjudge_tui.stats.intervals import mean_estimate
from recjudge_tui.stats.ranking import ranks
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import Question, Ratings

_COLUMNS = (
    Column("system", "System"),
    Column("rater", "Rater"),
    Column("aspect", "Aspect"),
    Column("rank", "Rank", "int"),
    Column("score", "Mean", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("users", "Users", "int", minor=True),
    Column("failed", "Failed", "int"),
    Column("note", "Note"),
)
_PAIR_COLUMNS = (
    Column("system", "System"),
    Column("opponent", "Against"),
    Column("rater", "Rater"),
    Column("aspect", "Aspect"),
    *PAIR_COLUMNS,
)
ABOUT = "score = mean over the cases of a system, interval over users; failed verdicts are not in n"


def mean_table(
    db: Database,
    project_id: int,
    ratings: Ratings,
    questions: Sequence[Question],
    protocol: str,
    *,
    groups: int = 1,
) -> Table:
    """One row per aspect, rater and system, best first; no row for a system without cases.

    `groups` is the number of such tables examined.
    """
    ordered, no_mean = _with_means(db, project_id, questions)
    rows = [row for question in ordered for row in _ranked(db, project_id, ratings, question)]
    about_rules = rater_notes(ratings.raters[question.rater] for question in questions)
    tested = mean_families(db, project_id, ratings, ordered, groups) if not ratings.crowds else []
    notes = (
        (*pair_notes(tested, "aspects"), ABOUT, *earlier_notes(ratings, questions), *about_rules)
        if rows
        else ()
        if no_mean
        else (no_verdicts(ratings),)
    )
    notes = (*notes, *scale_notes(db, project_id, ((q.protocol, q.aspect) for q in ordered)), *no_mean)
    settings = {"protocol": protocol, "method": "mean"}
    return Table(f"Mean scores: {protocol}", _COLUMNS, tuple(rows), notes, settings)


def mean_pairs_table(
    db: Database, project_id: int, ratings: Ratings, questions: Sequence[Question], protocol: str, groups: int
) -> Table:
    """One row per rater, aspect and pair of systems, the one with the higher mean first, with the test of their
    difference."""
    ordered, no_mean = _with_means(db, project_id, questions)
    families = mean_families(db, project_id, ratings, ordered, groups)
    asked = [question for of_rater in _by_rater(ordered) for question in of_rater]
    rows = [
        {"rater": question.rater, "aspect": question.aspect} | row
        for question, pairs in zip(asked, chain.from_iterable(families), strict=True)
        for row in pair_rows(pairs)
    ]
    notes = pair_notes(families, "aspects") if rows else ["no rater has judged two systems"]
    about_rules = rater_notes(ratings.raters[question.rater] for question in questions)
    notes = [*notes, *earlier_notes(ratings, questions), *about_rules, *no_mean]
    settings = {"protocol": protocol}
    return Table(
        f"Pairs of systems by mean score: {protocol}", _PAIR_COLUMNS, tuple(rows), tuple(notes), settings
    )


def _with_means(
    db: Database, project_id: int, questions: Sequence[Question]
) -> tuple[list[Question], list[str]]:
    """The questions whose answers have an order, and a note on the others."""
    unordered = categories(db, project_id)
    ordered = [q for q in questions if (q.protocol, q.aspect) not in unordered]
    aspects = ", ".join(dict.fromkeys(q.aspect for q in questions if q not in ordered))
    return ordered, [
        f"{aspects}: categories without an order have no mean: see --method share"
    ] if aspects else []


def _by_rater(questions: Sequence[Question]) -> list[list[Question]]:
    raters = dict.fromkeys(question.rater for question in questions)
    return [[question for question in questions if question.rater == rater] for rater in raters]


def mean_families(
    db: Database, project_id: int, ratings: Ratings, questions: Sequence[Question], groups: int
) -> list[list[MeasuredPairs]]:
    """For each rater the aspects and the tests of their pairs of systems, adjusted together."""
    return [
        compared([_measured(db, project_id, ratings, question) for question in of_rater], groups)
        for of_rater in _by_rater(questions)
    ]


def _measured(db: Database, project_id: int, ratings: Ratings, question: Question) -> SystemMeans:
    verdicts, cases = ratings.verdicts[question], ratings.cases
    of, user = cases.system_a[verdicts.row], cases.user[verdicts.row]
    owners = np.unique(user)
    here, systems = np.searchsorted(owners, user), np.unique(of).tolist()
    rows = [(here[of == system], verdicts.value[of == system]) for system in systems]
    means = [None if np.isnan(values).all() else float(np.nanmean(values)) for _, values in rows]
    names = [cases.systems[system] for system in systems]
    bounds = value_bounds(db, project_id, question, verdicts.value)
    title = f"{question.rater}, {question.aspect}"
    return SystemMeans(title, names, occasions(rows, owners), owners, means, bounds)


def _ranked(db: Database, project_id: int, ratings: Ratings, question: Question) -> list[Row]:
    verdicts, cases = ratings.verdicts[question], ratings.cases
    bounds = value_bounds(db, project_id, question, verdicts.value)
    of = cases.system_a[verdicts.row]
    rows: list[Row] = []
    for system in np.unique(of):
        values = verdicts.value[of == system]
        users = cases.user[verdicts.row[of == system]]
        estimate = mean_estimate(values, users, bounds)
        rows.append(
            {
                "system": cases.systems[int(system)],
                "rater": question.rater,
                "aspect": question.aspect,
                "score": estimate.value,
                **interval_cells(estimate),
                "n": estimate.n,
                "users": np.unique(users[~np.isnan(values)]).size,
                "failed": int(np.isnan(values).sum()),
                "note": estimate.note if estimate.value is None or estimate.ci_low is None else "",
            }
        )
    for row, place in zip(rows, ranks([_score(row) for row in rows]), strict=True):
        row["rank"] = place
    return sorted(rows, key=lambda row: (row["rank"] is None, row["rank"] or 0, str(row["system"])))


def _score(row: Row) -> float | None:
    score = row["score"]
    return score if isinstance(score, float) else None
