"""Answers about pairs and lists as NumPy columns: the answers of calls, and imported judgements by order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import (
    NO_VALUE,
    CaseColumns,
    Question,
    columns_of,
    project_raters,
)

_COLUMNS = [(name, "i8") for name in ("rater", "run", "case_id", "sample", "swapped", "aspect")] + [
    ("value", "f8")
]


@dataclass(frozen=True)
class Answers:
    """The answers of one rater on one aspect, one row per call or imported judgement, NaN if failed.

    `swapped`: system b was shown first. `unit` is equal for the two orders of one sample (same run, case, sample).
    """

    row: IntArray
    unit: IntArray
    swapped: BoolArray
    value: FloatArray


def load_answers(db: Database, project_id: int, protocol: str, cases: CaseColumns) -> dict[Question, Answers]:
    """The answers of all finished calls of a protocol and of its imported judgements by order, by question.

    A failed call about all aspects counts as failed for each aspect.
    """
    aspects = _aspects(db, project_id, protocol)
    if not aspects:
        return {}
    code = " ".join(f"WHEN ? THEN {at}" for at in range(len(aspects)))
    called = columns_of(
        db,
        f"""SELECT ru.rater_id, ru.id, k.case_id, k.sample, k.list_order = 'ba',
              CASE ifnull(a.aspect, k.aspect) {code} ELSE -1 END, ifnull(a.value, {NO_VALUE})
            FROM runs ru JOIN calls k ON k.run_id = ru.id AND k.state IN ('done', 'failed')
            LEFT JOIN answers a ON a.call_id = k.id
            WHERE ru.project_id = ? AND ru.protocol = ?""",
        [*aspects, project_id, protocol],
        _COLUMNS,
    )
    imported = columns_of(
        db,
        f"""SELECT v.rater_id, -1, v.case_id, 0, g.list_order = 'ba', CASE v.aspect {code} END,
              ifnull(g.value, {NO_VALUE})
            FROM games g JOIN verdicts v ON v.id = g.verdict_id WHERE v.project_id = ? AND v.protocol = ?""",
        [*aspects, project_id, protocol],
        _COLUMNS,
    )
    columns = np.concatenate([called[_of_newest_runs(called)], imported])
    row = np.searchsorted(cases.ids, columns["case_id"])
    value = np.where(np.isinf(columns["value"]), np.nan, columns["value"])
    unit = _codes(list(zip(columns["run"].tolist(), row.tolist(), columns["sample"].tolist(), strict=True)))
    answers: dict[Question, Answers] = {}
    for rater in project_raters(db, project_id).values():
        for at, aspect in enumerate(aspects):
            here = (columns["rater"] == rater.id) & ((columns["aspect"] == at) | (columns["aspect"] == -1))
            if here.any():
                answers[Question(rater.name, protocol, aspect)] = Answers(
                    row[here], unit[here], columns["swapped"][here] == 1, value[here]
                )
    return answers


def _aspects(db: Database, project_id: int, protocol: str) -> list[str]:
    return [
        row[0]
        for row in db.rows(
            """SELECT v.aspect FROM runs ru JOIN verdicts v ON v.run_id = ru.id
               WHERE ru.project_id = ?1 AND ru.protocol = ?2
               UNION SELECT v.aspect FROM games g JOIN verdicts v ON v.id = g.verdict_id
               WHERE v.project_id = ?1 AND v.protocol = ?2 ORDER BY 1""",
            (project_id, protocol),
        )
    ]


def _of_newest_runs(columns: npt.NDArray[Any]) -> BoolArray:
    """A mask of the calls that belong to their rater's newest run on their case."""
    runs = np.unique(np.stack((columns["rater"], columns["run"])), axis=1)
    if np.unique(runs[0]).size == runs.shape[1]:
        return np.ones(columns.size, dtype=np.bool_)
    about = np.stack((columns["rater"], columns["case_id"]))
    at = np.unique(about, axis=1, return_inverse=True)[1].reshape(-1)
    newest = np.zeros(columns.size, dtype=np.int64)
    np.maximum.at(newest, at, columns["run"])
    newest_run: BoolArray = columns["run"] == newest[at]
    return newest_run


def _codes(values: Collection[Hashable]) -> IntArray:
    """An integer code for each distinct value, in order of first occurrence."""
    codes: defaultdict[Hashable, int] = defaultdict(count().__next__)
    return np.fromiter(map(codes.__getitem__, values), dtype=np.int64, count=len(values))
