"""Generations of lists: which import contained the lists of a case, and which import replaced them. Lists imported
again for the same user, system and occasion replace the earlier ones, while verdicts on the earlier ones are kept. No
figure may mix the two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.made_lists import PREFIXES
from recjudge_tui.domain.occasions import Occasion, meant_occasions
from recjudge_tui.stats.arrays import BoolArray, IntArray
from recjudge_tui.store.cases_ import CaseKey, current_keys
from recjudge_tui.store.data_ import LISTS, TEXTS, Replaceable, was_replaced
from recjudge_tui.store.database import Database, explained

# no import has replaced the lists
NEVER = int(np.iinfo(np.int64).max)


class Lifetimes(NamedTuple):
    """By case: the lists (or the text) of a case were current together from import `since` until import `until`
    replaced one of them; NEVER if they are still current. Cases without lists are current from 0 to NEVER.
    """

    since: IntArray
    until: IntArray


class CaseOccasions(NamedTuple):
    """By case: codes of its context and of its time in alphabetical order; a time of 0 is unknown."""

    context: IntArray
    served_at: IntArray


class CaseContent(NamedTuple):
    """By case: the ids of its lists and of its text, 0 where it has none."""

    slate_a: IntArray
    slate_b: IntArray
    explanation: IntArray


def load_lifetimes(db: Database, project_id: int, cases: IntArray) -> Lifetimes | None:
    """The lifetimes of these cases (ids in order); None if no list or text of the project was ever replaced."""
    replaced = [content for content in (LISTS, TEXTS) if was_replaced(db, project_id, content)]
    if not replaced:
        return None
    content = case_content(db, project_id, cases)
    since, until = np.zeros(cases.size, dtype=np.int64), np.full(cases.size, NEVER)
    if LISTS in replaced:
        starts, ends = _lifetimes(db, project_id, LISTS)
        for ids in (content.slate_a, content.slate_b):
            since, until = np.maximum(since, starts[ids]), np.minimum(until, ends[ids])
    if TEXTS in replaced:
        starts, ends = _lifetimes(db, project_id, TEXTS)
        since = np.maximum(since, starts[content.explanation])
        until = np.minimum(until, ends[content.explanation])
    # two lists that were never current at the same time count as replaced
    return Lifetimes(np.minimum(since, until - 1), until)


def adversarial_lifetimes(db: Database, project_id: int, cases: IntArray) -> Lifetimes | None:
    """The lifetimes of adversarial pairs (ids in order); None as in `load_lifetimes`.

    Lists made for a pair belong to no import. Such a pair is current as long as the pair of imported lists that the
    same run judged.
    """
    lifetimes = load_lifetimes(db, project_id, cases)
    if lifetimes is None:
        return None
    (source_name, _), (made_name, _) = PREFIXES["published"], PREFIXES["unseen"]
    rows = db.rows(
        """SELECT DISTINCT m.id, s.id FROM cases m
           JOIN cases s ON s.project_id = m.project_id AND s.kind = 'pair' AND s.user_id = m.user_id
             AND s.system_a = ?2 || substr(m.system_a, length(?3) + 1)
           JOIN run_cases made ON made.case_id = m.id
           JOIN run_cases source ON source.run_id = made.run_id AND source.case_id = s.id
           WHERE m.project_id = ?1 AND m.kind = 'pair' AND m.system_a GLOB ?3 || '*'""",
        (project_id, source_name, made_name),
    )
    sources = np.unique(np.array([source for _, source in rows], dtype=np.int64))
    stood = load_lifetimes(db, project_id, sources)
    assert stood is not None, "lists of the project were replaced"
    places = {case: at for at, case in enumerate(cases.tolist())}
    by_case: dict[int, list[int]] = {}
    for case, source in rows:
        if case in places:
            by_case.setdefault(places[case], []).append(int(np.searchsorted(sources, source)))
    for at, beside in by_case.items():
        lifetimes.since[at], lifetimes.until[at] = stood.since[beside].min(), stood.until[beside].max()
    return lifetimes


def list_lifetimes(db: Database, project_id: int, slates: IntArray) -> Lifetimes | None:
    """The lifetimes of these lists (ids), in their order; None if no list of the project was ever replaced."""
    if not was_replaced(db, project_id, LISTS):
        return None
    since, until = _lifetimes(db, project_id, LISTS)
    return Lifetimes(since[slates], until[slates])


def case_content(db: Database, project_id: int, cases: IntArray) -> CaseContent:
    """The lists and texts of these cases (ids in order)."""
    cursor = db.execute(
        """SELECT id, ifnull(slate_a, 0), ifnull(slate_b, 0), ifnull(explanation_id, 0) FROM cases NOT INDEXED
           WHERE project_id = ? ORDER BY id""",
        (project_id,),
    )
    cursor.row_factory = None
    with explained(db.path):
        rows = np.fromiter(cursor, dtype=np.dtype([(name, "i8") for name in ("id", "a", "b", "text")]))
    # another process may have added cases since they were read
    known = rows[np.isin(rows["id"], cases)]
    return CaseContent(known["a"].copy(), known["b"].copy(), known["text"].copy())


def case_occasions(db: Database, project_id: int, cases: IntArray) -> CaseOccasions:
    """The occasions of these cases (ids in order)."""
    rows = db.rows(
        "SELECT id, context, served_at FROM cases NOT INDEXED WHERE project_id = ? ORDER BY id", (project_id,)
    )
    # another process may have added cases since they were read
    wanted = {*cases.tolist()}
    known = [row for row in rows if row[0] in wanted]
    return CaseOccasions(_codes([row[1] for row in known]), _codes([row[2] for row in known]))


def _codes(texts: Collection[str]) -> IntArray:
    """By text: its place among all of them in alphabetical order, where the empty one is 0."""
    places = {text: at for at, text in enumerate(sorted({"", *texts}))}
    return np.array([places[text] for text in texts], dtype=np.int64)


def judged_content(db: Database, project_id: int, cases: IntArray) -> CaseContent:
    """The lists and texts of these cases (ids in order).

    Cases that labels created before their lists were known have the current lists, as in a run.
    """
    content = case_content(db, project_id, cases)
    bare = db.rows(
        """SELECT id, kind, user_id, system_a, system_b, context, served_at FROM cases
           WHERE project_id = ? AND kind <> 'explanation' AND item_id = '' AND slate_a IS NULL AND slate_b IS NULL
             AND user_id IN (SELECT user_id FROM v_current_slates WHERE project_id = ?)""",
        (project_id, project_id),
    )
    places = {case: at for at, case in enumerate(cases.tolist())} if bare else {}
    for case, kind, user_id, a, b, context, served_at in bare:
        known = current_keys(db, project_id, CaseKey(kind, user_id, a, b))
        meant = meant_occasions(Occasion(context, served_at), known)
        if case in places and len(meant) == 1:
            key = known[meant[0]]
            content.slate_a[places[case]], content.slate_b[places[case]] = key.slate_a or 0, key.slate_b or 0
    return content


def newest_judged(lifetimes: Lifetimes, rows: IntArray) -> int:
    """The generation (an import) used by a figure about these cases: the newest one among them."""
    return int(lifetimes.since[rows].max()) if rows.size else 0


def in_generation(lifetimes: Lifetimes, rows: IntArray, generation: int) -> BoolArray:
    """A mask of the cases whose lists were current after the import `generation`."""
    stood: BoolArray = (lifetimes.since[rows] <= generation) & (generation < lifetimes.until[rows])
    return stood


def _lifetimes(db: Database, project_id: int, content: Replaceable) -> Lifetimes:
    """By id of a list or text, including 0: its last lifetime."""
    last: int = db.value(
        f"SELECT ifnull(max(id), 0) FROM {content.table} WHERE project_id = ?", (project_id,)
    )
    since, until = np.zeros(last + 1, dtype=np.int64), np.full(last + 1, NEVER)
    for alike in _alike(db, project_id, content):
        imported = [(identity, source) for identity, source in alike if source is not None]
        if not imported:
            continue
        for identity, _ in alike[: len(alike) - len(imported)]:
            # its import was undone, and others have replaced it
            until[identity] = 1
        newest = 0
        for identity, source in imported:
            if identity != newest:
                if newest:
                    until[newest] = source
                since[identity], until[identity] = source, NEVER
                newest = identity
    return Lifetimes(since, until)


def _alike(db: Database, project_id: int, content: Replaceable) -> Iterator[list[tuple[int, int | None]]]:
    """The lists or texts that replace each other, as (id, import), in the order of their imports."""
    table, links, key, owner = content
    cursor = db.execute(
        f"""SELECT {owner}, t.id, l.import_id FROM {table} t LEFT JOIN {links} l ON l.{key} = t.id
            WHERE t.project_id = ? ORDER BY {owner}, l.import_id, t.id""",
        (project_id,),
    )
    cursor.row_factory = None
    with explained(db.path):
        for _, rows in groupby(cursor, key=lambda row: row[:-2]):
            yield [(row[-2], row[-1]) for row in rows]
