"""Verdicts and answers as NumPy columns, for reports: one pass over the rows, no object for each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.model.prompt import Prompt
from recjudge_tui.model.records import RaterKind
from recjudge_tui.store.database import Database, explained
from recjudge_tui.store.prompts import prompt_by_id

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# SQLite has no NaN and NumPy no NULL: an infinity stands between them
_NO_VALUE = "9e999"


class Rater(NamedTuple):
    id: int
    name: str
    kind: RaterKind


class Question(NamedTuple):
    """What one rater was asked: verdicts of one question are on one scale."""

    rater: str
    protocol: str
    aspect: str


@dataclass(frozen=True)
class CaseColumns:
    """Every case of a project, one row each, by id.

    `user` and `pair` (of user and item) are codes; `system_a` and `system_b` are places in `systems`.
    `has_item` and `is_pair` say which kind of case it is.
    """

    ids: IntArray
    user: IntArray
    pair: IntArray
    system_a: IntArray
    system_b: IntArray
    is_pair: BoolArray
    has_item: BoolArray
    systems: tuple[str, ...]


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of one question: `row` is the case's place in CaseColumns, `value` NaN where it failed,
    `flipped` where the two orders disagreed."""

    row: IntArray
    value: FloatArray
    flipped: BoolArray


@dataclass(frozen=True)
class Ratings:
    cases: CaseColumns
    raters: dict[str, Rater]
    verdicts: dict[Question, Verdicts]


@dataclass(frozen=True)
class Answers:
    """What the calls of one rater said about one aspect, a row a call, NaN where it failed.

    `swapped` marks the order in which system b stood first; `unit` is equal for the two orders of one
    asking (same run, case and sample).
    """

    row: IntArray
    unit: IntArray
    swapped: BoolArray
    value: FloatArray


def project_raters(db: Database, project_id: int) -> dict[str, Rater]:
    rows = db.rows("SELECT id, name, kind FROM raters WHERE project_id = ? ORDER BY name", (project_id,))
    return {row["name"]: Rater(row["id"], row["name"], row["kind"]) for row in rows}


def load_cases(db: Database, project_id: int) -> CaseColumns:
    """All cases of a project as columns."""
    rows = _tuples(
        db,
        "SELECT id, kind, user_id, item_id, system_a, system_b FROM cases WHERE project_id = ? ORDER BY id",
        (project_id,),
    )
    ids, kinds, users, items, first, second = zip(*rows, strict=True) if rows else ((),) * 6
    systems = tuple(sorted(set(first) | set(second)))
    places = {name: place for place, name in enumerate(systems)}
    return CaseColumns(
        ids=np.array(ids, dtype=np.int64),
        user=_codes(users),
        pair=_codes(zip(users, items, strict=True)),
        system_a=np.array([places[name] for name in first], dtype=np.int64),
        system_b=np.array([places[name] for name in second], dtype=np.int64),
        is_pair=np.array([kind == "pair" for kind in kinds], dtype=np.bool_),
        has_item=np.array([item != "" for item in items], dtype=np.bool_),
        systems=systems,
    )


def load_ratings(
    db: Database,
    project_id: int,
    *,
    raters: Collection[str] | None = None,
    protocols: Collection[str] | None = None,
    aspect: str | None = None,
) -> Ratings:
    """Verdicts by question, failed ones as NaN; None lets all raters, protocols or aspects through."""
    known = project_raters(db, project_id)
    chosen = {name: rater for name, rater in known.items() if raters is None or name in raters}
    wanted = json.dumps([rater.id for rater in chosen.values()])
    kinds = _tuples(
        db,
        "SELECT DISTINCT protocol, aspect FROM verdicts WHERE rater_id IN (SELECT value FROM json_each(?))",
        (wanted,),
    )
    kinds = [
        (p, a) for p, a in kinds if (protocols is None or p in protocols) and (aspect is None or a == aspect)
    ]
    cases = load_cases(db, project_id)
    if not kinds:
        return Ratings(cases, known, {})
    columns = _verdict_columns(db, wanted, kinds)
    row = np.searchsorted(cases.ids, columns["case_id"])
    value = np.where(np.isinf(columns["value"]), np.nan, columns["value"])
    found: dict[Question, Verdicts] = {}
    for rater in chosen.values():
        for code, (protocol, of) in enumerate(kinds):
            here = (columns["rater"] == rater.id) & (columns["kind"] == code)
            if here.any():
                found[Question(rater.name, protocol, of)] = Verdicts(
                    row[here], value[here], columns["consistent"][here] == 0
                )
    return Ratings(cases, known, found)


def _verdict_columns(db: Database, raters: str, kinds: Sequence[tuple[str, str]]) -> npt.NDArray[Any]:
    code = " ".join(f"WHEN v.protocol = ? AND v.aspect = ? THEN {at}" for at in range(len(kinds)))
    return _columns(
        db,
        f"""SELECT v.rater_id, v.case_id, CASE {code} ELSE -1 END, ifnull(v.value, {_NO_VALUE}),
              ifnull(v.order_consistent, -1)
            FROM verdicts v WHERE v.rater_id IN (SELECT value FROM json_each(?))""",
        [*(word for kind in kinds for word in kind), raters],
        [("rater", "i8"), ("case_id", "i8"), ("kind", "i8"), ("value", "f8"), ("consistent", "i8")],
    )


def load_answers(db: Database, project_id: int, protocol: str, cases: CaseColumns) -> dict[Question, Answers]:
    """What every finished call of a protocol said, by rater and aspect.

    A failed call that was asked about all aspects at once failed for each aspect of its run.
    """
    aspects = [
        row[0]
        for row in db.rows(
            """SELECT DISTINCT v.aspect FROM runs ru JOIN verdicts v ON v.run_id = ru.id
               WHERE ru.project_id = ? AND ru.protocol = ? ORDER BY v.aspect""",
            (project_id, protocol),
        )
    ]
    if not aspects:
        return {}
    code = " ".join(f"WHEN ? THEN {at}" for at in range(len(aspects)))
    columns = _columns(
        db,
        f"""SELECT ru.rater_id, ru.id, k.case_id, k.sample, k.list_order = 'ba',
              CASE ifnull(a.aspect, k.aspect) {code} ELSE -1 END, ifnull(a.value, {_NO_VALUE})
            FROM runs ru JOIN calls k ON k.run_id = ru.id AND k.state IN ('done', 'failed')
            LEFT JOIN answers a ON a.call_id = k.id
            WHERE ru.project_id = ? AND ru.protocol = ?""",
        [*aspects, project_id, protocol],
        [(name, "i8") for name in ("rater", "run", "case_id", "sample", "swapped", "aspect")]
        + [("value", "f8")],
    )
    row = np.searchsorted(cases.ids, columns["case_id"])
    value = np.where(np.isinf(columns["value"]), np.nan, columns["value"])
    unit = _codes(zip(columns["run"].tolist(), row.tolist(), columns["sample"].tolist(), strict=True))
    found: dict[Question, Answers] = {}
    for rater in project_raters(db, project_id).values():
        for at, aspect in enumerate(aspects):
            here = (columns["rater"] == rater.id) & ((columns["aspect"] == at) | (columns["aspect"] == -1))
            if here.any():
                found[Question(rater.name, protocol, aspect)] = Answers(
                    row[here], unit[here], columns["swapped"][here] == 1, value[here]
                )
    return found


def run_prompts(db: Database, project_id: int, protocol: str) -> list[Prompt]:
    """The prompts that runs of a protocol were planned with, oldest first."""
    rows = db.rows(
        "SELECT DISTINCT prompt_id FROM runs WHERE project_id = ? AND protocol = ? ORDER BY prompt_id",
        (project_id, protocol),
    )
    return [prompt_by_id(db, row[0]) for row in rows]


def case_verdicts(db: Database, case_id: int) -> list[int]:
    """Ids of the verdicts on one case, by rater and aspect, judges before people."""
    return [
        row[0]
        for row in db.rows(
            """SELECT v.id FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE v.case_id = ?
               ORDER BY r.kind IN ('annotator', 'consensus', 'ground_truth', 'reader'), r.name, v.aspect""",
            (case_id,),
        )
    ]


def _columns(
    db: Database, sql: str, parameters: Sequence[object], dtype: Sequence[tuple[str, str]]
) -> npt.NDArray[Any]:
    cursor = db.execute(sql, parameters)
    cursor.row_factory = None
    with explained(db.path):
        return np.fromiter(cursor, dtype=np.dtype(list(dtype)))


def _tuples(db: Database, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
    cursor = db.execute(sql, parameters)
    cursor.row_factory = None
    with explained(db.path):
        return cursor.fetchall()


def _codes(values: Iterable[object]) -> IntArray:
    """A number for each distinct value, in the order they first come."""
    known: dict[object, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)
