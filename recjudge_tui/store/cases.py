"""Cases: their occasions, the lists made for them, and the snapshots of what judges were shown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recjudge_tui.domain.event_types import owned
from recjudge_tui.domain.made_lists import PLANTED, PREFIXES, FaultKind
from recjudge_tui.domain.occasions import (
    EVERY_OCCASION,
    Occasion,
    OccasionFilter,
    Over,
    compared_times,
    earlier,
    import_period,
    meant_occasions,
    period_of,
)
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import NotFoundError
from recjudge_tui.steps import Step
from recjudge_tui.store.database import Database, StoredRow, read_cell
from recjudge_tui.store.facts import first_names, held_out_type, shown_event

if TYPE_CHECKING:
    from recjudge_tui.domain.base import Model
    from recjudge_tui.domain.material import CaseKind, Material, UserView
    from recjudge_tui.stats.arrays import IntArray


Countable = Literal["cases", "lists", "held-out events"]
_TABLES: dict[Countable, str] = {
    "cases": "cases",
    "lists": "v_current_slates",
    "held-out events": f"(SELECT * FROM events WHERE item_id <> '' AND {held_out_type()})",
}
_CONTEXTS = """
SELECT context, count(*) AS uses FROM (
  SELECT context FROM cases WHERE project_id = :project
  UNION ALL SELECT context FROM slates WHERE project_id = :project
  UNION ALL SELECT context FROM explanations WHERE project_id = :project
) GROUP BY context"""


def occasion_condition(
    chosen: OccasionFilter, table: str, *, name: str = "occasion"
) -> tuple[str, dict[str, Any]]:
    """A condition on the columns `context` and `served_at` of `table`, and its parameters, whose names begin with `name`."""
    clauses = ["1"]
    parameters: dict[str, Any] = {}
    if chosen.contexts:
        named = {f"{name}_context{at}": context for at, context in enumerate(chosen.contexts)}
        clauses.append(f"{table}.context IN ({', '.join(f':{key}' for key in named)})")
        parameters |= named
    if chosen.is_timed:
        clauses.append(f"{table}.served_at <> ''")
    if chosen.start:
        clauses.append(f"{table}.served_at >= :{name}_start")
        parameters[f"{name}_start"] = chosen.start
    if chosen.end:
        clauses.append(f"{table}.served_at <= :{name}_end")
        parameters[f"{name}_end"] = chosen.end
    return " AND ".join(clauses), parameters


# a condition on the case `c`: the same systems have lists or texts for its user on another occasion, too
OF_SEVERAL_OCCASIONS = """EXISTS (SELECT 1 FROM cases other WHERE other.project_id = c.project_id AND other.kind = c.kind
  AND other.user_id = c.user_id AND other.system_a = c.system_a AND other.system_b = c.system_b
  AND other.item_id = c.item_id AND (other.context, other.served_at) <> (c.context, c.served_at))"""


def known_occasions(db: Database, project_id: int) -> tuple[bool, bool]:
    """Whether lists or texts of the project name contexts, and whether they say when they were served."""
    exists = " OR ".join(
        f"EXISTS (SELECT 1 FROM {table} WHERE project_id = :project AND {{column}} <> '')"
        for table in ("slates", "explanations")
    )
    sql = f"SELECT {exists.format(column='context')}, {exists.format(column='served_at')}"
    row = db.only(sql, {"project": project_id})
    return bool(row[0]), bool(row[1])


def check_contexts(
    db: Database, project_id: int, chosen: OccasionFilter, next_step: str = "Name none to use all of them."
) -> None:
    """Raises NotFoundError for a context that no case, list or text of the project has; it names those with the most."""
    if not chosen.contexts:
        return
    known = db.pairs(f"{_CONTEXTS} ORDER BY uses DESC, context", {"project": project_id})
    unknown = [context for context in chosen.contexts if context not in known]
    if not unknown:
        return
    raise NotFoundError(
        f"no context {_quoted(unknown[0])} in this project",
        f"There {'is' if len(known) == 1 else 'are'} {first_names([*map(_quoted, known)])}."
        if set(known) - {""}
        else "Nothing in it has a context.",
        next_step,
    )


def _quoted(context: str) -> str:
    return f"“{one_line(context, 60)}”" if context else "“” (none)"


class SelectedCases(NamedTuple):
    """The ids of the selected cases, in order, and of the cases that were left out because a time was chosen
    and theirs is unknown."""

    ids: IntArray
    untimed: IntArray


def selected_cases(db: Database, project_id: int, chosen: CaseSelection) -> SelectedCases:
    occasions = chosen.occasions
    within, parameters = occasion_condition(occasions._replace(start="", end=""), "c")
    timed, times = occasion_condition(occasions._replace(contexts=()), "c", name="time")
    named = {f"system{at}": system for at, system in enumerate(chosen.systems)}
    among = f"IN ('', {', '.join(f':{name}' for name in named)})"
    of_systems = f"c.system_a {among} AND c.system_b {among}" if named else "1"
    import numpy as np

    ids: list[int] = []
    untimed: list[int] = []
    brought = case_periods(db, project_id, "import") if chosen.imported else {}
    wanted = import_period(chosen.imported)
    sql = f"""SELECT c.id, c.user_id, c.context, {timed} FROM cases c NOT INDEXED
              WHERE c.project_id = :project AND {within} AND {of_systems} AND ({timed} OR c.served_at = '')
              ORDER BY c.id"""
    for case_id, user_id, context, is_here in db.tuples(
        sql, parameters | times | named | {"project": project_id}
    ):
        if chosen.holds(user_id, context) and (not chosen.imported or brought.get(case_id) == wanted):
            (ids if is_here else untimed).append(case_id)
    return SelectedCases(np.array(ids, dtype=np.int64), np.array(untimed, dtype=np.int64))


def case_owners(db: Database, project_id: int, case_ids: Sequence[int]) -> list[tuple[str, str]]:
    """The user and the context of each of these cases, which are in order."""
    sql = """SELECT user_id, context FROM cases NOT INDEXED
             WHERE project_id = ? AND id IN (SELECT value FROM json_each(?)) ORDER BY id"""
    return [(user, context) for user, context in db.tuples(sql, (project_id, json.dumps(case_ids)))]


def untimed_count(db: Database, project_id: int, what: Countable, chosen: CaseSelection) -> int:
    """How many of them are left out because a time was chosen and it is unknown when they were served. 0 if no time was
    chosen."""
    if not chosen.occasions.is_timed:
        return 0
    within, parameters = occasion_condition(chosen.occasions._replace(start="", end=""), "t")
    sql = f"""SELECT t.user_id, t.context FROM {_TABLES[what]} t
              WHERE t.project_id = :project AND t.served_at = '' AND {within}"""
    return sum(chosen.holds(*row) for row in db.rows(sql, parameters | {"project": project_id}))


def untimed_note(count: int, what: Countable) -> str:
    """The sentence about what `untimed_count` counts; empty for none."""
    noun = what.removesuffix("s")
    return f"{quantity(count, noun)} without served_at left out, because a time was chosen" if count else ""


# ---- periods -----------------------------------------------------------------------------------------------------------


def case_periods(db: Database, project_id: int, over: Over) -> dict[int, str]:
    """Case id -> the period in which its lists were served, or the import that first had the later of them; without cases
    that have no period."""
    if over == "import":
        lists, texts = (_first_imports(db, project_id, what) for what in ("slate", "explanation"))
        sql = """SELECT id, ifnull(slate_a, 0), ifnull(slate_b, 0), ifnull(explanation_id, 0) FROM cases
                 WHERE project_id = ? AND (slate_a IS NOT NULL OR explanation_id IS NOT NULL)"""
        rows = db.rows(sql, (project_id,))
        brought = {
            row[0]: max(lists.get(row[1], 0), lists.get(row[2], 0), texts.get(row[3], 0)) for row in rows
        }
        return {case: import_period(source) for case, source in brought.items() if source}
    sql = "SELECT id, substr(served_at, 1, 10) FROM cases WHERE project_id = ? AND served_at <> ''"
    return {row[0]: period_of(row[1], over) for row in db.rows(sql, (project_id,))}


def slate_periods(
    db: Database, project_id: int, over: Over, occasions: OccasionFilter = EVERY_OCCASION
) -> dict[int, str]:
    """Slate id -> the period in which the list was served or first imported, for lists of these occasions with a period."""
    chosen, parameters = occasion_condition(occasions, "s")
    sql = f"SELECT id, substr(served_at, 1, 10) FROM slates s WHERE project_id = :project AND {chosen}"
    rows = db.rows(sql, parameters | {"project": project_id})
    if over == "import":
        first = _first_imports(db, project_id, "slate")
        return {row[0]: import_period(first[row[0]]) for row in rows if row[0] in first}
    return {row[0]: period_of(row[1], over) for row in rows if row[1]}


def has_dated_cases(db: Database, project_id: int) -> bool:
    """Whether any case says when its lists were served."""
    return db.any("SELECT 1 FROM cases WHERE project_id = ? AND served_at <> ''", (project_id,))


def _first_imports(db: Database, project_id: int, what: str) -> dict[int, int]:
    """Id of a list (`slate`) or text (`explanation`) -> the first import that brought it and was not undone."""
    sql = f"""SELECT l.{what}_id, min(l.import_id) FROM {what}_imports l JOIN imports i ON i.id = l.import_id
              WHERE i.project_id = ? GROUP BY 1"""
    return db.pairs(sql, (project_id,))


# ---- cases -------------------------------------------------------------------------------------------------------


class CaseKey(NamedTuple):
    """What identifies a case. For a pair `system_a < system_b`; a single list uses the `_a` fields. `context` and
    `served_at` are those of its lists or text; of two lists, the earlier time."""

    kind: CaseKind
    user_id: str
    system_a: str = ""
    system_b: str = ""
    item_id: str = ""
    slate_a: int | None = None
    slate_b: int | None = None
    explanation_id: int | None = None
    context: str = ""
    served_at: str = ""

    @property
    def occasion(self) -> Occasion:
        return Occasion(self.context, self.served_at)


_AT_ONCE = 500
# of a case that labels named before its lists or its text were known
_NO_CONTENT = (None, None, None)
# what `_content` is made of, as columns of a case
_CONTENT = (
    *("c.kind", "c.user_id", "c.system_a", "c.system_b", "c.item_id"),
    *("ifnull(c.slate_a, 0)", "ifnull(c.slate_b, 0)", "ifnull(c.explanation_id, 0)"),
)
Direction = Literal["first", "at", "next", "previous"]
_SHOWABLE = {
    "list": "slate_a IS NOT NULL",
    "pair": "slate_a IS NOT NULL AND slate_b IS NOT NULL",
    "explanation": "explanation_id IS NOT NULL",
}
_STEPS: dict[Direction, str] = {
    "first": "ORDER BY id",
    "at": "AND id = :case",
    "next": "AND id > :case ORDER BY id",
    "previous": "AND id < :case ORDER BY id DESC",
}


def ensure_case(db: Database, project_id: int, key: CaseKey) -> int:
    """The id of one case, as of `ensure_cases`."""
    return ensure_cases(db, project_id, [key])[0]


def ensure_cases(db: Database, project_id: int, keys: Sequence[CaseKey]) -> list[int]:
    """The ids of the cases, in order; creates those that are new. A case that labels made before its lists were known gets
    them now, so that labels and judges meet whichever came first. Call inside a transaction."""
    ids: list[int] = []
    # the write lock is held, so nobody else takes these ids
    free = count(db.value("SELECT ifnull(max(id), 0) + 1 FROM cases"))
    any_yet = db.value("SELECT EXISTS (SELECT 1 FROM cases WHERE project_id = ?)", (project_id,))
    waiting = [key[5:8] == _NO_CONTENT for key in keys]
    # no case gets its lists now: each lacks them, or there is none that lacks them
    if all(waiting) or not (any_yet or any(waiting)):
        place = dict(zip(dict.fromkeys(keys), free))  # noqa: B905
        if _insert(db, project_id, ((case_id, key) for key, case_id in place.items())) < len(place):
            known = _known(db, project_id, place)
            place = {key: known[_content(key)][key.occasion] for key in place}
        return [place[key] for key in keys]
    known = {}
    for start in range(0, len(keys), _AT_ONCE):
        chunk = keys[start : start + _AT_ONCE]
        if any_yet:
            known = _known(db, project_id, [*chunk, *map(_bare, chunk)])
        new: list[tuple[int, CaseKey]] = []
        for key in chunk:
            occasion = key.occasion
            same = known.setdefault(_content(key), {})
            if occasion not in same:
                case_id = None
                if (bare := _bare(key)) != key:
                    case_id = _completed(db, project_id, key, known.get(_content(bare), {}))
                if case_id is None:
                    case_id = next(free)
                    new.append((case_id, key))
                same[occasion] = case_id
            ids.append(same[occasion])
        _insert(db, project_id, new)
    return ids


def _insert(db: Database, project_id: int, cases: Iterable[tuple[int, CaseKey]]) -> int:
    """Store the cases that are new; returns how many those were."""
    sql = f"INSERT INTO cases (project_id, id, {', '.join(CaseKey._fields)})"
    rows = ((case_id, *key) for case_id, key in cases)
    return db.insert_many(sql, rows, (project_id,), end="ON CONFLICT DO NOTHING")


def _bare(key: CaseKey) -> CaseKey:
    """The key as a label names it, before the lists are known."""
    return key._replace(slate_a=None, slate_b=None, explanation_id=None)


def _content(key: CaseKey) -> tuple[object, ...]:
    """All of a key except its occasion, as in the index of cases."""
    return (*key[:5], key.slate_a or 0, key.slate_b or 0, key.explanation_id or 0)


def _known(
    db: Database, project_id: int, keys: Iterable[CaseKey]
) -> dict[tuple[object, ...], dict[Occasion, int]]:
    """Content -> occasion -> the case."""
    wanted = json.dumps(list(dict.fromkeys(map(_content, keys))))
    by_content: dict[tuple[object, ...], dict[Occasion, int]] = {}
    same = " AND ".join(f"{column} = json_extract(w.value, '$[{n}]')" for n, column in enumerate(_CONTENT))
    sql = f"""SELECT c.id, c.context, c.served_at, {", ".join(_CONTENT)}
              FROM json_each(?) w CROSS JOIN cases c ON c.project_id = ? AND {same}"""
    for case_id, context, served_at, *content in db.execute(sql, (wanted, project_id)):
        by_content.setdefault(tuple(content), {})[Occasion(context, served_at)] = case_id
    return by_content


def _completed(db: Database, project_id: int, key: CaseKey, waiting: dict[Occasion, int]) -> int | None:
    """The case that still lacks the content of this occasion. It names the same occasion, or only this occasion of the
    user and the systems fits what it names."""
    if not waiting:
        return None
    named: Occasion | None = key.occasion
    if named not in waiting:
        current = current_keys(db, project_id, key)
        named = next((o for o in waiting if meant_occasions(o, current) == [key.occasion]), None)
    if named is None:
        return None
    case_id = waiting.pop(named)
    db.execute(
        "UPDATE cases SET slate_a = ?, slate_b = ?, explanation_id = ?, context = ?, served_at = ? WHERE id = ?",
        (*key[5:], case_id),
    )
    return case_id


def current_keys(db: Database, project_id: int, key: CaseKey) -> dict[Occasion, CaseKey]:
    """Occasion -> the case of this kind, user and systems with the current lists or text; empty if there are none."""
    bare = _bare(key)
    if bare.kind == "explanation":
        sql = """SELECT context, served_at, explanation_id FROM v_current_explanations
                 WHERE project_id = ? AND user_id = ? AND item_id = ? AND system = ?"""
        rows = db.rows(sql, (project_id, bare.user_id, bare.item_id, bare.system_a))
        keys = [bare._replace(explanation_id=row[2], context=row[0], served_at=row[1]) for row in rows]
        return {key.occasion: key for key in keys}
    if bare.item_id:
        return {}
    sql = """SELECT system, context, served_at, slate_id FROM v_current_slates
             WHERE project_id = ? AND user_id = ? AND system IN (?, ?) ORDER BY context, served_at"""
    rows = db.rows(sql, (project_id, bare.user_id, bare.system_a, bare.system_b))
    if bare.kind == "list":
        keys = [bare._replace(slate_a=row[3], context=row[1], served_at=row[2]) for row in rows]
        return {key.occasion: key for key in keys}
    slates = {(row["system"], row["context"], row["served_at"]): row["slate_id"] for row in rows}
    by_occasion = {}
    for context in dict.fromkeys(row["context"] for row in rows):
        a, b = (
            [time for name, where, time in slates if (name, where) == (system, context)]
            for system in (bare.system_a, bare.system_b)
        )
        for time_a, time_b in compared_times(a, b):
            pair = slates[bare.system_a, context, time_a], slates[bare.system_b, context, time_b]
            key = bare._replace(
                slate_a=pair[0], slate_b=pair[1], context=context, served_at=earlier(time_a, time_b)
            )
            by_occasion[key.occasion] = key
    return by_occasion


def judged_cases(db: Database, rater_id: int, protocol: str) -> set[CaseKey]:
    """The cases on which a rater has a valid verdict under a protocol."""
    sql = f"""SELECT DISTINCT {", ".join(f"c.{name}" for name in CaseKey._fields)}
              FROM verdicts v JOIN cases c ON c.id = v.case_id
              WHERE v.rater_id = ? AND v.protocol = ? AND v.state = 'ok'"""
    return set(db.records(CaseKey, sql, (rater_id, protocol)))


def case_row(db: Database, case_id: int) -> StoredRow:
    """One case with its project's name; raises NotFoundError."""
    sql = "SELECT c.*, p.name AS project FROM cases c JOIN projects p ON p.id = c.project_id WHERE c.id = ?"
    return db.only(sql, (case_id,), NotFoundError(f"no case {case_id}", step=Step("list cases")))


def label_columns(db: Database, project_id: int, case_id: int) -> dict[str, str] | None:
    """The columns of a label that describe a case of the project: user_id, item_id, system or system_a and system_b,
    context and served_at. None if the project has no such case."""
    sql = """SELECT user_id, item_id, iif(kind = 'pair', '', system_a) AS system,
          iif(kind = 'pair', system_a, '') AS system_a, iif(kind = 'pair', system_b, '') AS system_b, context, served_at
        FROM cases WHERE project_id = ? AND id = ?"""
    row = db.row(sql, (project_id, case_id))
    return None if row is None else dict(row)


def list_cases(db: Database, project_id: int, limit: int | None = None) -> list[StoredRow]:
    """Cases and their number of `verdicts`."""
    sql = """SELECT c.id AS case_id, c.kind, c.user_id, c.item_id, c.system_a, c.system_b, c.context, c.served_at,
               (SELECT count(*) FROM verdicts v WHERE v.case_id = c.id) AS verdicts
             FROM cases c WHERE c.project_id = ? ORDER BY c.id LIMIT ?"""
    return db.rows(sql, (project_id, -1 if limit is None else limit))


def showable_case(
    db: Database, project_id: int, kind: CaseKind, direction: Direction = "first", case_id: int = 0
) -> StoredRow | None:
    """A case of this kind with known lists or text: the first one, or the one at, after or before `case_id`; None if there
    is none."""
    sql = f"""SELECT id, user_id, item_id, system_a, system_b, context, served_at FROM cases
              WHERE project_id = :project AND kind = :kind AND {_SHOWABLE[kind]} {_STEPS[direction]} LIMIT 1"""
    return db.row(sql, {"project": project_id, "kind": kind, "case": case_id})


def cases_between(db: Database, project_id: int, system: str, opponent: str) -> list[int]:
    """The ids of the pair cases of two systems, in either order."""
    return db.column(
        "SELECT id FROM cases WHERE project_id = ? AND kind = 'pair' AND system_a = ? AND system_b = ? ORDER BY id",
        (project_id, *sorted((system, opponent))),
    )


def case_count(db: Database, project_id: int) -> int:
    return db.number("SELECT count(*) FROM cases WHERE project_id = ?", (project_id,))


# ---- made lists --------------------------------------------------------------------------------------------------


# a condition on the columns of `cases`: ordinary systems do not have such names on both sides
ADVERSARIAL_CASE = (
    "("
    + " OR ".join(f"system_a GLOB '{a}*' AND system_b GLOB '{b}*'" for a, b in sorted(PREFIXES.values()))
    + ")"
)


def who_judged(db: Database, project_id: int, protocol: str) -> dict[str, str]:
    """Each rater with verdicts on cases of such a protocol, and the aspect that counts: overall, else a judge's first."""
    sql = f"""SELECT DISTINCT r.name, v.aspect FROM raters r JOIN verdicts v ON v.rater_id = r.id
        WHERE r.project_id = ? AND v.protocol = ? AND (v.run_id IS NOT NULL OR v.aspect = '{OVERALL}')
        ORDER BY r.name, v.aspect = '{OVERALL}', v.aspect DESC"""
    return db.pairs(sql, (project_id, protocol))


def items_had(db: Database, project_id: int, user_id: str) -> set[str]:
    """The items that the user bought, rated or watched at any time, among the events shown to judges; not clicks."""
    sql = f"""SELECT DISTINCT item_id, type FROM events WHERE project_id = ? AND user_id = ? AND item_id <> ''
              AND {shown_event()}"""
    return {row[0] for row in db.rows(sql, (project_id, user_id)) if owned(row[1])}


def generated_slate(
    db: Database, project_id: int, user_id: str, system: str, occasion: Occasion, items: Sequence[str]
) -> int:
    """The id of a generated list; stores it if new, never as a current list. Call inside a transaction."""
    slate_id = known_generated_slate(db, project_id, user_id, system, occasion, items)
    if slate_id is not None:
        return slate_id
    made = db.add(
        "slates", project_id=project_id, user_id=user_id, system=system, length=len(items), digest=_digest(items),
        **occasion._asdict(),
    )  # fmt: skip
    sql = "INSERT INTO slate_items (slate_id, rank, item_id) VALUES (?, ?, ?)"
    db.execute_many(sql, [(made, rank, item) for rank, item in enumerate(items, start=1)])
    return made


def known_generated_slate(
    db: Database, project_id: int, user_id: str, system: str, occasion: Occasion, items: Sequence[str]
) -> int | None:
    """The id of a generated list that was stored before."""
    sql = """SELECT id FROM slates WHERE project_id = ? AND user_id = ? AND system = ? AND context = ? AND served_at = ?
             AND digest = ?"""
    return db.found(sql, (project_id, user_id, system, *occasion, _digest(items)))


def _digest(items: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(["made", *items], ensure_ascii=False).encode()).hexdigest()


def newest_pair(db: Database, project_id: int, key: CaseKey) -> CaseKey:
    """The key with the lists of the newest case of these systems, on the occasion that the key names, or on any occasion
    if it names none. Unchanged if there is no such case."""
    sql = """SELECT slate_a, slate_b, context, served_at FROM cases
             WHERE project_id = ? AND kind = 'pair' AND user_id = ? AND system_a = ? AND system_b = ? AND item_id = ''
               AND ?5 IN ('', context) AND ?6 IN ('', served_at) ORDER BY id DESC LIMIT 1"""
    row = db.row(sql, (project_id, key.user_id, key.system_a, key.system_b, *key.occasion))
    return key if row is None else key._replace(**dict(row))


def foreign_lists(db: Database, cases: Iterable[int]) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Adversarial pair -> the user whose own list stands beside the foreign one, and the foreign one's items as shown in the
    newest run that contains it."""
    from recjudge_tui.domain.material import SlateView

    sql = """SELECT rc.case_id, c.user_id, s.id, s.content FROM run_cases rc JOIN cases c ON c.id = rc.case_id
             JOIN snapshots s ON s.id = rc.slate_a_snapshot
             WHERE rc.case_id IN (SELECT value FROM json_each(?)) ORDER BY rc.run_id"""
    rows = db.tuples(sql, (json.dumps(sorted(cases)),))
    return {row[0]: (row[1], tuple(i.item_id for i in _view(SlateView, *row[2:]).items)) for row in rows}


class PlantedFault(NamedTuple):
    """The fault planted into a list: the item at `rank` (from 1) replaces the item `displaced` of the imported list."""

    slate_id: int
    source_slate_id: int
    kind: FaultKind
    item_id: str
    rank: int
    displaced: str


class PlantedCase(NamedTuple):
    """A made list that was judged, with its fault and a run in which it was shown."""

    case_id: int
    user_id: str
    run_id: int
    fault: PlantedFault


def save_fault(db: Database, fault: PlantedFault) -> None:
    """Store what was planted; does nothing if the list is already stored. Call inside a transaction."""
    sql = "INSERT INTO planted_faults VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (slate_id) DO NOTHING"
    db.execute(sql, fault)


def judged_faults(db: Database, project_id: int) -> list[PlantedCase]:
    """The made lists of a project that were judged, by case."""
    sql = """SELECT c.id, c.user_id, max(rc.run_id), p.* FROM cases c
             JOIN planted_faults p ON p.slate_id = c.slate_a JOIN run_cases rc ON rc.case_id = c.id
             WHERE c.project_id = ? AND c.kind = 'list'
               AND EXISTS (SELECT 1 FROM verdicts v WHERE v.case_id = c.id AND v.protocol = ?)
             GROUP BY c.id ORDER BY c.id"""
    rows = db.rows(sql, (project_id, PLANTED))
    return [PlantedCase(row[0], row[1], row[2], PlantedFault(*tuple(row)[3:])) for row in rows]


def held_out_items(db: Database, project_id: int, user_id: str) -> set[str]:
    """The items of the user's held-out events."""
    sql = f"SELECT DISTINCT item_id FROM events WHERE project_id = ? AND user_id = ? AND {held_out_type()}"
    return set(db.column(sql, (project_id, user_id)))


# ---- snapshots ---------------------------------------------------------------------------------------------------


_COMPACT = attrgetter("compact_json")
SnapshotKind = Literal["user", "slate", "explanation"]


class ShownCase(NamedTuple):
    """The ids of the snapshots of one case in one run."""

    user: int
    slate_a: int | None = None
    slate_b: int | None = None
    explanation: int | None = None
    example: int | None = None


def save_snapshots(db: Database, kind: SnapshotKind, views: Iterable[Model]) -> Sequence[int]:
    """The id of each content, in order; stores new ones, one text at a time in memory. Call inside a transaction."""
    digests: list[str] = []

    def rows() -> Iterator[tuple[str, SnapshotKind, str]]:
        for view in views:
            text = snapshot_text(view)
            digest = hashlib.sha256(f"{kind}:{text}".encode("utf-8", "surrogatepass")).hexdigest()
            digests.append(digest)
            yield digest, kind, text

    last: int = db.value("SELECT ifnull(max(id), 0) FROM snapshots")
    before = db.connection.total_changes
    sql = "INSERT INTO snapshots (digest, kind, content) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING"
    db.execute_many(sql, rows())
    if db.connection.total_changes - before == len(digests):
        # all rows are new, and their ids are consecutive because the write lock is held
        return range(last + 1, last + 1 + len(digests))
    sql = "SELECT digest, id FROM snapshots WHERE digest IN (SELECT value FROM json_each(?))"
    known = db.pairs(sql, (json.dumps(digests),))
    return [known[digest] for digest in digests]


def snapshot_text(view: Model) -> str:
    """The view as JSON without its defaults, assembled from the texts of events and items, which many snapshots share."""
    from recjudge_tui.domain.material import SlateView, UserView

    if isinstance(view, SlateView):
        return f'{{"items":[{",".join(map(_COMPACT, view.items))}]}}'
    if isinstance(view, UserView):
        return f"{{{','.join(_fields(view))}}}"
    return view.model_dump_json(exclude_defaults=True)


def _fields(user: UserView) -> Iterator[str]:
    """The fields in the order of the model."""
    from recjudge_tui.domain.material import json_text

    yield f'"user_id":{json_text(user.user_id)}'
    if user.attributes:
        yield f'"attributes":{json_text(user.attributes)}'
    if user.as_of:
        yield f'"as_of":{json_text(user.as_of)}'
    for name in ("history", "searches", "clicks", "others"):
        if events := getattr(user, name):
            yield f'"{name}":[{",".join(map(_COMPACT, events))}]'
    for name in ("browsed", "preferences", "profile"):
        if text := getattr(user, name):
            yield f'"{name}":{json_text(text)}'


def load_material(db: Database, run_id: int, case_id: int, top_k: int) -> Material:
    """What the run shows of a case, as stored when the run was planned. Raises NotFoundError, and StoreError for a snapshot
    that is not what recjudge stores."""
    from recjudge_tui.domain.material import ExplanationView, Material, SlateView, UserView

    sql = """SELECT c.kind, u.id, u.content, a.id, a.content, b.id, b.content, e.id, e.content, x.id, x.content
             FROM run_cases rc JOIN cases c ON c.id = rc.case_id
             JOIN snapshots u ON u.id = rc.user_snapshot
             LEFT JOIN snapshots a ON a.id = rc.slate_a_snapshot
             LEFT JOIN snapshots b ON b.id = rc.slate_b_snapshot
             LEFT JOIN snapshots e ON e.id = rc.explanation_snapshot
             LEFT JOIN snapshots x ON x.id = rc.example_snapshot
             WHERE rc.run_id = ? AND rc.case_id = ?"""
    gone = NotFoundError(f"run {run_id} does not contain case {case_id}", "It was deleted.")
    row = db.only(sql, (run_id, case_id), gone)
    return Material(
        kind=row["kind"],
        user=_view(UserView, row[1], row[2]),
        slates=tuple(_view(SlateView, row[at], row[at + 1]) for at in (3, 5) if row[at]),
        explanation=row[7] and _view(ExplanationView, row[7], row[8]),
        example=row[9] and _view(ExplanationView, row[9], row[10]),
        top_k=top_k,
    )


def shorten_histories(db: Database, run_id: int, most: int) -> None:
    """Let the run show at most this many events of each user, in the cases that have no answer yet."""
    from recjudge_tui.domain.material import UserView

    open_cases = """run_id = ?1 AND case_id NOT IN (
      SELECT case_id FROM calls WHERE run_id = ?1 AND state = 'done')"""
    with db.transaction():
        for old, content in db.pairs(
            f"SELECT id, content FROM snapshots WHERE id IN (SELECT user_snapshot FROM run_cases WHERE {open_cases})",
            (run_id,),
        ).items():
            user = _view(UserView, old, content)
            if len(user.history) > most:
                (new,) = save_snapshots(
                    db, "user", [user.model_copy(update={"history": user.history[:most]})]
                )
                sql = f"UPDATE run_cases SET user_snapshot = ?2 WHERE user_snapshot = ?3 AND {open_cases}"
                db.execute(sql, (run_id, new, old))


# neighbouring cases of a run share the user and some of the lists
@lru_cache(maxsize=256)
def _view(kind: type[Model], snapshot: int, content: str) -> Any:
    return read_cell(kind, content, "snapshots", snapshot, "content")
