"""Each rater's strictness: mean difference to others on the same cases, and how often each label is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from recjudge_tui.domain.protocols import OVERALL, SAER, compares_lists
from recjudge_tui.reports.agreement import orientation_notes
from recjudge_tui.reports.common.estimate_cells import estimate_cells, interval_columns
from recjudge_tui.reports.common.scales import categories, label_names, value_bounds
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.shapes import Orientation, Side, pairs
from recjudge_tui.stats.agreement import mean_change
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import RESAMPLES
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.intervals import Bounds, share_estimate
from recjudge_tui.stats.registry import NO_ORDER
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import Question, Ratings, load_ratings

BIAS = (
    "bias: the mean over cases of a rater's value minus the mean of the other annotators on the same case, interval over"
    " users; below 0: the rater is stricter than the others"
)
PAIR_BIAS = "bias on pairs: above 0, the rater favours A more than the other annotators do"
NO_SIDE = "pairs of several systems have no common side, so a bias has no direction"
OTHERS, ALL_OF_THEM = "the other annotators", "the annotators"
_COLUMNS = (
    Column("rater", "Rater"),
    Column("against", "Against"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("figure", "Figure"),
    Column("label", "Label"),
    Column("count", "Count", "int"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("note", "Note"),
)


def strictness_table(
    db: Database,
    project_id: int,
    judges: Sequence[str],
    annotators: Sequence[str],
    protocols: Sequence[str] = SAER,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Table:
    """For each protocol, aspect and rater, one row `bias` and one row `share` per label, the best label first.

    bias = mean over the cases of (value - mean of the other annotators' values there); a judge is compared with all
    annotators. Cases that none of those judged are left out. share = cases with the label / cases with a verdict.
    """
    ratings = load_ratings(db, project_id, raters=[*judges, *annotators], protocols=protocols, newest=False)
    order = {name: place for place, name in enumerate((*annotators, *judges))}
    rows: list[Row] = []
    left_out: list[str] = []
    unordered = categories(db, project_id)
    seen: dict[str, Orientation] = {}
    for protocol in protocols:
        answered = sorted(
            (q for q in ratings.verdicts if q.protocol == protocol),
            key=lambda q: (q.aspect != OVERALL, q.aspect, order[q.rater]),
        )
        for aspect in dict.fromkeys(q.aspect for q in answered):
            alike = [q for q in answered if q.aspect == aspect]
            names = _names(db, project_id, ratings, alike)
            met = pairs(ratings.cases, [Side(ratings.verdicts[q]) for q in alike])
            known = met.judged_by(1)
            how = known.seen
            seen[f"{protocol}, {aspect}"] = how
            ordered = (protocol, aspect) not in unordered
            bounds = value_bounds(db, project_id, alike[0], met.stored)
            for row in _rows(
                known.stored, known.user, how, alike, annotators, names, resamples, seed,
                ordered=ordered, bounds=bounds,
            ):  # fmt: skip
                rows.append({"protocol": protocol, "aspect": aspect, **row})
            left_out += [f"{protocol}, {aspect}: {note}" for note in met.left_out]
    notes = (
        [BIAS, *orientation_notes(seen), *left_out] if rows else ["none of these raters has judged anything"]
    )
    if any(compares_lists(str(row["protocol"])) for row in rows):
        notes.append(PAIR_BIAS)
    return Table("Strictness", _COLUMNS, tuple(rows), tuple(notes), {"resamples": resamples, "seed": seed})


def _names(
    db: Database, project_id: int, ratings: Ratings, alike: Sequence[Question]
) -> dict[float, str] | None:
    values = np.concatenate([ratings.verdicts[question].value for question in alike])
    return label_names(db, project_id, alike[0].protocol, alike[0].aspect, values)


def sided(names: Mapping[float, str]) -> dict[float, str]:
    """The labels of pairs without a common side: a label and its mirror are one."""
    return {v: f"{name} or {names[-v]}" if -v in names and v else name for v, name in names.items() if v >= 0}


def _rows(
    values: FloatArray,
    users: IntArray,
    how: Orientation,
    alike: Sequence[Question],
    annotators: Sequence[str],
    names: dict[float, str] | None,
    resamples: int,
    seed: int,
    *,
    ordered: bool,
    bounds: Bounds | None,
) -> Iterator[Row]:
    values = values * how.turn
    for place, question in enumerate(alike):
        others = [at for at, q in enumerate(alike) if q.rater in annotators and at != place]
        gap = values[place] - _mean(values[others])
        known = ~np.isnan(gap)
        if not ordered or how.mirrored:
            bias = undefined(NO_SIDE if ordered else NO_ORDER, int(known.sum()))
        elif known.any():
            bias = mean_change(values[place], _mean(values[others]), users, bounds).change
        else:
            bias = undefined("no case that another annotator also judged")
        against = OTHERS if question.rater in annotators else ALL_OF_THEM
        yield _row(question.rater, "bias", bias, against)
        given = ~np.isnan(values[place])
        labels = sided(names or {}) if how.mirrored else names or {}
        answers = np.abs(values[place][given]) if how.mirrored else values[place][given]
        for value, name in labels.items():
            hits = (answers == value).astype(np.float64)
            share = share_estimate(hits, users[given])
            yield _row(question.rater, "share", share) | {"label": name, "count": int(hits.sum())}


def _mean(values: FloatArray) -> FloatArray:
    """Mean over the raters that have a value, NaN for none."""
    there = ~np.isnan(values)
    counted = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.where(counted > 0, total / np.maximum(counted, 1), np.nan)


def _row(rater: str, figure: str, estimate: Estimate, against: str = "") -> Row:
    return {
        "rater": rater,
        "against": against,
        "figure": figure,
        "label": "",
        **estimate_cells(estimate),
    }
