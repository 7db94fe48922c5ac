"""Imports of files: their record, the storing of rows, undoing."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from recjudge_tui.domain.annotation import AS_GIVEN
from recjudge_tui.domain.imports import ImportFacts
from recjudge_tui.domain.made_lists import ADVERSARIAL
from recjudge_tui.domain.occasions import meant_occasions
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.records import Event, Explanation, ImportKind, Item, Label, Slate, User
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.steps import Step
from recjudge_tui.store.cases import CaseKey, current_keys, ensure_cases, newest_pair
from recjudge_tui.store.data import LISTS, TEXTS, Replaceable, delete_unused_images
from recjudge_tui.store.database import Database, StoredRow, now, read_cell
from recjudge_tui.store.facts import held_out_type
from recjudge_tui.store.histories import held_out_users, mark_again
from recjudge_tui.store.people import reopen_unanswered


class UndoneImport(NamedTuple):
    """The effect of undoing an import. `kept` counts the rows that stay because a case refers to them."""

    import_id: int
    project: str
    kind: str
    path: str
    removed: dict[str, int]
    kept: dict[str, int]


def begin_import(db: Database, project_id: int, kind: ImportKind, layout: str, path: str, sha256: str) -> int:
    """Create the row of an import; `finish_import` fills in its counts."""
    return db.add(
        "imports", project_id=project_id, kind=kind, layout=layout, path=path, sha256=sha256, created_at=now(),
        rows_read=0, rows_stored=0, rows_skipped=0,
    )  # fmt: skip


def finish_import(
    db: Database, import_id: int, *, read: int, stored: int, skipped: int, warnings: Sequence[str]
) -> None:
    """Store an import's counts and its first warnings."""
    text = json.dumps(list(warnings), ensure_ascii=False)
    db.change("imports", import_id, rows_read=read, rows_stored=stored, rows_skipped=skipped, warnings=text)


def same_import(
    db: Database,
    project_id: int,
    kind: ImportKind,
    layout: str,
    sha256: str,
    is_alike: Callable[[int, str], bool],
) -> int | None:
    """The newest import, not undone, of the same bytes, kind and layout for which `is_alike(id, path)` is true."""
    sql = """SELECT id, path FROM imports WHERE project_id = ? AND kind = ? AND layout = ? AND sha256 = ?
             AND undone_at IS NULL ORDER BY id DESC"""
    rows = db.rows(sql, (project_id, kind, layout, sha256))
    return next((import_id for import_id, path in rows if is_alike(import_id, path)), None)


def import_facts(db: Database, project_id: int) -> ImportFacts:
    """The facts about the project's current data."""
    current = """slates s WHERE s.project_id = :project
                 AND EXISTS (SELECT 1 FROM slate_imports WHERE slate_id = s.id)"""
    history = f"""SELECT 1 FROM events e WHERE e.project_id = :project AND e.user_id = u.user_id
                  AND NOT {held_out_type("e.type")}"""
    untitled = """SELECT 1 FROM slate_items i WHERE i.slate_id = s.id AND NOT EXISTS (
                  SELECT 1 FROM items t WHERE t.project_id = :project AND t.item_id = i.item_id)"""
    listed = f"(SELECT DISTINCT user_id FROM {current}) u"
    labels = "FROM verdicts v JOIN cases c ON c.id = v.case_id WHERE v.project_id = :project AND v.import_id IS NOT NULL"
    sql = f"""SELECT (SELECT count(*) FROM {listed}) AS users,
                (SELECT count(*) FROM {listed} WHERE EXISTS ({history})) AS ready, (SELECT count(*) FROM {current}) AS lists,
                (SELECT count(*) FROM {current} AND EXISTS ({untitled})) AS untitled, (SELECT count(*) {labels}) AS labels,
                (SELECT count(*) {labels} AND (c.slate_a IS NOT NULL OR c.explanation_id IS NOT NULL)) AS on_lists,
                (SELECT count(*) FROM explanations WHERE project_id = :project) AS texts"""
    return ImportFacts(*db.only(sql, {"project": project_id}))


def imported_at(db: Database, import_id: int) -> str:
    """When an import was made, as ISO 8601."""
    return str(db.value("SELECT created_at FROM imports WHERE id = ?", (import_id,)))


def brought_visible_events(db: Database, import_id: int) -> bool:
    """Whether any event of the import is not held out."""
    return db.any(f"SELECT 1 FROM events WHERE import_id = ? AND NOT {held_out_type()}", (import_id,))


def is_displaced(db: Database, import_id: int, kind: ImportKind) -> bool:
    """Whether a later import replaced anything from this one; events and labels never are: all imports of them count."""
    return kind in _LATER_IMPORTS and db.any(_LATER_IMPORTS[kind], (import_id,))


def _later_rows(table: str, key: str, columns: str) -> str:
    """Items or users of an import whose newest row has another content."""
    content = columns.split(", ")
    mine, newest = (", ".join(f"{row}.{column}" for column in content) for row in ("m", "l"))
    return f"""SELECT 1 FROM {table} m
               JOIN {table} l ON l.project_id = m.project_id AND l.{key} = m.{key} AND l.import_id = (
                 SELECT max(import_id) FROM {table} WHERE project_id = m.project_id AND {key} = m.{key})
               WHERE m.import_id = ?1 AND ({mine}) IS NOT ({newest})"""


def _later_content(content: Replaceable) -> str:
    """The lists or texts of an import that a later import replaced."""
    table, links, key, owner = content
    same = " AND ".join(f"o.{column} = m.{column}" for column in f"project_id, {owner}".split(", "))
    return f"""SELECT 1 FROM {links} mine JOIN {table} m ON m.id = mine.{key}
               JOIN {table} o ON {same} AND o.id <> m.id JOIN {links} later ON later.{key} = o.id
               WHERE mine.import_id = ?1
                 AND later.import_id > (SELECT max(import_id) FROM {links} WHERE {key} = m.id)"""


_LATER_IMPORTS = {
    "items": _later_rows("items", "item_id", "title, brand, category, attributes"),
    "users": _later_rows("users", "user_id", "attributes"),
    "lists": _later_content(LISTS),
    "explanations": _later_content(TEXTS),
}


def import_of_path(db: Database, project_id: int, kind: ImportKind, path: str, before: int) -> int | None:
    """The newest import before `before`, not undone, of this path and kind."""
    sql = """SELECT id FROM imports WHERE project_id = ? AND kind = ? AND path = ? AND id < ?
             AND undone_at IS NULL ORDER BY id DESC LIMIT 1"""
    return db.found(sql, (project_id, kind, path, before))


def list_imports(db: Database, project_id: int | None = None) -> list[StoredRow]:
    """Imports with their project's name, newest last; `warnings` is a JSON array of texts."""
    sql = """SELECT i.id, p.name AS project, i.kind, i.layout, i.path, i.sha256, i.rows_read, i.rows_stored,
               i.rows_skipped, i.warnings, i.created_at, i.undone_at
             FROM imports i JOIN projects p ON p.id = i.project_id WHERE ifnull(?, i.project_id) = i.project_id
             ORDER BY i.id"""
    rows = db.rows(sql, (project_id,))
    for row in rows:
        read_cell(list[str], row["warnings"], "imports", row["id"], "warnings")
    return rows


def undo_import(db: Database, import_id: int) -> UndoneImport:
    """Remove exactly what one import added; its row stays, marked as undone. Lists and texts that another import also
    contains stay; those that a case refers to stay but are not current. Labels go with their flags, then cases and raters
    that have nothing else. Raises NotFoundError for an unknown import, UsageError for one already undone."""
    with db.transaction():
        sql = "SELECT i.*, p.name AS project FROM imports i JOIN projects p ON p.id = i.project_id WHERE i.id = ?"
        row = db.only(sql, (import_id,), NotFoundError(f"no import {import_id}", step=Step("list imports")))
        if row["undone_at"] is not None:
            raise UsageError(f"import {import_id} was already undone", f"On {row['undone_at']}.")
        removed = _remove_labels(db, import_id)
        db.execute("DELETE FROM scales WHERE import_id = ?", (import_id,))
        held_out = held_out_users(db, import_id)
        for table in ("items", "users", "events"):
            removed[table] = db.execute(f"DELETE FROM {table} WHERE import_id = ?", (import_id,)).rowcount
        mark_again(db, row["project_id"], held_out)
        if removed["items"]:
            delete_unused_images(db)
        kept: dict[str, int] = {}
        for what in _CONTENT if row["kind"] in (*_CONTENT, "labels") else ():
            removed[what], kept[what] = _remove_content(db, row["project_id"], import_id, what)
        db.execute("UPDATE imports SET undone_at = ? WHERE id = ?", (now(), import_id))
    removed, kept = ({what: n for what, n in counts.items() if n} for counts in (removed, kept))
    return UndoneImport(import_id, row["project"], row["kind"], row["path"], removed, kept)


# kind -> its table, and the columns of a case that refer to it
_CONTENT = {"lists": (LISTS, ("slate_a", "slate_b")), "explanations": (TEXTS, ("explanation_id",))}


def _remove_content(db: Database, project_id: int, import_id: int, what: str) -> tuple[int, int]:
    """Remove this import's links, then every row that has neither an import nor a case. Returns how many rows were
    removed, and how many of this import's stay only because a case refers to them."""
    (table, links, key, _), columns = _CONTENT[what]
    unlinked = f"NOT EXISTS (SELECT 1 FROM {links} l WHERE l.{key} = t.id)"
    used = " OR ".join(f"EXISTS (SELECT 1 FROM cases c WHERE c.{column} = t.id)" for column in columns)
    orphans = f"SELECT count(*) FROM {table} t WHERE t.project_id = ? AND {unlinked}"
    before = db.number(f"{orphans} AND ({used})", (project_id,))
    db.execute(f"DELETE FROM {links} WHERE import_id = ?", (import_id,))
    after = db.number(f"{orphans} AND ({used})", (project_id,))
    gone = db.execute(
        f"DELETE FROM {table} AS t WHERE t.project_id = ? AND {unlinked} AND NOT ({used})", (project_id,)
    ).rowcount
    return gone, after - before


def _remove_labels(db: Database, import_id: int) -> dict[str, int]:
    mine = "FROM verdicts WHERE import_id = ?"
    cases, raters = (
        db.column(f"SELECT DISTINCT {key} {mine}", (import_id,)) for key in ("case_id", "rater_id")
    )
    removed = {"labels": db.execute(f"DELETE {mine}", (import_id,)).rowcount}
    reopen_unanswered(db)
    for what, key, ids, users in (
        ("cases", "case_id", cases, ("verdicts", "run_cases", "calls", "annotation_tasks")),
        ("raters", "rater_id", raters, ("verdicts", "runs", "annotation_tasks")),
    ):
        unused = "".join(f" AND NOT EXISTS (SELECT 1 FROM {table} WHERE {key} = ?1)" for table in users)
        sql = f"DELETE FROM {what} WHERE id = ?1{unused}"
        removed[what] = sum(db.execute(sql, (identity,)).rowcount for identity in ids)
    return removed


def imported_layouts(db: Database, project_id: int) -> list[str]:
    """The layouts of the project's imports, each once, as they were stored."""
    return db.column("SELECT DISTINCT layout FROM imports WHERE project_id = ?", (project_id,))


# ---- loading -----------------------------------------------------------------------------------------------------


# cases that are remembered
_CACHED = 50_000
# what tells the cases of labels apart
_PLACE = itemgetter(
    *map(Label._fields.index, "protocol user_id item_id system system_a system_b context served_at".split())
)
Outcome = Literal["new", "unchanged", "replaces", "disagrees"]
_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


class Target(NamedTuple):
    """Where an import's rows go. `since` is the first import of the same command."""

    db: Database
    project_id: int
    import_id: int
    since: int


class Clash(NamedTuple):
    """A verdict that the rater already has on the case; `same` if the values are equal."""

    verdict: int
    label: str
    same: bool
    import_id: int | None
    run_id: int | None


def known_content(
    db: Database, project_id: int, kind: Literal["items", "users"]
) -> dict[str, tuple[int, int]]:
    """id -> (fingerprint of the content, import) of each current item or user."""
    if kind == "items":
        sql = """SELECT item_id, import_id, title, brand, category, attributes, image FROM v_current_items
                 WHERE project_id = ?"""
    else:
        sql = "SELECT user_id, import_id, attributes FROM v_current_users WHERE project_id = ?"
    return {row[0]: (hash(tuple(row[2:])), row[1]) for row in db.execute(sql, (project_id,))}


def known_ids(db: Database, project_id: int, kind: Literal["items", "users"]) -> set[str]:
    """The ids of all items or users of the project."""
    column = "item_id" if kind == "items" else "user_id"
    return set(db.column(f"SELECT DISTINCT {column} FROM {kind} WHERE project_id = ?", (project_id,)))


def mentioned_ids(db: Database, project_id: int, kind: Literal["items", "users"]) -> set[str]:
    """The ids of all items or users that any data of the project names."""
    sources = {
        "items": (
            "SELECT item_id FROM items WHERE project_id = :project",
            "SELECT item_id FROM events WHERE project_id = :project",
            "SELECT i.item_id FROM slate_items i JOIN slates s ON s.id = i.slate_id WHERE s.project_id = :project",
            "SELECT item_id FROM explanations WHERE project_id = :project",
        ),
        "users": tuple(
            f"SELECT user_id FROM {table} WHERE project_id = :project"
            for table in ("users", "events", "slates", "explanations")
        ),
    }
    sql = " UNION ".join(sources[kind])
    return set(db.column(sql, {"project": project_id}))


def fingerprint(record: Item | User) -> int:
    """A hash of the content as in `known_content`; valid within one process only."""
    if isinstance(record, Item):
        return hash(
            (record.title, record.brand, record.category, _json(record.attributes), record.image or None)
        )
    return hash((_json(record.attributes),))


def add_items(target: Target, items: Sequence[Item]) -> None:
    """Store items, each one once per import. Their images are digests of stored ones."""
    target.db.insert_many(
        "INSERT INTO items (project_id, import_id, item_id, title, brand, category, attributes, image)",
        ((i.item_id, i.title, i.brand, i.category, _json(i.attributes), i.image or None) for i in items),
        target[1:3],
    )


def add_users(target: Target, users: Sequence[User]) -> None:
    """Store users, each one once per import."""
    target.db.insert_many(
        "INSERT INTO users (project_id, import_id, user_id, attributes)",
        ((user.user_id, _json(user.attributes)) for user in users),
        target[1:3],
    )


def add_events(target: Target, events: Sequence[Event]) -> None:
    sql = f"INSERT INTO events (project_id, import_id, {', '.join(Event._fields)})"
    target.db.insert_many(sql, events, target[1:3])


# of a large import, so many events are looked up before all are counted
_PROBED = 5_000


def events_before(db: Database, project_id: int, import_id: int) -> dict[int, int]:
    """Earlier import -> how many different events of this one it has, equal in every column."""
    every = db.number("SELECT count(*) FROM events WHERE import_id = ?", (import_id,))
    columns = ", ".join(Event._fields)
    sql = f"SELECT {columns} FROM events WHERE import_id = ? AND id % ? = 0"
    some = set(db.tuples(sql, (import_id, every // _PROBED + 1)))
    sql = f"""SELECT {columns} FROM events WHERE project_id = ? AND import_id < ?
              AND user_id IN (SELECT value FROM json_each(?))"""
    users = json.dumps([*{event[0] for event in some}])
    if some.isdisjoint(db.tuples(sql, (project_id, import_id, users))):
        return {}
    sql = f"""SELECT source, count(*) FROM (
                SELECT min(import_id) AS source FROM events WHERE project_id = ?1 AND import_id <= ?2
                  AND user_id IN (SELECT user_id FROM events WHERE import_id = ?2)
                GROUP BY {columns} HAVING source < ?2 AND max(import_id) = ?2) GROUP BY source"""
    return db.pairs(sql, (project_id, import_id))


def add_slates(target: Target, slates: Sequence[Slate]) -> list[tuple[Outcome, int | None]]:
    """Store lists, or link existing equal ones (the same items and scores in order). Of each the outcome and the import it
    refers to: `new`; `unchanged` if the current list is equal; `replaces` another of this user, system and occasion;
    `disagrees` with one of this command: then nothing is stored."""
    db, project_id, import_id, _ = target
    owners = [(slate.user_id, slate.system, slate.context, slate.served_at) for slate in slates]
    sql = """SELECT user_id, system, context, served_at FROM slates
             WHERE project_id = ? AND user_id IN (SELECT value FROM json_each(?))"""
    stored = set(db.tuples(sql, (project_id, json.dumps(list({owner[0] for owner in owners})))))
    outcomes: list[tuple[Outcome, int | None] | None] = [None] * len(slates)
    fresh: dict[tuple[str, ...], Slate] = {}
    for at, (owner, slate) in enumerate(zip(owners, slates, strict=True)):
        if owner not in stored and owner not in fresh:
            fresh[owner], outcomes[at] = slate, ("new", None)
    # the write lock is held, so nobody else takes these ids
    first = db.number("SELECT ifnull(max(id), 0) + 1 FROM slates")
    numbered = list(enumerate(fresh.values(), first))
    db.insert_many(
        "INSERT INTO slates (id, project_id, user_id, system, context, served_at, length, digest)",
        (
            (at, project_id, *owner, len(slate.items), _digest(slate.items))
            for at, (owner, slate) in enumerate(fresh.items(), first)
        ),
    )
    db.insert_many("INSERT INTO slate_imports", ((at, import_id) for at, _ in numbered))
    for at, (owner, slate) in enumerate(zip(owners, slates, strict=True)):
        if outcomes[at] is None:
            named = dict(zip(LISTS.owner.split(", "), owner, strict=True))
            outcome, source, made = _add_content(target, LISTS, named, slate.items, length=len(slate.items))
            outcomes[at] = outcome, source
            numbered += [(made, slate)] if made else []
    db.insert_many(
        "INSERT INTO slate_items (slate_id, rank, item_id, score)",
        ((at, rank, *item) for at, slate in numbered for rank, item in enumerate(slate.items, 1)),
    )
    return [outcome for outcome in outcomes if outcome is not None]


def add_explanation(target: Target, explanation: Explanation) -> tuple[Outcome, int | None]:
    """Store an explanation, or link an existing one with the same text, reference and attributes; returns what
    `add_slates` does of a list."""
    e = explanation
    owner = {name: getattr(e, name) for name in ("user_id", "item_id", "system", "context", "served_at")}
    content = [e.text, e.reference, e.attributes]
    texts = {"text": e.text, "reference": e.reference, "attributes": _json(e.attributes)}
    return _add_content(target, TEXTS, owner, content, **texts)[:2]


def _add_content(
    target: Target, kind: Replaceable, owner: dict[str, str], content: Any, **columns: object
) -> tuple[Outcome, int | None, int | None]:
    """Outcome and import as of `add_slates`, and the id of the row if it was stored now. Rows without an import are not
    current any more."""
    db, digest = target.db, _digest(content)
    same = " AND ".join(f"{name} = ?" for name in owner)
    sql = f"""SELECT t.id, t.digest, (SELECT max(import_id) FROM {kind.links} WHERE {kind.key} = t.id) AS source
              FROM {kind.table} t WHERE project_id = ? AND {same}"""
    rows = db.rows(sql, (target.project_id, *owner.values()))
    identity, source = next(
        ((row["id"], row["source"]) for row in rows if row["digest"] == digest), (None, None)
    )
    newest = max((row["source"] for row in rows if row["source"] is not None), default=None)
    outcome: Outcome = "new" if newest is None else "unchanged" if source == newest else "replaces"
    if outcome == "replaces" and newest is not None and newest >= target.since:
        return "disagrees", newest, None
    made = None
    if identity is None:
        identity = made = db.add(kind.table, project_id=target.project_id, **owner, digest=digest, **columns)
    db.execute(f"INSERT OR IGNORE INTO {kind.links} VALUES (?, ?)", (identity, target.import_id))
    return outcome, newest, made


def _digest(content: Any) -> str:
    return hashlib.sha256(_json(content).encode()).hexdigest()


def lengths(target: Target) -> tuple[int, int, int]:
    """Of the lists of an import: how many, of how many items, for how many users of a system."""
    sql = """SELECT count(*), ifnull(sum(length), 0), count(DISTINCT user_id || char(0) || system)
             FROM slates JOIN slate_imports ON slate_id = id WHERE import_id = ?"""
    lists, items, owners = target.db.only(sql, (target.import_id,))
    return lists, items, owners


class LabelledCase(NamedTuple):
    """The case of a label. `occasions` counts those that the label may mean; if there are several, the case has no lists."""

    case_id: int
    occasions: int


def label_key(db: Database, project_id: int, label: Label, *, alone: bool = False) -> tuple[CaseKey, int]:
    """The key of a label's case with the current lists or text if known (a pair gets both or none), and the number of
    occasions it may mean; an adversarial pair is the newest of these names. `alone`: the project has no lists and no
    texts."""
    unit, a, b = protocol_facts(label.protocol).unit, label.system_a or label.system, label.system_b
    bare = CaseKey(unit, label.user_id, a, b, label.item_id, None, None, None, label.context, label.served_at)
    if label.protocol == ADVERSARIAL:
        return newest_pair(db, project_id, bare), 1
    if alone:
        return bare, 0
    known = current_keys(db, project_id, bare)
    meant = meant_occasions(bare.occasion, known)
    return known[meant[0]] if len(meant) == 1 else bare, len(meant)


def cases_of_labels(
    target: Target, cases: dict[tuple[str, ...], LabelledCase], labels: Sequence[Label]
) -> list[LabelledCase]:
    """The labels' cases, created if new; `cases` is a cache across a file."""
    db, project_id = target.db, target.project_id
    if len(cases) > _CACHED:
        cases.clear()
    keys: dict[tuple[str, ...], tuple[CaseKey, int]] = {}
    places = list(map(_PLACE, labels))
    content = (
        f"EXISTS (SELECT 1 FROM {table} WHERE project_id = ?1)" for table in ("slates", "explanations")
    )
    alone = not db.value(f"SELECT {' OR '.join(content)}", (project_id,))
    for place, label, case in zip(places, labels, map(cases.get, places), strict=True):
        if case is None and place not in keys and label.case_id is None:
            keys[place] = label_key(db, project_id, label, alone=alone)
    ids = ensure_cases(db, project_id, [key for key, _ in keys.values()])
    for (place, (_, occasions)), case_id in zip(keys.items(), ids, strict=True):
        cases[place] = LabelledCase(case_id, occasions)
    return [
        cases[place] if label.case_id is None else LabelledCase(label.case_id, 1)
        for place, label in zip(places, labels, strict=True)
    ]


def set_games(target: Target, rater_id: int, case_id: int, label: Label) -> bool:
    """Give the rater's verdict on the case, which has no games, those of this label and what follows from them; False if it
    has some."""
    db, given = target.db, (rater_id, case_id, label.aspect, AS_GIVEN)
    sql = "SELECT id FROM verdicts WHERE rater_id = ? AND case_id = ? AND aspect = ? AND rule = ?"
    if (verdict := db.found(sql, given)) is None:
        return False
    agree = len({game.value for game in label.games}) == 1
    sql = "UPDATE verdicts SET value = ?, label = ?, rule = ?, order_consistent = ? WHERE id = ?"
    db.execute(sql, (label.value, label.label, label.rule, agree, verdict))
    games = [(verdict, "ab" if game.first == "a" else "ba", game.value) for game in label.games]
    db.insert_many("INSERT INTO games (verdict_id, list_order, value)", games)
    return True


def add_verdicts(target: Target, given: Sequence[tuple[int, int, Label]]) -> list[int | Clash]:
    """Store labels, each with its rater and case, in the orientation of the case, with their flags. Of each the id of its
    verdict, or the existing verdict, in which case nothing is stored."""
    db, made = target.db, now()
    # the id, the value, the label, the import and the run of a verdict
    seen: dict[tuple[int, int, str], tuple[Any, ...]] = {}
    cases: defaultdict[int, set[int]] = defaultdict(set)
    for rater, case, _ in given:
        cases[rater].add(case)
    for rater, own in cases.items():
        # most cases are new to the rater
        newest = db.number("SELECT ifnull(max(case_id), 0) FROM verdicts WHERE rater_id = ?", (rater,))
        if judged := [case for case in own if case <= newest]:
            sql = """SELECT case_id, aspect, id, value, label, import_id, run_id FROM verdicts
                     WHERE rater_id = ? AND case_id IN (SELECT value FROM json_each(?))"""
            rows = db.tuples(sql, (rater, json.dumps(judged)))
            seen.update({(rater, case, aspect): tuple(stored) for case, aspect, *stored in rows})
    outcomes: list[int | Clash] = []
    verdicts: list[tuple[object, ...]] = []
    games: list[tuple[object, ...]] = []
    flags: list[tuple[object, ...]] = []
    # the write lock is held, so nobody else takes these ids
    at = db.number("SELECT ifnull(max(id), 0) + 1 FROM verdicts")
    for rater, case, label in given:
        fresh = (at, label.value, label.label, target.import_id, None)
        stored = seen.setdefault((rater, case, label.aspect), fresh)
        if stored is not fresh:
            verdict, value, name, import_id, run_id = stored
            outcomes.append(Clash(verdict, name, value == label.value and run_id is None, import_id, run_id))
            continue
        outcomes.append(at)
        value, played = label.value, label.games
        # whether the two orders agree; None with one order, or where a judgement failed
        agree = None if len(played) < 2 or value is None else len({game.value for game in played}) == 1
        state = "failed" if value is None else "ok"
        about = label.aspect, label.protocol, label.label, label.rule, label.note, len(label.flags)
        verdicts.append((at, rater, case, state, value, agree, *about))
        if played:
            games += [(at, "ab" if game.first == "a" else "ba", game.value) for game in played]
        if label.flags:
            flags += [(at, *flag) for flag in label.flags]
        at += 1
    db.insert_many(
        """INSERT INTO verdicts (project_id, import_id, created_at, id, rater_id, case_id, state, value, order_consistent,
             aspect, protocol, label, rule, note, flag_count)""",
        verdicts,
        (*target[1:3], made),
    )
    db.insert_many("INSERT INTO games (verdict_id, list_order, value)", games)
    db.insert_many("INSERT INTO flags (verdict_id, item_id, issue, reason)", flags)
    return outcomes
