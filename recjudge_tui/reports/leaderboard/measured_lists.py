"""The offline metrics of each system's lists, list by list."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.leaderboard.mean_pairs import Measured, MeasuredPairs, compared, occasions
from recjudge_tui.stats.arrays import FloatArray, IntArray, none_if_nan
from recjudge_tui.stats.retrieval import offline
from recjudge_tui.stats.retrieval.held_out import TruthKey
from recjudge_tui.stats.retrieval.list_metrics import LIST_METRICS, RankedList
from recjudge_tui.stats.retrieval.list_values import EvaluationArrays, evaluation_arrays, list_values
from recjudge_tui.store.data.catalogue import systems
from recjudge_tui.store.data.heldout import lists_of, load_evaluation_data
from recjudge_tui.store.database import Database

COVERAGE = "coverage"
METRICS = (*LIST_METRICS, COVERAGE)
ListsOfSystems = Mapping[str, Sequence[RankedList]]


class SystemMetrics(NamedTuple):
    """One system: the users of its lists, their occasions (user and context) and contexts, the value of each metric for
    each list, and the share of the catalogue shown."""

    system: str
    users: IntArray
    occasions: IntArray
    contexts: frozenset[tuple[str, str]]
    values: Mapping[str, FloatArray]
    coverage: float | None


class MeasuredLists(NamedTuple):
    """The lists of several systems: the codes of their users, the user of each occasion, and what is held out."""

    systems: list[SystemMetrics]
    users: Mapping[str, int]
    owners: IntArray
    truths: Collection[TruthKey]


def measured_lists(
    db: Database,
    project_id: int,
    k: int,
    metrics: Sequence[str],
    *,
    among: Sequence[str] = (),
    lists: ListsOfSystems | None = None,
    chosen: CaseSelection = EVERY_CASE,
) -> MeasuredLists:
    """The metrics of every list; `among` names the systems, all if empty; `lists` None: the current lists that are `chosen`.

    Raises UsageError for an unknown metric and NotFoundError for an unknown system.
    """
    for name in metrics:
        if name not in METRICS:
            raise UsageError(f"no metric “{name}”", f"There are: {', '.join(METRICS)}.")
    named = _named(systems(db, project_id) if lists is None else list(lists), among)
    data = load_evaluation_data(db, project_id)
    arrays = evaluation_arrays(data)
    users: dict[str, int] = {}
    met: dict[tuple[str, str], int] = {}
    measured = [
        _measure(
            name,
            list(lists_of(db, project_id, name, chosen) if lists is None else lists[name]),
            arrays,
            users,
            met,
            k,
            metrics,
            data.categories,
        )
        for name in named
    ]
    owners = np.array([users[user] for user, _ in met], dtype=np.int64)
    return MeasuredLists(measured, users, owners, data.truths)


def metric_pairs(measured: MeasuredLists, metrics: Sequence[str], groups: int = 1) -> list[MeasuredPairs]:
    """For each metric of lists the test of every pair of systems, Holm-adjusted over all pairs and metrics; two systems are
    compared on the occasions for which both have a list."""
    names = [system.system for system in measured.systems]
    figures = []
    for metric in dict.fromkeys(name for name in metrics if name != COVERAGE):
        values = [system.values[metric] for system in measured.systems]
        rows = [(system.occasions, row) for system, row in zip(measured.systems, values, strict=True)]
        means = [none_if_nan(float(np.nanmean(row))) if (~np.isnan(row)).any() else None for row in values]
        table = occasions(rows, measured.owners)
        figures.append(Measured(metric, names, table, measured.owners, means, LIST_METRICS[metric].bounds))
    return compared(figures, groups)


def _named(known: list[str], among: Sequence[str]) -> list[str]:
    for name in among:
        if name not in known:
            raise NotFoundError(
                f"no lists of a system “{name}”", f"There are lists of: {', '.join(known) or 'none'}."
            )
    return [name for name in known if not among or name in among]


def _measure(
    system: str,
    lists: Sequence[RankedList],
    data: EvaluationArrays,
    users: dict[str, int],
    met: dict[tuple[str, str], int],
    k: int,
    metrics: Sequence[str],
    catalogue: Collection[str],
) -> SystemMetrics:
    """`users` and `met` map the users and the occasions of all systems to codes; new ones are added to them."""
    codes = np.array([users.setdefault(ranked.user_id, len(users)) for ranked in lists], dtype=np.int64)
    where = [met.setdefault((ranked.user_id, ranked.context), len(met)) for ranked in lists]
    values = list_values(lists, data, k, [name for name in metrics if name != COVERAGE])
    shown = (ranked.items for ranked in lists)
    covered = offline.coverage(shown, catalogue, k) if COVERAGE in metrics else None
    contexts = frozenset((ranked.user_id, ranked.context) for ranked in lists)
    return SystemMetrics(system, codes, np.array(where, dtype=np.int64), contexts, values, covered)


def without_list(system: SystemMetrics, measured: MeasuredLists) -> str:
    """How many users or, of the other users, contexts have held-out events that no list is measured against."""
    users, truths = measured.users, measured.truths
    mine = set(system.users.tolist())
    missing = sum(users.get(user) not in mine for user in {user for user, _, _ in truths})
    contexts = sum(
        bool(context)
        and time == ""
        and users.get(user) in mine
        and not {(user, context), (user, "")} & system.contexts
        for user, context, time in truths
    )
    counted = ((missing, "users"), (contexts, "contexts of other users"))
    lacking = " and ".join(f"{count:,} {what}" for count, what in counted if count)
    return (
        f"{system.system}: {lacking} with held-out events have no list and are not counted" if lacking else ""
    )
