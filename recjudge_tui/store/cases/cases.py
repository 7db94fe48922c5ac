"""Cases: what can be judged, shared by every protocol and rater."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Literal, NamedTuple

from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.occasions import Occasion, compared_times, earlier, meant_occasions
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database


class CaseKey(NamedTuple):
    """What identifies a case. For a pair `system_a < system_b`; a single list uses the `_a` fields.

    `context` and `served_at` are those of its lists or text; of two lists, the earlier time.
    """

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
    """The ids of the cases, in order; creates those that are new.

    If labels created a case before its lists were known (no slate, same user, systems and occasion), the lists are
    added now, so that labels and judges meet whichever came first. Call inside a transaction.
    """
    ids: list[int] = []
    # the write lock is held, so nobody else takes these ids
    free = count(db.value("SELECT ifnull(max(id), 0) + 1 FROM cases"))
    any_yet = db.value("SELECT EXISTS (SELECT 1 FROM cases WHERE project_id = ?)", (project_id,))
    # whether any of these cases may still lack its lists: a stored one, or one that this call adds
    any_waits = any_yet or any(key.slate_a is None and key.explanation_id is None for key in keys)
    if not any_waits:
        place = dict(zip(dict.fromkeys(keys), free))  # noqa: B905
        _insert(db, project_id, ((case_id, key) for key, case_id in place.items()))
        return [place[key] for key in keys]
    known: dict[tuple[object, ...], dict[Occasion, int]] = {}
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


def _insert(db: Database, project_id: int, cases: Iterable[tuple[int, CaseKey]]) -> None:
    db.insert_many(
        """INSERT INTO cases (id, project_id, kind, user_id, system_a, system_b, item_id, slate_a, slate_b, explanation_id,
             context, served_at)""",
        ((case_id, project_id, *key) for case_id, key in cases),
    )


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
    for case_id, context, served_at, *content in db.execute(
        f"""SELECT c.id, c.context, c.served_at, {", ".join(_CONTENT)}
            FROM json_each(?) w CROSS JOIN cases c ON c.project_id = ? AND {same}""",
        (wanted, project_id),
    ):
        by_content.setdefault(tuple(content), {})[Occasion(context, served_at)] = case_id
    return by_content


def _completed(db: Database, project_id: int, key: CaseKey, waiting: dict[Occasion, int]) -> int | None:
    """The case that still lacks the content of this occasion.

    It names the same occasion, or only this occasion of the user and the systems fits what it names.
    """
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
    bare = key._replace(slate_a=None, slate_b=None, explanation_id=None)
    if bare.kind == "explanation":
        rows = db.rows(
            """SELECT context, served_at, explanation_id FROM v_current_explanations
               WHERE project_id = ? AND user_id = ? AND item_id = ? AND system = ?""",
            (project_id, bare.user_id, bare.item_id, bare.system_a),
        )
        keys = [bare._replace(explanation_id=row[2], context=row[0], served_at=row[1]) for row in rows]
        return {key.occasion: key for key in keys}
    if bare.item_id:
        return {}
    rows = db.rows(
        """SELECT system, context, served_at, slate_id FROM v_current_slates
           WHERE project_id = ? AND user_id = ? AND system IN (?, ?) ORDER BY context, served_at""",
        (project_id, bare.user_id, bare.system_a, bare.system_b),
    )
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
    rows = db.rows(
        """SELECT DISTINCT c.kind, c.user_id, c.system_a, c.system_b, c.item_id, c.slate_a, c.slate_b, c.explanation_id,
             c.context, c.served_at
           FROM verdicts v JOIN cases c ON c.id = v.case_id
           WHERE v.rater_id = ? AND v.protocol = ? AND v.state = 'ok'""",
        (rater_id, protocol),
    )
    return {CaseKey(*row) for row in rows}


def case_row(db: Database, case_id: int) -> sqlite3.Row:
    """One case with its project's name; raises NotFoundError."""
    row = db.row(
        "SELECT c.*, p.name AS project FROM cases c JOIN projects p ON p.id = c.project_id WHERE c.id = ?",
        (case_id,),
    )
    if row is None:
        raise NotFoundError(
            f"no case {case_id}", next_step="“recjudge cases list” shows the cases of a project."
        )
    return row


def label_columns(db: Database, project_id: int, case_id: int) -> dict[str, str] | None:
    """The columns of a label that describe a case of the project: user_id, item_id, system or system_a and system_b,
    context and served_at. None if the project has no such case."""
    row = db.row(
        """SELECT kind, user_id, item_id, system_a, system_b, context, served_at
           FROM cases WHERE project_id = ? AND id = ?""",
        (project_id, case_id),
    )
    if row is None:
        return None
    pair = row["kind"] == "pair"
    return {
        "user_id": row["user_id"],
        "item_id": row["item_id"],
        "system": "" if pair else row["system_a"],
        "system_a": row["system_a"] if pair else "",
        "system_b": row["system_b"] if pair else "",
        "context": row["context"],
        "served_at": row["served_at"],
    }


def list_cases(db: Database, project_id: int, limit: int | None = None) -> list[sqlite3.Row]:
    """Cases and their number of verdicts. Columns: case_id, kind, user_id, item_id, system_a, system_b, context,
    served_at, verdicts."""
    return db.rows(
        """SELECT c.id AS case_id, c.kind, c.user_id, c.item_id, c.system_a, c.system_b, c.context, c.served_at,
             (SELECT count(*) FROM verdicts v WHERE v.case_id = c.id) AS verdicts
           FROM cases c WHERE c.project_id = ? ORDER BY c.id LIMIT ?""",
        (project_id, -1 if limit is None else limit),
    )


def showable_case(
    db: Database, project_id: int, kind: CaseKind, direction: Direction = "first", case_id: int = 0
) -> sqlite3.Row | None:
    """A case of this kind with known lists or text: the first one, or the one at, after or before `case_id`.

    Columns: id, user_id, item_id, system_a, system_b, context, served_at. None when there is no such case.
    """
    return db.row(
        f"""SELECT id, user_id, item_id, system_a, system_b, context, served_at FROM cases
            WHERE project_id = :project AND kind = :kind AND {_SHOWABLE[kind]} {_STEPS[direction]} LIMIT 1""",
        {"project": project_id, "kind": kind, "case": case_id},
    )


def cases_between(db: Database, project_id: int, system: str, opponent: str) -> list[int]:
    """The ids of the pair cases of two systems, in either order."""
    return [
        row[0]
        for row in db.rows(
            """SELECT id FROM cases WHERE project_id = ? AND kind = 'pair' AND system_a = ? AND system_b = ?
               ORDER BY id""",
            (project_id, *sorted((system, opponent))),
        )
    ]


def case_count(db: Database, project_id: int) -> int:
    count: int = db.value("SELECT count(*) FROM cases WHERE project_id = ?", (project_id,))
    return count
