"""The verdicts of one question with the day on which their lists were served, or the import that brought them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter, Over, period_of
from recjudge_tui.domain.protocols import compares_lists
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.store.database import Database
from recjudge_tui.store.occasions import occasion_condition
from recjudge_tui.store.verdicts.generations import NEVER, load_lifetimes
from recjudge_tui.store.verdicts.ratings import Question


@dataclass(frozen=True)
class DatedVerdicts:
    """One row per verdict, by case.

    `user` holds codes; `system_a` and `system_b` are indexes into `systems` (the system of a single list is
    `system_a`); `period` is an index into the sorted `periods`, -1 if the period is unknown. `value` is NaN if the
    verdict failed, `flags` is the number of flagged items. `replaced` counts the verdicts on lists that a later
    import replaced; by day, week and month they have no period. `run` has the run of each verdict, 0 if there is
    none; it is empty unless requested.
    """

    user: IntArray
    system_a: IntArray
    system_b: IntArray
    period: IntArray
    value: FloatArray
    flags: IntArray
    systems: tuple[str, ...]
    periods: tuple[str, ...]
    replaced: int = 0
    run: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def dated_verdicts(
    db: Database,
    project_id: int,
    rater_id: int,
    question: Question,
    over: Over,
    occasions: OccasionFilter = EVERY_OCCASION,
    systems: Sequence[str] = (),
    *,
    with_runs: bool = False,
) -> DatedVerdicts:
    """The verdicts of a rater on a question, on every list of these occasions that it ever judged. If systems are
    named, only verdicts on these count, and on pairs of two of them. By import, a list belongs to the import that
    contained it first; two lists belong to the later of their imports.
    """
    of_pairs = compares_lists(question.protocol)
    rows = _rows(db, rater_id, question, over, occasions, systems, with_runs=with_runs)
    known = {*rows.first, *rows.second}
    shown = tuple(sorted((known & {*systems} if systems else known) - {""}))
    places = dict.fromkeys(("", *known), -1) | {name: place for place, name in enumerate(shown)}
    size = len(rows.first)
    replaced = np.zeros(size, dtype=np.bool_)
    if over == "import":
        period, periods = _imports(db, project_id, rows.when)
    else:
        period, periods = _periods(rows.when, over)
        replaced = _replaced(db, project_id, rater_id, question, size) & (period >= 0)
        period = np.where(replaced, -1, period)
    verdicts = DatedVerdicts(
        user=_mapped(rows.users, defaultdict(count().__next__)),
        system_a=_mapped(rows.first, places),
        system_b=_mapped(rows.second, places) if of_pairs else np.full(size, -1, dtype=np.int64),
        period=period,
        value=np.array(rows.values, dtype=np.float64),
        flags=_flags(db, project_id, rater_id, question, size),
        systems=shown,
        periods=periods,
        replaced=int(replaced.sum()),
        run=np.array(rows.runs, dtype=np.int64),
    )
    return verdicts if rows.here is None else _of_rows(verdicts, rows.here, replaced)


class _VerdictColumns(NamedTuple):
    """Columns of the verdicts. `when` is a time, or a case if the trend is by import.

    `second` is empty for lists; `runs` is empty unless requested. `here` marks the verdicts of the chosen systems and
    occasions; None if all are chosen.
    """

    users: list[str]
    first: list[str]
    values: list[float | None]
    second: list[str]
    when: list[Any]
    runs: list[int]
    here: BoolArray | None


def _rows(
    db: Database, rater_id: int, question: Question, over: Over, occasions: OccasionFilter, systems: Sequence[str],
    *, with_runs: bool,
) -> _VerdictColumns:  # fmt: skip
    of_pairs = compares_lists(question.protocol)
    chosen, parameters = occasion_condition(occasions, "c")
    if systems:
        named = "(SELECT value FROM json_each(:systems))"
        chosen += f" AND c.system_a IN {named}" + (f" AND c.system_b IN {named}" if of_pairs else "")
        parameters |= {"systems": json.dumps(systems)}
    # one JSON text per column takes a third of the time of a tuple per row; whole numbers are written faster
    columns = {
        "users": "c.user_id",
        "first": "c.system_a",
        "values": "CASE WHEN v.value = CAST(v.value AS INTEGER) THEN CAST(v.value AS INTEGER) ELSE v.value END",
        "second": "c.system_b" if of_pairs else "",
        "when": "v.case_id" if over == "import" else "c.served_at",
        "runs": "ifnull(v.run_id, 0)" if with_runs else "",
        "here": f"({chosen})" if systems or occasions != EVERY_OCCASION else "",
    }
    row = db.row(
        f"""SELECT {", ".join(f"json_group_array({column})" for column in columns.values() if column)}
            FROM verdicts v CROSS JOIN cases c ON c.id = v.case_id
            WHERE v.rater_id > 0 AND v.rater_id = :rater AND v.protocol = :protocol AND v.aspect = :aspect""",
        parameters | {"rater": rater_id, "protocol": question.protocol, "aspect": question.aspect},
    )
    assert row is not None
    texts = iter(row)
    lists = {name: json.loads(next(texts)) if column else [] for name, column in columns.items()}
    marks = np.array(lists.pop("here"), dtype=np.bool_)
    return _VerdictColumns(**lists, here=marks if columns["here"] else None)


def _of_rows(verdicts: DatedVerdicts, here: BoolArray, replaced: BoolArray) -> DatedVerdicts:
    columns = {
        name: getattr(verdicts, name)[here]
        for name in ("user", "system_a", "system_b", "period", "value", "flags", "run")
        if getattr(verdicts, name).size
    }
    return replace(verdicts, **columns, replaced=int((replaced & here).sum()))


def slate_periods(
    db: Database, project_id: int, over: Over, occasions: OccasionFilter = EVERY_OCCASION
) -> dict[int, str]:
    """Slate id -> the period in which the list was served or first imported, for lists of these occasions that have a
    period.
    """
    chosen, parameters = occasion_condition(occasions, "s")
    rows = db.rows(
        f"SELECT id, substr(served_at, 1, 10) FROM slates s WHERE project_id = :project AND {chosen}",
        parameters | {"project": project_id},
    )
    if over == "import":
        first = _first_imports(db, project_id, "slate")
        return {row[0]: import_name(first[row[0]]) for row in rows if row[0] in first}
    return {row[0]: period_of(row[1], over) for row in rows if row[1]}


def case_periods(db: Database, project_id: int, over: Over) -> dict[int, str]:
    """Case id -> the period in which its lists were served or first imported, for cases that have a period."""
    if over == "import":
        ids = [
            row[0] for row in db.rows("SELECT id FROM cases WHERE project_id = ? ORDER BY id", (project_id,))
        ]
        places, periods = _imports(db, project_id, ids)
        return {case: periods[at] for case, at in zip(ids, places.tolist(), strict=True) if at >= 0}
    rows = db.rows(
        "SELECT id, substr(served_at, 1, 10) FROM cases WHERE project_id = ? AND served_at <> ''",
        (project_id,),
    )
    return {row[0]: period_of(row[1], over) for row in rows}


def has_dated_cases(db: Database, project_id: int) -> bool:
    """Whether any case says when its lists were served."""
    dated: int = db.value(
        "SELECT EXISTS (SELECT 1 FROM cases WHERE project_id = ? AND served_at <> '')", (project_id,)
    )
    return bool(dated)


def import_name(import_id: int) -> str:
    """The name of an import in a trend."""
    return f"import {import_id}"


def _periods(times: Sequence[str], over: Over) -> tuple[IntArray, tuple[str, ...]]:
    names = {time: period_of(time[:10], over) for time in set(times) if time}
    periods = tuple(sorted(set(names.values())))
    places = {name: place for place, name in enumerate(periods)}
    return _mapped(times, {"": -1} | {time: places[name] for time, name in names.items()}), periods


def _imports(db: Database, project_id: int, cases: Sequence[int]) -> tuple[IntArray, tuple[str, ...]]:
    """The import of each case; that of its latest list or text."""
    lists = _first_imports(db, project_id, "slate")
    texts = _first_imports(db, project_id, "explanation")
    sources: dict[int, int] = {}
    for case, a, b, text in db.rows(
        """SELECT id, ifnull(slate_a, 0), ifnull(slate_b, 0), ifnull(explanation_id, 0) FROM cases
           WHERE project_id = ? AND (slate_a IS NOT NULL OR explanation_id IS NOT NULL)""",
        (project_id,),
    ):
        sources[case] = max(lists.get(a, 0), lists.get(b, 0), texts.get(text, 0))
    by_case = np.array([sources.get(case, 0) for case in cases], dtype=np.int64)
    known = np.unique(by_case[by_case > 0])
    period = np.where(by_case > 0, np.searchsorted(known, by_case), -1)
    return period.astype(np.int64), tuple(import_name(source) for source in known.tolist())


def _first_imports(db: Database, project_id: int, what: str) -> dict[int, int]:
    """Id of a list (`slate`) or text (`explanation`) -> the first import that brought it and was not undone."""
    rows = db.rows(
        f"""SELECT l.{what}_id, min(l.import_id) FROM {what}_imports l JOIN imports i ON i.id = l.import_id
            WHERE i.project_id = ? GROUP BY 1""",
        (project_id,),
    )
    return {row[0]: row[1] for row in rows}


def _replaced(db: Database, project_id: int, rater_id: int, question: Question, n: int) -> BoolArray:
    """A mask of the verdicts on lists that a later import replaced, in the order of the cases."""
    if load_lifetimes(db, project_id, np.zeros(0, dtype=np.int64)) is None:
        return np.zeros(n, dtype=np.bool_)
    rows = db.rows(
        """SELECT case_id FROM verdicts WHERE rater_id > 0 AND rater_id = ? AND protocol = ? AND aspect = ?
           ORDER BY case_id""",
        (rater_id, question.protocol, question.aspect),
    )
    lifetimes = load_lifetimes(db, project_id, np.array([row[0] for row in rows], dtype=np.int64))
    assert lifetimes is not None
    gone: BoolArray = lifetimes.until != NEVER
    return gone


def _flags(db: Database, project_id: int, rater_id: int, question: Question, n: int) -> IntArray:
    """The number of flagged items of each verdict, in the order of the cases."""
    parameters = (rater_id, question.protocol, question.aspect)
    flagged = db.value(
        """SELECT EXISTS (SELECT 1 FROM verdicts
                          WHERE project_id = ? AND flag_count > 0 AND +rater_id = ? AND protocol = ? AND aspect = ?)""",
        (project_id, *parameters),
    )
    if not flagged:
        return np.zeros(n, dtype=np.int64)
    rows = db.rows(
        """SELECT flag_count FROM verdicts WHERE rater_id > 0 AND rater_id = ? AND protocol = ? AND aspect = ?
           ORDER BY case_id""",
        parameters,
    )
    return np.array([row[0] for row in rows], dtype=np.int64)


def _mapped(values: Collection[Hashable], codes: Mapping[Any, int]) -> IntArray:
    return np.fromiter(map(codes.__getitem__, values), dtype=np.int64, count=len(values))
