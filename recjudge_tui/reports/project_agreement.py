"""The one agreement figure that stands beside a project's name."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.store.database import Database
from recjudge_tui.store.project_panel import judge_and_people


class ProjectAgreement(NamedTuple):
    """`value` is quadratic weighted kappa, None when it is undefined; `n` counts cases both rated."""

    value: float | None
    n: int
    judge: str
    people: str


def project_agreement(db: Database, project_id: int) -> ProjectAgreement | None:
    """The rater of the newest run that people labelled too, against those people; None when there is none.

    Quadratic weighted kappa over all values that occur; undefined (None) when both gave one value throughout.
    """
    pair = judge_and_people(db, project_id)
    if pair is None:
        return None
    from recjudge_tui.stats.agreement import qwk

    labels = sorted({*pair.judged, *pair.given})
    return ProjectAgreement(qwk(pair.judged, pair.given, labels), len(pair.judged), pair.judge, pair.people)
