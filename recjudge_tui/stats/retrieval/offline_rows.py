"""The metrics of `offline` for many lists at once, with the same names, definitions and sources.

Rows of a matrix are lists, columns are ranks from 1 to k, or up to the longest list or ideal list; NaN
stands for None. Flat arrays have one entry for each item of each list; `codes` (0..lists-1) are the lists.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement import ranks_within
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, ratio

_CHUNK = 2_000_000


def ndcg(gains: npt.ArrayLike, ideal: npt.ArrayLike) -> FloatArray:
    """`gains` (lists, k): gain of the item at each rank, 0 beyond the end of a list. `ideal` (lists, k): the user's
    k highest gains, descending, 0 where there are fewer.
    """
    rows, best = np.asarray(gains, dtype=np.float64), np.asarray(ideal, dtype=np.float64)
    discount = 1 / np.log2(np.arange(2, rows.shape[1] + 2))
    return ratio(rows @ discount, best @ discount)


def ndcg_binary(hits: BoolArray, wanted: IntArray) -> FloatArray:
    """`ndcg` with a gain of 1 for each of the user's `wanted` (lists,) items, with `hits` (lists, k) true at their ranks."""
    discount = 1 / np.log2(np.arange(2, hits.shape[1] + 2))
    best = np.concatenate([[0.0], np.cumsum(discount)])
    return ratio(hits @ discount, best[np.minimum(wanted, hits.shape[1])])


def precision(hits: BoolArray, wanted: IntArray, k: int) -> FloatArray:
    """Precision from `hits` (lists, at most k); NaN if the user has no relevant item (`wanted` 0)."""
    return _where_wanted(np.count_nonzero(hits, axis=1) / k, wanted)


def recall(hits: BoolArray, wanted: IntArray) -> FloatArray:
    return ratio(hits.sum(axis=1).astype(np.float64), wanted.astype(np.float64))


def average_precision(hits: BoolArray, wanted: IntArray) -> FloatArray:
    precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    return ratio((precision * hits).sum(axis=1), wanted.astype(np.float64))


def average_precision_min(hits: BoolArray, wanted: IntArray, k: int) -> FloatArray:
    return average_precision(hits, wanted) * ratio(
        wanted.astype(np.float64), np.minimum(wanted, k).astype(np.float64)
    )


def reciprocal_rank(hits: BoolArray, wanted: IntArray) -> FloatArray:
    first = np.where(hits.any(axis=1), 1 / (np.argmax(hits, axis=1) + 1), 0.0)
    return _where_wanted(first, wanted)


def err(gains: FloatArray, highest: float, known: BoolArray) -> FloatArray:
    """Expected reciprocal rank from `gains` (lists, k); NaN for lists without a gain above 0 (`known` false)."""
    satisfied = 2.0 ** (gains - highest) - 2.0**-highest
    going_on = np.cumprod(1 - satisfied, axis=1)
    going_on = np.concatenate([np.ones((gains.shape[0], 1)), going_on[:, :-1]], axis=1)
    return np.where(known, (going_on * satisfied) @ (1 / np.arange(1, gains.shape[1] + 1)), np.nan)


def r_precision(relevant: BoolArray, places: IntArray, codes: IntArray, wanted: IntArray) -> FloatArray:
    """From flat `relevant`, with the place (from 0) and the list of each item."""
    hits = np.bincount(codes[relevant & (places < wanted[codes])], minlength=wanted.size)
    return ratio(hits.astype(np.float64), wanted.astype(np.float64))


def hit_rate(hits: BoolArray, wanted: IntArray) -> FloatArray:
    return _where_wanted(hits.any(axis=1).astype(np.float64), wanted)


def auc(scores: FloatArray, relevant: npt.ArrayLike, codes: IntArray, lists: int) -> FloatArray:
    """Flat `scores` and `relevant` of all candidates; NaN for a list without both classes."""
    wanted = np.asarray(relevant, dtype=np.float64)
    good = np.bincount(codes, weights=wanted, minlength=lists)
    bad = np.bincount(codes, minlength=lists) - good
    rank_sum = np.bincount(codes, weights=ranks_within(scores, codes) * wanted, minlength=lists)
    return ratio(rank_sum - good * (good + 1) / 2, good * bad)


def urd(sets: IntArray, codes: IntArray, lists: int, names: Sequence[frozenset[str]]) -> FloatArray:
    """Flat `sets`: the index in `names` of each item's set of categories; items without any are left out."""
    size = np.array([len(name) for name in names], dtype=np.int64)
    category: dict[str, int] = {}
    flat = np.array([category.setdefault(n, len(category)) for name in names for n in name], dtype=np.int64)
    kept = size[sets] > 0
    codes, sets = codes[kept], sets[kept]
    repeats = size[sets]
    # the categories of all items in order, read from `flat` at the start of each item's set
    within = np.arange(int(repeats.sum())) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    at = np.repeat((np.cumsum(size) - size)[sets], repeats) + within
    keys, inverse = np.unique(
        np.repeat(codes, repeats) * max(1, len(category)) + flat[at], return_inverse=True
    )
    known = np.bincount(codes, minlength=lists).astype(np.float64)
    weight = np.bincount(inverse, weights=np.repeat(1 / repeats, repeats), minlength=keys.size)
    owner = keys // max(1, len(category))
    share = weight / known[owner]
    entropy = np.bincount(owner, weights=-share * np.log2(share), minlength=lists)
    return np.where(known > 0, np.maximum(entropy, 0.0), np.nan)


def ild(sets: IntArray, names: Sequence[frozenset[str]]) -> FloatArray:
    """`sets` (lists, k): the index in `names` of the item's set of categories at each rank, -1 for no item."""
    empty = np.array([not name for name in names] + [True])
    rows = np.where(empty[sets], -1, sets)
    left, right = np.triu_indices(rows.shape[1], 1)
    out = np.full(rows.shape[0], np.nan)
    gaps: dict[int, float] = {}
    step = max(1, _CHUNK // max(1, left.size))
    for start in range(0, rows.shape[0], step):
        part = rows[start : start + step]
        first, second = part[:, left], part[:, right]
        paired = (first >= 0) & (second >= 0)
        keys, inverse = np.unique((first * len(names) + second)[paired], return_inverse=True)
        for key in keys.tolist():
            if key not in gaps:
                gaps[key] = _jaccard_gap(*(names[code] for code in divmod(key, len(names))))
        gap = np.array([gaps[key] for key in keys.tolist()])
        owner = np.nonzero(paired)[0]
        total = np.bincount(owner, weights=gap[inverse], minlength=part.shape[0]).astype(np.float64)
        out[start : start + step] = ratio(total, paired.sum(axis=1).astype(np.float64))
    return out


def _jaccard_gap(first: frozenset[str], second: frozenset[str]) -> float:
    return 1 - len(first & second) / len(first | second)


def mean_of(values: FloatArray, codes: IntArray, lists: int) -> FloatArray:
    """Mean of each list's flat `values`; NaN for a list that has none."""
    total = np.bincount(codes, weights=values, minlength=lists).astype(np.float64)
    return ratio(total, np.bincount(codes, minlength=lists).astype(np.float64))


def _where_wanted(values: npt.ArrayLike, wanted: IntArray) -> FloatArray:
    return np.where(wanted > 0, values, np.nan)
