"""The verdict list: the ids of the verdicts that pass a filter, sorted, and the rows to show.

A list is an array of verdict ids of eight bytes each; rows are read in windows. Sorting and filtering read the whole
project, so run them in a worker with its own connection.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from recjudge_tui.domain.filters import VerdictFilter
from recjudge_tui.domain.occasions import NO_OCCASION, Occasion
from recjudge_tui.domain.protocols import question_of, smallest_disagreement
from recjudge_tui.domain.roles import FIRST_HAND, PEOPLE, REVIEWED, WITHOUT_OPINION
from recjudge_tui.store.database import Database, explained
from recjudge_tui.store.facts import about_systems, sql_list
from recjudge_tui.store.occasions import of_several_occasions
from recjudge_tui.store.verdicts.filters import (
    FIRST_IN_REASONING,
    OF_PROJECT,
    Parameters,
    conditions,
    word_query,
)
from recjudge_tui.store.verdicts.triage_log import TriageState, triage_states, undecided

# lowest confidence first, empty labels and confidences last; the last column makes every order total
SORTS: dict[str, str] = {
    "id": "v.id",
    "label": "v.label = '', v.label COLLATE NOCASE, v.id",
    "confidence": "v.confidence IS NULL, v.confidence, v.id",
    "case": "v.case_id, v.aspect, v.rater_id",
}
_CHUNK = 512
_FIRST_ANSWERS = 1000
_EVERYTHING = VerdictFilter()
# case, aspect and question
_Question = tuple[int, str, str]


class Opinions(NamedTuple):
    """How many people gave one answer."""

    label: str
    value: float
    n: int


class JudgedRun(NamedTuple):
    """A run with verdicts, and its rater."""

    id: int
    judge: str


class VerdictRow(NamedTuple):
    """One row of the list.

    `people` are the answers of annotators and users on this question, the most frequent first. `votes` are the numbers of
    people and judges per value on it, highest first; `spread` is the highest value minus the lowest (None with fewer
    than two votes). `several_occasions`: the user has more than one.
    """

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
    triage: TriageState = TriageState()
    user_id: str = ""
    systems: tuple[str, ...] = ()
    occasion: Occasion = NO_OCCASION
    several_occasions: bool = False
    people: tuple[Opinions, ...] = ()


def filtered_ids(
    db: Database,
    project_id: int,
    chosen: VerdictFilter = _EVERYTHING,
    sort: str = "id",
    *,
    limit: int | None = None,
    after: int = 0,
) -> array[int]:
    """The ids of the verdicts that pass the filter, sorted by `sort` (a key of SORTS).

    Only ids above `after`; with `sort="id"` these are the new ones. `limit` is for a first page.
    """
    where, parameters = conditions(project_id, chosen, by_case=sort == "case")
    since = "v.id > :after AND " if after else ""
    sql = f"SELECT v.id FROM verdicts v WHERE {since}{where} ORDER BY {SORTS[sort]} LIMIT :limit"
    return _ids(db, sql, {**parameters, "after": after, "limit": -1 if limit is None else limit})


def first_ids(db: Database, project_id: int, chosen: VerdictFilter, sort: str, limit: int) -> array[int]:
    """A fast first page of `filtered_ids`: for words, the first hits of the full-text index.

    Words may also occur elsewhere, so this page can miss verdicts that the whole list has.
    """
    search = word_query(chosen)
    if search is None:
        return filtered_ids(db, project_id, chosen, sort, limit=limit)
    query, rest = search
    where, parameters = conditions(project_id, rest)
    sql = f"""SELECT v.id FROM verdicts v WHERE v.id IN ({FIRST_IN_REASONING}) AND {where}
              ORDER BY {SORTS[sort]} LIMIT :limit"""
    return _ids(db, sql, {**parameters, "first": query, "most": _FIRST_ANSWERS, "limit": limit})


def _ids(db: Database, sql: str, parameters: Parameters) -> array[int]:
    cursor = db.execute(sql, parameters)
    cursor.row_factory = None
    ids: array[int] = array("q")
    with explained(db.path):
        while chunk := cursor.fetchmany(5000):
            ids.extend(row[0] for row in chunk)
    return ids


def count_verdicts(db: Database, project_id: int) -> int:
    """The number of verdicts of the project, including failed ones."""
    count: int = db.value(f"SELECT count(*) FROM verdicts v WHERE {OF_PROJECT}", {"project": project_id})
    return count


def verdict_rows(db: Database, ids: Sequence[int]) -> list[VerdictRow]:
    """The rows of these verdicts, in the order of `ids`; without deleted verdicts."""
    wanted = json.dumps(list(ids))
    listed = db.rows(
        f"""
        SELECT v.id, v.case_id, r.name AS rater, r.kind, v.protocol, v.aspect, v.label, v.value, v.confidence,
          v.state, v.order_consistent, v.flag_count, v.rater_id, c.user_id, c.system_a, c.system_b,
          c.context, c.served_at, {of_several_occasions("c")} AS several,
          CASE WHEN v.flag_count = 0 THEN '' ELSE ifnull(
            (SELECT f.issue FROM flags f WHERE f.verdict_id = v.id LIMIT 1),
            (SELECT f.issue FROM calls k JOIN flags f ON f.call_id = k.id
              WHERE k.run_id = v.run_id AND k.case_id = v.case_id LIMIT 1)) END AS issue,
          CASE WHEN v.state = 'ok' THEN '' ELSE
            (SELECT k.error_kind FROM calls k WHERE k.run_id = v.run_id AND k.case_id = v.case_id
              AND k.state = 'failed' LIMIT 1) END AS error_kind,
          EXISTS (SELECT 1 FROM verdicts o JOIN raters q ON q.id = o.rater_id
            WHERE o.case_id = v.case_id AND o.aspect = v.aspect AND q.kind = 'reader') AS reviewed
        FROM verdicts v JOIN raters r ON r.id = v.rater_id JOIN cases c ON c.id = v.case_id
        WHERE v.id IN (SELECT value FROM json_each(?))""",
        (wanted,),
    )
    votes, people = _votes(db, {row["case_id"] for row in listed})
    touched = triage_states(db, ids)
    rows = {}
    for row in listed:
        question = row["case_id"], row["aspect"], question_of(row["protocol"])
        others = votes.get(question, {})
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
            triage=touched.get(row["id"], TriageState()),
            user_id=row["user_id"],
            systems=tuple(name for name in (row["system_a"], row["system_b"]) if name),
            occasion=Occasion(row["context"], row["served_at"]),
            several_occasions=bool(row["several"]),
            people=tuple(sorted(people.get(question, ()), key=lambda given: (-given.n, -given.value))),
        )
    return [rows[key] for key in ids if key in rows]


def _votes(
    db: Database, cases: Iterable[int]
) -> tuple[dict[_Question, dict[float, int]], dict[_Question, list[Opinions]]]:
    """Question -> value -> how many people and judges gave it; question -> the answers that people gave themselves
    (without consensus).
    """
    rows = db.rows(
        f"""SELECT o.case_id, o.aspect, o.protocol, o.value, max(o.label) AS label, count(*) AS n,
              sum(q.kind IN {sql_list(FIRST_HAND)}) AS people
            FROM verdicts o JOIN raters q ON q.id = o.rater_id
            WHERE o.case_id IN (SELECT value FROM json_each(?)) AND o.state = 'ok'
              AND q.kind NOT IN {sql_list(WITHOUT_OPINION)}
            GROUP BY o.case_id, o.aspect, o.protocol, o.value""",
        (json.dumps(list(cases)),),
    )
    votes: dict[_Question, dict[float, int]] = defaultdict(lambda: defaultdict(int))
    people: dict[_Question, list[Opinions]] = defaultdict(list)
    for row in rows:
        question = row["case_id"], row["aspect"], question_of(row["protocol"])
        votes[question][row["value"]] += row["n"]
        if row["people"]:
            people[question].append(Opinions(row["label"], row["value"], row["people"]))
    return votes, people


def _apart(value: float | None, others: dict[float, int], protocol: str) -> bool:
    least = smallest_disagreement(protocol)
    return value is not None and any(abs(other - value) >= least for other in others)


def next_undecided(db: Database, ids: Sequence[int]) -> int | None:
    """The first of `ids` without a decision; None if all have one."""
    for start in range(0, len(ids), _CHUNK):
        left = undecided(db, list(ids[start : start + _CHUNK]))
        if left:
            return left[0]
    return None


def newest_judged_run(db: Database, project_id: int) -> JudgedRun | None:
    """The newest run of a judge with verdicts about systems; None if there is none."""
    row = db.row(
        f"""SELECT ru.id, r.name FROM runs ru JOIN raters r ON r.id = ru.rater_id
            WHERE ru.project_id = ? AND r.kind IN {sql_list(REVIEWED)}
              AND EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = ru.id AND {about_systems("v.protocol")})
            ORDER BY ru.id DESC LIMIT 1""",
        (project_id,),
    )
    return None if row is None else JudgedRun(*row)


def run_has_confidences(db: Database, run_id: int) -> bool:
    """Whether the judge of the run says how sure it is."""
    return bool(
        db.value(
            "SELECT EXISTS (SELECT 1 FROM verdicts WHERE run_id = ? AND confidence IS NOT NULL)", (run_id,)
        )
    )


EXPORTED = (
    "project", "protocol", "case_id", "user_id", "item_id", "system_a", "system_b", "rater", "rater_kind", "run_id",
    "aspect", "value", "label", "state", "order_consistent", "confidence", "reasoning", "created_at", "shown_first",
    "context", "served_at",
)  # fmt: skip

# the system whose list came first in every call or imported judgement about a pair; null where both orders were asked
_SHOWN_FIRST = """(SELECT CASE WHEN min(list_order) = max(list_order)
    THEN iif(min(list_order) = 'ab', v.system_a, v.system_b) END
  FROM (SELECT k.list_order FROM calls k WHERE k.run_id = v.run_id AND k.case_id = v.case_id AND k.list_order <> ''
        UNION ALL SELECT g.list_order FROM games g WHERE g.verdict_id = v.verdict_id))"""


def exported_rows(db: Database, ids: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """The columns EXPORTED of these verdicts, in the order of `ids`, read in chunks."""
    columns = ", ".join(_SHOWN_FIRST if name == "shown_first" else name for name in EXPORTED)
    sql = f"""SELECT verdict_id, {columns} FROM v_verdicts v
              WHERE verdict_id IN (SELECT value FROM json_each(?))"""
    for start in range(0, len(ids), _CHUNK):
        chunk = list(ids[start : start + _CHUNK])
        by_id = {row[0]: tuple(row)[1:] for row in db.rows(sql, (json.dumps(chunk),))}
        yield from (by_id[key] for key in chunk if key in by_id)


def verdicts_on(db: Database, cases: Iterable[int]) -> set[int]:
    """The ids of all verdicts on these cases."""
    return {
        row[0]
        for row in db.rows(
            "SELECT id FROM verdicts WHERE case_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(cases)),),
        )
    }


def case_verdicts(db: Database, case_id: int) -> list[int]:
    """The ids of the verdicts on one case, judges before people, then by rater and aspect."""
    return [
        row[0]
        for row in db.rows(
            f"""SELECT v.id FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE v.case_id = ?
               ORDER BY r.kind IN {sql_list(PEOPLE)}, r.name, v.aspect""",
            (case_id,),
        )
    ]
