"""Offline metrics of ranked lists against held-out items, for many lists at once.

A repeated item counts at its first occurrence; repeats occupy ranks but gain nothing. `k` cuts a list. A shorter list is not
padded: its missing items count as misses. NaN means undefined: no held-out item, no category, one class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.agreement import ranks_within
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, ratio
from recjudge_tui.stats.intervals import SHARE, Bounds
from recjudge_tui.stats.text import plain_words

# user, context, time; None: one that no held-out event of the user names
TruthKey = tuple[str, str | None, str | None]
# above this 2^gain has no float
MOST_EXPONENT = 1000.0
NEAR = 0.6
_SHIFT = 32
_Scalar = TypeVar("_Scalar", bound=np.generic)
Gain = Literal["relevant", "linear", "exp"]


# ---- what is held out -------------------------------------------------------------------------------------------------


class HeldOut(NamedTuple):
    """One held-out event on an item. `mean`: the user's over all valued events; None where every value above 0 is relevant.
    `context`, `served_at`: the occasion that it is about; empty: any."""

    item_id: str
    value: float | None
    mean: float | None
    context: str = ""
    served_at: str = ""


class GroundTruth(NamedTuple):
    """The ground truth of one list: the relevant items, and the value of every held-out item (1 if it has none)."""

    relevant: frozenset[str]
    gains: Mapping[str, float]
    valued: bool


def ground_truth(events: Iterable[HeldOut], relevant_from: float | None = None) -> GroundTruth:
    """Relevance and gains from held-out events of one user, oldest first. An item is relevant if it has an event
    without a value, or with a value above 0 that is at least `relevant_from`, or without it the user's mean (in files
    of judgements 0 means "not relevant"). Of several values of one item the last is its gain."""
    gains: dict[str, float] = {}
    relevant: set[str] = set()
    valued = False
    for event in events:
        item, value = event.item_id, event.value
        if value is None:
            gains.setdefault(item, 1.0)
            relevant.add(item)
            continue
        valued = True
        gains[item] = value
        least = event.mean if relevant_from is None else relevant_from
        # rounding may put the mean of equal values slightly above them
        if value > 0 and (least is None or value >= least or math.isclose(value, least)):
            relevant.add(item)
    return GroundTruth(frozenset(relevant), gains, valued)


def truths_of(
    held_out: Mapping[str, Iterable[HeldOut]], relevant_from: float | None = None
) -> dict[TruthKey, GroundTruth]:
    """The truths of all lists; `truth_key` finds a list's. `held_out`: user -> events, oldest first.

    - A list with a context has the events that name it; where none does, those that name no context.
    - A list without a context has all events of its user.
    - Of these, an event that names a time counts for lists of that time, and for lists without one.
    """
    return {
        (user, context, time): ground_truth(chosen, relevant_from)
        for user, events in held_out.items()
        for context, here in _by_context(list(events))
        for time, chosen in _by_time(here)
    }


def truth_key(known: Container[TruthKey], user: str, context: str, served_at: str) -> TruthKey | None:
    """The key of a list's truth among the `known` ones; None if nothing is held out for its user."""
    for where in (context, None, ""):
        for time in (served_at, None, ""):
            if (user, where, time) in known:
                return user, where, time
    return None


def _by_context(events: Sequence[HeldOut]) -> Iterator[tuple[str | None, Sequence[HeldOut]]]:
    yield "", events
    named: dict[str, list[HeldOut]] = {}
    for event in events:
        named.setdefault(event.context, []).append(event)
    unnamed = named.pop("", [])
    if named:
        yield None, unnamed
        yield from named.items()


def _by_time(events: Sequence[HeldOut]) -> Iterator[tuple[str | None, Sequence[HeldOut]]]:
    yield "", events
    times = {event.served_at for event in events} - {""}
    if times:
        yield None, [event for event in events if not event.served_at]
    for time in times:
        yield time, [event for event in events if event.served_at in ("", time)]


# ---- lists and data ---------------------------------------------------------------------------------------------------


class RankedList(NamedTuple):
    """One user's list of one system on one occasion, best first; a score is None if the file had none."""

    user_id: str
    items: list[str]
    scores: list[float | None]
    context: str = ""
    served_at: str = ""


@dataclass(frozen=True)
class EvaluationData:
    """The data that metrics use besides the list itself. `truths` as `truths_of` makes them, `categories` by item
    (every item of the catalogue), `counts` of training events by item, `titles` of items. `gain` is that of ndcg."""

    truths: Mapping[TruthKey, GroundTruth]
    categories: Mapping[str, frozenset[str]]
    counts: Mapping[str, int]
    titles: Mapping[str, str] = field(default_factory=dict)
    gain: Gain = "relevant"

    @cached_property
    def events(self) -> int:
        """Number of training events on items."""
        return sum(self.counts.values())

    @cached_property
    def words(self) -> Mapping[str, frozenset[str]]:
        """The words of each item's title; those of unspaced scripts are single characters."""
        return {item: frozenset(plain_words(title, "characters")) for item, title in self.titles.items()}

    @cached_property
    def category_count(self) -> int:
        """Number of different categories of the catalogue."""
        return len(frozenset().union(*self.categories.values()))

    @cached_property
    def arrays(self) -> EvaluationArrays:
        """The data as arrays, made once for all lists."""
        return EvaluationArrays(self)


def categories_of(text: str) -> frozenset[str]:
    """The categories in an item's text, separated by `|`."""
    return frozenset(part.strip() for part in text.split("|") if part.strip())


class EvaluationArrays:
    """Items, truths and sets of categories as codes. Of truths 0..: `keys` (truth, item) ascending with their `gains` (a
    judgement below 0 counts as 0) and `relevant`; `ideal` gains in the order of truth, then gain; `start` of their rows."""

    def __init__(self, data: EvaluationData) -> None:
        truths = list(data.truths.values())
        held = [item for truth in truths for item in truth.gains]
        known = dict.fromkeys([*data.categories, *data.counts, *held])
        self.items = {item: code for code, item in enumerate(known)}
        self.truths = {key: code for code, key in enumerate(data.truths)}
        sizes = [len(truth.gains) for truth in truths]
        owner = np.repeat(np.arange(len(truths)), sizes)
        gains = np.array([gain for truth in truths for gain in truth.gains.values()], dtype=np.float64)
        gains = np.maximum(gains, 0.0)
        relevant = [item in truth.relevant for truth in truths for item in truth.gains]
        keys = _key_of(owner, np.array([self.items[item] for item in held], dtype=np.int64))
        order = np.argsort(keys)
        self.keys, self.gains = keys[order], gains[order]
        self.relevant = np.array(relevant, dtype=np.bool_)[order]
        self.ideal = gains[np.lexsort((-gains, owner))]
        self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.wanted = np.array([len(truth.relevant) for truth in truths], dtype=np.int64)
        self.valued = np.array([truth.valued for truth in truths], dtype=np.bool_)
        self.highest = np.zeros(len(truths))
        np.maximum.at(self.highest, owner, gains)
        names: dict[frozenset[str], int] = {frozenset(): 0}
        self.sets = np.zeros(len(self.items), dtype=np.int64)
        for item, categories in data.categories.items():
            self.sets[self.items[item]] = names.setdefault(categories, len(names))
        # the different sets of categories; the first is empty
        self.set_names = tuple(names)
        self.counts = np.array([data.counts.get(item, 0) for item in self.items], dtype=np.float64)


def _key_of(truths: IntArray, items: IntArray) -> IntArray:
    """One integer for a truth and an item, both below 2^31."""
    return truths << _SHIFT | items


class ListMetric(NamedTuple):
    """A metric of a user's list: why it may be undefined, its lowest and highest value (None without a highest one), and
    its values for all lists (lists,)."""

    reason: str
    bounds: Bounds | None
    values: Callable[[_Lists], FloatArray]


def list_values(
    lists: Sequence[RankedList], data: EvaluationData, k: int, names: Collection[str]
) -> dict[str, FloatArray]:
    """Metric -> its value for each list (lists,), NaN where undefined. Raises KeyError for an unknown name,
    ValueError for a k below 1."""
    if k < 1:
        raise ValueError("k is at least 1")
    coded = _Lists(lists, data, k)
    return {name: LIST_METRICS[name].values(coded) for name in names}


class _Lists:
    """The items of all lists, list after list, as codes; values that several metrics need are computed once."""

    def __init__(self, lists: Sequence[RankedList], data: EvaluationData, k: int) -> None:
        arrays = data.arrays
        self.ranked, self.data, self.arrays, self.k, self.count = lists, data, arrays, k, len(lists)
        keys = [truth_key(arrays.truths, one.user_id, one.context, one.served_at) for one in lists]
        # -1: nothing is held out
        self.truths = np.array([-1 if key is None else arrays.truths[key] for key in keys], dtype=np.int64)
        size = np.array([len(ranked.items) for ranked in lists], dtype=np.int64)
        start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        new: dict[str, int] = {}
        index, known = arrays.items, len(arrays.items)
        shown = (item for ranked in lists for item in ranked.items)
        codes = [index[item] if item in index else new.setdefault(item, known + len(new)) for item in shown]
        self.items = np.array(codes, dtype=np.int64)
        self.scores = np.array([score for ranked in lists for score in ranked.scores], dtype=np.float64)
        self.codes = np.repeat(np.arange(size.size), size)
        self.places = np.arange(self.items.size) - start[self.codes]
        # whether this is the first occurrence of the item in its list
        self.first = np.zeros(self.items.size, dtype=np.bool_)
        self.first[np.unique(_key_of(self.codes, self.items), return_index=True)[1]] = True
        longest = max(size.max(initial=1), np.diff(arrays.start).max(initial=1))
        self.width = min(k, int(longest))

    def top(self, values: npt.NDArray[_Scalar], fill: float) -> npt.NDArray[_Scalar]:
        """`values`, one for each item, as a matrix (lists, width); `fill` beyond a list's end."""
        rows = np.full((self.count, self.width), fill, dtype=values.dtype)
        within = self.places < self.width
        rows[self.codes[within], self.places[within]] = values[within]
        return rows

    def of_truth(self, values: npt.NDArray[_Scalar], missing: float) -> npt.NDArray[_Scalar]:
        return _picked(values, self.truths, missing)

    @cached_property
    def held(self) -> IntArray:
        """For each item its row among the held-out ones of its list, -1 without one or if repeated."""
        keys = _key_of(self.truths[self.codes], self.items)
        at = np.searchsorted(self.arrays.keys, keys)
        found = (_picked(self.arrays.keys, at, -1) == keys) & self.first & (self.truths[self.codes] >= 0)
        return np.where(found, at, -1)

    @cached_property
    def relevant(self) -> BoolArray:
        return _picked(self.arrays.relevant, self.held, False)

    @cached_property
    def hits(self) -> BoolArray:
        return self.top(self.relevant, False)

    @cached_property
    def wanted(self) -> FloatArray:
        """The number of relevant items, NaN where there is none."""
        wanted = self.of_truth(self.arrays.wanted, 0).astype(np.float64)
        return np.where(wanted > 0, wanted, np.nan)

    @cached_property
    def gains(self) -> FloatArray:
        return self.top(_picked(self.arrays.gains, self.held, 0.0), 0.0)

    @cached_property
    def ideal(self) -> FloatArray:
        """The highest gains of each list's truth, descending, 0 where there are fewer (lists, width)."""
        begin = self.of_truth(self.arrays.start[:-1], 0)
        size = self.of_truth(np.diff(self.arrays.start), 0)
        columns = np.arange(self.width)
        ideal = _picked(self.arrays.ideal, begin[:, None] + columns, 0.0)
        return np.where(columns < size[:, None], ideal, 0.0)

    @cached_property
    def highest(self) -> FloatArray:
        """The highest gain of each list's truth, NaN where none is above 0 or it is too large for 2^gain."""
        highest = self.of_truth(self.arrays.highest, 0.0)
        return np.where((highest > 0) & (highest <= MOST_EXPONENT), highest, np.nan)

    @cached_property
    def within(self) -> BoolArray:
        return self.places < self.k

    @cached_property
    def sets(self) -> IntArray:
        return _picked(self.arrays.sets, self.items, 0)

    def mean(self, values: FloatArray, kept: BoolArray) -> FloatArray:
        """Mean of the kept values of each list's items; NaN for a list that has none."""
        codes = self.codes[kept]
        total, count = (np.bincount(codes, weights, self.count) for weights in (values[kept], None))
        return ratio(total.astype(np.float64), count.astype(np.float64))

    def one_by_one(self, measure: Callable[[EvaluationData, list[str]], float | None]) -> FloatArray:
        # None becomes NaN
        found = [measure(self.data, ranked.items[: self.k]) for ranked in self.ranked]
        return np.array(found, dtype=np.float64)


def _picked(values: npt.NDArray[_Scalar], codes: IntArray, missing: float) -> npt.NDArray[_Scalar]:
    """`values[codes]`, and `missing` where a code is negative or beyond the values."""
    padded = np.append(values, np.asarray(missing, dtype=values.dtype))
    return padded[np.where((codes >= 0) & (codes < values.size), codes, values.size)]


# ---- metrics ----------------------------------------------------------------------------------------------------------


def _auc(lists: _Lists) -> FloatArray:
    """Share of (relevant, other) pairs of candidates in the right order, a tie counting half; over ALL scored candidates,
    not the first k, from mean ranks (Mann-Whitney)."""
    lacking = np.bincount(lists.codes[np.isnan(lists.scores) & lists.first], minlength=lists.count) > 0
    kept = lists.first & ~lacking[lists.codes]
    codes, wanted = lists.codes[kept], lists.relevant[kept].astype(np.float64)
    good = np.bincount(codes, weights=wanted, minlength=lists.count)
    bad = np.bincount(codes, minlength=lists.count) - good
    ranks = ranks_within(lists.scores[kept], codes)
    places = np.bincount(codes, weights=ranks * wanted, minlength=lists.count)
    return ratio(places - good * (good + 1) / 2, good * bad)


def _cumulated(lists: _Lists, gains: FloatArray | BoolArray, ideal: FloatArray | BoolArray) -> FloatArray:
    """DCG@k / ideal DCG@k, sum of gain / log2(rank + 1) over the first k (Järvelin and Kekäläinen 2002), from the gains in
    the order of the list and in the best order (lists, width)."""
    discount = 1 / np.log2(np.arange(2, lists.width + 2))
    return ratio(gains @ discount, ideal @ discount)


def _ndcg(lists: _Lists) -> FloatArray:
    """With a gain of 1 for each relevant item, or of the data's `gain`."""
    if lists.data.gain == "relevant":
        return _cumulated(lists, lists.hits, np.arange(lists.width) < lists.wanted[:, None])
    return _ndcg_exp(lists) if lists.data.gain == "exp" else _cumulated(lists, lists.gains, lists.ideal)


def _ndcg_explicit(lists: _Lists) -> FloatArray:
    """nDCG whose gain is the held-out value."""
    found = _cumulated(lists, lists.gains, lists.ideal)
    return np.where(lists.of_truth(lists.arrays.valued, False), found, np.nan)


def _ndcg_exp(lists: _Lists) -> FloatArray:
    """nDCG with gain 2^g - 1 (Burges et al. 2005)."""
    usable = ~np.isnan(lists.highest)[:, None]
    gains, ideal = (2.0 ** np.where(usable, rows, 0.0) - 1 for rows in (lists.gains, lists.ideal))
    return _cumulated(lists, gains, ideal)


def _err(lists: _Lists) -> FloatArray:
    """Expected reciprocal rank (Chapelle et al. 2009): sum over ranks r of 1/r times the probability that the reader stops
    there, with R = (2^g - 1) / 2^highest, the highest value of all that is held out."""
    highest = float(lists.arrays.highest.max(initial=0.0))
    if not 0 < highest <= MOST_EXPONENT:
        return np.full(lists.count, np.nan)
    stops = (2.0**lists.gains - 1) / 2.0**highest
    reaches = np.cumprod(np.concatenate([np.ones((lists.count, 1)), 1 - stops[:, :-1]], axis=1), axis=1)
    found = (reaches * stops / np.arange(1, lists.width + 1)).sum(axis=1)
    return np.where(np.isnan(lists.highest), np.nan, found)


def _precision(lists: _Lists) -> FloatArray:
    """Hits in the first k, divided by k (also for a shorter list, as trec_eval does)."""
    found: FloatArray = lists.hits.sum(axis=1) / lists.k + 0 * lists.wanted
    return found


def _rprec(lists: _Lists) -> FloatArray:
    """R-precision: hits in the first R, divided by R, the relevant items; k does not matter (trec_eval's Rprec)."""
    counted = lists.relevant & (lists.places < np.nan_to_num(lists.wanted)[lists.codes])
    return np.bincount(lists.codes[counted], minlength=lists.count) / lists.wanted


def _average_precision(lists: _Lists) -> FloatArray:
    """AP@k: precision at each hit's rank, summed, divided by all relevant items (trec_eval's map_cut). Its mean is MAP."""
    precision = np.cumsum(lists.hits, axis=1) / np.arange(1, lists.width + 1)
    found: FloatArray = (precision * lists.hits).sum(axis=1) / lists.wanted
    return found


def _reciprocal_rank(lists: _Lists) -> FloatArray:
    """1 / rank of the first hit within k, 0 if there is none. Its mean over users is MRR."""
    first = np.where(lists.hits.any(axis=1), 1 / (np.argmax(lists.hits, axis=1) + 1), 0.0)
    return first + 0 * lists.wanted


def _urd(lists: _Lists) -> FloatArray:
    """User recommendation diversity: Shannon entropy, in bits, of the categories in the first k. Each item spreads a weight
    of 1 over its categories; items without any are left out. RecSys Arena names URD without a formula; this definition is
    ours."""
    names = lists.arrays.set_names
    size = np.array([len(name) for name in names], dtype=np.int64)
    category: dict[str, int] = {}
    flat = np.array([category.setdefault(n, len(category)) for name in names for n in name], dtype=np.int64)
    kept = lists.within & (size[lists.sets] > 0)
    codes, sets = lists.codes[kept], lists.sets[kept]
    repeats = size[sets]
    # the categories of all items in order, read from `flat` at the start of each item's set
    inside = np.arange(int(repeats.sum())) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    at = np.repeat((np.cumsum(size) - size)[sets], repeats) + inside
    many = max(1, len(category))
    keys, inverse = np.unique(np.repeat(codes, repeats) * many + flat[at], return_inverse=True)
    known = np.bincount(codes, minlength=lists.count).astype(np.float64)
    weight = np.bincount(inverse, weights=np.repeat(1 / repeats, repeats), minlength=keys.size)
    owner = keys // many
    share = weight / known[owner]
    entropy = np.bincount(owner, weights=-share * np.log2(share), minlength=lists.count)
    # no -0
    return np.where(known > 0, np.maximum(entropy, 0.0) + 0.0, np.nan)


def _ild(lists: _Lists) -> FloatArray:
    """Intra-list diversity, 0..1: mean over pairs in the first k of 1 - |A and B| / |A or B| of categories. Items
    without a category are left out; undefined with fewer than two others (Ziegler et al. 2005)."""
    names = lists.arrays.set_names

    @cache
    def gap(one: int, other: int) -> float:
        return 1 - _jaccard(names[one], names[other])

    rows = lists.top(np.maximum(lists.sets, 0), 0).tolist()
    pairs = (combinations([code for code in row if code], 2) for row in rows)
    gaps = [[gap(one, other) for one, other in of_list] for of_list in pairs]
    return np.array([math.fsum(each) / len(each) if each else np.nan for each in gaps], dtype=np.float64)


def _novelty(lists: _Lists) -> FloatArray:
    """Mean self-information in bits, -log2(item's events / all events), of the first k. Items without training events would
    be infinitely novel and are left out (after Zhou et al. 2010)."""
    counts = _picked(lists.arrays.counts, lists.items, 0.0)
    known = counts > 0
    return lists.mean(np.log2(max(1, lists.data.events) / np.where(known, counts, 1.0)), known & lists.within)


def _popularity(lists: _Lists) -> FloatArray:
    """Mean number of training events of the first k items (0 for one never seen)."""
    if not lists.data.events:
        return np.full(lists.count, np.nan)
    return lists.mean(_picked(lists.arrays.counts, lists.items, 0.0), lists.within)


def _title_ild(data: EvaluationData, first: list[str]) -> float | None:
    """`ild` of the words of titles: lower-case runs of letters and digits. Items without words are left out."""
    known = [data.words[item] for item in first if data.words.get(item)]
    gaps = [1 - _jaccard(one, other) for one, other in combinations(known, 2)]
    return math.fsum(gaps) / len(gaps) if gaps else None


def _near_duplicates(data: EvaluationData, first: list[str]) -> float | None:
    """Share of the first k items that nearly repeat an item above them, 0..1: the same item, or titles that share at least
    NEAR of their words and categories that are not disjoint, if both have any."""
    words, categories = data.words, data.categories

    def alike(item: str, above: str) -> bool:
        title, title_above = words.get(item), words.get(above)
        if not title or not title_above or _jaccard(title, title_above) < NEAR:
            return False
        mine, theirs = categories.get(item), categories.get(above)
        return not mine or not theirs or bool(mine & theirs)

    repeats = [
        any(item == above or alike(item, above) for above in first[:place])
        for place, item in enumerate(first)
    ]
    return sum(repeats) / len(first) if first else None


def _category_coverage(data: EvaluationData, first: list[str]) -> float | None:
    """Share of the catalogue's categories that occur in the first k items."""
    met = {name for item in first for name in data.categories.get(item, ())}
    return len(met) / data.category_count if met and data.category_count else None


def _jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second)


def coverage(lists: Iterable[Sequence[str]], catalogue: Collection[str], k: int) -> float | None:
    """Share of the catalogue that appears in the first k of any user's list. None for an empty catalogue."""
    items = set(catalogue)
    shown = {item for ranked in lists for item in ranked[:k]}
    return len(shown & items) / len(items) if items else None


_NO_TRUTH = "no relevant held-out item"
_NO_GAIN = "nothing held out above 0, or a value too large"
_NO_CATEGORY = "no item with a category"

_POSITIVE = (0.0, math.inf)
LIST_METRICS: Mapping[str, ListMetric] = {
    "auc": ListMetric("candidates without scores, or no relevant or no other candidate", SHARE, _auc),
    "ndcg": ListMetric(_NO_TRUTH, SHARE, _ndcg),
    "ndcg_exp": ListMetric(_NO_GAIN, SHARE, _ndcg_exp),
    "ndcg_explicit": ListMetric("no held-out value above 0", SHARE, _ndcg_explicit),
    "precision": ListMetric(_NO_TRUTH, SHARE, _precision),
    "recall": ListMetric(_NO_TRUTH, SHARE, lambda lists: lists.hits.sum(axis=1) / lists.wanted),
    "map": ListMetric(_NO_TRUTH, SHARE, _average_precision),
    # divided by min(k, relevant items), so that a perfect list has 1 (Kaggle's MAP@k, Recommenders' `map_at_k`)
    "map_min": ListMetric(
        _NO_TRUTH,
        SHARE,
        lambda lists: _average_precision(lists) * lists.wanted / np.minimum(lists.wanted, lists.k),
    ),
    "mrr": ListMetric(_NO_TRUTH, SHARE, _reciprocal_rank),
    "hit_rate": ListMetric(_NO_TRUTH, SHARE, lambda lists: lists.hits.any(axis=1) + 0 * lists.wanted),
    "err": ListMetric(_NO_GAIN, SHARE, _err),
    "rprec": ListMetric(_NO_TRUTH, SHARE, _rprec),
    "urd": ListMetric(_NO_CATEGORY, _POSITIVE, _urd),
    "ild": ListMetric("fewer than two items with categories", SHARE, _ild),
    "novelty": ListMetric("no item has a training event", _POSITIVE, _novelty),
    "popularity": ListMetric("an empty list, or no training events", _POSITIVE, _popularity),
    "title_ild": ListMetric(
        "fewer than two items with titles", SHARE, lambda lists: lists.one_by_one(_title_ild)
    ),
    "near_duplicates": ListMetric("an empty list", SHARE, lambda lists: lists.one_by_one(_near_duplicates)),
    "category_coverage": ListMetric(_NO_CATEGORY, SHARE, lambda lists: lists.one_by_one(_category_coverage)),
}
"""Metric -> its definition. Coverage is a metric of all lists together: `coverage`."""
REDUNDANCY = ("title_ild", "near_duplicates", "category_coverage")
"""The metrics that compare titles pair by pair, or count categories: they are measured only when named."""
NO_CUTOFF = ("auc", "rprec")
"""The metrics that use the whole list, whatever k is."""
