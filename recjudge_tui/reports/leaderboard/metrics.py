"""Offline metrics of each system's lists against held-out events, with intervals over users."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.common.estimate_cells import estimate_cells, interval_columns
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.resampling.group_means import mean_estimates, user_sums
from recjudge_tui.stats.resampling.jackknife import RESAMPLES
from recjudge_tui.stats.retrieval import offline
from recjudge_tui.stats.retrieval.held_out import TruthKey
from recjudge_tui.stats.retrieval.list_metrics import LIST_METRICS, RankedList
from recjudge_tui.stats.retrieval.list_values import EvaluationArrays, evaluation_arrays, list_values
from recjudge_tui.store.data.catalogue import systems
from recjudge_tui.store.data.heldout import lists_of, load_evaluation_data
from recjudge_tui.store.database import Database
from recjudge_tui.store.occasions import untimed_count, untimed_note

COVERAGE = "coverage"
METRICS = (*LIST_METRICS, COVERAGE)
RELEVANCE = (
    "relevant: an item held out for the user without a value (a purchase, a click), judged above 0 (heldout_relevance,"
    " qrels), or with another value above 0 of at least the user's mean over all their valued events"
)
GAINS = (
    "gains: ndcg 1 for a relevant item; ndcg_explicit the held-out value; ndcg_exp 2^value - 1; an event without a value"
    " counts as value 1"
)
DISCOUNT = (
    "ndcg, ndcg_exp and ndcg_explicit discount by log2(rank + 1) and are divided by the best list of k; map is average"
    " precision in the first k divided by all relevant items (trec_eval's map_cut), map_min by at most k of them"
)
DIVERSITY = (
    "urd: entropy in bits of the categories of a list; ild: mean Jaccard distance between the categories of two of"
    " its items"
)
ListsOfSystems = Mapping[str, Sequence[RankedList]]
_COLUMNS = (
    Column("system", "System"),
    Column("metric", "Metric"),
    Column("k", "k", "int"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("n", "Lists", "int"),
    Column("users", "Users", "int", minor=True),
    Column("note", "Note"),
)


def metrics_table(
    db: Database,
    project_id: int,
    k: int = 10,
    *,
    metrics: Sequence[str] = METRICS,
    among: Sequence[str] = (),
    lists: ListsOfSystems | None = None,
    chosen: CaseSelection = EVERY_CASE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Table:
    """One row per system and metric: the mean over lists for which it is defined; coverage over all lists.

    A list is measured against what is held out for its occasion (docs/occasions.md); intervals are over users with all their
    lists. Lists for which a metric is undefined are left out and counted. `k` is None for AUC, which uses all candidates of
    the file. `among` names the systems, all if empty. `lists` None: the current lists that are `chosen`. Raises
    UsageError for an unknown metric and NotFoundError for an unknown system.
    """
    for name in metrics:
        if name not in METRICS:
            raise UsageError(f"no metric “{name}”", f"There are: {', '.join(METRICS)}.")
    named = _named(systems(db, project_id) if lists is None else list(lists), among)
    data = load_evaluation_data(db, project_id)
    users: dict[str, int] = {}
    arrays = evaluation_arrays(data)
    measured = [
        _measure(
            name,
            list(lists_of(db, project_id, name, chosen) if lists is None else lists[name]),
            arrays,
            users,
            k,
            metrics,
            data.categories,
        )
        for name in named
    ]
    rows = list(_rows(measured, len(users), k, metrics, resamples))
    notes = [
        RELEVANCE,
        GAINS,
        DISCOUNT,
        DIVERSITY,
        "a mean over lists; interval over users, each with all their lists",
    ]
    if not rows:
        notes = ["no lists yet: import them with “recjudge import FILE --as lists”"]
    elif not data.truths:
        notes.append("no held-out events: import them with types that begin with heldout_")
    if chosen == EVERY_CASE:
        notes += filter(
            None, (_without_list(system_metrics, users, data.truths) for system_metrics in measured)
        )
    elif untimed := untimed_count(db, project_id, "lists", chosen):
        notes.append(untimed_note(untimed, "lists"))
    settings = {"k": k, "resamples": resamples, "seed": seed}
    return Table(f"Offline metrics at {k}", _COLUMNS, tuple(rows), tuple(notes), settings)


def _named(known: list[str], among: Sequence[str]) -> list[str]:
    for name in among:
        if name not in known:
            raise NotFoundError(
                f"no lists of a system “{name}”", f"There are lists of: {', '.join(known) or 'none'}."
            )
    return [name for name in known if not among or name in among]


class _SystemMetrics(NamedTuple):
    """One system: the users of its lists and their contexts, the value of each metric for each list, and the share of
    the catalogue shown."""

    system: str
    users: IntArray
    contexts: frozenset[tuple[str, str]]
    values: Mapping[str, FloatArray]
    coverage: float | None


def _measure(
    system: str,
    lists: Sequence[RankedList],
    data: EvaluationArrays,
    users: dict[str, int],
    k: int,
    metrics: Sequence[str],
    catalogue: Collection[str],
) -> _SystemMetrics:
    """`users` maps users of all systems to codes; new users are added to it."""
    codes = np.array([users.setdefault(ranked.user_id, len(users)) for ranked in lists], dtype=np.int64)
    values = list_values(lists, data, k, [name for name in metrics if name != COVERAGE])
    shown = (ranked.items for ranked in lists)
    covered = offline.coverage(shown, catalogue, k) if COVERAGE in metrics else None
    contexts = frozenset((ranked.user_id, ranked.context) for ranked in lists)
    return _SystemMetrics(system, codes, contexts, values, covered)


def _without_list(
    system_metrics: _SystemMetrics, users: Mapping[str, int], truths: Collection[TruthKey]
) -> str:
    """How many users or, of the other users, contexts have held-out events that no list is measured against."""
    mine = set(system_metrics.users.tolist())
    missing = sum(users.get(user) not in mine for user in {user for user, _, _ in truths})
    contexts = sum(
        bool(context)
        and time == ""
        and users.get(user) in mine
        and not {(user, context), (user, "")} & system_metrics.contexts
        for user, context, time in truths
    )
    counted = ((missing, "users"), (contexts, "contexts of other users"))
    lacking = " and ".join(f"{count:,} {what}" for count, what in counted if count)
    return (
        f"{system_metrics.system}: {lacking} with held-out events have no list and are not counted"
        if lacking
        else ""
    )


def _rows(
    measured: list[_SystemMetrics], users: int, k: int, metrics: Sequence[str], resamples: int
) -> Iterator[Row]:
    columns = [
        (values, system_metrics.users)
        for system_metrics in measured
        for values in system_metrics.values.values()
    ]
    sums = user_sums([values for values, _ in columns], [codes for _, codes in columns], users)
    bounds = [LIST_METRICS[name].bounds for system_metrics in measured for name in system_metrics.values]
    means = iter(mean_estimates(sums, bounds, resamples=resamples))
    for system_metrics in measured:
        estimates = {
            name: _explained(name, next(means), system_metrics.users.size) for name in system_metrics.values
        }
        for name in metrics:
            estimate = _coverage(system_metrics) if name == COVERAGE else estimates[name]
            defined = ... if name == COVERAGE else ~np.isnan(system_metrics.values[name])
            users_measured = np.unique(system_metrics.users[defined]).size
            yield _row(system_metrics.system, name, k, estimate) | {"users": users_measured}


def _explained(metric: str, estimate: Estimate, lists: int) -> Estimate:
    """The estimate with the number of lists left out, and the reason."""
    reason = LIST_METRICS[metric].reason
    if estimate.n == 0:
        return undefined(f"for all {lists} lists: {reason}")
    if estimate.n == lists:
        return estimate
    left_out = f"{lists - estimate.n} of {lists} lists left out: {reason}"
    return replace(estimate, note=join_notes(estimate.note, left_out))


def _coverage(system_metrics: _SystemMetrics) -> Estimate:
    if system_metrics.coverage is None:
        return undefined("no items were imported, so the catalogue is unknown")
    note = "no interval: fewer users always yield fewer different items"
    return Estimate(system_metrics.coverage, None, None, system_metrics.users.size, note=note)


def _row(system: str, metric: str, k: int, estimate: Estimate) -> Row:
    return {
        "system": system,
        "metric": metric,
        "k": None if metric == "auc" else k,
        **estimate_cells(estimate),
    }
