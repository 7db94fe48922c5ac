"""The offline metrics of one list by name, and the data they need besides the list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from recjudge_tui.stats.retrieval import offline
from recjudge_tui.stats.retrieval.held_out import (
    NOTHING,
    GroundTruth,
    HeldOut,
    TruthKey,
    truth_key,
    truths_of,
)
from recjudge_tui.stats.retrieval.redundancy import category_coverage, near_duplicates, title_ild
from recjudge_tui.stats.text.words import plain_words

# of `ndcg`: 1 for a relevant item, the value of a held-out item, or 2^value - 1
Gain = Literal["relevant", "linear", "exp"]


class RankedList(NamedTuple):
    """One user's list of one system on one occasion, best first; a score is None if the file had none."""

    user_id: str
    items: list[str]
    scores: list[float | None]
    context: str = ""
    served_at: str = ""


@dataclass(frozen=True)
class EvaluationData:
    """The data that metrics use besides the list itself.

    `truths` as `held_out.truths_of` makes them, `categories` by item (every item of the catalogue), `counts` of training
    events by item, `titles` of items. `gain` is that of ndcg.
    """

    truths: Mapping[TruthKey, GroundTruth]
    categories: Mapping[str, frozenset[str]]
    counts: Mapping[str, int]
    titles: Mapping[str, str] = field(default_factory=dict)
    gain: Gain = "relevant"

    def truth(self, ranked: RankedList) -> GroundTruth:
        """The truth of a list; empty if nothing is held out."""
        key = truth_key(self.truths, ranked.user_id, ranked.context, ranked.served_at)
        return NOTHING if key is None else self.truths[key]

    @cached_property
    def events(self) -> int:
        """Number of training events on items."""
        return sum(self.counts.values())

    @cached_property
    def highest(self) -> float:
        """The highest gain of any held-out item, 0 if there is none."""
        return max((max(truth.gains.values(), default=0.0) for truth in self.truths.values()), default=0.0)

    @cached_property
    def words(self) -> Mapping[str, frozenset[str]]:
        """The words of each item's title; those of unspaced scripts are single characters."""
        return {item: frozenset(plain_words(title, "characters")) for item, title in self.titles.items()}

    @cached_property
    def category_count(self) -> int:
        """Number of different categories of the catalogue."""
        return len(frozenset().union(*self.categories.values()))


class ListMetric(NamedTuple):
    """A metric of one user's list: `of(list, data, k)`, None if undefined; `reason` says why. `bounds` are its lowest and
    highest value, None without a highest one."""

    of: Callable[[RankedList, EvaluationData, int], float | None]
    reason: str
    bounds: tuple[float, float] | None = (0.0, 1.0)


def evaluation_data(
    held_out: Mapping[str, Iterable[HeldOut]],
    categories: Mapping[str, str],
    counts: Mapping[str, int],
    titles: Mapping[str, str] | None = None,
    relevant_from: float | None = None,
    gain: Gain = "relevant",
) -> EvaluationData:
    """The data from rows: held-out events by user, oldest first; the text of each item's categories; counts; titles."""
    return EvaluationData(
        truths=truths_of(held_out, relevant_from),
        categories={item: categories_of(text) for item, text in categories.items()},
        counts=counts,
        titles=titles or {},
        gain=gain,
    )


def categories_of(text: str) -> frozenset[str]:
    """The categories in an item's text, separated by `|`."""
    return frozenset(part.strip() for part in text.split("|") if part.strip())


def _auc(ranked: RankedList, data: EvaluationData, _: int) -> float | None:
    """AUC over all candidates of the list; a repeated one counts at its first occurrence."""
    relevant = data.truth(ranked).relevant
    scores = dict(zip(reversed(ranked.items), reversed(ranked.scores), strict=True))
    known = [score for score in scores.values() if score is not None]
    if len(known) < len(scores):
        return None
    return offline.auc(known, [item in relevant for item in scores])


def _of_relevant(
    measure: Callable[[list[str], frozenset[str], int], float | None], reason: str
) -> ListMetric:
    return ListMetric(lambda r, w, k: measure(r.items, w.truth(r).relevant, k), reason)


def _ndcg(ranked: RankedList, data: EvaluationData, k: int) -> float | None:
    truth = data.truth(ranked)
    if data.gain == "exp":
        return offline.ndcg_exp(ranked.items, truth.gains, k)
    gains = truth.gains if data.gain == "linear" else dict.fromkeys(truth.relevant, 1.0)
    return offline.ndcg(ranked.items, gains, k)


def _ndcg_explicit(ranked: RankedList, data: EvaluationData, k: int) -> float | None:
    truth = data.truth(ranked)
    return offline.ndcg(ranked.items, truth.gains, k) if truth.valued else None


_NO_TRUTH = "no relevant held-out item"
_NO_GAIN = "no held-out item with a value above 0"

LIST_METRICS: Mapping[str, ListMetric] = {
    "auc": ListMetric(_auc, "candidates without scores, or no relevant or no other candidate"),
    "ndcg": ListMetric(_ndcg, _NO_TRUTH),
    "ndcg_exp": ListMetric(
        lambda r, w, k: offline.ndcg_exp(r.items, w.truth(r).gains, k), f"{_NO_GAIN}, or one above 1,000"
    ),
    "ndcg_explicit": ListMetric(_ndcg_explicit, "no held-out value above 0"),
    "precision": _of_relevant(offline.precision, _NO_TRUTH),
    "recall": _of_relevant(offline.recall, _NO_TRUTH),
    "map": _of_relevant(offline.average_precision, _NO_TRUTH),
    "map_min": _of_relevant(offline.average_precision_min, _NO_TRUTH),
    "mrr": _of_relevant(offline.reciprocal_rank, _NO_TRUTH),
    "hit_rate": _of_relevant(offline.hit_rate, _NO_TRUTH),
    "err": ListMetric(lambda r, w, k: offline.err(r.items, w.truth(r).gains, w.highest, k), _NO_GAIN),
    "rprec": _of_relevant(lambda items, wanted, _: offline.r_precision(items, wanted), _NO_TRUTH),
    "urd": ListMetric(lambda r, w, k: offline.urd(r.items, w.categories, k), "no item with a category", None),
    "ild": ListMetric(
        lambda r, w, k: offline.ild(r.items, w.categories, k), "fewer than two items with categories"
    ),
    "novelty": ListMetric(
        lambda r, w, k: offline.novelty(r.items, w.counts, k, w.events), "no item has a training event", None
    ),
    "popularity": ListMetric(
        lambda r, w, k: offline.popularity(r.items, w.counts, k) if w.events else None,
        "an empty list, or no event that a judge may be shown",
        None,
    ),
    "title_ild": ListMetric(
        lambda r, w, k: title_ild(r.items, w.words, k), "fewer than two items with titles"
    ),
    "near_duplicates": ListMetric(
        lambda r, w, k: near_duplicates(r.items, w.words, w.categories, k), "an empty list"
    ),
    "category_coverage": ListMetric(
        lambda r, w, k: category_coverage(r.items, w.categories, k, w.category_count),
        "no item with a category",
    ),
}
"""Metric -> its definition for one user's list. Coverage is a metric of all lists together: `offline.coverage`."""
REDUNDANCY = ("title_ild", "near_duplicates", "category_coverage")
"""The metrics that compare titles pair by pair, or count categories: they are measured only when named."""
NO_CUTOFF = ("auc", "rprec")
"""The metrics that use the whole list, whatever k is."""
