"""The confusion table of two raters, and the cases of one cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from recjudge_tui.reports.agreement.agreement import compare_pair, nothing, settings_of, where_of
from recjudge_tui.reports.common.comparison import Comparison
from recjudge_tui.reports.common.missing_notes import MissingInPair, missing_notes, untimed_notes
from recjudge_tui.reports.common.orientation import Orientation, labels_seen, orientation_notes
from recjudge_tui.reports.common.pairing import (
    AgreementOptions,
    Pair,
    by_labels,
    check_aspect,
    check_fill,
    check_options,
    label_sets,
    pairs_of,
    questions_in,
)
from recjudge_tui.reports.common.scales import label_names
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.stats.agreement.coefficients import confusion
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import FloatArray, load_questions, project_questions, project_raters

_MOST_VALUES = 20
_TWICE = ("counts: each of the n pairs is in the table twice, from the side of either system",)
_COLUMNS = (
    Column("rater_a", "Rater"),
    Column("rater_b", "Against"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("label_a", "Gave"),
    Column("label_b", "Against gave"),
    Column("value_a", "Value", "float", minor=True),
    Column("value_b", "Against value", "float", minor=True),
    Column("count", "Count", "int"),
    Column("share", "Share", "share"),
    Column("n", "n", "int"),
)


def confusion_table(db: Database, project_id: int, options: AgreementOptions) -> Table:
    """One row per cell of each pair of raters, including empty cells: labels and values of both, count, share of n.

    Rows are ordered by a's label, then b's, highest first. Pairs of several systems without a common one are counted twice,
    from the side of either system; `n` counts them once. Values that are not labels (an ensemble's mean) are shown
    as they are if there are at most 20 of them; metrics on a scale of their own have no table. `stats`, `levels` and
    `by_system` are ignored. Raises as `agreement_table`.
    """
    check_options(db, project_id, options)
    questions, raters = project_questions(db, project_id), project_raters(db, project_id)
    check_aspect(questions, raters, options)
    pairs = pairs_of(questions, raters, options)
    ratings = load_questions(db, project_id, questions_in(pairs), options.selection)
    labels = label_sets(db, project_id, ratings, pairs)
    check_fill(labels, options)
    rows: list[Row] = []
    notes: list[str] = []
    lacks: list[MissingInPair] = []
    seen: dict[str, Orientation] = {}
    for pair in pairs:
        compared = compare_pair(ratings, pair, options)
        values = _values(compared, labels_seen(labels[pair], compared.seen))
        if not by_labels(pair, ratings) or values.size > _MOST_VALUES:
            where = f"{where_of(pair)}"
            notes.append(f"{where}: a scale without labels has no confusion table")
            continue
        names = label_names(db, project_id, pair.protocol, pair.aspect, values) or {}
        rows += _rows(pair, compared, values, names)
        lacks.append(MissingInPair(pair, compared.missing))
        seen[where_of(pair)] = compared.seen
    notes += [*orientation_notes(seen), *_TWICE[: any(how.mirrored for how in seen.values())]]
    notes += missing_notes(lacks) + untimed_notes(ratings)
    if not pairs:
        notes.append(nothing(questions, raters, options))
    return Table("Confusion", _COLUMNS, tuple(rows), tuple(notes), settings_of(options))


def _values(compared: Comparison, labels: list[float] | None) -> FloatArray:
    """The label set, and any other values given, as seen."""
    a, b = _cells(compared)
    return np.unique(np.concatenate([np.array(labels or [], dtype=np.float64), a, b]))


def _cells(compared: Comparison) -> tuple[FloatArray, FloatArray]:
    """The values to count; without a first side each row counts from both."""
    if compared.seen.mirrored:
        return np.concatenate([compared.a, 0.0 - compared.a]), np.concatenate([compared.b, 0.0 - compared.b])
    return compared.a, compared.b


def _rows(pair: Pair, compared: Comparison, values: FloatArray, names: Mapping[float, str]) -> Iterator[Row]:
    if values.size == 0:
        return
    counts = confusion(*_cells(compared), values.tolist())
    total, n = int(counts.sum()), compared.row.size
    for at_a in reversed(range(values.size)):
        for at_b in reversed(range(values.size)):
            a, b, count = float(values[at_a]), float(values[at_b]), int(counts[at_a, at_b])
            yield {
                "rater_a": pair.a.rater,
                "rater_b": pair.b.rater,
                "protocol": pair.protocol,
                "aspect": pair.aspect,
                "label_a": names.get(a, f"{a:.3g}"),
                "label_b": names.get(b, f"{b:.3g}"),
                "value_a": a,
                "value_b": b,
                "count": count,
                "share": count / total if total else None,
                "n": n,
            }


def cell_cases(db: Database, project_id: int, row: Row, options: AgreementOptions) -> list[int]:
    """The ids of the cases that one row of `confusion_table` counts; `options` are the table's own."""
    raters = project_raters(db, project_id)
    of_pair = replace(options, raters=(str(row["rater_a"]), str(row["rater_b"])), aspect=str(row["aspect"]))
    ids: list[int] = []
    for pair in pairs_of(project_questions(db, project_id), raters, of_pair):
        if (pair.a.rater, pair.b.rater, pair.protocol, pair.aspect) == tuple(
            row[name] for name in ("rater_a", "rater_b", "protocol", "aspect")
        ):
            ratings = load_questions(db, project_id, questions_in([pair]), options.selection)
            compared = compare_pair(ratings, pair, options)
            here = (compared.a == row["value_a"]) & (compared.b == row["value_b"])
            if compared.seen.mirrored:
                here |= (-compared.a == row["value_a"]) & (-compared.b == row["value_b"])
            ids += ratings.cases.ids[compared.row[here]].tolist()
    return ids
