"""The metrics of `list_metrics.LIST_METRICS` for many lists at once: the same figures, computed on arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.retrieval import offline_rows as rows
from recjudge_tui.stats.retrieval.held_out import TruthKey, truth_key
from recjudge_tui.stats.retrieval.list_arrays import (
    HeldOutArrays,
    ListArrays,
    coded,
    held_at,
    held_out_arrays,
    ideal_rows,
    list_arrays,
    picked,
    top,
)
from recjudge_tui.stats.retrieval.list_metrics import LIST_METRICS, EvaluationData, RankedList
from recjudge_tui.stats.retrieval.offline import MOST_EXPONENT


class EvaluationArrays(NamedTuple):
    """Evaluation data as arrays, with the `data` itself. `items` and `truths` code the items and truths; later
    arrays have one entry each."""

    data: EvaluationData
    items: Mapping[str, int]
    truths: Mapping[TruthKey, int]
    held: HeldOutArrays
    wanted: IntArray
    """How many items are relevant."""
    valued: BoolArray
    highest: FloatArray
    set_names: Sequence[frozenset[str]]
    """The different sets of categories; the first is empty."""
    sets: IntArray
    counts: FloatArray
    events: int


def evaluation_arrays(data: EvaluationData) -> EvaluationArrays:
    """The arrays of evaluation data, to be made once for all lists."""
    truths = list(data.truths.values())
    held = [item for truth in truths for item in truth.gains]
    items = {item: code for code, item in enumerate(dict.fromkeys([*data.categories, *data.counts, *held]))}
    held_array = held_out_arrays(
        np.repeat(np.arange(len(truths)), [len(truth.gains) for truth in truths]),
        [items[item] for item in held],
        [gain for truth in truths for gain in truth.gains.values()],
        [item in truth.relevant for truth in truths for item in truth.gains],
        len(truths),
    )
    names: dict[frozenset[str], int] = {frozenset(): 0}
    sets = np.zeros(len(items), dtype=np.int64)
    for item, categories in data.categories.items():
        sets[items[item]] = names.setdefault(categories, len(names))
    return EvaluationArrays(
        data=data,
        items=items,
        truths={key: code for code, key in enumerate(data.truths)},
        held=held_array,
        wanted=np.array([len(truth.relevant) for truth in truths], dtype=np.int64),
        valued=np.array([truth.valued for truth in truths], dtype=np.bool_),
        highest=np.array([max(truth.gains.values(), default=0.0) for truth in truths], dtype=np.float64),
        set_names=tuple(names),
        sets=sets,
        counts=np.array([data.counts.get(item, 0) for item in items], dtype=np.float64),
        events=data.events,
    )


def list_values(
    lists: Sequence[RankedList], data: EvaluationArrays, k: int, names: Collection[str]
) -> dict[str, FloatArray]:
    """Metric -> its value for each list (lists,), NaN where undefined.

    Raises KeyError for an unknown name, ValueError for a k below 1.
    """
    if k < 1:
        raise ValueError("k is at least 1")
    inputs = _MetricInputs(_arrays_of(lists, data), data, k)
    values = {name: _VALUES[name](inputs) for name in names if name in _VALUES}
    for name in set(names).difference(values):
        of = LIST_METRICS[name].of
        # None becomes NaN
        values[name] = np.array([of(ranked, data.data, k) for ranked in lists], dtype=np.float64)
    return {name: values[name] for name in names}


def _arrays_of(lists: Sequence[RankedList], data: EvaluationArrays) -> ListArrays:
    return list_arrays(
        [_truth_code(ranked, data.truths) for ranked in lists],
        [len(ranked.items) for ranked in lists],
        coded((ranked.items for ranked in lists), data.items),
        np.array([score for ranked in lists for score in ranked.scores], dtype=np.float64),
    )


def _truth_code(ranked: RankedList, truths: Mapping[TruthKey, int]) -> int:
    key = truth_key(truths, ranked.user_id, ranked.context, ranked.served_at)
    return -1 if key is None else truths[key]


class _MetricInputs:
    """Lists with the evaluation data; values that several metrics need are computed once, on first use."""

    def __init__(self, lists: ListArrays, data: EvaluationArrays, k: int) -> None:
        self.lists, self.data, self.k = lists, data, k
        self.count = lists.truths.size
        longest = max(np.diff(lists.start).max(initial=1), np.diff(data.held.start).max(initial=1))
        self.width = min(k, int(longest))

    @cached_property
    def held(self) -> tuple[IntArray, BoolArray]:
        return held_at(self.lists, self.data.held)

    @cached_property
    def relevant(self) -> BoolArray:
        at, is_held = self.held
        return is_held & picked(self.data.held.relevant, at, False)

    @cached_property
    def hits(self) -> BoolArray:
        return top(self.lists, self.relevant, self.width, False)

    @cached_property
    def wanted(self) -> IntArray:
        return picked(self.data.wanted, self.lists.truths, 0)

    @cached_property
    def gains(self) -> FloatArray:
        at, is_held = self.held
        return top(self.lists, np.where(is_held, picked(self.data.held.gains, at, 0.0), 0.0), self.width, 0.0)

    @cached_property
    def ideal(self) -> FloatArray:
        return ideal_rows(self.lists, self.data.held, self.width)

    @cached_property
    def sets(self) -> IntArray:
        return picked(self.data.sets, self.lists.items, 0)

    @cached_property
    def within(self) -> BoolArray:
        kept: BoolArray = self.lists.places < self.k
        return kept


def _auc(inputs: _MetricInputs) -> FloatArray:
    lists = inputs.lists
    lacking = np.bincount(lists.codes[np.isnan(lists.scores) & lists.first], minlength=inputs.count) > 0
    kept = lists.first & ~lacking[lists.codes]
    return rows.auc(lists.scores[kept], inputs.relevant[kept], lists.codes[kept], inputs.count)


def _ndcg(inputs: _MetricInputs) -> FloatArray:
    gain = inputs.data.data.gain
    if gain == "exp":
        return _ndcg_exp(inputs)
    if gain == "linear":
        return rows.ndcg(inputs.gains, inputs.ideal)
    return rows.ndcg_binary(inputs.hits, inputs.wanted)


def _ndcg_explicit(inputs: _MetricInputs) -> FloatArray:
    usable = picked(inputs.data.valued, inputs.lists.truths, False)
    return np.where(usable, rows.ndcg(inputs.gains, inputs.ideal), np.nan)


def _ndcg_exp(inputs: _MetricInputs) -> FloatArray:
    usable = picked(inputs.data.highest, inputs.lists.truths, 0.0) <= MOST_EXPONENT
    gains, ideal = (np.where(usable[:, None], rates, 0.0) for rates in (inputs.gains, inputs.ideal))
    return np.where(usable, rows.ndcg(2.0**gains - 1, 2.0**ideal - 1), np.nan)


def _err(inputs: _MetricInputs) -> FloatArray:
    known = picked(inputs.data.highest, inputs.lists.truths, 0.0) > 0
    return rows.err(inputs.gains, inputs.data.data.highest, known)


def _urd(inputs: _MetricInputs) -> FloatArray:
    lists, kept = inputs.lists, inputs.within
    return rows.urd(inputs.sets[kept], lists.codes[kept], inputs.count, inputs.data.set_names)


def _novelty(inputs: _MetricInputs) -> FloatArray:
    lists, kept = inputs.lists, inputs.within
    counts = picked(inputs.data.counts, lists.items[kept], 0.0)
    known = counts > 0
    bits = np.log2(inputs.data.events / counts[known])
    return rows.mean_of(bits, lists.codes[kept][known], inputs.count)


def _popularity(inputs: _MetricInputs) -> FloatArray:
    lists, kept = inputs.lists, inputs.within & (inputs.data.events > 0)
    return rows.mean_of(picked(inputs.data.counts, lists.items[kept], 0.0), lists.codes[kept], inputs.count)


_VALUES: Mapping[str, Callable[[_MetricInputs], FloatArray]] = {
    "auc": _auc,
    "ndcg": _ndcg,
    "ndcg_exp": _ndcg_exp,
    "ndcg_explicit": _ndcg_explicit,
    "precision": lambda inputs: rows.precision(inputs.hits, inputs.wanted, inputs.k),
    "recall": lambda inputs: rows.recall(inputs.hits, inputs.wanted),
    "map": lambda inputs: rows.average_precision(inputs.hits, inputs.wanted),
    "map_min": lambda inputs: rows.average_precision_min(inputs.hits, inputs.wanted, inputs.k),
    "mrr": lambda inputs: rows.reciprocal_rank(inputs.hits, inputs.wanted),
    "hit_rate": lambda inputs: rows.hit_rate(inputs.hits, inputs.wanted),
    "err": _err,
    "rprec": lambda inputs: rows.r_precision(
        inputs.relevant, inputs.lists.places, inputs.lists.codes, inputs.wanted
    ),
    "urd": _urd,
    "ild": lambda inputs: rows.ild(top(inputs.lists, inputs.sets, inputs.width, -1), inputs.data.set_names),
    "novelty": _novelty,
    "popularity": _popularity,
}
