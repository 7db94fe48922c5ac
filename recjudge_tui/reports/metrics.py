"""Offline metrics of every system's lists against held-out events, users resampled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recjudge_tui.reports.table import Column, Row, Table
from recjudge_tui.stats import offline
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.intervals import RESAMPLES, mean_estimate
from recjudge_tui.store.catalogue import systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.offline import (
    HeldOut,
    RankedList,
    held_out,
    item_categories,
    lists_of,
    training_counts,
)

RELEVANCE = (
    "relevant: an item held out for the user without a value (a purchase, a click), or with a value of at least"
    " the user's mean over all their valued events"
)
GAINS = (
    "gains: ndcg 1 for a relevant item; ndcg_explicit the held-out value; ndcg_exp 2^value - 1; an event without a value"
    " counts as value 1"
)
_COLUMNS = (
    Column("system", "System"),
    Column("metric", "Metric"),
    Column("k", "k", "int"),
    Column("value", "Value", "float"),
    Column("ci_low", "CI low", "ci"),
    Column("ci_high", "CI high", "ci"),
    Column("n", "Users", "int"),
    Column("note", "Note"),
)


class _Truth(NamedTuple):
    """What is held out for one user: relevant items, and the value of each item that has one (1 where none has)."""

    relevant: frozenset[str]
    gains: Mapping[str, float]
    valued: bool


@dataclass(frozen=True)
class _World:
    """What the metrics of a list may look at beside the list."""

    truths: Mapping[str, _Truth]
    categories: Mapping[str, frozenset[str]]
    counts: Mapping[str, int]


Measure = Callable[[RankedList, _Truth, _World, int], float | None]
_NOTHING = _Truth(frozenset(), {}, False)


def _auc(ranked: RankedList, truth: _Truth, _: _World, __: int) -> float | None:
    if any(score is None for score in ranked.scores):
        return None
    return offline.auc(
        [s for s in ranked.scores if s is not None], [i in truth.relevant for i in ranked.items]
    )


def _explicit(
    measure: Callable[[list[str], Mapping[str, float], int], float | None], *, valued: bool
) -> Measure:
    """A metric of gains, none of them negative; `valued`: defined only where some event has a value."""

    def of(ranked: RankedList, truth: _Truth, _: _World, k: int) -> float | None:
        if (valued and not truth.valued) or min(truth.gains.values(), default=0.0) < 0:
            return None
        return measure(ranked.items, truth.gains, k)

    return of


def _of_relevant(measure: Callable[[list[str], frozenset[str], int], float | None]) -> Measure:
    return lambda ranked, truth, _, k: measure(ranked.items, truth.relevant, k)


_NO_TRUTH = "no user with a list has a relevant held-out item"
_NO_VALUES = "no held-out event has a value"
_NO_CATEGORY = "no item of the lists has a category"

# metric -> (how it is measured for one user, why it may be undefined for all of them)
_METRICS: dict[str, tuple[Measure, str]] = {
    "auc": (_auc, "no list has scores on all items and both relevant and other candidates"),
    "ndcg": (lambda r, t, _, k: offline.ndcg(r.items, dict.fromkeys(t.relevant, 1.0), k), _NO_TRUTH),
    "ndcg_exp": (_explicit(offline.ndcg_exp, valued=False), _NO_TRUTH),
    "ndcg_explicit": (_explicit(offline.ndcg, valued=True), _NO_VALUES),
    "precision": (_of_relevant(offline.precision), _NO_TRUTH),
    "recall": (_of_relevant(offline.recall), _NO_TRUTH),
    "map": (_of_relevant(offline.average_precision), _NO_TRUTH),
    "mrr": (_of_relevant(offline.reciprocal_rank), _NO_TRUTH),
    "hit_rate": (_of_relevant(offline.hit_rate), _NO_TRUTH),
    "urd": (lambda r, _, w, k: offline.urd(r.items, w.categories, k), _NO_CATEGORY),
    "ild": (lambda r, _, w, k: offline.ild(r.items, w.categories, k), _NO_CATEGORY),
    "novelty": (
        lambda r, _, w, k: offline.novelty(r.items, w.counts, k),
        "no item of the lists was ever met",
    ),
    "popularity": (lambda r, _, w, k: offline.popularity(r.items, w.counts, k), "every list is empty"),
}


def metrics_table(
    db: Database, project_id: int, k: int = 10, *, resamples: int = RESAMPLES, seed: int = 0
) -> Table:
    """One row a system and metric: the mean over users for whom it is defined; coverage over all lists.

    Users for whom a metric is undefined are left out and counted. `k` is None for AUC, which takes all
    candidates of the file.
    """
    held = held_out(db, project_id)
    catalogue = item_categories(db, project_id)
    world = _World(
        truths={user: _truth(events) for user, events in held.items()},
        categories={item: categories_of(text) for item, text in catalogue.items()},
        counts=training_counts(db, project_id),
    )
    rows = [
        row
        for system in systems(db, project_id)
        for row in _rows(system, list(lists_of(db, project_id, system)), world, k, resamples, seed)
    ]
    notes = [RELEVANCE, GAINS, "a mean over users, who are resampled; users without a figure are left out"]
    if not rows:
        notes = ["no lists yet: “recjudge import FILE --as lists” brings them"]
    elif not held:
        notes.append("no held-out events: import them with types that begin with heldout_")
    settings = {"k": k, "resamples": resamples, "seed": seed}
    return Table(f"Offline metrics at {k}", _COLUMNS, tuple(rows), tuple(notes), settings)


def categories_of(text: str) -> frozenset[str]:
    """The categories in an item's text, which stand apart by `|`."""
    return frozenset(part.strip() for part in text.split("|") if part.strip())


def _truth(events: list[HeldOut]) -> _Truth:
    """Of several events on one item the last with a value counts; any of them may make it relevant."""
    gains: dict[str, float] = {}
    relevant = set()
    for event in events:
        if event.value is None:
            gains.setdefault(event.item_id, 1.0)
            relevant.add(event.item_id)
        else:
            gains[event.item_id] = event.value
            if event.mean is None or event.value >= event.mean:
                relevant.add(event.item_id)
    return _Truth(frozenset(relevant), gains, any(event.value is not None for event in events))


def _rows(
    system: str, lists: list[RankedList], world: _World, k: int, resamples: int, seed: int
) -> Iterator[Row]:
    for metric, (measure, reason) in _METRICS.items():
        found = [measure(ranked, world.truths.get(ranked.user_id, _NOTHING), world, k) for ranked in lists]
        values = np.array([np.nan if value is None else value for value in found], dtype=np.float64)
        if np.isnan(values).all():
            yield _row(system, metric, k, undefined(reason))
        else:
            estimate = mean_estimate(values, np.arange(values.size), resamples=resamples, seed=seed)
            yield _row(system, metric, k, estimate)
    covered = offline.coverage([ranked.items for ranked in lists], world.categories, k)
    if covered is None:
        yield _row(system, "coverage", k, undefined("no item was imported: the catalogue is not known"))
    else:
        note = "no interval: resampled users always show fewer different items"
        yield _row(system, "coverage", k, Estimate(covered, None, None, len(lists), note=note))


def _row(system: str, metric: str, k: int, estimate: Estimate) -> Row:
    return {
        "system": system,
        "metric": metric,
        "k": None if metric == "auc" else k,
        "value": estimate.value,
        "ci_low": estimate.ci_low,
        "ci_high": estimate.ci_high,
        "n": estimate.n,
        "note": estimate.note,
    }
