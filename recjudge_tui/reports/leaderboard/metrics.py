"""Offline metrics of each system's lists against held-out events, with intervals over users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.estimate_cells import estimate_cells, interval_columns
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.leaderboard.mean_pairs import PAIR_COLUMNS, pair_notes, pair_rows
from recjudge_tui.reports.leaderboard.measured_lists import (
    COVERAGE,
    METRICS,
    ListsOfSystems,
    SystemMetrics,
    measured_lists,
    metric_pairs,
    without_list,
)
from recjudge_tui.stats.defaults import TOP_K
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.intervals import mean_estimates
from recjudge_tui.stats.retrieval import LIST_METRICS, NEAR, REDUNDANCY
from recjudge_tui.store.data.held_out_copies import held_out_copies
from recjudge_tui.store.database import Database
from recjudge_tui.store.occasions import untimed_count, untimed_note

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
REDUNDANT = (
    "title_ild: ild of the words of titles; near_duplicates: share of items that have"
    f" {NEAR:.0%} of their words and a category in common with an item above; category_coverage: share of the catalogue's"
    " categories that a list shows"
)
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
_PAIR_COLUMNS = (
    Column("system", "System"),
    Column("opponent", "Against"),
    Column("metric", "Metric"),
    Column("k", "k", "int"),
    *PAIR_COLUMNS,
)
_NO_LIST = "no list"
_NO_LISTS = "no lists yet: import them with “recjudge import FILE --as lists”"


def metrics_table(
    db: Database,
    project_id: int,
    k: int = TOP_K,
    *,
    metrics: Sequence[str] = METRICS,
    among: Sequence[str] = (),
    lists: ListsOfSystems | None = None,
    chosen: CaseSelection = EVERY_CASE,
) -> Table:
    """One row per system and metric: the mean over lists for which it is defined; coverage over all lists.

    A list is measured against the events held out for its occasion (docs/occasions.md); intervals are over users with
    all their lists. The notes say which neighbours differ, unless `resamples` is 0. Lists for which a metric is
    undefined are left out and counted. `k` is None for AUC, which uses all candidates of the file. `among` names the
    systems, all if empty. `lists` None: the current lists that are `chosen`. Raises UsageError for an unknown metric
    and NotFoundError for an unknown system.
    """
    measured = measured_lists(db, project_id, k, metrics, among=among, lists=lists, chosen=chosen)
    rows = list(_rows(measured.systems, k, metrics))
    tested = metric_pairs(measured, metrics, chosen.groups)
    notes = [
        *pair_notes([tested], "metrics"),
        RELEVANCE,
        GAINS,
        DISCOUNT,
        DIVERSITY,
        *([REDUNDANT] if set(metrics).intersection(REDUNDANCY) else []),
        "a mean over lists; interval over users, each with all their lists",
    ]
    if not rows:
        notes = [_NO_LISTS]
    elif not measured.truths:
        notes.append("no held-out events: import them with types that begin with heldout_")
    notes += held_out_copies(db, project_id).sentences
    if chosen == EVERY_CASE:
        notes += filter(None, (without_list(system, measured) for system in measured.systems))
    elif untimed := untimed_count(db, project_id, "lists", chosen):
        notes.append(untimed_note(untimed, "lists"))
    settings = {"k": k}
    return Table(f"Offline metrics at {k}", _COLUMNS, tuple(rows), tuple(notes), settings)


def metric_pairs_table(
    db: Database,
    project_id: int,
    k: int = TOP_K,
    *,
    metrics: Sequence[str] = METRICS,
    among: Sequence[str] = (),
    chosen: CaseSelection = EVERY_CASE,
) -> Table:
    """One row per metric and pair of systems, the one with the higher mean first, with the test of their difference.

    Raises what `metrics_table` raises.
    """
    measured = measured_lists(db, project_id, k, metrics, among=among, chosen=chosen)
    tested = metric_pairs(measured, metrics, chosen.groups)
    rows = [
        {"metric": pairs.name, "k": _cutoff(pairs.name, k)} | row
        for pairs in tested
        for row in pair_rows(pairs)
    ]
    notes = pair_notes([tested], "metrics") if rows else ["fewer than two systems have lists"]
    return Table(
        f"Pairs of systems by offline metrics at {k}", _PAIR_COLUMNS, tuple(rows), tuple(notes), {"k": k}
    )


def _cutoff(metric: str, k: int) -> int | None:
    return None if metric == "auc" else k


def _rows(measured: list[SystemMetrics], k: int, metrics: Sequence[str]) -> Iterator[Row]:
    columns = [
        (values, system_metrics.users)
        for system_metrics in measured
        for values in system_metrics.values.values()
    ]
    bounds = [LIST_METRICS[name].bounds for system_metrics in measured for name in system_metrics.values]
    means = iter(mean_estimates([values for values, _ in columns], [codes for _, codes in columns], bounds))
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
    if not lists:
        return undefined(_NO_LIST)
    if estimate.n == 0:
        return undefined(f"for {quantity(lists, 'list')} of {lists:,}: {reason}")
    if estimate.n == lists:
        return estimate
    left_out = f"{lists - estimate.n} of {lists} lists left out: {reason}"
    return replace(estimate, note=join_notes(estimate.note, left_out))


def _coverage(system_metrics: SystemMetrics) -> Estimate:
    if not system_metrics.users.size:
        return undefined(_NO_LIST)
    if system_metrics.coverage is None:
        return undefined("no items were imported, so the catalogue is unknown")
    note = "no interval: coverage always falls when users are left out"
    return Estimate(system_metrics.coverage, None, None, system_metrics.users.size, note=note)


def _row(system: str, metric: str, k: int, estimate: Estimate) -> Row:
    return {
        "system": system,
        "metric": metric,
        "k": _cutoff(metric, k),
        **estimate_cells(estimate),
    }
