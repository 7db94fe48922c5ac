"""The agreement with people shown beside a project's name, run by run."""

from __future__ import annotations

import time
from itertools import groupby
from typing import NamedTuple

from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.run_agreements import (
    begin_agreement,
    keep_agreement,
    overlap_with_people,
    runs_to_compare,
    stored_agreements,
)


class RunFigure(NamedTuple):
    """`value` is None where it is undefined."""

    run_id: int
    value: float | None
    n: int


class ProjectAgreement(NamedTuple):
    """The agreement with people of the newest run that people labelled any part of. `stat` is qwk, or pearson if
    the values are not labels.

    `value` is None if it is undefined (one value throughout); `n` counts the questions that both answered. `by_run`
    are the runs of the same protocol against the same people, oldest first, this one last.
    """

    value: float | None
    n: int
    stat: str
    judge: str
    people: str
    by_run: tuple[RunFigure, ...]


def project_agreements(db: Database) -> dict[int, ProjectAgreement]:
    """The stored agreement of each project. Fast, because nothing is computed. Leaves out projects without stored
    agreement, and those in which people labelled no case of a run.
    """
    by_project = {}
    for project_id, group in groupby(stored_agreements(db), key=lambda kept: kept.project_id):
        kept = list(group)
        newest = kept[-1]
        alike = [
            figure for figure in kept if (figure.protocol, figure.truth) == (newest.protocol, newest.truth)
        ]
        by_run = tuple(RunFigure(figure.run_id, figure.value, figure.n) for figure in alike)
        by_project[project_id] = ProjectAgreement(
            newest.value, newest.n, newest.stat, newest.judge, newest.truth, by_run
        )
    return by_project


def compare_runs(db: Database, within_s: float = 1.0) -> bool:
    """Compute what is missing, newest runs first, and store it; call it in a worker. Returns whether runs are left
    after `within_s` seconds.

    Quadratic weighted kappa over all values that occur on either side, all aspects together, pairs seen as in the agreement
    report (Pearson's correlation with more than 50 values). Undefined if both sides have a single value throughout;
    Pearson's also if one side does.
    A result is not stored if labels changed while it was computed, and none is computed for a file that is read only.
    """
    if db.read_only:
        return False
    missing, deadline = runs_to_compare(db), time.monotonic() + within_s
    if not missing:
        return False
    import numpy as np

    from recjudge_tui.reports.common.orientation import both_sides, side_of_names
    from recjudge_tui.stats.agreement.coefficients import qwk
    from recjudge_tui.stats.agreement.correlation import pearson

    for at, run in enumerate(missing):
        if at and time.monotonic() > deadline:
            return True
        token = begin_agreement(db, run.run_id)
        both = overlap_with_people(db, run)
        seen = side_of_names(both.system_a, both.system_b)
        judged, given = (
            both_sides(np.array(side, dtype=np.float64), seen) for side in (both.judged, both.given)
        )
        labels = np.union1d(judged, given).tolist()
        if len(labels) > MOST_LABELS or any(label != int(label) for label in labels):
            stat, value = "pearson", pearson(judged, given)
        else:
            stat, value = "qwk", qwk(judged, given, labels) if labels else None
        keep_agreement(db, token, both.truth_id, stat, value, len(both.judged))
    return False
