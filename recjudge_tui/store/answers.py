"""What judges answered, call by call; flips, reasons, and the changes between two raters or runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.domain.occasions import NO_OCCASION, Occasion
from recjudge_tui.domain.run import Reading, RunSettings
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.store.cases import OF_SEVERAL_OCCASIONS
from recjudge_tui.store.database import Database, StoredRow, read_cell
from recjudge_tui.store.ratings import NO_VALUE, CaseColumns, Question, columns_of, placed, project_raters
from recjudge_tui.store.runs import stored_runs

_ANSWER = [(name, "i8") for name in ("rater", "run", "case_id", "sample", "swapped", "aspect", "call")] + [
    ("value", "f8")
]


@dataclass(frozen=True)
class AnswerRows:
    """One question's answers, one row for each finished call and each judgement imported by order. `row`: the case's
    index in CaseColumns; `run` and `call`: ids, -1 and 0 if imported; `swapped`: system b was shown first; `value` is NaN
    if the call failed."""

    row: IntArray
    run: IntArray
    sample: IntArray
    swapped: BoolArray
    value: FloatArray
    call: IntArray


def load_answers(
    db: Database, project_id: int, protocol: str, cases: CaseColumns
) -> dict[Question, AnswerRows]:
    """The answers under a protocol by question, of each rater's newest run on a case. A failed call about all aspects counts
    as failed for each aspect."""
    sql = """SELECT v.aspect FROM runs ru JOIN verdicts v ON v.run_id = ru.id
             WHERE ru.project_id = ?1 AND ru.protocol = ?2
             UNION SELECT v.aspect FROM games g JOIN verdicts v ON v.id = g.verdict_id
             WHERE v.project_id = ?1 AND v.protocol = ?2 ORDER BY 1"""
    aspects = db.column(sql, (project_id, protocol))
    if not aspects:
        return {}
    code = " ".join(f"WHEN ? THEN {at}" for at in range(len(aspects)))
    called = columns_of(
        db,
        f"""SELECT ru.rater_id, ru.id, k.case_id, k.sample, k.list_order = 'ba',
              CASE ifnull(a.aspect, k.aspect) {code} ELSE -1 END, k.id, ifnull(a.value, {NO_VALUE})
            FROM runs ru JOIN calls k ON k.run_id = ru.id AND k.state IN ('done', 'failed')
            LEFT JOIN answers a ON a.call_id = k.id
            WHERE ru.project_id = ? AND ru.protocol = ?""",
        [*aspects, project_id, protocol],
        _ANSWER,
    )
    imported = columns_of(
        db,
        f"""SELECT v.rater_id, -1, v.case_id, 0, g.list_order = 'ba', CASE v.aspect {code} END, 0,
              ifnull(g.value, {NO_VALUE})
            FROM games g JOIN verdicts v ON v.id = g.verdict_id WHERE v.project_id = ? AND v.protocol = ?""",
        [*aspects, project_id, protocol],
        _ANSWER,
    )
    columns = np.concatenate([called[_of_newest_runs(called)], imported])
    row, columns = placed(cases.ids, columns)
    value = np.where(np.isinf(columns["value"]), np.nan, columns["value"])
    answers: dict[Question, AnswerRows] = {}
    for rater in project_raters(db, project_id).values():
        for at, aspect in enumerate(aspects):
            here = (columns["rater"] == rater.id) & ((columns["aspect"] == at) | (columns["aspect"] == -1))
            if here.any():
                run, sample, swapped, call = (
                    columns[name][here] for name in ("run", "sample", "swapped", "call")
                )
                question = Question(rater.name, protocol, aspect)
                answers[question] = AnswerRows(row[here], run, sample, swapped == 1, value[here], call)
    return answers


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


class Reason(NamedTuple):
    """Why a case got its value, in a judge's words or a person's note. `swapped`: system b was shown first."""

    case_id: int
    swapped: bool
    value: float
    text: str


def reasons(db: Database, rater_id: int, question: Question, case_ids: Sequence[int]) -> list[Reason]:
    """The reasons of a rater on these cases, by case; of several runs on a case, those of the newest."""
    sql = """WITH wanted AS (SELECT value AS id FROM json_each(?4)), said AS (
               SELECT k.case_id, k.list_order = 'ba' AS swapped, a.value, a.reasoning AS text, ru.id AS run, k.id AS call
               FROM runs ru JOIN calls k ON k.run_id = ru.id JOIN answers a ON a.call_id = k.id AND a.aspect = ?3
               WHERE ru.rater_id = ?1 AND ru.protocol = ?2 AND k.case_id IN wanted
               UNION ALL SELECT case_id, 0, value, note, 0, 0 FROM verdicts
               WHERE rater_id > 0 AND rater_id = ?1 AND protocol = ?2 AND aspect = ?3 AND run_id IS NULL AND state = 'ok'
                 AND case_id IN wanted)
             SELECT case_id, swapped, value, text
             FROM (SELECT *, max(run) OVER (PARTITION BY case_id) AS newest FROM said)
             WHERE run = newest AND trim(text) <> '' ORDER BY case_id, swapped, call"""
    rows = db.tuples(sql, (rater_id, question.protocol, question.aspect, json.dumps(case_ids)))
    return [Reason(case, bool(swapped), value, text) for case, swapped, value, text in rows]


class CallRows(NamedTuple):
    """What calls took, one row each; NaN if unknown, which an impossible stored number also is. A call answered from an
    earlier run is `cached` and has the original's tokens and cost."""

    cached: BoolArray
    tokens_in: FloatArray
    tokens_out: FloatArray
    cost_usd: FloatArray
    seconds: FloatArray
    confidence: FloatArray
    model: tuple[str, ...]
    error_kind: tuple[str, ...]


def load_calls(db: Database, calls: IntArray, aspect: str) -> CallRows:
    """What these calls (ids) took, in their order, and how sure their answers on `aspect` are."""
    sql = """SELECT k.cached_from IS NOT NULL, ifnull(k.tokens_in, o.tokens_in), ifnull(k.tokens_out, o.tokens_out),
               ifnull(k.cost_usd, o.cost_usd), k.latency_s, a.confidence, ifnull(k.model, ''), ifnull(k.error_kind, '')
             FROM json_each(?) j LEFT JOIN calls k ON k.id = j.value LEFT JOIN calls o ON o.id = k.cached_from
             LEFT JOIN answers a ON a.call_id = k.id AND a.aspect = ? ORDER BY j.key"""
    rows = db.rows(sql, (json.dumps(calls.tolist()), aspect))
    numbers = np.array([tuple(row)[1:6] for row in rows], dtype=np.float64).reshape(-1, 5).T
    most = np.array([1e12, 1e12, 1e9, 1e9, 1.0])[:, None]
    with np.errstate(invalid="ignore"):
        numbers[~((numbers >= 0) & (numbers <= most))] = np.nan
    cached = np.array([bool(row[0]) for row in rows], dtype=np.bool_)
    tokens_in, tokens_out, cost, seconds, sure = numbers
    models, errors = (tuple(row[at] for row in rows) for at in (6, 7))
    return CallRows(cached, tokens_in, tokens_out, cost, seconds, sure, models, errors)


def reason_counts(db: Database, rater_id: int, protocol: str, aspect: str) -> StoredRow:
    """Of the first 1,000 reasons of a rater: how many were `read`, how often the commonest stands among them (`same`), and
    how many stand word for word in the prompt (`of_prompt`)."""
    sql = """SELECT ifnull(sum(n), 0) AS read, ifnull(max(n), 0) AS same, ifnull(sum(n * copied), 0) AS of_prompt FROM (
        SELECT count(*) AS n, max(length(reasoning) >= 20 AND instr(content, reasoning) > 0) AS copied FROM (
          SELECT trim(a.reasoning) AS reasoning, p.content FROM runs ru JOIN prompts p ON p.id = ru.prompt_id
          JOIN calls k ON k.run_id = ru.id JOIN answers a ON a.call_id = k.id AND a.aspect = ?3
          WHERE ru.rater_id = ?1 AND ru.protocol = ?2 AND trim(a.reasoning) <> '' LIMIT 1000)
        GROUP BY reasoning)"""
    return db.only(sql, (rater_id, protocol, aspect))


def first_place_wins(db: Database, rater_id: int, protocol: str, aspect: str) -> tuple[int, int]:
    """(wins of the list shown first, answers that prefer a list), over the rater's answers on pairs asked in both orders."""
    sql = """SELECT total(a.value * (CASE k.list_order WHEN 'ab' THEN 1 ELSE -1 END) > 0), total(a.value <> 0)
             FROM runs ru JOIN calls k ON k.run_id = ru.id AND k.list_order <> ''
             JOIN answers a ON a.call_id = k.id AND a.aspect = ?3
             WHERE ru.rater_id = ?1 AND ru.protocol = ?2 AND ifnull(json_extract(ru.settings, '$.swap'), 1)"""
    first, decided = db.only(sql, (rater_id, protocol, aspect))
    return int(first), int(decided)


class Answered(NamedTuple):
    """The verdicts of one side: of a rater on a question, or of one of its runs."""

    rater_id: int
    protocol: str
    aspect: str
    run_id: int | None = None


class Cell(NamedTuple):
    """A cell of the grid of changes: a range of values of each side, bounds included."""

    low_a: float
    high_a: float
    low_b: float
    high_b: float


class ChangedCase(NamedTuple):
    """One case with both verdicts: values, labels (may be empty) and ids (None if the rater has a newer verdict)."""

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


# the verdicts of a run that the rater's newer verdicts may have replaced; replaced ones have no id
_OF_RUN = """(SELECT id, rater_id, case_id, aspect, protocol, value, label FROM verdicts WHERE run_id = :{run}
  UNION ALL SELECT NULL, rater_id, case_id, aspect, protocol, value, label FROM superseded_verdicts WHERE run_id = :{run})"""


class RunCases(NamedTuple):
    """A run and the ids of the cases that it judged; `started` is ISO 8601."""

    id: int
    rater: str
    started: str
    cases: tuple[int, ...]


def changed_cases(db: Database, first: Answered, second: Answered, ids: Sequence[int]) -> list[ChangedCase]:
    """These cases with the verdicts of both sides, in the order of ids."""
    tables = [
        "verdicts" if side.run_id is None else _OF_RUN.format(run=f"run_{name}")
        for name, side in (("a", first), ("b", second))
    ]
    # `rater_id > 0` is always true: it makes SQLite use the index of questions
    sql = f"""SELECT a.case_id, c.user_id, c.item_id, c.system_a, c.system_b, a.value, b.value, a.label, b.label, a.id, b.id,
          c.context, c.served_at, {OF_SEVERAL_OCCASIONS}
        FROM {tables[0]} a JOIN cases c ON c.id = a.case_id
        JOIN {tables[1]} b ON b.rater_id = :rater_b AND b.case_id = a.case_id AND b.aspect = :aspect_b
          AND b.protocol = :protocol_b
        WHERE a.rater_id > 0 AND a.rater_id = :rater_a AND a.protocol = :protocol_a AND a.aspect = :aspect_a
          AND a.case_id IN (SELECT value FROM json_each(:ids))
        ORDER BY a.case_id"""
    rows = db.tuples(
        sql,
        {
            "rater_a": first.rater_id, "protocol_a": first.protocol, "aspect_a": first.aspect, "run_a": first.run_id,
            "rater_b": second.rater_id, "protocol_b": second.protocol, "aspect_b": second.aspect, "run_b": second.run_id,
            "ids": json.dumps(list(ids)),
        },
    )  # fmt: skip
    return [ChangedCase._make((*row[:11], Occasion(*row[11:13]), bool(row[13]))) for row in rows]


def judged_runs(db: Database, rater_id: int, protocol: str, run_id: int | None = None) -> list[StoredRow]:
    """The rater's runs of a protocol with verdicts as in `run_row`, oldest first; with `run_id`, that run only."""
    sql = """SELECT id FROM runs ru WHERE rater_id = ?1 AND protocol = ?2 AND ifnull(?3, id) = id AND (
               EXISTS (SELECT 1 FROM verdicts WHERE run_id = ru.id)
               OR EXISTS (SELECT 1 FROM superseded_verdicts WHERE run_id = ru.id))"""
    judged = db.column(sql, (rater_id, protocol, run_id))
    return [run for run in stored_runs(db, rater_id=rater_id) if run["id"] in judged]


def cases_by_run(db: Database, project_id: int, protocol: str, aspect: str) -> list[RunCases]:
    """The runs of a protocol by start time, with their cases for one aspect. Runs that judged only other aspects or never
    started are left out."""
    sql = """SELECT ru.id, r.name, ifnull(ru.started_at, ru.created_at) AS started,
               (SELECT json_group_array(v.case_id) FROM (
                  SELECT case_id FROM verdicts WHERE run_id = ru.id AND aspect = ?2
                  UNION ALL SELECT case_id FROM superseded_verdicts WHERE run_id = ru.id AND aspect = ?2) v) AS cases,
               ru.started_at IS NULL OR EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = ru.id)
                 OR EXISTS (SELECT 1 FROM superseded_verdicts v WHERE v.run_id = ru.id) AS elsewhere
             FROM runs ru JOIN raters r ON r.id = ru.rater_id
             WHERE ru.project_id = ?1 AND ru.protocol = ?3
             ORDER BY started, ru.id"""
    rows = db.rows(sql, (project_id, aspect, protocol))
    runs = [RunCases(row[0], row[1], row[2], tuple(json.loads(row["cases"]))) for row in rows]
    return [run for run, row in zip(runs, rows, strict=True) if run.cases or not row["elsewhere"]]


class ReadRun(NamedTuple):
    """A run that read texts, and what they were."""

    id: int
    reading: Reading


def runs_that_read(db: Database, project_id: int, protocol: str) -> list[ReadRun]:
    """The project's runs under a protocol that read texts and have an answer, the newest first. Raises StoreError for
    settings that are not what recjudge stores."""
    sql = """SELECT id, settings FROM runs WHERE project_id = ? AND protocol = ? AND EXISTS (
               SELECT 1 FROM calls k JOIN answers a ON a.call_id = k.id WHERE k.run_id = runs.id)
             ORDER BY id DESC"""
    rows = db.tuples(sql, (project_id, protocol))
    settings = ((run, read_cell(RunSettings, text, "runs", run, "settings")) for run, text in rows)
    return [ReadRun(run, of.reading) for run, of in settings if of.reading is not None]


def answers_read(db: Database, run_id: int) -> list[StoredRow]:
    """Everything that a run answered about texts, in the order of its calls; `value` is seen from system a."""
    sql = """SELECT k.case_id, k.list_order AS "order", a.aspect, a.value, a.reasoning AS text
             FROM calls k JOIN answers a ON a.call_id = k.id
             WHERE k.run_id = ? AND k.state = 'done' ORDER BY k.id, a.id"""
    return db.rows(sql, (run_id,))
