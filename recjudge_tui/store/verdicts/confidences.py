"""Verdicts with their confidence, as NumPy columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import CaseColumns, Question


class Confidences(NamedTuple):
    """Verdicts of one question with their confidence, one row each.

    `row` is the case's index in CaseColumns, `confidence` the judge's probability of its label, NaN if unknown.
    """

    row: IntArray
    value: FloatArray
    confidence: FloatArray


def verdict_confidences(
    db: Database, rater_id: int, question: Question, cases: CaseColumns
) -> tuple[Confidences, BoolArray]:
    """The valid verdicts, and a mask of those made from two orders that disagreed. The confidence of the latter
    belongs to the labels of the calls, not to the resulting tie.
    """
    rows = db.rows(
        """SELECT case_id, value, confidence, ifnull(order_consistent, 1) AS consistent FROM verdicts
           WHERE rater_id > 0 AND rater_id = ? AND protocol = ? AND aspect = ? AND state = 'ok' ORDER BY case_id""",
        (rater_id, question.protocol, question.aspect),
    )
    stated, known = _confidences(rows, cases)
    flipped = np.fromiter((not row["consistent"] for row in rows), dtype=np.bool_, count=len(rows))
    return stated, flipped[known]


def _confidences(rows: Sequence[sqlite3.Row], cases: CaseColumns) -> tuple[Confidences, BoolArray]:
    ids = np.array([row["case_id"] for row in rows], dtype=np.int64)
    value = np.array([row["value"] for row in rows], dtype=np.float64)
    sure = np.array([row["confidence"] for row in rows], dtype=np.float64)
    place = np.searchsorted(cases.ids, ids)
    # another process may have added cases since they were read
    known = (
        cases.ids[np.minimum(place, cases.ids.size - 1)] == ids
        if cases.ids.size
        else np.zeros(0, dtype=np.bool_)
    )
    return Confidences(place[known], value[known], sure[known]), known
