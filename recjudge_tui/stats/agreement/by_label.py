"""Precision, recall and F1 of one rater's labels against a reference: of each label, and their averages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement.coefficients import label_array
from recjudge_tui.stats.agreement.detection import overlap_estimates
from recjudge_tui.stats.agreement.registry import NO_ROWS
from recjudge_tui.stats.arrays import FloatArray, Ids, IntArray, complete, encode, ratio, rows_of
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.intervals import SHARE, sums_by_user
from recjudge_tui.stats.resampling.design_effect import row_squares
from recjudge_tui.stats.resampling.intervals import FEWEST_USERS, sums_interval

LABEL_STATISTICS = ("precision", "recall", "f1")
AVERAGES = ("macro", "weighted")
# a label of few users has the same weight as the others in a macro mean, and the jackknife underestimates its
# uncertainty: with 5 users of each label, 78 to 88 % of the intervals contained the true value if a label was rare
FEWEST_PER_LABEL = 10
FEW_PER_LABEL = f"no interval: fewer than {FEWEST_PER_LABEL} users have a label that one of the raters gave"
_NEVER = {
    "precision": "the rater never gave this label",
    "recall": "the reference never gave this label",
    "f1": "neither rater gave this label",
}


class LabelScores(NamedTuple):
    """LABEL_STATISTICS by label, and by the name of the average."""

    by_label: dict[float, dict[str, Estimate]]
    averages: dict[str, dict[str, Estimate]]


def label_scores(
    a: npt.ArrayLike,
    reference: npt.ArrayLike,
    users: Ids,
    labels: npt.ArrayLike,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> LabelScores:
    """How well the labels `a` (n,) match those of a reference (n,), with intervals over users. Rows with NaN are left
    out.

    Of label k: precision = rows where both gave k / rows where `a` did, recall = both / rows where the reference did,
    F1 = 2 both / (a's + reference's). `macro` is the plain mean over labels, `weighted` the mean weighted by the
    reference's rows of each label, so that weighted recall is the percent agreement. A label without a value is left
    out of both means and named in the note. These are the figures of scikit-learn with `zero_division=nan`, but
    weighted precision is undefined if `a` gave none of the reference's labels.
    Raises ValueError for a value outside the label set, or rows that are not paired.
    """
    left, right, kept = complete(a, reference)
    owner, known = rows_of(users, kept), label_array(labels)
    strange = np.setdiff1d(np.concatenate([left, right]), known)
    if strange.size:
        raise ValueError(f"{strange[0]:g} is not in the label set")
    draws = {"resamples": resamples, "seed": seed}
    by_label = {
        float(label): {
            stat: estimate if estimate.value is not None else undefined(_NEVER[stat], estimate.n)
            for stat, estimate in overlap_estimates(
                left == label, right == label, owner, **draws, level=level
            ).items()
        }
        for label in known
    }
    if left.size == 0:
        return LabelScores(
            by_label, {average: dict.fromkeys(LABEL_STATISTICS, undefined(NO_ROWS)) for average in AVERAGES}
        )
    rows = _coded(np.searchsorted(known, left), np.searchsorted(known, right), known.size, owner)
    averages = {
        average: {stat: _average(rows, stat, average, resamples, seed, level) for stat in LABEL_STATISTICS}
        for average in AVERAGES
    }
    return LabelScores(by_label, averages)


class _Rows(NamedTuple):
    """The rows (n,) by kind and by user, and what a row of each kind (pairs of labels, 3 labels) adds to the counts of both,
    a's and the reference's labels, which `per_user` (users, 3 labels) sums."""

    kind: IntArray
    user: IntArray
    adds: FloatArray
    per_user: FloatArray


def _coded(given: IntArray, true: IntArray, labels: int, owner: Ids) -> _Rows:
    user, count = encode(owner)
    kind = given * labels + true
    a, b = np.repeat(np.eye(labels), labels, axis=0), np.tile(np.eye(labels), (labels, 1))
    adds = np.concatenate([a * b, a, b], axis=1)
    return _Rows(kind, user, adds, sums_by_user(adds[kind].T, user, count))


def _average(rows: _Rows, stat: str, average: str, resamples: int, seed: int, level: float) -> Estimate:
    def mean(sums: FloatArray) -> FloatArray:
        """Counts (r, 3 labels) of both, a's and the reference's rows -> the mean over labels (r,)."""
        both, given, true = np.split(sums, 3, axis=1)
        values = ratio(both, _denominator(stat, given, true))
        weights = np.where(np.isnan(values), 0.0, true if average == "weighted" else 1.0)
        return ratio((np.nan_to_num(values) * weights).sum(axis=1), weights.sum(axis=1))

    per_user, n = rows.per_user, rows.kind.size
    whole = per_user.sum(axis=0)
    value = float(mean(whole[None, :])[0])
    if np.isnan(value):
        return undefined("the rater never gave a label of the reference", n)
    users = (_denominator(stat, *np.split(per_user, 3, axis=1)[1:]) > 0).sum(axis=0)
    given, true = np.split(whole, 3)[1:]
    left_out = (users == 0) & (true > 0) if average == "weighted" else users == 0
    note = f"over {users.size - int(left_out.sum())} of {users.size} labels" if left_out.any() else ""
    if average == "macro" and resamples and (users[given + true > 0] < FEWEST_PER_LABEL).any():
        return Estimate(value, None, None, n, note=join_notes(FEW_PER_LABEL, note))
    ends = sums_interval(
        per_user,
        mean,
        SHARE,
        row_counts=np.bincount(rows.user),
        squares=row_squares(value, mean(whole - rows.adds), rows.kind, rows.user, len(per_user)),
        resamples=resamples,
        seed=seed,
        level=level,
        fewest=FEWEST_USERS,
    )
    return Estimate(value, ends.low, ends.high, n, note=join_notes(ends.note, note))


def _denominator(stat: str, given: FloatArray, true: FloatArray) -> FloatArray:
    return {"precision": given, "recall": true, "f1": (given + true) / 2}[stat]
