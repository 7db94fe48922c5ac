"""The list of verdicts, labels people gave, and what asks for attention."""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from recjudge_tui.domain.filters import FLAGGED, QUEUED, Term, VerdictFilter, whole_term
from recjudge_tui.domain.occasions import NO_OCCASION, Occasion
from recjudge_tui.domain.protocols import OVERALL, question_of, smallest_disagreement
from recjudge_tui.domain.roles import FIRST_HAND, PEOPLE, REVIEWED, WITHOUT_OPINION
from recjudge_tui.errors import UsageError
from recjudge_tui.store.cases import OF_SEVERAL_OCCASIONS
from recjudge_tui.store.database import Database, named_cells
from recjudge_tui.store.facts import (
    about_systems,
    apart,
    disagreement_in,
    question_in,
    same_question,
    sql_list,
    width,
)
from recjudge_tui.store.filters import (
    DECIDED,
    EXACT,
    FIRST_IN_REASONING,
    OF_PROJECT,
    Parameters,
    conditions,
    word_query,
)
from recjudge_tui.store.raters import ensure_rater, find_rater, put_verdict
from recjudge_tui.store.triage import DECISIONS, TriageState, triage_states, verdict_entries, verdict_row

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


class VerdictRow(NamedTuple):
    """One row of the list. `people`: the answers of annotators and users on this question, the most frequent first.
    `votes`: the numbers of people and judges per value, highest first; `spread`: highest minus lowest value, None with
    fewer than two votes. `item`: the title of what an explanation is about."""

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
    item: str = ""

    @property
    def people_mean(self) -> float | None:
        """The mean of what people say; None where none said anything."""
        count = sum(given.n for given in self.people)
        return sum(given.n * given.value for given in self.people) / count if count else None


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
    """One count for each judge and protocol, on the aspect `overall`, or else the first aspect by name. The newest judge
    comes first. Reads an index of all verdicts."""
    sql = f"""SELECT r.name, v.protocol, v.aspect, sum(v.order_consistent = 0), count(*) AS n
              FROM raters r JOIN verdicts v INDEXED BY verdicts_by_question ON v.rater_id = r.id AND v.rater_id > 0
              WHERE r.project_id = ? AND r.kind IN {sql_list(REVIEWED)} AND v.order_consistent IS NOT NULL
                AND {about_systems("v.protocol")}
              GROUP BY r.id, v.protocol, v.aspect ORDER BY r.id DESC, v.protocol, v.aspect <> '{OVERALL}', v.aspect"""
    rows = db.rows(sql, (project_id,))
    first: dict[tuple[str, str], FlipCount] = {}
    for row in rows:
        first.setdefault((row[0], row[1]), FlipCount(*row))
    return tuple(first.values())


def filtered_ids(
    db: Database,
    project_id: int,
    chosen: VerdictFilter = _EVERYTHING,
    sort: str = "id",
    *,
    limit: int | None = None,
    after: int = 0,
) -> array[int]:
    """The ids of the verdicts that pass the filter, sorted by `sort` (a key of SORTS). Only ids above `after`; with
    `sort="id"` these are the new ones. `limit` is for a first page."""
    where, parameters = conditions(project_id, chosen, by_case=sort == "case")
    since = "v.id > :after AND " if after else ""
    sql = f"SELECT v.id FROM verdicts v WHERE {since}{where} ORDER BY {SORTS[sort]} LIMIT :limit"
    return _ids(db, sql, {**parameters, "after": after, "limit": -1 if limit is None else limit})


def first_ids(db: Database, project_id: int, chosen: VerdictFilter, sort: str, limit: int) -> array[int]:
    """A fast first page of `filtered_ids`: for words, the first hits of the full-text index, which may miss some."""
    search = word_query(chosen)
    if search is None:
        return filtered_ids(db, project_id, chosen, sort, limit=limit)
    query, rest = search
    where, parameters = conditions(project_id, rest)
    sql = f"""SELECT v.id FROM verdicts v WHERE v.id IN ({FIRST_IN_REASONING}) AND {where}
              ORDER BY {SORTS[sort]} LIMIT :limit"""
    return _ids(db, sql, {**parameters, "first": query, "most": _FIRST_ANSWERS, "limit": limit})


def _ids(db: Database, sql: str, parameters: Parameters) -> array[int]:
    return array("q", (row[0] for row in db.tuples(sql, parameters)))


def count_verdicts(db: Database, project_id: int) -> int:
    """The number of verdicts of the project, including failed ones."""
    return db.number(f"SELECT count(*) FROM verdicts v WHERE {OF_PROJECT}", {"project": project_id})


def verdict_rows(db: Database, ids: Sequence[int]) -> list[VerdictRow]:
    """The rows of these verdicts, in the order of `ids`; without deleted verdicts."""
    wanted = json.dumps(list(ids))
    sql = f"""
        SELECT v.id AS verdict_id, v.case_id, r.name AS rater, r.kind AS rater_kind, v.protocol, v.aspect, v.label,
          v.value, v.confidence, v.state = 'failed' AS failed, v.order_consistent IS 0 AS flipped, v.flag_count,
          c.user_id, c.system_a, c.system_b, c.context, c.served_at, {OF_SEVERAL_OCCASIONS} AS several_occasions,
          ifnull((SELECT i.title FROM items i WHERE i.project_id = c.project_id AND i.item_id = c.item_id LIMIT 1),
            c.item_id) AS item,
          CASE WHEN v.flag_count = 0 THEN '' ELSE coalesce(
            (SELECT f.issue FROM flags f WHERE f.verdict_id = v.id LIMIT 1),
            (SELECT f.issue FROM calls k JOIN flags f ON f.call_id = k.id
              WHERE k.run_id = v.run_id AND k.case_id = v.case_id LIMIT 1), '') END AS issue,
          CASE WHEN v.state = 'ok' THEN '' ELSE ifnull(
            (SELECT k.error_kind FROM calls k WHERE k.run_id = v.run_id AND k.case_id = v.case_id
              AND k.state = 'failed' LIMIT 1), '') END AS error_kind,
          EXISTS (SELECT 1 FROM verdicts o JOIN raters q ON q.id = o.rater_id
            WHERE o.case_id = v.case_id AND o.aspect = v.aspect AND q.kind = 'reader') AS reviewed
        FROM verdicts v JOIN raters r ON r.id = v.rater_id JOIN cases c ON c.id = v.case_id
        WHERE v.id IN (SELECT value FROM json_each(?))"""
    listed = db.rows(sql, (wanted,))
    votes, people = _votes(db, {row["case_id"] for row in listed})
    touched = triage_states(db, ids)
    rows = {}
    for row in listed:
        question = row["case_id"], row["aspect"], question_of(row["protocol"])
        others = votes.get(question, {})
        value, least = row["value"], smallest_disagreement(row["protocol"])
        rows[row["verdict_id"]] = VerdictRow(
            **named_cells(row, VerdictRow._fields, ("failed", "flipped", "reviewed", "several_occasions")),
            disagrees=value is not None and any(abs(other - value) >= least for other in others),
            votes=tuple(sorted(others.values(), reverse=True)),
            spread=max(others) - min(others) if sum(others.values()) > 1 else None,
            triage=touched.get(row["verdict_id"], TriageState()),
            systems=tuple(name for name in (row["system_a"], row["system_b"]) if name),
            occasion=Occasion(row["context"], row["served_at"]),
            people=tuple(sorted(people.get(question, ()), key=lambda given: (-given.n, -given.value))),
        )
    return [rows[key] for key in ids if key in rows]


def _votes(
    db: Database, cases: Iterable[int]
) -> tuple[dict[_Question, dict[float, int]], dict[_Question, list[Opinions]]]:
    """Question -> value -> how many people and judges gave it; question -> the answers that people gave themselves
    (without consensus)."""
    sql = f"""SELECT o.case_id, o.aspect, o.protocol, o.value, max(o.label) AS label, count(*) AS n,
                sum(q.kind IN {sql_list(FIRST_HAND)}) AS people
              FROM verdicts o JOIN raters q ON q.id = o.rater_id
              WHERE o.case_id IN (SELECT value FROM json_each(?)) AND o.state = 'ok'
                AND q.kind NOT IN {sql_list(WITHOUT_OPINION)}
              GROUP BY o.case_id, o.aspect, o.protocol, o.value"""
    rows = db.rows(sql, (json.dumps(list(cases)),))
    votes: dict[_Question, dict[float, int]] = defaultdict(lambda: defaultdict(int))
    people: dict[_Question, list[Opinions]] = defaultdict(list)
    for row in rows:
        question = row["case_id"], row["aspect"], question_of(row["protocol"])
        votes[question][row["value"]] += row["n"]
        if row["people"]:
            people[question].append(Opinions(row["label"], row["value"], row["people"]))
    return votes, people


def next_undecided(db: Database, ids: Sequence[int]) -> int | None:
    """The first of `ids` without a decision; None if all have one."""
    for start in range(0, len(ids), _CHUNK):
        chunk = list(ids[start : start + _CHUNK])
        known = triage_states(db, chunk)
        for key in chunk:
            if key not in known or not known[key].decision:
                return key
    return None


def newest_judged_run(db: Database, project_id: int) -> tuple[int, str] | None:
    """The newest run of a judge with verdicts about systems, and its rater; one whose calls all failed only if no other
    answered. None if there is none."""
    sql = f"""SELECT ru.id, r.name FROM runs ru JOIN raters r ON r.id = ru.rater_id
              WHERE ru.project_id = ? AND r.kind IN {sql_list(REVIEWED)}
                AND EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = ru.id AND {about_systems("v.protocol")})
              ORDER BY EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = ru.id AND v.state = 'ok'
                               AND {about_systems("v.protocol")}) DESC, ru.id DESC LIMIT 1"""
    row = db.row(sql, (project_id,))
    return None if row is None else (row[0], row[1])


def run_has_confidences(db: Database, run_id: int) -> bool:
    """Whether the judge of the run says how sure it is."""
    return db.any("SELECT 1 FROM verdicts WHERE run_id = ? AND confidence IS NOT NULL", (run_id,))


EXPORTED = (
    "project", "protocol", "case_id", "user_id", "item_id", "system_a", "system_b", "rater", "rater_kind", "run_id",
    "aspect", "value", "label", "state", "order_consistent", "confidence", "reasoning", "created_at", "shown_first",
    "context", "served_at", "flags", "decision", "override", "note", "tags",
)  # fmt: skip

# a JSON array, as in exported labels; null without flags
_FLAGS = """iif(v.flag_count = 0, NULL, (
  SELECT json_group_array(json_object('item_id', item_id, 'issue', issue, 'reason', reason)) FROM (
    SELECT item_id, issue, reason FROM flags f WHERE f.verdict_id = v.verdict_id UNION
    SELECT item_id, issue, reason FROM calls k JOIN flags f ON f.call_id = k.id
    WHERE k.run_id = v.run_id AND k.case_id = v.case_id)))"""
# the system whose list came first in every call or imported judgement about a pair; null where both orders were asked
_SHOWN_FIRST = """(SELECT CASE WHEN min(list_order) = max(list_order)
    THEN iif(min(list_order) = 'ab', v.system_a, v.system_b) END
  FROM (SELECT k.list_order FROM calls k WHERE k.run_id = v.run_id AND k.case_id = v.case_id AND k.list_order <> ''
        UNION ALL SELECT g.list_order FROM games g WHERE g.verdict_id = v.verdict_id))"""


def exported_rows(db: Database, ids: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """The columns EXPORTED of these verdicts, in the order of `ids`, read in chunks; the last ones are those of triage."""
    special = {"shown_first": _SHOWN_FIRST, "flags": _FLAGS}
    columns = ", ".join(special.get(name, name) for name in EXPORTED[:-4])
    sql = f"""SELECT verdict_id, {columns} FROM v_verdicts v
              WHERE verdict_id IN (SELECT value FROM json_each(?))"""
    for start in range(0, len(ids), _CHUNK):
        chunk = list(ids[start : start + _CHUNK])
        by_id = {row[0]: tuple(row)[1:] for row in db.rows(sql, (json.dumps(chunk),))}
        states = triage_states(db, chunk)
        for key in chunk:
            if key in by_id:
                told = states.get(key, TriageState())
                yield (*by_id[key], DECISIONS.get(told.decision), told.label or None, told.note or None,
                       ", ".join(told.tags) or None)  # fmt: skip


def verdicts_on(db: Database, cases: Iterable[int]) -> set[int]:
    """The ids of all verdicts on these cases."""
    sql = "SELECT id FROM verdicts WHERE case_id IN (SELECT value FROM json_each(?))"
    return set(db.column(sql, (json.dumps(list(cases)),)))


def cases_of(db: Database, ids: Iterable[int]) -> tuple[int, ...]:
    """The cases of these verdicts, each once."""
    sql = "SELECT DISTINCT case_id FROM verdicts WHERE id IN (SELECT value FROM json_each(?))"
    return tuple(db.column(sql, (json.dumps(list(ids)),)))


def verdicts_by_text(db: Database, ids: Sequence[int]) -> dict[int, list[int]]:
    """Case -> its verdicts among these, both in the order of `ids`; empty unless all are about explanations."""
    sql = """SELECT v.id, iif(c.kind = 'explanation', c.id, NULL) FROM verdicts v JOIN cases c ON c.id = v.case_id
             WHERE v.id IN (SELECT value FROM json_each(?))"""
    cases: dict[int, int | None] = {}
    for some in (ids[:1], ids):
        cases = dict(db.tuples(sql, (json.dumps(list(some)),)))
        if None in cases.values():
            return {}
    texts: dict[int, list[int]] = defaultdict(list)
    for key in ids:
        if (case := cases.get(key)) is not None:
            texts[case].append(key)
    return dict(texts)


def case_verdicts(db: Database, case_id: int) -> list[int]:
    """The ids of the verdicts on one case, judges before people, then by rater and aspect."""
    sql = f"""SELECT v.id FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE v.case_id = ?
                 ORDER BY r.kind IN {sql_list(PEOPLE)}, r.name, v.aspect"""
    return db.column(sql, (case_id,))


# ---- labels ------------------------------------------------------------------------------------------------------


LABELLED = "labelled"


def verdict_to_keep(db: Database, verdict_id: int, reader: str) -> int:
    """The verdict that a reader means to keep while `verdict_id` is selected: the one just overridden if that was their
    last action and the selected one has no decision yet, since the list moves on after an override."""
    sql = """SELECT l.verdict_id, l.action FROM verdicts v JOIN triage_log l ON l.project_id = v.project_id
             WHERE v.id = ? AND l.reader = ? ORDER BY l.id DESC LIMIT 1"""
    last = db.row(sql, (verdict_id, reader))
    if last is None or last["action"] == "undo" or _answer(db, last["verdict_id"], reader) != "override":
        return verdict_id
    return int(last["verdict_id"]) if _answer(db, verdict_id, reader) in ("", "dismiss") else verdict_id


def _answer(db: Database, verdict_id: int | None, reader: str) -> str:
    """The reader's current decision on a verdict; empty without one."""
    sql = "SELECT action FROM v_triage WHERE verdict_id = ? AND reader = ? AND decides"
    label: str | None = db.value(sql, (verdict_id, reader))
    return label or ""


def keep_as_label(db: Database, verdict_id: int, reader: str) -> int:
    """Store the reader's override, or the verdict if accepted, as a label of the annotator LABELLED, in place of an
    earlier one; returns the number of labels. Raises UsageError when the reader did neither, or the name is taken."""
    with db.transaction():
        sql = """SELECT o.* FROM verdicts v JOIN verdicts o ON o.case_id = v.case_id AND o.aspect = v.aspect
                 JOIN raters r ON r.id = o.rater_id AND r.kind = 'reader' AND r.name = ? WHERE v.id = ?"""
        own = db.row(sql, (reader, verdict_id))
        if own is None and _answer(db, verdict_id, reader) == "accept":
            own = db.row("SELECT * FROM verdicts WHERE id = ? AND state = 'ok'", (verdict_id,))
        if own is None:
            raise UsageError(
                "you have not decided on this verdict yet", next_step="Accept or override it first."
            )
        rater = ensure_rater(db, own["project_id"], LABELLED, "annotator")
        about = (rater, own["case_id"], own["aspect"], own["protocol"])
        put_verdict(db, about, (own["value"], own["label"]), "kept", note=f"from {reader}")
        return db.number("SELECT count(*) FROM verdicts WHERE rater_id = ?", (rater,))


# ---- counted -----------------------------------------------------------------------------------------------------


# the rule of verdicts that were imported only as a count
COUNTED = "counted"


def counted_battles(db: Database, project_id: int) -> list[tuple[str, str, str, int]]:
    """(rater, protocol, aspect, number) of the verdicts that are known only as counts; read from an index of them alone."""
    sql = """SELECT r.name, v.protocol, v.aspect, count(*) FROM verdicts v INDEXED BY verdicts_counted
               JOIN raters r ON r.id = v.rater_id
             WHERE v.rule = 'counted' AND v.project_id = ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""
    return list(db.tuples(sql, (project_id,)))


# ---- attention ---------------------------------------------------------------------------------------------------


# the name of the queue's order, in addition to those of SORTS
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
    """The undecided verdicts matching `chosen` that a reader should see, each once under its first reason (with `queue:`
    only those), in this order: a judge against a person (largest difference first, as a share of the scale), judges against
    each other, order flips, confidence below 0.6, failed, and cases of `suspects` (ids), whose texts give orders to the
    judge; where `queue:` asks for them, other lists with a flag. A disagreement is one step of A/Tie/B or of the labels,
    half of 0..1, or two of 1..5."""
    wanted = chosen.queue() or frozenset(QUEUED)
    chosen, cases = chosen.without("queue"), [*suspects]
    where, parameters = conditions(project_id, chosen)
    if not any(term.key in EXACT for term in chosen.terms):
        # cases that test a judge have a report of their own
        where = f"{where} AND {about_systems('v.protocol')}"
    if not cases:
        # to find none of them would take longer than all the others
        wanted -= {"orders"}
    if db.value(f"SELECT count(*) < 2 FROM {_JUDGES}", {"project": project_id}):
        wanted -= {"split"}
    seen = bytearray(db.value("SELECT ifnull(max(id), 0) + 1 FROM verdicts"))
    for row in db.rows(f"{DECIDED} AND verdict_id IS NOT NULL", {"project": project_id}):
        seen[row[0]] = 1
    ids: array[int] = array("q")
    starts = []
    for name, (reason, sql) in _reasons().items():
        starts.append((reason, len(ids)))
        if name not in wanted:
            continue
        for (key,) in db.tuples(sql.replace("{where}", where), {**parameters, "suspects": json.dumps(cases)}):
            # verdicts newer than the queue wait for the next queue
            if key < len(seen) and not seen[key]:
                seen[key] = 1
                ids.append(key)
    return Queue(ids, tuple(starts))


def _reasons() -> dict[str, tuple[str, str]]:
    """Name in a filter (of QUEUED and FLAGGED) -> (reason, its verdicts), the most important first."""

    def those(reason: str, order: str = "v.id") -> str:
        return f"SELECT v.id FROM verdicts v WHERE {{where}} AND {reason} ORDER BY {order}"

    of_judges = f"v.state = 'ok' AND v.rater_id IN {_JUDGES}"
    against_people = f"""SELECT v.id FROM verdicts o CROSS JOIN verdicts v ON v.case_id = o.case_id AND v.aspect = o.aspect
      WHERE o.rater_id IN {_PEOPLE} AND o.state = 'ok' AND {of_judges} AND {same_question()} AND {apart()} AND {{where}}
      GROUP BY v.id ORDER BY max(abs(o.value - v.value)) / {width()} DESC, v.id"""
    split = f"""{of_judges} AND (v.case_id, v.aspect, {question_in("v.protocol")}) IN (
      SELECT o.case_id, o.aspect, {question_in("o.protocol")} FROM verdicts o
      WHERE o.rater_id IN {_JUDGES} AND o.state = 'ok' GROUP BY 1, 2, 3
      HAVING max(o.value) - min(o.value) >= {disagreement_in("max(o.protocol)")})"""
    unsure = f"(v.confidence IS NULL) = 0 AND v.confidence < {LOW_CONFIDENCE}"
    return {
        "people": ("judge against people", against_people),
        "split": ("judges split", those(split, "v.case_id, v.aspect, v.id")),
        # random answers flip by chance
        "flip": ("order flip", those(f"v.order_consistent = 0 AND v.rater_id IN {_JUDGES}")),
        "confidence": ("low confidence", those(unsure, "v.confidence, v.id")),
        "failed": ("failed", those("v.state = 'failed'")),
        "orders": ("gives orders", those("v.case_id IN (SELECT value FROM json_each(:suspects))")),
        FLAGGED: (FLAGGED, those("v.flag_count > 0")),
    }


# ---- example sources ---------------------------------------------------------------------------------------------


class ExampleSource(NamedTuple):
    """`values`: aspect -> (label, value), from the reader, and from the verdict if accepted. `prompt_id`: the prompt's
    newest version. `note`: the reader's last. `reasoning` and `flags` (item, issue, reason): the judge's, if accepted."""

    case_id: int
    prompt_id: int | None
    decision: str
    values: dict[str, tuple[str, float]]
    note: str = ""
    reasoning: str = ""
    flags: tuple[tuple[str, str, str], ...] = ()


def lacks_reason(source: ExampleSource) -> bool:
    """Whether only a reason is missing to make an example."""
    return source.prompt_id is not None and bool(source.values) and not (source.note or source.reasoning)


def example_source(db: Database, verdict_id: int, reader: str) -> ExampleSource:
    """Collect the parts of an example. Raises NotFoundError when the verdict no longer exists."""
    verdict = verdict_row(db, verdict_id)
    case_id, run_id = verdict["case_id"], verdict["run_id"]
    own = [entry for entry in verdict_entries(db, verdict_id) if entry.reader == reader and entry.standing]
    decision = next((entry.action for entry in reversed(own) if entry.action in DECISIONS), "")
    note = next((entry.text for entry in reversed(own) if entry.action == "note"), "")
    sql = "SELECT aspect, label, value FROM verdicts WHERE rater_id = ? AND case_id = ? AND state = 'ok'"
    rows = db.rows(sql, (find_rater(db, verdict["project_id"], reader), case_id))
    values = {row["aspect"]: (row["label"], row["value"]) for row in rows}
    # the newest version of the run's prompt, else of the prompt of the protocol's newest run
    sql = """SELECT newer.id FROM runs r JOIN prompts p ON p.id = r.prompt_id JOIN prompts newer ON newer.name = p.name
             WHERE r.id = :run OR (r.project_id = :project AND r.protocol = :protocol)
             ORDER BY r.id = :run DESC, r.id DESC, newer.version DESC LIMIT 1"""
    named = {"run": run_id, "project": verdict["project_id"], "protocol": verdict["protocol"]}
    source = ExampleSource(case_id, db.found(sql, named), decision, values, note)
    if decision != "accept" or verdict["state"] != "ok":
        return source
    sql = """SELECT a.reasoning FROM answers a JOIN calls c ON c.id = a.call_id
             WHERE c.run_id = ? AND c.case_id = ? AND a.aspect = ? AND a.reasoning <> '' ORDER BY c.id LIMIT 1"""
    reasoning = db.value(sql, (run_id, case_id, verdict["aspect"]))
    sql = """SELECT DISTINCT f.item_id, f.issue, f.reason FROM flags f JOIN calls c ON c.id = f.call_id
             WHERE c.run_id = ? AND c.case_id = ? ORDER BY f.rowid"""
    flags = db.tuples(sql, (run_id, case_id))
    return source._replace(
        values={verdict["aspect"]: (verdict["label"], verdict["value"]), **values},
        reasoning=reasoning or "",
        flags=tuple(flags),
    )
