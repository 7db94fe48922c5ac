"""Conformal prediction: sets of neighbouring labels that contain the reference label with a chosen probability."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray, Ids, IntArray, as_floats, encode, rows_of
from recjudge_tui.stats.defaults import FOLDS
from recjudge_tui.stats.resampling.folds import user_folds


class LabelSets(NamedTuple):
    """The first and the last label of each set (n,), as positions on the scale; the labels in between belong to the set."""

    first: IntArray
    last: IntArray

    @property
    def size(self) -> IntArray:
        """How many labels each set contains, at least one."""
        sizes: IntArray = self.last - self.first + 1
        return sizes

    def holds(self, place: IntArray) -> BoolArray:
        """Whether each set contains the label at `place` (n,)."""
        inside: BoolArray = (self.first <= place) & (place <= self.last)
        return inside


def label_mass(
    place: npt.ArrayLike, confidence: npt.ArrayLike, owner: Ids, cases: int, labels: int
) -> FloatArray:
    """The probability of each label by each case's answers: (cases, labels); a row sums to 1, or to 0 without answers.

    Only the probability of an answer's own label is known. The other labels share the rest evenly. An answer without
    a probability (NaN) gives its label a probability of 1. Answers of one case (both orders, repeats) are averaged, so
    repeats count as votes. `place` (a,) is the label's position 0..labels-1, `owner` (a,) the case 0..cases-1.
    """
    at, sure = np.asarray(place, dtype=np.int64), as_floats(confidence)
    of_case = np.asarray(owner, dtype=np.int64)
    sure = np.where(np.isnan(sure), 1.0, sure)
    rest = (1 - sure) / max(1, labels - 1)
    total = np.bincount(of_case, minlength=cases).astype(np.float64)
    mass = np.zeros((cases, labels))
    np.add.at(mass, of_case, rest[:, None])
    np.add.at(mass, (of_case, at), sure - rest)
    shares: FloatArray = np.divide(mass, total[:, None], out=np.zeros_like(mass), where=total[:, None] > 0)
    return shares


def ordinal_scores(position: npt.ArrayLike, mass: FloatArray) -> FloatArray:
    """The nonconformity score of each label: (n, labels), 0 for the label that the judge gave.

        s(y) = max(0, steps from the given label to y - mass at y and beyond, on y's side)

    `position` (n,) is the given label's position on the scale 0..labels-1. It is a fraction for a mean between labels;
    the distance to the nearest label is then subtracted from all steps. A step adds between 0 and 1, less if the judge
    gave more probability to that side: the neighbours of an unsure answer score lower, and a label further away never
    scores lower than a nearer one of any case. So {y: s(y) <= q} is a range of neighbouring labels around the given
    one. This score needs only a label and its confidence. The choice of score affects the size of the sets, never their
    coverage. It is not fitted to labels, so all labels can be used for `threshold`.
    """
    at = as_floats(position)
    labels = np.arange(mass.shape[1], dtype=np.float64)
    steps = np.abs(labels - at[:, None])
    steps -= steps.min(axis=1, keepdims=True)
    above = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]
    below = np.cumsum(mass, axis=1)
    beyond = np.where(labels > at[:, None], above, below)
    scores: FloatArray = np.maximum(0.0, steps - beyond)
    return np.where(steps == 0, 0.0, scores)


def threshold(scores: npt.ArrayLike, users: Ids, coverage: float) -> float:
    """The score q up to which labels belong to a set, from the scores (n,) of the reference labels.

    The smallest q such that the cases with a score of at most q have a total weight of at least `coverage`. Each of
    the g users has weight 1/(g + 1), divided evenly among the user's cases; the remaining 1/(g + 1) belongs to a new
    user with an infinite score. The set of a new user's case then contains its reference label with at least
    probability `coverage`, if users are exchangeable, however dependent the cases of one user are. A user with many
    cases counts no more than another. With one case per user this is split conformal prediction (Papadopoulos et al.
    2002; Vovk, Gammerman and Shafer 2005).
    Source: Lee, Barber and Willett, Distribution-free inference with hierarchical data (2023).

    With fewer than coverage / (1 - coverage) users, q is infinite and a set holds every label. Raises ValueError
    unless 0 < coverage < 1.
    """
    if not 0 < coverage < 1:
        raise ValueError(f"a coverage lies between 0 and 1, not at {coverage}")
    array = as_floats(scores)
    codes, count = encode(rows_of(users, np.ones(array.size, dtype=np.bool_)))
    if count == 0:
        return math.inf
    share = 1 / np.bincount(codes)[codes] / (count + 1)
    order = np.argsort(array, kind="stable")
    reached = np.cumsum(share[order])
    # rounding makes sums of fractions such as 9/10 slightly too small
    at = int(np.searchsorted(reached, coverage - 1e-9))
    return float(array[order[at]]) if at < array.size else math.inf


def fewest_users(coverage: float) -> int:
    """The number of labelled users needed for a finite threshold: the least g with g / (g + 1) >= coverage."""
    return math.ceil(coverage / (1 - coverage) - 1e-9)


def label_sets(scores: FloatArray, limit: npt.ArrayLike) -> LabelSets:
    """The labels of each case with a score of at most `limit` (a number, or one per case); scores from `ordinal_scores`."""
    held = scores <= np.reshape(np.asarray(limit, dtype=np.float64), (-1, 1))
    last = scores.shape[1] - 1 - np.argmax(held[:, ::-1], axis=1)
    return LabelSets(np.argmax(held, axis=1).astype(np.int64), last.astype(np.int64))


def thresholds(
    scores: npt.ArrayLike, users: Ids, coverage: float, *, folds: int = FOLDS, seed: int = 0
) -> FloatArray:
    """The threshold for each case (n,); `scores` (n,) of the reference labels, NaN for unlabelled cases.

    Users are split into parts. Labelled cases get the threshold computed from users in the other parts, so that their
    coverage is an honest estimate; cases of users without labels get the threshold of all. An unlabelled case of a
    user with labels gets that user's threshold.
    """
    array = as_floats(scores)
    ids = encode(users)[0]
    known = ~np.isnan(array)
    out = np.full(array.size, threshold(array[known], ids[known], coverage))
    labelled = np.isin(ids, ids[known])
    part = np.full(array.size, -1, dtype=np.int64)
    if known.any():
        part[labelled] = user_folds(ids[labelled], folds, seed)
    for at in range(int(part.max(initial=-1)) + 1):
        others = known & (part != at)
        out[part == at] = threshold(array[others], ids[others], coverage)
    return out
