"""Verdicts as columns, for the shapes that reports are computed on: ratings, generations of lists, flags, scales."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.domain.made_lists import PREFIXES
from recjudge_tui.domain.occasions import Occasion, meant_occasions
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.roles import RUN_RATERS, RaterKind
from recjudge_tui.domain.scales import Scale
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, encode
from recjudge_tui.store.cases import CaseKey, current_keys, selected_cases
from recjudge_tui.store.data import LISTS, TEXTS, Replaceable, was_replaced
from recjudge_tui.store.database import Database, read_cell
from recjudge_tui.store.facts import about_systems
from recjudge_tui.store.prompts import run_prompts

# SQLite has no NaN and NumPy has no NULL, so infinity represents both in between
NO_VALUE = "9e999"
# the longest name that is padded
_PADDED = 24
_ONE_VERDICT = f"case_id, ifnull(value, {NO_VALUE}), ifnull(order_consistent, -1)"


class Rater(NamedTuple):
    """One rater. `of_metrics`: a metric or an ensemble of metrics, which has no aspects and no labels."""

    id: int
    name: str
    kind: RaterKind
    of_metrics: bool = False


class Question(NamedTuple):
    """A rater, protocol and aspect; all verdicts of a question are on one scale."""

    rater: str
    protocol: str
    aspect: str


@dataclass(frozen=True)
class CaseColumns:
    """Every case of a project, one row each, by id. `user` and `pair` (user and item) are integer codes; `system_a` and
    `system_b` are indexes into `systems`. `lifetimes` is None if no list was ever replaced by a later import. `selected`
    marks the cases that a report covers; None if it covers all."""

    ids: IntArray
    user: IntArray
    pair: IntArray
    system_a: IntArray
    system_b: IntArray
    is_pair: BoolArray
    has_item: BoolArray
    systems: tuple[str, ...]
    lifetimes: Lifetimes | None = None
    selected: BoolArray | None = None


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of one question. `row` is the case's index in CaseColumns, `value` NaN if failed, `flipped` true if
    the two orders disagree."""

    row: IntArray
    value: FloatArray
    flipped: BoolArray

    def among(self, kept: BoolArray) -> Verdicts:
        """The marked rows only."""
        return Verdicts(self.row[kept], self.value[kept], self.flipped[kept])


class EarlierLists(NamedTuple):
    """Counts of one question's verdicts: `n` are used, of which `replaced` are about lists that a later import replaced;
    `left_out` are about lists of earlier generations and not used."""

    left_out: int
    replaced: int
    n: int


class Crowd(NamedTuple):
    """Several raters' verdicts treated as one question: `rater` (n,) is a code of the rater who gave each, `questions`
    are the raters' questions."""

    rater: IntArray
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Ratings:
    """Verdicts by question. `earlier` has the questions whose verdicts are not all about the current lists; each question
    uses the newest lists that its rater judged. `untimed` counts the cases with verdicts that were left out because a
    time was chosen and theirs is unknown. `crowds` are questions made of several raters' verdicts."""

    cases: CaseColumns
    raters: dict[str, Rater]
    verdicts: dict[Question, Verdicts]
    earlier: dict[Question, EarlierLists] = field(default_factory=dict)
    untimed: int = 0
    crowds: Mapping[Question, Crowd] = field(default_factory=dict)

    @property
    def single_questions(self) -> list[Question]:
        """The questions of single raters, including those that are part of a crowd."""
        return [
            single
            for question in self.verdicts
            for single in (self.crowds[question].questions if question in self.crowds else (question,))
        ]


def project_raters(db: Database, project_id: int) -> dict[str, Rater]:
    sql = """SELECT id, name, kind, kind = 'metric' OR kind = 'ensemble' AND ifnull((
               SELECT min(m.kind = 'metric') FROM json_each(r.recipe, '$.raters') j
               JOIN raters m ON m.project_id = r.project_id AND m.name = j.value), 0)
             FROM raters r WHERE project_id = ? ORDER BY name"""
    return {row["name"]: Rater(row[0], row[1], row[2], bool(row[3])) for row in db.rows(sql, (project_id,))}


# cases that are read at a time: all at once would take several times the memory of what is kept
_BLOCK = 50_000


def load_cases(db: Database, project_id: int) -> CaseColumns:
    """All cases of a project as columns."""
    # one JSON text per column takes a third of the time of a tuple per row
    sql = """SELECT json_group_array(id), json_group_array(kind = 'pair'), json_group_array(user_id),
               json_group_array(item_id), json_group_array(system_a), json_group_array(system_b)
             FROM (SELECT * FROM cases NOT INDEXED WHERE project_id = ? AND id > ? ORDER BY id LIMIT ?)"""
    places: dict[str, int] = {}
    blocks: list[tuple[npt.NDArray[Any], ...]] = []
    last = 0
    while True:
        ids, pairs, users, items, first, second = map(json.loads, db.only(sql, (project_id, last, _BLOCK)))
        sides = (
            np.array([places.setdefault(name, len(places)) for name in of], np.int64)
            for of in (first, second)
        )
        blocks.append(
            (np.array(ids, np.int64), np.array(pairs, np.bool_), _names(users), _names(items), *sides)
        )
        if len(ids) < _BLOCK:
            break
        last = ids[-1]
    known, is_pair, names, of_items, first, second = map(np.concatenate, zip(*blocks, strict=True))
    # by id, so that intervals do not depend on the order of import
    user, item = map(_coded, (names, of_items))
    place = _places(list(places))
    return CaseColumns(
        ids=known,
        user=user,
        pair=encode(user * (int(item.max(initial=0)) + 1) + item)[0],
        system_a=place[first],
        system_b=place[second],
        is_pair=is_pair,
        has_item=of_items != b"",
        systems=tuple(sorted(places)),
        lifetimes=load_lifetimes(db, project_id, known),
    )


def newest_lists(ratings: Ratings) -> Ratings:
    """The verdicts of each question on the newest lists that its rater judged, and on lists that were current at the same
    time; `earlier` counts the rest."""
    cases = ratings.cases
    kept, earlier = {}, {}
    for question, every in ratings.verdicts.items():
        verdicts = of_selection(cases, every)
        if cases.lifetimes is not None:
            # the newest lists are the same with and without a selection
            newest = newest_judged(cases.lifetimes, every.row)
            here = in_generation(cases.lifetimes, verdicts.row, newest)
            replaced = int((cases.lifetimes.until[verdicts.row[here]] != NEVER).sum())
            if replaced or not here.all():
                earlier[question] = EarlierLists(int((~here).sum()), replaced, int(here.sum()))
            verdicts = verdicts.among(here)
        kept[question] = verdicts
    return replace(ratings, verdicts=kept, earlier=earlier)


def of_selection(cases: CaseColumns, verdicts: Verdicts) -> Verdicts:
    """The verdicts on the selected cases."""
    return verdicts if cases.selected is None else verdicts.among(cases.selected[verdicts.row])


def project_questions(db: Database, project_id: int) -> list[Question]:
    """The questions of a project, by rater, protocol and aspect. Each is one step in the index: DISTINCT would read all
    verdicts. Adversarial pairs are left out: they test the rater, not the systems."""
    sql = f"""WITH RECURSIVE
                answered (rater_id, protocol) AS (
                  SELECT id, (SELECT min(protocol) FROM verdicts WHERE rater_id > 0 AND rater_id = raters.id)
                  FROM raters WHERE project_id = ?
                  UNION ALL
                  SELECT a.rater_id, (SELECT min(v.protocol) FROM verdicts v
                                      WHERE v.rater_id > 0 AND v.rater_id = a.rater_id AND v.protocol > a.protocol)
                  FROM answered a WHERE a.protocol IS NOT NULL),
                questions (rater_id, protocol, aspect) AS (
                  SELECT a.rater_id, a.protocol, (SELECT min(v.aspect) FROM verdicts v WHERE v.rater_id > 0
                                                  AND v.rater_id = a.rater_id AND v.protocol = a.protocol)
                  FROM answered a WHERE a.protocol IS NOT NULL AND {about_systems("a.protocol")}
                  UNION ALL
                  SELECT q.rater_id, q.protocol, (SELECT min(v.aspect) FROM verdicts v
                                                  WHERE v.rater_id > 0 AND v.rater_id = q.rater_id
                                                    AND v.protocol = q.protocol AND v.aspect > q.aspect)
                  FROM questions q WHERE q.aspect IS NOT NULL)
              SELECT r.name, q.protocol, q.aspect FROM questions q JOIN raters r ON r.id = q.rater_id
              WHERE q.aspect IS NOT NULL ORDER BY r.name, q.protocol, q.aspect"""
    return db.records(Question, sql, (project_id,))


def has_answered(db: Database, project_id: int, rater: str, aspect: str) -> bool:
    """Whether a rater gave an answer about the aspect, and did not fail throughout."""
    sql = """SELECT 1 FROM raters r JOIN verdicts v ON v.rater_id = r.id
             WHERE r.project_id = ? AND r.name = ? AND v.aspect = ? AND v.state = 'ok'"""
    return db.any(sql, (project_id, rater, aspect))


def verdict_counts(db: Database, project_id: int, aspect: str, raters: Collection[str]) -> dict[str, int]:
    """rater -> its number of verdicts on an aspect, without adversarial ones."""
    sql = f"""SELECT r.name, count(*) FROM raters r JOIN verdicts v ON v.rater_id = r.id
        WHERE r.project_id = ? AND r.name IN (SELECT value FROM json_each(?)) AND v.aspect = ?
          AND {about_systems("v.protocol")} GROUP BY r.id"""
    return db.pairs(sql, (project_id, json.dumps(sorted(raters)), aspect))


def load_questions(
    db: Database, project_id: int, questions: Iterable[Question], chosen: CaseSelection = EVERY_CASE
) -> Ratings:
    """The verdicts of these questions on every list, from the index alone; failed ones as NaN. Includes cases that are
    not selected: comparisons of raters and `newest_lists` apply the selection. A figure must use `newest_lists`, or align
    raters on the newest lists in common. Raises KeyError for a rater of another project."""
    raters = project_raters(db, project_id)
    cases = db.kept((load_cases, project_id), partial(load_cases, db, project_id))
    verdicts = {
        q: db.kept((_verdicts, project_id, q), partial(_verdicts, db, raters[q.rater].id, q, cases))
        for q in dict.fromkeys(questions)
    }
    if chosen == EVERY_CASE:
        return Ratings(cases, raters, verdicts)
    selected = selected_cases(db, project_id, chosen)
    judged = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(v.row for v in verdicts.values())]))
    untimed = int(np.isin(cases.ids[judged], selected.untimed).sum())
    # the lists that one import brought are of one generation
    lifetimes = None if chosen.imported else cases.lifetimes
    cases = replace(cases, selected=np.isin(cases.ids, selected.ids), lifetimes=lifetimes)
    return Ratings(cases, raters, verdicts, untimed=untimed)


def _verdicts(db: Database, rater_id: int, question: Question, cases: CaseColumns) -> Verdicts:
    return _placed(
        db,
        f"""SELECT {_ONE_VERDICT} FROM verdicts
            WHERE rater_id > 0 AND rater_id = ? AND protocol = ? AND aspect = ? ORDER BY case_id""",
        (rater_id, question.protocol, question.aspect),
        cases,
    )


def run_verdicts(db: Database, run_id: int, aspect: str, cases: CaseColumns) -> Verdicts:
    """The verdicts of one run, even where a later run has given the rater another verdict."""
    of_run = "WHERE run_id = ?1 AND aspect = ?2"
    return _placed(
        db,
        f"""SELECT {_ONE_VERDICT} FROM verdicts {of_run}
            UNION ALL SELECT {_ONE_VERDICT} FROM superseded_verdicts {of_run} ORDER BY case_id""",
        (run_id, aspect),
        cases,
    )


def _placed(db: Database, sql: str, parameters: Sequence[object], cases: CaseColumns) -> Verdicts:
    columns = columns_of(db, sql, parameters, [("case_id", "i8"), ("value", "f8"), ("consistent", "i8")])
    row, known = placed(cases.ids, columns)
    value = np.where(np.isinf(known["value"]), np.nan, known["value"])
    return Verdicts(row, value, known["consistent"] == 0)


def placed(ids: IntArray, columns: npt.NDArray[Any]) -> tuple[IntArray, npt.NDArray[Any]]:
    """The index of each row's `case_id` among the ids (in order), and the rows; without those of other cases, which another
    process may have added since the cases were read."""
    row = np.searchsorted(ids, columns["case_id"])
    known = ids[np.minimum(row, ids.size - 1)] == columns["case_id"] if ids.size else row < 0
    return row[known], columns[known]


def verdict_cells(
    db: Database, rater_id: int, question: Question, cases: CaseColumns, *names: str
) -> FloatArray:
    """(names, cases): these columns of the rater's verdicts on the question; NaN where it has none, or a cell is empty."""
    columns = columns_of(
        db,
        f"""SELECT case_id, {", ".join(f"ifnull({name}, {NO_VALUE})" for name in names)} FROM verdicts
            WHERE rater_id > 0 AND rater_id = ? AND protocol = ? AND aspect = ?""",
        (rater_id, question.protocol, question.aspect),
        [("case_id", "i8"), *((name, "f8") for name in names)],
    )
    row, known = placed(cases.ids, columns)
    cells = np.full((len(names), cases.ids.size), np.nan)
    for at, name in enumerate(names):
        cells[at, row] = np.where(np.isinf(known[name]), np.nan, known[name])
    return cells


def columns_of(
    db: Database, sql: str, parameters: Sequence[object], dtype: Sequence[tuple[str, str]]
) -> npt.NDArray[Any]:
    """The rows of a query as a structured array, without an object for each."""
    return np.fromiter(db.tuples(sql, parameters), dtype=np.dtype(list(dtype)))


def _names(values: Iterable[str]) -> npt.NDArray[Any]:
    """Names as UTF-8, which sorts as they do. NumPy sorts many short ones several times as fast as Python, but pads all to
    the longest."""
    names = [value.encode() for value in values]
    return np.array(names, dtype=np.bytes_ if max(map(len, names), default=0) <= _PADDED else object)


def _coded(names: npt.NDArray[Any]) -> IntArray:
    return encode(names)[0] if names.dtype.kind == "S" else _places(names.tolist())


def _places(names: Sequence[Any], *others: Any) -> IntArray:
    """The place of each name among the sorted ones and `others`."""
    codes = {name: at for at, name in enumerate(sorted({*names, *others}))}
    return np.fromiter(map(codes.__getitem__, names), dtype=np.int64, count=len(names))


def count_up_to(db: Database, project_id: int, question: Question, most: int) -> int:
    """How many verdicts the rater has on the question, or `most` where there are more; reads no more than that many."""
    sql = """SELECT count(*) FROM (
               SELECT 1 FROM verdicts v JOIN raters r ON r.id = v.rater_id
               WHERE r.project_id = ? AND r.name = ? AND v.rater_id > 0 AND v.protocol = ? AND v.aspect = ? LIMIT ?)"""
    return db.number(sql, (project_id, question.rater, question.protocol, question.aspect, most))


# ---- generations -------------------------------------------------------------------------------------------------


# no import has replaced the lists
NEVER = int(np.iinfo(np.int64).max)


class Lifetimes(NamedTuple):
    """By case: the lists (or the text) of a case were current together from import `since` until import `until` replaced
    one of them; NEVER if they are still current. Cases without lists are current from 0 to NEVER."""

    since: IntArray
    until: IntArray


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
    slate_a, slate_b, texts = case_content(db, project_id, cases)
    since, until = np.zeros(cases.size, dtype=np.int64), np.full(cases.size, NEVER)
    for content in replaced:
        starts, ends = _lifetimes(db, project_id, content)
        for ids in (slate_a, slate_b) if content is LISTS else (texts,):
            since, until = np.maximum(since, starts[ids]), np.minimum(until, ends[ids])
    # two lists that were never current at the same time count as replaced
    return Lifetimes(np.minimum(since, until - 1), until)


def adversarial_lifetimes(db: Database, project_id: int, cases: IntArray) -> Lifetimes | None:
    """The lifetimes of adversarial pairs (ids in order); None as in `load_lifetimes`. Lists made for a pair belong to no
    import. Such a pair is current as long as the pair of imported lists that the same run judged."""
    lifetimes = load_lifetimes(db, project_id, cases)
    if lifetimes is None:
        return None
    (source_name, _), (made_name, _) = PREFIXES["published"], PREFIXES["unseen"]
    sql = """SELECT DISTINCT m.id, s.id FROM cases m
             JOIN cases s ON s.project_id = m.project_id AND s.kind = 'pair' AND s.user_id = m.user_id
               AND s.system_a = ?2 || substr(m.system_a, length(?3) + 1)
             JOIN run_cases made ON made.case_id = m.id
             JOIN run_cases source ON source.run_id = made.run_id AND source.case_id = s.id
             WHERE m.project_id = ?1 AND m.kind = 'pair' AND m.system_a GLOB ?3 || '*'"""
    rows = db.rows(sql, (project_id, source_name, made_name))
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
    rows = columns_of(
        db,
        """SELECT id, ifnull(slate_a, 0), ifnull(slate_b, 0), ifnull(explanation_id, 0) FROM cases NOT INDEXED
           WHERE project_id = ? ORDER BY id""",
        (project_id,),
        [(name, "i8") for name in ("case_id", "a", "b", "text")],
    )
    known = placed(cases, rows)[1]
    return CaseContent(known["a"].copy(), known["b"].copy(), known["text"].copy())


class CaseOccasions(NamedTuple):
    """By case: codes of its context and of its time in alphabetical order; a time of 0 is unknown."""

    context: IntArray
    served_at: IntArray


def case_occasions(db: Database, project_id: int, cases: IntArray) -> CaseOccasions:
    """The occasions of these cases (ids in order)."""
    # another process may have added cases since they were read
    wanted = {*cases.tolist()}
    sql = "SELECT id, context, served_at FROM cases NOT INDEXED WHERE project_id = ? ORDER BY id"
    known = [row for row in db.tuples(sql, (project_id,)) if row[0] in wanted]
    contexts, times = ([row[at] for row in known] for at in (1, 2))
    return CaseOccasions(_places(contexts, ""), _places(times, ""))


def judged_content(db: Database, project_id: int, cases: IntArray) -> CaseContent:
    """The lists and texts of these cases (ids in order). Cases that labels created before their lists were known have the
    current lists, as in a run."""
    content = case_content(db, project_id, cases)
    sql = """SELECT id, kind, user_id, system_a, system_b, context, served_at FROM cases
             WHERE project_id = ? AND kind <> 'explanation' AND item_id = '' AND slate_a IS NULL AND slate_b IS NULL
               AND user_id IN (SELECT user_id FROM v_current_slates WHERE project_id = ?)"""
    bare = db.rows(sql, (project_id, project_id))
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
    """By id of a list or text, including 0: its last lifetime, as in v_list_lifetimes."""
    table, links, key, owner = content
    columns = columns_of(
        db,
        f"""WITH linked AS (
              SELECT t.id, l.import_id, {owner}, lag(t.id) OVER (PARTITION BY {owner} ORDER BY l.import_id, t.id) AS before,
                max(l.import_id) OVER (PARTITION BY {owner}) AS newest
              FROM {table} t LEFT JOIN {links} l ON l.{key} = t.id WHERE t.project_id = ?
            ), starts AS (
              SELECT *, lead(import_id) OVER (PARTITION BY {owner} ORDER BY import_id, id) AS next
              FROM linked WHERE before IS NOT id
            )
            SELECT id, ifnull(max(import_id), 0),
              ifnull(CASE WHEN import_id IS NOT NULL THEN next WHEN newest IS NOT NULL THEN 1 END, {NEVER})
            FROM starts GROUP BY id""",
        (project_id,),
        [("id", "i8"), ("since", "i8"), ("until", "i8")],
    )
    last = int(columns["id"].max(initial=0))
    since, until = np.zeros(last + 1, dtype=np.int64), np.full(last + 1, NEVER)
    since[columns["id"]], until[columns["id"]] = columns["since"], columns["until"]
    return Lifetimes(since, until)


# ---- flags -------------------------------------------------------------------------------------------------------


# deeper than any list
_WHOLE = 1 << 40


class ListItems(NamedTuple):
    """The items of judged lists, one row each, by case and rank. An item that occurs twice counts at its first rank.
    `row` is the case's index in CaseColumns, `rank` the position in the list, from 1."""

    row: IntArray
    rank: IntArray


@dataclass(frozen=True)
class RaterFlags:
    """The flags of one rater: each pair of item and issue once a case. `depth`: by case, how many items were shown; 0: not
    judged. `row`: the flag's case, `item` the row of ListItems (-1: not in the list), `issue` the index into
    `FlaggedLists.issues`, `refuted`: the data contradict it in each answer. `asked`: for flags, or gave one."""

    depth: IntArray
    row: IntArray
    item: IntArray
    issue: IntArray
    refuted: BoolArray
    asked: bool


@dataclass(frozen=True)
class FlaggedLists:
    """The flags of several raters, and the lists that they judged. `issues` are the names of the kinds of issues: first
    those of the prompts, in their order, then others. Spellings that differ only in case or spaces are one kind."""

    items: ListItems
    issues: tuple[str, ...]
    of: dict[Question, RaterFlags]


def load_flags(
    db: Database, project_id: int, cases: CaseColumns, raters: Mapping[Question, Rater]
) -> FlaggedLists:
    """The flags of the rater of each question, under its protocol, on all lists that it judged, failed verdicts too. A
    judge was shown the top K of its run, an annotator that of their task; a label from elsewhere is about the whole list.
    With repeats, an item is flagged where any of the answers flags it."""
    asked: dict[str, dict[str, str]] = {}
    for protocol in dict.fromkeys(question.protocol for question in raters):
        prompts = run_prompts(db, project_id, protocol)
        asked[protocol] = {folded(i.name): i.name for prompt in prompts for i in prompt.issues}
    names = {kind: name for by_kind in asked.values() for kind, name in by_kind.items()}
    depths, tasks, given = {}, {}, {}
    rows_of_cases = {case: row for row, case in enumerate(cases.ids.tolist())}
    for question, rater in raters.items():
        depths[question], tasks[question] = _depths(db, cases, rater, question.protocol)
        given[question] = _flags(db, rows_of_cases, rater, question.protocol)
        for _, _, issue, _ in given[question]:
            names.setdefault(folded(issue), " ".join(issue.split()))
    deepest = np.max([np.zeros(cases.ids.size, dtype=np.int64), *depths.values()], axis=0)
    flagged = {flag[:2] for flags in given.values() for flag in flags}
    items, places = _items(db, project_id, cases, deepest, flagged)
    kinds = {kind: at for at, kind in enumerate(names)}
    of = {}
    for question, flags in given.items():
        coded: dict[tuple[int, int, int], bool] = {}
        for row, item, issue, refuted in flags:
            key = row, places.get((row, item), -1), kinds[folded(issue)]
            coded[key] = bool(refuted) and coded.get(key, True)
        rows, items_of, issues = np.array(list(coded), dtype=np.int64).reshape(-1, 3).T
        prompted = raters[question].kind in RUN_RATERS and bool(asked[question.protocol])
        is_asked = bool(flags) or prompted or tasks[question]
        refuted_ones = np.array(list(coded.values()), dtype=np.bool_)
        of[question] = RaterFlags(depths[question], rows, items_of, issues, refuted_ones, is_asked)
    return FlaggedLists(items, tuple(names.values()), of)


def folded(issue: str) -> str:
    """A normal form that is equal for all spellings of a kind."""
    return " ".join(issue.casefold().split())


def _depths(db: Database, cases: CaseColumns, rater: Rater, protocol: str) -> tuple[IntArray, bool]:
    """By case, how many items of its list the rater was shown; and whether a task asked for the judgement."""
    columns = columns_of(
        db,
        f"""SELECT v.case_id, max(t.id) IS NOT NULL, coalesce(max(json_extract(ru.settings, '$.top_k')),
              max(json_extract(tr.settings, '$.top_k')), iif(max(t.id) IS NULL, {_WHOLE}, ?))
            FROM verdicts v LEFT JOIN runs ru ON ru.id = v.run_id
            LEFT JOIN annotation_tasks t
              ON t.rater_id = v.rater_id AND t.case_id = v.case_id AND t.protocol = v.protocol
            LEFT JOIN runs tr ON tr.id = t.run_id
            WHERE v.rater_id = ? AND v.protocol = ? GROUP BY v.case_id""",
        (protocol_facts(protocol).top_k, rater.id, protocol),
        [("case_id", "i8"), ("task", "i8"), ("depth", "i8")],
    )
    row, known = placed(cases.ids, columns)
    depth = np.zeros(cases.ids.size, dtype=np.int64)
    depth[row] = known["depth"]
    return depth, bool(columns["task"].any())


def _flags(
    db: Database, rows_of_cases: Mapping[int, int], rater: Rater, protocol: str
) -> list[tuple[int, str, str, int]]:
    """(case's index, item, issue, whether refuted). Flags of answers belong to calls of the verdict's run, those of people
    to the verdict."""
    sql = """SELECT v.case_id, f.item_id, f.issue, f.refuted <> '' FROM verdicts v JOIN flags f ON f.verdict_id = v.id
             WHERE v.rater_id = ?1 AND v.protocol = ?2 AND v.flag_count > 0
             UNION
             SELECT v.case_id, f.item_id, f.issue, f.refuted <> '' FROM verdicts v
               JOIN calls k ON k.run_id = v.run_id AND k.case_id = v.case_id JOIN flags f ON f.call_id = k.id
             WHERE v.rater_id = ?1 AND v.protocol = ?2 AND v.flag_count > 0"""
    flags = db.tuples(sql, (rater.id, protocol))
    # another process may have added cases since they were read
    return [(rows_of_cases[case], *flag) for case, *flag in flags if case in rows_of_cases]


def _items(
    db: Database, project_id: int, cases: CaseColumns, depth: IntArray, wanted: set[tuple[int, str]]
) -> tuple[ListItems, dict[tuple[int, str], int]]:
    """The items of each case's list down to its depth, and the rows of the wanted ones by case and item."""
    slates = judged_content(db, project_id, cases.ids).slate_a
    by_slate: defaultdict[int, list[int]] = defaultdict(list)
    for row in np.flatnonzero((depth > 0) & (slates > 0)).tolist():
        by_slate[int(slates[row])].append(row)
    by_row: defaultdict[int, dict[str, int]] = defaultdict(dict)
    sql = """SELECT slate_id, rank, item_id FROM slate_items
             WHERE slate_id IN (SELECT value FROM json_each(?)) ORDER BY slate_id, rank"""
    for slate, rank, item in db.execute(sql, (json.dumps(list(by_slate)),)):
        for row in by_slate[slate]:
            if rank <= depth[row]:
                by_row[row].setdefault(item, rank)
    listed = [(row, item) for row in sorted(by_row) for item in by_row[row]]
    rows = np.array([row for row, _ in listed], dtype=np.int64)
    ranks = np.array([by_row[row][item] for row, item in listed], dtype=np.int64)
    return ListItems(rows, ranks), {key: at for at, key in enumerate(listed) if key in wanted}


# ---- scales ------------------------------------------------------------------------------------------------------


def stored_scales(db: Database, project_id: int) -> dict[tuple[str, str], Scale]:
    """(protocol, aspect) -> its scale, for all that have a scale of their own. All imports agree on it."""
    return {
        (protocol, aspect): Scale(
            low, high, read_cell(tuple[str, ...], words, "scales", aspect, "words"), bool(ordered)
        )
        for protocol, aspect, low, high, words, ordered in db.tuples(
            "SELECT protocol, aspect, low, high, words, ordered FROM scales WHERE project_id = ? ORDER BY import_id",
            (project_id,),
        )
    }


def turned_scales(db: Database, project_id: int) -> set[tuple[str, str]]:
    """(protocol, aspect) of the scales whose values were turned round by the last import that gave them."""
    sql = "SELECT protocol, aspect, turned FROM scales WHERE project_id = ? ORDER BY import_id"
    last = {(protocol, aspect): turned for protocol, aspect, turned in db.tuples(sql, (project_id,))}
    return {key for key, turned in last.items() if turned}


def scale_source(db: Database, project_id: int, protocol: str, aspect: str) -> int | None:
    """The first import that gave the scale."""
    sql = "SELECT min(import_id) FROM scales WHERE project_id = ? AND protocol = ? AND aspect = ?"
    return db.found(sql, (project_id, protocol, aspect))


def add_scale(
    db: Database,
    project_id: int,
    import_id: int,
    protocol: str,
    aspect: str,
    scale: Scale,
    *,
    turned: bool = False,
) -> None:
    """Store the scale that an import gives, once for each import, so that it disappears when the last of them is undone."""
    db.execute(
        "INSERT OR IGNORE INTO scales (project_id, protocol, aspect, import_id, low, high, words, ordered, turned)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(project_id, protocol, aspect, import_id, scale.low, scale.high),
            *(json.dumps(scale.words, ensure_ascii=False), int(scale.ordered), int(turned)),
        ),
    )
