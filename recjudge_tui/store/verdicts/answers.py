"""What raters answered, call by call: the answers as columns, what their calls took, how often they flip with the order,
how sure they are, and which answers a question allows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.domain.filters import Term, VerdictFilter, whole_term
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.roles import REVIEWED
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import about_systems, sql_list
from recjudge_tui.store.prompts import prompt_by_id
from recjudge_tui.store.verdicts.ratings import NO_VALUE, CaseColumns, Question, columns_of, project_raters

_ANSWER = [(name, "i8") for name in ("rater", "run", "case_id", "sample", "swapped", "aspect", "call")] + [
    ("value", "f8")
]


class AnswerRows(NamedTuple):
    """One question's answers, one row for each finished call and each judgement imported by order.

    `row`: the case's index in CaseColumns; `run` and `call`: ids, -1 and 0 if imported; `swapped`: system b was shown first;
    `value` is NaN if the call failed.
    """

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
    aspects = [
        row[0]
        for row in db.rows(
            """SELECT v.aspect FROM runs ru JOIN verdicts v ON v.run_id = ru.id
               WHERE ru.project_id = ?1 AND ru.protocol = ?2
               UNION SELECT v.aspect FROM games g JOIN verdicts v ON v.id = g.verdict_id
               WHERE v.project_id = ?1 AND v.protocol = ?2 ORDER BY 1""",
            (project_id, protocol),
        )
    ]
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
    # another process may have added cases since they were read
    columns = columns[np.isin(columns["case_id"], cases.ids)]
    row = np.searchsorted(cases.ids, columns["case_id"])
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
    rows = db.rows(
        """SELECT k.cached_from IS NOT NULL, ifnull(k.tokens_in, o.tokens_in), ifnull(k.tokens_out, o.tokens_out),
             ifnull(k.cost_usd, o.cost_usd), k.latency_s, a.confidence, ifnull(k.model, ''), ifnull(k.error_kind, '')
           FROM json_each(?) j LEFT JOIN calls k ON k.id = j.value LEFT JOIN calls o ON o.id = k.cached_from
           LEFT JOIN answers a ON a.call_id = k.id AND a.aspect = ? ORDER BY j.key""",
        (json.dumps(calls.tolist()), aspect),
    )
    numbers = np.array([tuple(row)[1:6] for row in rows], dtype=np.float64).reshape(-1, 5).T
    most = np.array([1e12, 1e12, 1e9, 1e9, 1.0])[:, None]
    with np.errstate(invalid="ignore"):
        numbers[~((numbers >= 0) & (numbers <= most))] = np.nan
    cached = np.array([bool(row[0]) for row in rows], dtype=np.bool_)
    tokens_in, tokens_out, cost, seconds, sure = numbers
    models, errors = (tuple(row[at] for row in rows) for at in (6, 7))
    return CallRows(cached, tokens_in, tokens_out, cost, seconds, sure, models, errors)


def verdict_confidences(db: Database, rater_id: int, question: Question, cases: CaseColumns) -> FloatArray:
    """By case: the judge's probability of its verdict, NaN where unknown."""
    rows = columns_of(
        db,
        """SELECT case_id, confidence FROM verdicts WHERE rater_id > 0 AND rater_id = ? AND protocol = ? AND aspect = ?
             AND state = 'ok' AND confidence IS NOT NULL""",
        (rater_id, question.protocol, question.aspect),
        [("case_id", "i8"), ("confidence", "f8")],
    )
    known = rows[np.isin(rows["case_id"], cases.ids)]
    confidence = np.full(cases.ids.size, np.nan)
    confidence[np.searchsorted(cases.ids, known["case_id"])] = known["confidence"]
    return confidence


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


class FlipCount(NamedTuple):
    """`flips` of `n` verdicts of a judge on pairs asked in both orders depended on the order."""

    rater: str
    protocol: str
    aspect: str
    flips: int
    n: int

    @property
    def share(self) -> float:
        return self.flips / self.n

    @property
    def cases(self) -> str:
        """The filter of the verdicts that flip."""
        protocol, aspect = Term("protocol", ":", self.protocol), Term("aspect", ":", self.aspect)
        flips = (protocol, aspect, whole_term("judge", self.rater), Term("why", ":", "swap"))
        return VerdictFilter(flips).text()


def flip_counts(db: Database, project_id: int) -> tuple[FlipCount, ...]:
    """One count for each judge and protocol, on the aspect `overall`, or else the first aspect by name.

    The newest judge comes first. Reads an index of all verdicts.
    """
    rows = db.rows(
        f"""SELECT r.name, v.protocol, v.aspect, sum(v.order_consistent = 0), count(*) AS n
            FROM raters r JOIN verdicts v INDEXED BY verdicts_by_question ON v.rater_id = r.id AND v.rater_id > 0
            WHERE r.project_id = ? AND r.kind IN {sql_list(REVIEWED)} AND v.order_consistent IS NOT NULL
              AND {about_systems("v.protocol")}
            GROUP BY r.id, v.protocol, v.aspect ORDER BY r.id DESC, v.protocol, v.aspect <> '{OVERALL}', v.aspect""",
        (project_id,),
    )
    first: dict[tuple[str, str], FlipCount] = {}
    for row in rows:
        first.setdefault((row[0], row[1]), FlipCount(*row))
    return tuple(first.values())


class Choices(NamedTuple):
    """The possible answers: (label, value), best first, or a number from `low` to `high`."""

    labels: tuple[tuple[str, float], ...]
    low: float = 0.0
    high: float = 0.0


def choices(db: Database, verdict_id: int) -> Choices:
    """The answers that can replace a verdict: the labels or the scale of its prompt.

    For a verdict without a run, those of the prompt of the protocol's newest run, else of the protocol's newest prompt;
    without a prompt, the labels given so far. Raises NotFoundError, or UsageError when there are none.
    """
    verdict = db.row("SELECT * FROM verdicts WHERE id = ?", (verdict_id,))
    if verdict is None:
        raise NotFoundError("this verdict no longer exists", "Its run or import was deleted in the meantime.")
    prompt_id = db.value(
        """SELECT prompt_id FROM runs WHERE id = :run OR (project_id = :project AND protocol = :protocol)
           ORDER BY id = :run DESC, id DESC LIMIT 1""",
        {"run": verdict["run_id"], "project": verdict["project_id"], "protocol": verdict["protocol"]},
    ) or db.value(
        "SELECT id FROM prompts WHERE protocol = ? ORDER BY id DESC LIMIT 1", (verdict["protocol"],)
    )
    if prompt_id is not None:
        prompt = prompt_by_id(db, prompt_id)
        if prompt.scale is not None:
            return Choices((), prompt.scale.low, prompt.scale.high)
        labels = prompt.labels_of(verdict["aspect"])
        if labels:
            return Choices(tuple((label.name, label.value) for label in labels))
    given = db.rows(
        """SELECT DISTINCT label, value FROM verdicts WHERE project_id = ? AND protocol = ? AND aspect = ?
             AND label <> '' AND state = 'ok' ORDER BY value DESC LIMIT 9""",
        (verdict["project_id"], verdict["protocol"], verdict["aspect"]),
    )
    if not given:
        raise UsageError(
            "there are no answers to choose from",
            f"No {verdict['protocol']} prompt asks for “{verdict['aspect']}”, and no label was given so far.",
            "Override the verdict of a judge or a person.",
        )
    return Choices(tuple((row["label"], row["value"]) for row in given))


def parse_choice(db: Database, verdict_id: int, wanted: str) -> tuple[str, float]:
    """The (label, value) among the choices that matches `wanted`, ignoring case.

    A prefix is enough if only one label has it. Raises NotFoundError, or UsageError naming the choices.
    """
    offered = choices(db, verdict_id)
    if not offered.labels:
        try:
            value = float(wanted)
        except ValueError:
            value = float("nan")
        if offered.low <= value <= offered.high:
            return f"{value:g}", value
        raise UsageError(f"“{wanted}” is not a number from {offered.low:g} to {offered.high:g}")
    lowered = wanted.casefold()
    exact = [pair for pair in offered.labels if pair[0].casefold() == lowered]
    begun = [pair for pair in offered.labels if lowered and pair[0].casefold().startswith(lowered)]
    for matches in (exact, begun):
        if len(matches) == 1:
            return matches[0]
    names = ", ".join(label for label, _ in offered.labels)
    raise UsageError(f"no label “{wanted}” for this verdict", f"Available: {names}.")
