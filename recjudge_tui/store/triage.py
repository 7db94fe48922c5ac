"""The verdict list: which verdicts a filter lets through, in what order, and what a row shows.

A list is an array of verdict ids, eight bytes each; rows are read in windows of ids. Sorting and
filtering go through the whole project and belong into a worker with its own connection.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from recjudge_tui.model.filters import COMPARED, Term, VerdictFilter
from recjudge_tui.store.database import Database

# lowest confidence first, failed labels last; the tail makes every order a total one
SORTS: dict[str, str] = {
    "id": "v.id",
    "label": "v.state = 'failed', v.label COLLATE NOCASE, v.id",
    "confidence": "v.confidence IS NULL, v.confidence, v.id",
    "case": "v.case_id, v.aspect, v.rater_id",
}
_PROJECT = "v.rater_id IN (SELECT id FROM raters WHERE project_id = :project)"
_BASELINES = "('metric', 'random')"
_CHUNK = 512
_EVERYTHING = VerdictFilter()

# Two verdicts of people and judges disagree when they answer one question on one scale and lie apart:
# one step on A/Tie/B and on the match labels, half of 0..1, two steps on 1..5.
_SAME_SCALE = "replace(o.protocol, 'arena', 'pairwise') = replace(v.protocol, 'arena', 'pairwise')"
_APART = "abs(o.value - v.value) >= CASE v.protocol WHEN 'explanation' THEN 2.0 ELSE 0.5 END"
_ON_THE_QUESTION = f"""verdicts o JOIN raters q ON q.id = o.rater_id
  WHERE o.case_id = v.case_id AND o.aspect = v.aspect AND o.state = 'ok' AND {_SAME_SCALE}"""
_DISAGREE = f"""v.state = 'ok' AND EXISTS (SELECT 1 FROM {_ON_THE_QUESTION}
  AND o.rater_id <> v.rater_id AND q.kind NOT IN {_BASELINES} AND {_APART})"""
_WHY = {
    "swap": "v.order_consistent = 0",
    "flag": "v.flag_count > 0",
    "failed": "v.state = 'failed'",
    "disagree": _DISAGREE,
}
_METRICS = "(SELECT id FROM raters WHERE project_id = :project AND kind = 'metric')"
# A metric knows no aspects and prefers a list or neither: it disagrees with whoever prefers the other list of a pair.
_DISAGREE_WITH = f"""v.state = 'ok' AND EXISTS (SELECT 1 FROM verdicts o
  WHERE o.case_id = v.case_id AND o.rater_id <> v.rater_id AND o.state = 'ok' AND {_SAME_SCALE}
    AND o.rater_id IN (SELECT id FROM raters WHERE project_id = :project AND (name = :it COLLATE NOCASE
      OR (instr(lower(name), lower(:it)) AND NOT EXISTS (
        SELECT 1 FROM raters WHERE project_id = :project AND name = :it COLLATE NOCASE))))
    AND CASE WHEN o.rater_id IN {_METRICS} OR v.rater_id IN {_METRICS}
      THEN v.protocol IN ('pairwise', 'arena') AND o.value * v.value < 0
      ELSE o.aspect = v.aspect AND {_APART} END)"""
# NULL where nobody else judged the question: no comparison holds. Metrics count from 0 to 1 where people count to 5.
_COMPARED = {
    "conf": "v.confidence",
    "spread": f"""(SELECT max(o.value) - min(o.value) FROM {_ON_THE_QUESTION}
      AND q.kind NOT IN {_BASELINES} HAVING count(*) > 1)""",
    "distance": f"""(SELECT max(abs(o.value - v.value)) FROM {_ON_THE_QUESTION}
      AND o.rater_id <> v.rater_id AND q.kind = 'ground_truth'
      AND (v.protocol IN ('pairwise', 'arena') OR v.rater_id NOT IN {_METRICS}))""",
}
_MARKED = "(v.flag_count > 0 OR v.order_consistent = 0 OR v.state = 'failed')"


class VerdictRow(NamedTuple):
    """One line of the list. `votes` counts the people and judges behind each value on this question, most first;
    `spread` is the highest of those values less the lowest (None with fewer than two of them)."""

    verdict_id: int
    case_id: int
    rater: str
    rater_kind: str
    protocol: str
    aspect: str
    label: str
    confidence: float | None
    failed: bool
    flipped: bool
    flag_count: int
    issue: str
    error_kind: str
    reviewed: bool
    disagrees: bool
    votes: tuple[int, ...]
    value: float | None = None
    spread: float | None = None


def filtered_ids(
    db: Database,
    project_id: int,
    chosen: VerdictFilter = _EVERYTHING,
    sort: str = "id",
    *,
    limit: int | None = None,
    after: int = 0,
) -> array[int]:
    """Ids of the verdicts that `chosen` lets through, in the order `sort` (a key of SORTS).

    `after` leaves out ids up to it: with `sort="id"` that is what came since. `limit` is for a first page.
    """
    where, parameters = _conditions(project_id, chosen)
    sql = f"SELECT v.id FROM verdicts v WHERE v.id > :after AND {where} ORDER BY {SORTS[sort]} LIMIT :limit"
    cursor = db.execute(sql, {**parameters, "after": after, "limit": -1 if limit is None else limit})
    found: array[int] = array("q")
    while chunk := cursor.fetchmany(5000):
        found.extend(row[0] for row in chunk)
    return found


def count_verdicts(db: Database, project_id: int) -> int:
    """All verdicts of the project, failed ones among them."""
    found: int = db.value(f"SELECT count(*) FROM verdicts v WHERE {_PROJECT}", {"project": project_id})
    return found


def verdict_rows(db: Database, ids: Sequence[int]) -> list[VerdictRow]:
    """The rows of these verdicts, in the order of `ids`; a verdict that is gone is left out."""
    wanted = json.dumps(list(ids))
    found = db.rows(
        """
        SELECT v.id, v.case_id, r.name AS rater, r.kind, v.protocol, v.aspect, v.label, v.value, v.confidence,
          v.state, v.order_consistent, v.flag_count, v.rater_id,
          CASE WHEN v.flag_count = 0 THEN '' ELSE ifnull(
            (SELECT f.issue FROM flags f WHERE f.verdict_id = v.id LIMIT 1),
            (SELECT f.issue FROM calls k JOIN flags f ON f.call_id = k.id
              WHERE k.run_id = v.run_id AND k.case_id = v.case_id LIMIT 1)) END AS issue,
          CASE WHEN v.state = 'ok' THEN '' ELSE
            (SELECT k.error_kind FROM calls k WHERE k.run_id = v.run_id AND k.case_id = v.case_id
              AND k.state = 'failed' LIMIT 1) END AS error_kind,
          EXISTS (SELECT 1 FROM verdicts o JOIN raters q ON q.id = o.rater_id
            WHERE o.case_id = v.case_id AND o.aspect = v.aspect AND q.kind = 'reader') AS reviewed
        FROM verdicts v JOIN raters r ON r.id = v.rater_id
        WHERE v.id IN (SELECT value FROM json_each(?))""",
        (wanted,),
    )
    votes = _votes(db, {row["case_id"] for row in found})
    rows = {}
    for row in found:
        others = votes.get((row["case_id"], row["aspect"], _scale(row["protocol"])), {})
        rows[row["id"]] = VerdictRow(
            verdict_id=row["id"],
            case_id=row["case_id"],
            rater=row["rater"],
            rater_kind=row["kind"],
            protocol=row["protocol"],
            aspect=row["aspect"],
            label=row["label"],
            confidence=row["confidence"],
            failed=row["state"] == "failed",
            flipped=row["order_consistent"] == 0,
            flag_count=row["flag_count"],
            issue=row["issue"] or "",
            error_kind=row["error_kind"] or "",
            reviewed=bool(row["reviewed"]),
            disagrees=_apart(row["value"], others, row["protocol"]),
            votes=tuple(sorted(others.values(), reverse=True)),
            value=row["value"],
            spread=max(others) - min(others) if sum(others.values()) > 1 else None,
        )
    return [rows[key] for key in ids if key in rows]


def _votes(db: Database, cases: Iterable[int]) -> dict[tuple[int, str, str], dict[float, int]]:
    """Case, aspect and scale -> value -> how many people and judges said it."""
    found = db.rows(
        f"""SELECT o.case_id, o.aspect, o.protocol, o.value, count(*) AS n
            FROM verdicts o JOIN raters q ON q.id = o.rater_id
            WHERE o.case_id IN (SELECT value FROM json_each(?)) AND o.state = 'ok' AND q.kind NOT IN {_BASELINES}
            GROUP BY o.case_id, o.aspect, o.protocol, o.value""",
        (json.dumps(list(cases)),),
    )
    votes: dict[tuple[int, str, str], dict[float, int]] = defaultdict(lambda: defaultdict(int))
    for row in found:
        votes[row["case_id"], row["aspect"], _scale(row["protocol"])][row["value"]] += row["n"]
    return votes


def _scale(protocol: str) -> str:
    return "pairwise" if protocol == "arena" else protocol


def _apart(value: float | None, others: dict[float, int], protocol: str) -> bool:
    least = 2.0 if protocol == "explanation" else 0.5
    return value is not None and any(abs(other - value) >= least for other in others)


def next_marked(db: Database, ids: Sequence[int]) -> int | None:
    """The first of `ids` that is flagged, flipped by the order, or failed; None when there is none."""
    for start in range(0, len(ids), _CHUNK):
        chunk = list(ids[start : start + _CHUNK])
        marked = {
            row[0]
            for row in db.rows(
                f"SELECT v.id FROM verdicts v WHERE v.id IN (SELECT value FROM json_each(?)) AND {_MARKED}",
                (json.dumps(chunk),),
            )
        }
        if marked:
            return next(key for key in chunk if key in marked)
    return None


def _conditions(project_id: int, chosen: VerdictFilter) -> tuple[str, dict[str, Any]]:
    """A WHERE clause over `verdicts v` and its parameters."""
    grouped: dict[str, list[Term]] = defaultdict(list)
    for term in chosen.terms:
        grouped[term.key].append(term)
    parameters: dict[str, Any] = {"project": project_id}
    clauses = [_PROJECT]
    for key, terms in grouped.items():
        parts = []
        for number, term in enumerate(terms):
            name = f"{key}{number}"
            sql, value = _condition(term, f":{name}")
            if value is not None:
                parameters[name] = value
            parts.append(f"({sql})")
        clauses.append("(" + (" AND " if key in ("text", *COMPARED) else " OR ").join(parts) + ")")
    return " AND ".join(clauses), parameters


def _condition(term: Term, name: str) -> tuple[str, str | float | None]:
    """One term over `verdicts v` with one parameter called `name` (None when it needs none)."""
    value = term.value
    if term.key in COMPARED:
        return f"{_COMPARED[term.key]} {term.op} {name}", float(value)
    if term.key in ("case", "run"):
        return f"v.{term.key}_id = {name}", int(value)
    if term.key in ("state", "protocol", "aspect"):
        return f"v.{term.key} = {name} COLLATE NOCASE", value
    if term.key == "why":
        return _WHY[value], None
    if term.key == "flag" and value.lower() == "any":
        return "v.flag_count > 0", None
    if term.key == "disagree":
        return _DISAGREE_WITH.replace(":it", name), value
    if term.key == "user":
        return f"v.case_id IN ({_cases(f'user_id = {name}')})", value
    if term.key == "label":
        # the word itself, or the word and more: “poor” is “Poor Match”
        begins = f"substr(v.label, 1, length({name}) + 1) = {name} || ' ' COLLATE NOCASE"
        return f"v.label = {name} COLLATE NOCASE OR {begins}", value
    return _SEARCHED[term.key].replace(":it", name), _like(value)


def _cases(condition: str) -> str:
    return (
        "SELECT id FROM cases WHERE project_id = :project"
        f" AND kind IN ('list', 'pair', 'explanation') AND {condition}"
    )


def _like(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _has(column: str) -> str:
    return f"{column} LIKE :it ESCAPE '\\'"


_ITEMS = f"SELECT item_id FROM items WHERE project_id = :project AND {_has('title')}"
_SLATES = f"""SELECT si.slate_id FROM slates s JOIN slate_items si ON si.slate_id = s.id
  WHERE s.project_id = :project AND (si.item_id IN ({_ITEMS}) OR {_has("si.item_id")})"""
_EXPLANATIONS = f"SELECT id FROM explanations WHERE project_id = :project AND {_has('text')}"
_SYSTEMS = f"({_has('system_a')} OR {_has('system_b')})"

# Subqueries without reference to v are run once, not for every verdict.
_SEARCHED = {
    "judge": f"v.rater_id IN (SELECT id FROM raters WHERE project_id = :project AND {_has('name')})",
    "system": f"v.case_id IN ({_cases(_SYSTEMS)})",
    "flag": f"""v.flag_count > 0 AND (
      EXISTS (SELECT 1 FROM flags f WHERE f.verdict_id = v.id AND {_has("f.issue")})
      OR EXISTS (SELECT 1 FROM calls k JOIN flags f ON f.call_id = k.id
        WHERE k.run_id = v.run_id AND k.case_id = v.case_id AND {_has("f.issue")}))""",
    "text": f"""{_has("v.note")}
      OR v.case_id IN (SELECT id FROM cases WHERE project_id = :project AND (
        {_has("user_id")} OR {_has("item_id")} OR item_id IN ({_ITEMS})
        OR slate_a IN ({_SLATES}) OR slate_b IN ({_SLATES}) OR explanation_id IN ({_EXPLANATIONS})))
      OR (v.run_id, v.case_id, v.aspect) IN (
        SELECT k.run_id, k.case_id, a.aspect FROM runs ru JOIN calls k ON k.run_id = ru.id
        JOIN answers a ON a.call_id = k.id WHERE ru.project_id = :project AND {_has("a.reasoning")})""",
}


EXPORTED = (
    "project", "protocol", "case_id", "user_id", "item_id", "system_a", "system_b", "rater", "rater_kind", "run_id",
    "aspect", "value", "label", "state", "order_consistent", "confidence", "reasoning", "created_at",
)  # fmt: skip


def exported_rows(db: Database, ids: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """The columns EXPORTED of these verdicts, in the order of `ids`, read in portions."""
    sql = f"""SELECT verdict_id, {", ".join(EXPORTED)} FROM v_verdicts
              WHERE verdict_id IN (SELECT value FROM json_each(?))"""
    for start in range(0, len(ids), _CHUNK):
        chunk = list(ids[start : start + _CHUNK])
        found = {row[0]: tuple(row)[1:] for row in db.rows(sql, (json.dumps(chunk),))}
        yield from (found[key] for key in chunk if key in found)
