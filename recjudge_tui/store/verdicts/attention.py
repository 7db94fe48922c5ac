"""The triage queue: which verdicts need attention first, and why."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable
from typing import NamedTuple

from recjudge_tui.domain.filters import QUEUED, VerdictFilter
from recjudge_tui.domain.roles import PEOPLE, REVIEWED
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import (
    about_systems,
    apart,
    question_of,
    same_question,
    smallest_disagreement,
    sql_list,
    width,
)
from recjudge_tui.store.verdicts.filters import DECIDED, EXACT, conditions

# the name of the queue's order, in addition to those of `listing.SORTS`
ATTENTION = "attention"
LOW_CONFIDENCE = 0.6
_RATERS = "(SELECT id FROM raters WHERE project_id = :project AND kind IN {})"
_JUDGES = _RATERS.format(sql_list(REVIEWED))
_PEOPLE = _RATERS.format(sql_list(PEOPLE))


class Queue(NamedTuple):
    """`ids` in reading order; `starts` are (reason, index of its first verdict)."""

    ids: array[int]
    starts: tuple[tuple[str, int], ...]

    def reason(self, place: int) -> str:
        """Why the verdict at an index is in the queue."""
        return next((name for name, start in reversed(self.starts) if place >= start), "")

    def sizes(self) -> dict[str, int]:
        """reason -> how many verdicts are in the queue for it."""
        ends = [start for _, start in self.starts[1:]] + [len(self.ids)]
        return {name: end - start for (name, start), end in zip(self.starts, ends, strict=True)}


def queue(db: Database, project_id: int, chosen: VerdictFilter, suspects: Iterable[int] = ()) -> Queue:
    """The undecided verdicts matching `chosen` that a reader should see, each once, in this order (with `queue:` in
    the filter, only for those reasons; a verdict with several reasons is listed under the first): a judge that
    disagrees with a person on the question (largest difference first, as a share of the scale), judges that disagree
    with each other, answers that flip with the order of the lists, confidence below 0.6 (the lowest first), failed,
    and cases in which a text gives instructions to the judge (`suspects`, their ids). A disagreement is at least one
    step of A/Tie/B or of the labels, half of 0..1, or two steps of 1..5.
    """
    wanted = chosen.queue() or frozenset(QUEUED)
    chosen = chosen.without("queue")
    where, parameters = conditions(project_id, chosen)
    if not any(term.key in EXACT for term in chosen.terms):
        # cases that test a judge have a report of their own
        where = f"{where} AND {about_systems('v.protocol')}"
    one_judge = db.value(f"SELECT count(*) < 2 FROM {_JUDGES}", {"project": project_id})
    seen = bytearray(db.value("SELECT ifnull(max(id), 0) + 1 FROM verdicts"))
    for row in db.rows(f"{DECIDED} AND verdict_id IS NOT NULL", {"project": project_id}):
        seen[row[0]] = 1
    ids: array[int] = array("q")
    starts = []
    for name, (reason, sql) in _reasons().items():
        starts.append((reason, len(ids)))
        if name not in wanted or (name == "split" and one_judge):
            continue
        values = {**parameters, "suspects": json.dumps(list(suspects))}
        _take(db, sql.replace("{where}", where), values, seen, ids)
    return Queue(ids, tuple(starts))


def _take(db: Database, sql: str, values: dict[str, object], seen: bytearray, ids: array[int]) -> None:
    """Append the query's ids that are not marked in `seen`, and mark them."""
    cursor = db.execute(sql, values)
    cursor.row_factory = None
    while chunk := cursor.fetchmany(5000):
        for (key,) in chunk:
            # verdicts newer than the queue wait for the next queue
            if key < len(seen) and not seen[key]:
                seen[key] = 1
                ids.append(key)


def _against_people() -> str:
    return f"""SELECT v.id FROM verdicts o CROSS JOIN verdicts v ON v.case_id = o.case_id AND v.aspect = o.aspect
  WHERE o.rater_id IN {_PEOPLE} AND o.state = 'ok'
    AND v.rater_id IN {_JUDGES} AND v.state = 'ok' AND {same_question()} AND {apart()} AND {{where}}
  GROUP BY v.id ORDER BY max(abs(o.value - v.value)) / {width()} DESC, v.id"""


def _split() -> str:
    return f"""SELECT v.id FROM verdicts v WHERE {{where}} AND v.state = 'ok' AND v.rater_id IN {_JUDGES}
    AND (v.case_id, v.aspect, {question_of("v.protocol")}) IN (
      SELECT o.case_id, o.aspect, {question_of("o.protocol")} FROM verdicts o
      WHERE o.rater_id IN {_JUDGES} AND o.state = 'ok' GROUP BY 1, 2, 3
      HAVING max(o.value) - min(o.value) >= {smallest_disagreement("max(o.protocol)")})
  ORDER BY v.case_id, v.aspect, v.id"""


def _reasons() -> dict[str, tuple[str, str]]:
    """Name in a filter (of QUEUED) -> (reason, its verdicts), the most important first."""
    unsure = f"(v.confidence IS NULL) = 0 AND v.confidence < {LOW_CONFIDENCE}"
    return {
        "people": ("judge against people", _against_people()),
        "split": ("judges split", _split()),
        # random answers flip by chance
        "flip": ("order flip", _those(f"v.order_consistent = 0 AND v.rater_id IN {_JUDGES}")),
        "confidence": ("low confidence", _those(unsure, "v.confidence, v.id")),
        "failed": ("failed", _those("v.state = 'failed'")),
        "orders": ("gives orders", _those("v.case_id IN (SELECT value FROM json_each(:suspects))")),
    }


def _those(reason: str, order: str = "v.id") -> str:
    return f"SELECT v.id FROM verdicts v WHERE {{where}} AND {reason} ORDER BY {order}"
