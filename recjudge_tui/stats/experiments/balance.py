"""Whether the labelled cases are a random sample: a permutation test of one rater's scores on them and on the others."""

from __future__ import annotations

import numpy as np

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray

DRAWN = 1999
_AT_ONCE = 2_000_000
_ROUNDING = 1e-9


def balance_p(scores: FloatArray, users: IntArray, labelled: BoolArray) -> float:
    """Two-sided p of equal means of `scores` (n,) on `labelled` cases and on the others; `users` (n,) are numbers.

    If the labelled cases were drawn at random, any user could have had the labelled share of any other, and any of a
    user's cases could have been the labelled ones. So the shares are assigned anew to users, and the cases within
    users, DRAWN times; p is the share of assignments, with the observed one, in which the means are at least as far apart
    (Pitman 1937; Phipson and Smyth 2010 on counting the observed one). It is exact, whatever the scores, where users
    are labelled as a whole or have equally many cases, and close to it otherwise. Users are taken in the order of
    their cases, so neither the order of rows nor names matter. Raises ValueError if all cases are labelled or none.
    """
    if labelled.all() or not labelled.any():
        raise ValueError("some cases must be labelled and some not")
    scores, users, labelled = _in_their_order(scores, users, labelled)
    sizes = np.bincount(users)
    share = np.bincount(users, weights=labelled) / sizes
    within = bool(((share > 0) & (share < 1)).any())
    rng = np.random.default_rng(0)
    seen = abs(float(_gaps(scores, labelled[None, :])[0]))
    least = seen - _ROUNDING * float(np.abs(scores).max(initial=0))
    beyond, left = 0, DRAWN
    while left:
        rows = min(left, max(1, _AT_ONCE // scores.size))
        count = np.rint(rng.permuted(np.tile(share, (rows, 1)), axis=1) * sizes).astype(np.int64)
        of_cases = count[:, users]
        drawn = _ranks_within(rng, rows, users, sizes) < of_cases if within else of_cases > 0
        beyond += int((np.abs(_gaps(scores, drawn)) >= least).sum())
        left -= rows
    return (1 + beyond) / (1 + DRAWN)


def _in_their_order(
    scores: FloatArray, users: IntArray, labelled: BoolArray
) -> tuple[FloatArray, IntArray, BoolArray]:
    """The rows by user, numbered anew; users by their cases, and cases by score and label, so that names decide nothing."""
    of_user: dict[int, list[tuple[float, bool]]] = {}
    for user, score, label in zip(users.tolist(), scores.tolist(), labelled.tolist(), strict=True):
        of_user.setdefault(user, []).append((score, label))
    ordered = sorted(sorted(cases) for cases in of_user.values())
    rows = [(user, score, label) for user, cases in enumerate(ordered) for score, label in cases]
    who, values, labels = zip(*rows, strict=True)
    return np.array(values), np.array(who), np.array(labels, dtype=np.bool_)


def _ranks_within(rng: np.random.Generator, rows: int, users: IntArray, sizes: IntArray) -> IntArray:
    """(rows, n): a random rank from 0 of each case among those of its user; `users` ascend."""
    order = np.argsort(rng.random((rows, users.size)) + users, axis=1)
    ranks = np.arange(users.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    out = np.empty_like(order)
    np.put_along_axis(out, order, np.tile(ranks, (rows, 1)), axis=1)
    return out


def _gaps(scores: FloatArray, labelled: BoolArray) -> FloatArray:
    """(rows,): the mean of the labelled cases minus that of the others; infinite if either has none."""
    count, total = labelled.sum(axis=1), labelled @ scores
    others = scores.size - count
    with np.errstate(divide="ignore", invalid="ignore"):
        gap: FloatArray = total / count - (float(scores.sum()) - total) / others
    return np.where((count == 0) | (others == 0), np.inf, gap)
