"""Pairs of raters who answered with labels, and the labels that each gave on the cases that both judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recjudge_tui.domain.protocols import compares_lists
from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.reports.agreement.agreement import compare_pair, nothing, where_of
from recjudge_tui.reports.common.missing_notes import MissingVerdicts, missing_notes, untimed_notes
from recjudge_tui.reports.common.orientation import Orientation, labels_seen, orientation_notes
from recjudge_tui.reports.common.pairing import (
    AgreementOptions,
    Pair,
    by_labels,
    check_aspect,
    check_fill,
    check_options,
    compared_questions,
    label_sets,
    pairs_of,
    questions_in,
)
from recjudge_tui.reports.common.scales import combined_notes, label_names, protocol_questions
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import load_questions, project_questions, project_raters

_TWICE = ("counts: each of the n pairs is in the table twice, from the side of either system",)


@dataclass(frozen=True)
class LabelledPair:
    """The values `a` and `b` (rows,) that two raters gave; `users` (rows,) are the users of the cases.

    Pairs of several systems without a common one are two rows, from the side of either system; `n` counts them once.
    `values`: the label set and any other value given, rising; `names`: what the values are called.
    """

    pair: Pair
    a: FloatArray
    b: FloatArray
    users: IntArray
    values: FloatArray
    names: Mapping[float, str]
    n: int

    def name(self, value: float) -> str:
        return self.names.get(value, f"{value:.3g}")


@dataclass(frozen=True)
class LabelledPairs:
    pairs: tuple[LabelledPair, ...]
    notes: tuple[str, ...]


def labelled_pairs(db: Database, project_id: int, options: AgreementOptions) -> LabelledPairs:
    """The pairs of raters with at most 20 distinct values, and notes on these and the other pairs.

    Values that are not labels (an ensemble's mean) stay as they are; metrics on a scale of their own are left out.
    Raises as `agreement_table`.
    """
    check_options(db, project_id, options)
    questions, raters = project_questions(db, project_id), project_raters(db, project_id)
    check_aspect(questions, raters, options)
    usual = compared_questions(db, project_id, questions, raters, options)
    pairs = pairs_of(usual.kept, raters, options)
    ratings = load_questions(db, project_id, questions_in(pairs), options.selection)
    labels = label_sets(db, project_id, ratings, pairs)
    check_fill(labels, options)
    labelled: list[LabelledPair] = []
    notes: list[str] = []
    lacks: list[MissingVerdicts] = []
    seen: dict[str, Orientation] = {}
    for pair in pairs:
        compared = compare_pair(ratings, pair, options)
        a, b = compared.a, compared.b
        users = ratings.cases.user[compared.row]
        if compared.seen.mirrored:
            a, b = np.concatenate([a, 0.0 - a]), np.concatenate([b, 0.0 - b])
            users = np.concatenate([users, users])
        given = np.array(labels_seen(labels[pair], compared.seen) or [], dtype=np.float64)
        values = np.unique(np.concatenate([given, a, b]))
        if not by_labels(pair, ratings) or values.size > MOST_LABELS:
            notes.append(f"{where_of(pair)}: a scale without labels has no confusion table")
            continue
        if compared.row.size == 0:
            notes.append(f"{where_of(pair)}: {_no_case(pair, options)}")
            lacks.append(MissingVerdicts(pair, compared.missing))
            continue
        names = label_names(db, project_id, pair.protocol, pair.aspect, values) or {}
        labelled.append(LabelledPair(pair, a, b, users, values, names, compared.row.size))
        lacks.append(MissingVerdicts(pair, compared.missing))
        seen[where_of(pair)] = compared.seen
    notes += combined_notes(raters[name] for pair in pairs for name in (pair.a.rater, pair.b.rater))
    notes += [*orientation_notes(seen), *_TWICE[: any(how.mirrored for how in seen.values())]]
    notes += missing_notes(lacks) + untimed_notes(ratings)
    notes += usual.notes(protocol_questions(questions, raters, options.protocol))
    if not pairs:
        notes.append(nothing(usual.kept, raters, options))
    return LabelledPairs(tuple(labelled), tuple(notes))


def _no_case(pair: Pair, options: AgreementOptions) -> str:
    if len(options.selection.systems) == 1 and compares_lists(pair.protocol):
        return f"{options.selection.systems[0]} alone makes no pair: name two systems"
    return "no case has a verdict from both"
