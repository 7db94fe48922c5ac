"""The verdicts of two raters on the same cases, side by side, and the runs that gave them."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from recjudge_tui.domain.occasions import EVERY_OCCASION, NO_OCCASION, Occasion, OccasionFilter
from recjudge_tui.store.database import Database, explained
from recjudge_tui.store.occasions import occasion_condition, of_several_occasions


class ComparedQuestions(NamedTuple):
    """The two compared sides: rater, protocol, aspect and run.

    Without a run, all verdicts of the rater count. `left_out` are cases that do not count. The values of cells are
    seen from the side of the system compared with `baseline`; with `both_sides` a case is both in the cell of its
    values and in the cell of their negatives. Only cases of these `occasions` count.
    """

    rater_a: int
    protocol_a: str
    aspect_a: str
    run_a: int | None
    rater_b: int
    protocol_b: str
    aspect_b: str
    run_b: int | None
    left_out: tuple[int, ...] = ()
    baseline: str = ""
    both_sides: bool = False
    occasions: OccasionFilter = EVERY_OCCASION


class Cell(NamedTuple):
    """A cell of the comparison table: a range of values of each side, bounds included."""

    low_a: float
    high_a: float
    low_b: float
    high_b: float


class ChangedCase(NamedTuple):
    """One case with both verdicts: values, labels (may be empty) and ids (None if the rater has a newer verdict).

    `several_occasions`: the user has more than one.
    """

    case_id: int
    user_id: str
    item_id: str
    system_a: str
    system_b: str
    value_a: float
    value_b: float
    label_a: str
    label_b: str
    verdict_a: int | None
    verdict_b: int | None
    occasion: Occasion = NO_OCCASION
    several_occasions: bool = False

    @property
    def labels(self) -> tuple[str, str]:
        """The two labels; a value replaces an empty label."""
        return self.label_a or f"{self.value_a:.3g}", self.label_b or f"{self.value_b:.3g}"

    @property
    def systems(self) -> str:
        return f"{self.system_a} vs {self.system_b}" if self.system_b else self.system_a


class RunConfiguration(NamedTuple):
    """A run with its judge and settings as stored, and its prompt as `NAME@VERSION`."""

    run_id: int
    prompt: str
    judge: dict[str, Any]
    settings: dict[str, Any]


# the verdicts of a run that the rater's newer verdicts may have replaced; replaced ones have no id
_OF_RUN = """(SELECT id, rater_id, case_id, aspect, protocol, state, value, label FROM verdicts WHERE run_id = :{run}
  UNION ALL SELECT NULL, rater_id, case_id, aspect, protocol, state, value, label FROM superseded_verdicts
    WHERE run_id = :{run})"""
# `rater_id > 0` is always true: it makes SQLite use the index of questions
_BOTH = """{first} a JOIN {second} b ON b.rater_id = :rater_b AND b.case_id = a.case_id AND b.aspect = :aspect_b
{more} WHERE a.rater_id > 0 AND a.rater_id = :rater_a AND a.protocol = :protocol_a AND a.aspect = :aspect_a
  AND b.protocol = :protocol_b
  AND a.case_id NOT IN (SELECT value FROM json_each(:left_out)) AND {of_occasions}"""
_CHANGED = "a.value <> b.value"
_TURN = "(SELECT iif(system_a = :baseline AND system_b <> '', -1, 1) FROM cases WHERE id = a.case_id)"
_IN_CELL = f"""(a.value * {_TURN} BETWEEN :low_a AND :high_a AND b.value * {_TURN} BETWEEN :low_b AND :high_b
  OR :both_sides AND -a.value BETWEEN :low_a AND :high_a AND -b.value BETWEEN :low_b AND :high_b)"""


class RunCases(NamedTuple):
    """A run and the ids of the cases that it judged; `started` is ISO 8601."""

    id: int
    rater: str
    started: str
    cases: tuple[int, ...]


def changed_ids(db: Database, compared: ComparedQuestions, cell: Cell | None = None) -> array[int]:
    """The ids of cases with different values, in order; with a cell, of all cases in it.

    Cases with a failed verdict are left out.
    """
    sql = f"SELECT a.case_id FROM {_both(compared)} AND {_IN_CELL if cell else _CHANGED} ORDER BY a.case_id"
    cursor = db.execute(sql, _parameters(compared, cell))
    cursor.row_factory = None
    with explained(db.path):
        return array("q", (row[0] for row in cursor))


def changed_cases(
    db: Database,
    compared: ComparedQuestions,
    cell: Cell | None = None,
    *,
    among: Sequence[int] | None = None,
    limit: int | None = None,
) -> list[ChangedCase]:
    """The same cases with both verdicts; `among` restricts them to these ids, `limit` to the first ones."""
    where = _IN_CELL if cell else _CHANGED
    if among is not None:
        where += " AND a.case_id IN (SELECT value FROM json_each(:among))"
    cursor = db.execute(
        f"""SELECT a.case_id, c.user_id, c.item_id, c.system_a, c.system_b, a.value, b.value, a.label, b.label, a.id, b.id,
              c.context, c.served_at, {of_several_occasions("c")}
            FROM {_both(compared, "JOIN cases c ON c.id = a.case_id")} AND {where}
            ORDER BY a.case_id LIMIT :limit""",
        _parameters(compared, cell)
        | {"among": json.dumps(list(among or ())), "limit": -1 if limit is None else limit},
    )
    cursor.row_factory = None
    with explained(db.path):
        return [
            ChangedCase(*row[:11])._replace(occasion=Occasion(*row[11:13]), several_occasions=bool(row[13]))
            for row in cursor
        ]


def run_configurations(
    db: Database, rater_id: int, protocol: str, run_id: int | None = None
) -> list[RunConfiguration]:
    """The rater's runs of a protocol with verdicts, oldest first; with `run_id`, that run only."""
    rows = db.rows(
        """SELECT ru.id, p.name || '@' || p.version AS prompt, ru.judge, ru.settings
           FROM runs ru JOIN prompts p ON p.id = ru.prompt_id
           WHERE ru.rater_id = ?1 AND ru.protocol = ?2 AND (?3 IS NULL OR ru.id = ?3)
             AND (EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = ru.id)
               OR EXISTS (SELECT 1 FROM superseded_verdicts v WHERE v.run_id = ru.id))
           ORDER BY ru.id""",
        (rater_id, protocol, run_id),
    )
    return [
        RunConfiguration(row["id"], row["prompt"], json.loads(row["judge"]), json.loads(row["settings"]))
        for row in rows
    ]


def _both(compared: ComparedQuestions, more: str = "") -> str:
    """The verdicts of both sides on the same cases, as SQL; `more` are further joins."""
    first = "verdicts" if compared.run_a is None else _OF_RUN.format(run="run_a")
    second = "verdicts" if compared.run_b is None else _OF_RUN.format(run="run_b")
    of_occasions = "1"
    if compared.occasions != EVERY_OCCASION:
        condition, _ = occasion_condition(compared.occasions, "o")
        of_occasions = f"EXISTS (SELECT 1 FROM cases o WHERE o.id = a.case_id AND {condition})"
    return _BOTH.format(first=first, second=second, more=more, of_occasions=of_occasions)


def _parameters(compared: ComparedQuestions, cell: Cell | None) -> dict[str, object]:
    left_out = {"left_out": json.dumps(compared.left_out)}
    _, occasions = occasion_condition(compared.occasions, "o")
    return compared._asdict() | left_out | occasions | (cell._asdict() if cell else {})


def cases_by_run(db: Database, project_id: int, protocol: str, aspect: str) -> list[RunCases]:
    """The runs of a protocol by start time, with their cases for one aspect.

    Runs that judged only other aspects or never started are left out.
    """
    rows = db.rows(
        """SELECT ru.id, r.name, ifnull(ru.started_at, ru.created_at) AS started,
             (SELECT json_group_array(v.case_id) FROM (
                SELECT case_id FROM verdicts WHERE run_id = ru.id AND aspect = ?2
                UNION ALL SELECT case_id FROM superseded_verdicts WHERE run_id = ru.id AND aspect = ?2) v) AS cases,
             ru.started_at IS NULL OR EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = ru.id)
               OR EXISTS (SELECT 1 FROM superseded_verdicts v WHERE v.run_id = ru.id) AS elsewhere
           FROM runs ru JOIN raters r ON r.id = ru.rater_id
           WHERE ru.project_id = ?1 AND ru.protocol = ?3
           ORDER BY started, ru.id""",
        (project_id, aspect, protocol),
    )
    runs = [RunCases(row[0], row[1], row[2], tuple(json.loads(row["cases"]))) for row in rows]
    return [run for run, row in zip(runs, rows, strict=True) if run.cases or not row["elsewhere"]]
