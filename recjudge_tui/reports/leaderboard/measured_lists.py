"""The offline metrics of each system's lists, list by list."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection, Segment
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.leaderboard.mean_pairs import MeasuredPairs, SystemMeans, compared, occasions
from recjudge_tui.stats.arrays import FloatArray, IntArray, none_if_nan
from recjudge_tui.stats.retrieval import (
    LIST_METRICS,
    ON_REQUEST,
    EvaluationData,
    RankedList,
    TruthKey,
    coverage,
    list_values,
)
from recjudge_tui.store.data.catalogue import check_judgeable, systems
from recjudge_tui.store.data.heldout import lists_of, load_evaluation_data
from recjudge_tui.store.database import Database

COVERAGE = "coverage"
METRICS = (*(name for name in LIST_METRICS if name not in ON_REQUEST), COVERAGE)
ListsOfSystems = Mapping[str, Sequence[RankedList]]


class _ListValues(NamedTuple):
    """One system's lists without their items: the user, the context and the first k items of each, and the value of each
    metric for each. Lists share the names of their items."""

    users: list[str]
    contexts: list[str]
    shown: list[tuple[str, ...]]
    values: Mapping[str, FloatArray]


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
    """The lists of several systems: the codes of their users, the user of each occasion, and the held-out items."""

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
        if name not in (*METRICS, *ON_REQUEST):
            raise UsageError(f"no metric “{name}”", f"Available: {', '.join((*METRICS, *ON_REQUEST))}.")
    known = systems(db, project_id) if lists is None else list(lists)
    check_judgeable(db, project_id, among, known)
    named = [name for name in known if not among or name in among]
    data = load_evaluation_data(db, project_id)
    users: dict[str, int] = {}
    met: dict[tuple[str, str], int] = {}
    measured = []
    for name in named:
        if lists is None:
            # the groups of one report use the same lists, which are read and measured once
            of_all = CaseSelection(chosen.occasions)
            read = partial(_read_values, db, project_id, name, of_all, k, tuple(metrics))
            values = db.kept((_read_values, project_id, name, of_all, k, tuple(metrics)), read)
        else:
            values = _values(lists[name], load_evaluation_data(db, project_id), k, metrics)
        measured.append(
            _measure(name, _of_segment(values, chosen.segment), users, met, k, metrics, data.categories)
        )
    owners = np.array([users[user] for user, _ in met], dtype=np.int64)
    return MeasuredLists(measured, users, owners, data.truths)


def metric_pairs(measured: MeasuredLists, metrics: Sequence[str], groups: int = 1) -> list[MeasuredPairs]:
    """For each metric of lists the test of every pair of systems, Holm-adjusted within one metric; two systems are
    compared on the occasions for which both have a list."""
    names = [system.system for system in measured.systems]
    figures = []
    for metric in dict.fromkeys(name for name in metrics if name != COVERAGE):
        values = [system.values[metric] for system in measured.systems]
        rows = [(system.occasions, row) for system, row in zip(measured.systems, values, strict=True)]
        means = [none_if_nan(float(np.nanmean(row))) if (~np.isnan(row)).any() else None for row in values]
        table = occasions(rows, measured.owners)
        figures.append(SystemMeans(metric, names, table, measured.owners, means, LIST_METRICS[metric].bounds))
    return compared(figures, groups)


def _read_values(
    db: Database, project_id: int, system: str, chosen: CaseSelection, k: int, metrics: Sequence[str]
) -> _ListValues:
    return _values(
        list(lists_of(db, project_id, system, chosen)), load_evaluation_data(db, project_id), k, metrics
    )


def _values(lists: Sequence[RankedList], data: EvaluationData, k: int, metrics: Sequence[str]) -> _ListValues:
    items: dict[str, str] = {}
    return _ListValues(
        [ranked.user_id for ranked in lists],
        [ranked.context for ranked in lists],
        [tuple(items.setdefault(item, item) for item in ranked.items[:k]) for ranked in lists],
        list_values(lists, data, k, [name for name in metrics if name != COVERAGE]),
    )


def _of_segment(lists: _ListValues, segment: Segment | None) -> _ListValues:
    if segment is None:
        return lists
    occasions = zip(lists.users, lists.contexts, strict=True)
    rows = [at for at, occasion in enumerate(occasions) if segment.holds(*occasion)]
    return _ListValues(
        [lists.users[at] for at in rows],
        [lists.contexts[at] for at in rows],
        [lists.shown[at] for at in rows],
        {name: values[rows] for name, values in lists.values.items()},
    )


def _measure(
    system: str,
    lists: _ListValues,
    users: dict[str, int],
    met: dict[tuple[str, str], int],
    k: int,
    metrics: Sequence[str],
    catalogue: Collection[str],
) -> SystemMetrics:
    """`users` and `met` map the users and the occasions of all systems to codes; new ones are added to them."""
    codes = np.array([users.setdefault(user, len(users)) for user in lists.users], dtype=np.int64)
    occasions = list(zip(lists.users, lists.contexts, strict=True))
    where = np.array([met.setdefault(occasion, len(met)) for occasion in occasions], dtype=np.int64)
    covered = coverage(lists.shown, catalogue, k) if COVERAGE in metrics else None
    return SystemMetrics(system, codes, where, frozenset(occasions), lists.values, covered)


def without_list(system: SystemMetrics, measured: MeasuredLists) -> str:
    """How many users have held-out events but no list, and how many contexts of the other users."""
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
    counted = ((missing, "user", ""), (contexts, "context of other users", "contexts of other users"))
    lacking = " and ".join(quantity(*entry) for entry in counted if entry[0])
    if not lacking:
        return ""
    verbs = (
        "has no list and is not counted" if missing + contexts == 1 else "have no list and are not counted"
    )
    return f"{system.system}: {lacking} with held-out events {verbs}"
