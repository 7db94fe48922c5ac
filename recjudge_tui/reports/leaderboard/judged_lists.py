"""The lists that a rater judged, so that metrics are shown beside verdicts on the same lists."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.leaderboard.measured_lists import ListsOfSystems
from recjudge_tui.reports.leaderboard.metrics import metrics_table
from recjudge_tui.stats.arrays import IntArray
from recjudge_tui.stats.retrieval import RankedList
from recjudge_tui.store.cases.metric_inputs import current_list_ids, ranked_slates
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.generations import judged_content
from recjudge_tui.store.verdicts.ratings import CaseColumns

# system -> the ids of its lists
Lists = tuple[tuple[str, tuple[int, ...]], ...]


class JudgedLists:
    """The lists of a project's cases, and the offline metrics of the lists of some cases."""

    def __init__(self, db: Database, project_id: int, cases: CaseColumns) -> None:
        self._db, self._project_id, self._cases = db, project_id, cases
        self._content = judged_content(db, project_id, cases.ids)
        self._tables: dict[tuple[Lists, int, tuple[str, ...]], Table] = {}

    @cached_property
    def _current(self) -> dict[str, tuple[int, ...]]:
        return current_list_ids(self._db, self._project_id)

    def of_cases(self, rows: IntArray) -> dict[str, tuple[int, ...]]:
        """System -> the ids of its lists in these cases."""
        by_system: dict[str, set[int]] = {}
        for system, slate in (
            (self._cases.system_a[rows], self._content.slate_a[rows]),
            (self._cases.system_b[rows], self._content.slate_b[rows]),
        ):
            for code in np.unique(system[slate > 0]).tolist():
                ids = np.unique(slate[(system == code) & (slate > 0)]).tolist()
                by_system.setdefault(self._cases.systems[code], set()).update(ids)
        return {system: tuple(sorted(ids)) for system, ids in sorted(by_system.items())}

    def metrics(self, rows: IntArray, k: int, metrics: Sequence[str]) -> Table:
        """The table of metrics, without intervals, over the lists of these cases."""
        lists = tuple(self.of_cases(rows).items())
        wanted = lists, k, tuple(metrics)
        if wanted not in self._tables:
            self._tables[wanted] = self._measure(*wanted)
        return self._tables[wanted]

    def not_judged(self, rows: IntArray) -> int:
        """How many current lists of the systems in these cases are in none of the cases."""
        judged = self.of_cases(rows)
        return sum(len({*self._current.get(system, ())} - {*ids}) for system, ids in judged.items())

    def _measure(self, lists: Lists, k: int, metrics: tuple[str, ...]) -> Table:
        ids = {slate for _, slates in lists for slate in slates}
        ranked = dict(ranked_slates(self._db, self._project_id, ids))
        of_systems: ListsOfSystems = {system: _present(ranked, slates) for system, slates in lists}
        return metrics_table(self._db, self._project_id, k, metrics=metrics, lists=of_systems)


def _present(ranked: dict[int, RankedList], slates: Sequence[int]) -> list[RankedList]:
    return [ranked[slate] for slate in slates if slate in ranked]
