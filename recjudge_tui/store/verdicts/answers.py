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


@dataclass(frozen=True)
class ReasonCounts:
    """Reasons of a rater: how many were read, how often the commonest stands among them, and how many stand word for word
    in the prompt."""

    read: int = 0
    same: int = 0
    of_prompt: int = 0
    commonest: str = ""


def reason_counts(db: Database, rater_id: int, protocol: str, aspect: str, most: int = 1000) -> ReasonCounts:
    """Of the first `most` answers with a reason."""
    rows = db.rows(
        """SELECT reasoning, count(*) AS n, max(length(reasoning) >= 20 AND instr(content, reasoning) > 0) AS copied FROM (
             SELECT trim(a.reasoning) AS reasoning, p.content FROM runs ru JOIN prompts p ON p.id = ru.prompt_id
             JOIN calls k ON k.run_id = ru.id JOIN answers a ON a.call_id = k.id AND a.aspect = ?3
             WHERE ru.rater_id = ?1 AND ru.protocol = ?2 AND trim(a.reasoning) <> '' LIMIT ?4)
           GROUP BY reasoning ORDER BY n DESC, reasoning""",
        (rater_id, protocol, aspect, most),
    )
    if not rows:
        return ReasonCounts()
    copied = sum(row["n"] for row in rows if row["copied"])
    return ReasonCounts(sum(row["n"] for row in rows), rows[0]["n"], copied, rows[0]["reasoning"])


def first_place_wins(db: Database, rater_id: int, protocol: str, aspect: str) -> tuple[int, int]:
    """(wins of the list shown first, answers that prefer a list), over the rater's answers on pairs asked in both orders."""
    row = db.row(
        """SELECT total(a.value * (CASE k.list_order WHEN 'ab' THEN 1 ELSE -1 END) > 0), total(a.value <> 0)
           FROM runs ru JOIN calls k ON k.run_id = ru.id AND k.list_order <> ''
           JOIN answers a ON a.call_id = k.id AND a.aspect = ?3
           WHERE ru.rater_id = ?1 AND ru.protocol = ?2 AND ifnull(json_extract(ru.settings, '$.swap'), 1)""",
        (rater_id, protocol, aspect),
    )
    return (0, 0) if row is None else (int(row[0]), int(row[1]))
