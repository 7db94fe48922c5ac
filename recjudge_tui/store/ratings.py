"""Verdicts as columns, for the shapes that reports are computed on: ratings, generations of lists, answers, flags, changes,
scales, and the inputs of metrics.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.domain.filters import Term, VerdictFilter, whole_term
from recjudge_tui.domain.made_lists import PREFIXES
from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.occasions import NO_OCCASION, Occasion, meant_occasions
from recjudge_tui.domain.protocols import OVERALL, protocol_facts
from recjudge_tui.domain.roles import REVIEWED, RUN_RATERS, RaterKind
from recjudge_tui.domain.scales import Scale
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.retrieval import RankedList
from recjudge_tui.store.cases import (
    ADVERSARIAL_CASE,
    CaseKey,
    current_keys,
    ensure_case,
    ensure_cases,
    of_several_occasions,
    selected_cases,
)
from recjudge_tui.store.data import (
    LISTS,
    TEXTS,
    Replaceable,
    current_explanations,
    current_slates,
    was_replaced,
)
from recjudge_tui.store.database import Database, explained
from recjudge_tui.store.facts import about_systems, sql_list
from recjudge_tui.store.histories import ranked_lists
from recjudge_tui.store.prompts import prompt_by_id, run_prompts

# ---- ratings -----------------------------------------------------------------------------------------------------


# SQLite has no NaN and NumPy has no NULL, so infinity represents both in between
NO_VALUE = "9e999"
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
    """Every case of a project, one row each, by id.

    `user` and `pair` (user and item) are integer codes; `system_a` and `system_b` are indexes into `systems`.
    `lifetimes` is None if no list was ever replaced by a later import. `selected` marks the cases that a report
    covers; None if it covers all.
    """

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
    """The verdicts of one question.

    `row` is the case's index in CaseColumns, `value` NaN if failed, `flipped` true if the two orders disagree.
    """

    row: IntArray
    value: FloatArray
    flipped: BoolArray

    def among(self, kept: BoolArray) -> Verdicts:
        """The marked rows only."""
        return Verdicts(self.row[kept], self.value[kept], self.flipped[kept])


class EarlierLists(NamedTuple):
    """Counts of one question's verdicts: `n` are used, of which `replaced` are about lists that a later import
    replaced; `left_out` are about lists of earlier generations and not used.
    """

    left_out: int
    replaced: int
    n: int


class Crowd(NamedTuple):
    """Several raters' verdicts treated as one question: `rater` (n,) is a code of the rater who gave each,
    `questions` are the raters' questions.
    """

    rater: IntArray
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Ratings:
    """Verdicts by question. `earlier` has the questions whose verdicts are not all about the current lists; each
    question uses the newest lists that its rater judged. `untimed` counts the cases with verdicts that were left out
    because a time was chosen and theirs is unknown. `crowds` are questions made of several raters' verdicts.
    """

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
    rows = db.rows(
        """SELECT id, name, kind, kind = 'metric' OR kind = 'ensemble' AND ifnull((
             SELECT min(m.kind = 'metric') FROM json_each(r.recipe, '$.raters') j
             JOIN raters m ON m.project_id = r.project_id AND m.name = j.value), 0)
           FROM raters r WHERE project_id = ? ORDER BY name""",
        (project_id,),
    )
    return {row["name"]: Rater(row[0], row[1], row[2], bool(row[3])) for row in rows}


def load_cases(db: Database, project_id: int) -> CaseColumns:
    """All cases of a project as columns."""
    # one JSON text per column takes a third of the time of a tuple per row
    row = db.row(
        """SELECT json_group_array(id), json_group_array(kind), json_group_array(user_id),
             json_group_array(item_id), json_group_array(system_a), json_group_array(system_b)
           FROM (SELECT * FROM cases NOT INDEXED WHERE project_id = ? ORDER BY id)""",
        (project_id,),
    )
    assert row is not None
    columns: list[list[Any]] = [json.loads(text) for text in row]
    ids, kinds, users, items, first, second = columns
    systems = tuple(sorted(set(first) | set(second)))
    places = {name: place for place, name in enumerate(systems)}
    # by id, so that intervals do not depend on the order of import
    user, item = (
        _mapped(ids, {name: at for at, name in enumerate(sorted(set(ids)))}) for ids in (users, items)
    )
    known = np.array(ids, dtype=np.int64)
    return CaseColumns(
        ids=known,
        user=user,
        pair=np.unique(user * len(items) + item, return_inverse=True)[1].reshape(-1),
        system_a=_mapped(first, places),
        system_b=_mapped(second, places),
        is_pair=_mapped(kinds, defaultdict(int, pair=1)) == 1,
        has_item=_mapped(items, defaultdict(lambda: 1, {"": 0})) == 1,
        systems=systems,
        lifetimes=load_lifetimes(db, project_id, known),
    )


def load_ratings(
    db: Database,
    project_id: int,
    *,
    raters: Collection[str] | None = None,
    protocols: Collection[str] | None = None,
    aspect: str | None = None,
    newest: bool = True,
    chosen: CaseSelection = EVERY_CASE,
) -> Ratings:
    """The verdicts by question, failed ones as NaN; None selects all raters, protocols or aspects.

    With `newest`, only the newest lists that a question's rater judged count (see `newest_lists`). Without it, the
    caller must align raters, as with `load_questions`.
    """
    wanted = [
        question
        for question in project_questions(db, project_id)
        if (raters is None or question.rater in raters)
        and (protocols is None or question.protocol in protocols)
        and aspect in (None, question.aspect)
    ]
    ratings = load_questions(db, project_id, wanted, chosen)
    return newest_lists(ratings) if newest else ratings


def newest_lists(ratings: Ratings, generation: int | None = None) -> Ratings:
    """The verdicts of each question on the newest lists that its rater judged, and on lists that were current at the
    same time; `earlier` counts the rest. With `generation`, the verdicts on the lists that were current then.
    """
    cases = ratings.cases
    kept, earlier = {}, {}
    for question, every in ratings.verdicts.items():
        verdicts = of_selection(cases, every)
        if cases.lifetimes is not None:
            # the newest lists are the same with and without a selection
            newest = newest_judged(cases.lifetimes, every.row) if generation is None else generation
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
    verdicts.

    Adversarial pairs are left out: they test the rater, not the systems.
    """
    return db.records(
        Question,
        f"""WITH RECURSIVE
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
            WHERE q.aspect IS NOT NULL ORDER BY r.name, q.protocol, q.aspect""",
        (project_id,),
    )


def verdict_counts(db: Database, project_id: int, aspect: str, raters: Collection[str]) -> dict[str, int]:
    """rater -> its number of verdicts on an aspect, without adversarial ones."""
    return db.pairs(
        f"""SELECT r.name, count(*) FROM raters r JOIN verdicts v ON v.rater_id = r.id
           WHERE r.project_id = ? AND r.name IN (SELECT value FROM json_each(?)) AND v.aspect = ?
             AND {about_systems("v.protocol")} GROUP BY r.id""",
        (project_id, json.dumps(sorted(raters)), aspect),
    )


def load_questions(
    db: Database, project_id: int, questions: Iterable[Question], chosen: CaseSelection = EVERY_CASE
) -> Ratings:
    """The verdicts of these questions on every list, from the index alone; failed ones as NaN. Includes cases that
    are not selected: comparisons of raters and `newest_lists` apply the selection. A figure must use `newest_lists`,
    or align raters on the newest lists in common. Raises KeyError for a rater of another project.
    """
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
    value = np.where(np.isinf(columns["value"]), np.nan, columns["value"])
    flipped = columns["consistent"] == 0
    row = np.searchsorted(cases.ids, columns["case_id"])
    # another process may have added cases since they were read
    known = (
        cases.ids[np.minimum(row, cases.ids.size - 1)] == columns["case_id"] if cases.ids.size else row < 0
    )
    return Verdicts(row[known], value[known], flipped[known])


class FlagsAndRuns(NamedTuple):
    """By verdict: the case's index in CaseColumns, the number of flagged items, and the run (0 without one)."""

    row: IntArray
    flags: IntArray
    run: IntArray


def flags_and_runs(db: Database, rater_id: int, question: Question, cases: CaseColumns) -> FlagsAndRuns:
    columns = columns_of(
        db,
        """SELECT case_id, flag_count, ifnull(run_id, 0) FROM verdicts
           WHERE rater_id > 0 AND rater_id = ? AND protocol = ? AND aspect = ? ORDER BY case_id""",
        (rater_id, question.protocol, question.aspect),
        [("case_id", "i8"), ("flags", "i8"), ("run", "i8")],
    )
    # another process may have added cases since they were read
    known = columns[np.isin(columns["case_id"], cases.ids)]
    return FlagsAndRuns(
        np.searchsorted(cases.ids, known["case_id"]), known["flags"].copy(), known["run"].copy()
    )


def columns_of(
    db: Database, sql: str, parameters: Sequence[object], dtype: Sequence[tuple[str, str]]
) -> npt.NDArray[Any]:
    """The rows of a query as a structured array, without an object for each."""
    cursor = db.execute(sql, parameters)
    cursor.row_factory = None
    with explained(db.path):
        return np.fromiter(cursor, dtype=np.dtype(list(dtype)))


def _mapped(values: Collection[Hashable], codes: Mapping[Any, int]) -> IntArray:
    return np.fromiter(map(codes.__getitem__, values), dtype=np.int64, count=len(values))


def count_up_to(db: Database, project_id: int, question: Question, most: int) -> int:
    """How many verdicts the rater has on the question, or `most` where there are more; reads no more than that many."""
    return db.number(
        """SELECT count(*) FROM (
             SELECT 1 FROM verdicts v JOIN raters r ON r.id = v.rater_id
             WHERE r.project_id = ? AND r.name = ? AND v.rater_id > 0 AND v.protocol = ? AND v.aspect = ? LIMIT ?)""",
        (project_id, question.rater, question.protocol, question.aspect, most),
    )


# ---- generations -------------------------------------------------------------------------------------------------


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


# ---- answers -----------------------------------------------------------------------------------------------------


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


# ---- flags -------------------------------------------------------------------------------------------------------


# deeper than any list
_WHOLE = 1 << 40


class ListItems(NamedTuple):
    """The items of judged lists, one row each, by case and rank. An item that occurs twice counts at its first rank.
    `row` is the case's index in CaseColumns, `rank` the position in the list, from 1.
    """

    row: IntArray
    rank: IntArray


@dataclass(frozen=True)
class RaterFlags:
    """The flags of one rater: each pair of item and issue once a case.

    `depth`: by case, how many items of its list were shown; 0 if the rater did not judge it. `row` is the flag's
    case, `item` the row of ListItems (-1 if the item is not in the list), `issue` the index into
    `FlaggedLists.issues`. `asked`: whether the rater was asked for flags, or gave one.
    """

    depth: IntArray
    row: IntArray
    item: IntArray
    issue: IntArray
    asked: bool


@dataclass(frozen=True)
class FlaggedLists:
    """The flags of several raters, and the lists that they judged.

    `issues` are the names of the kinds of issues: first those of the prompts, in their order, then others. Spellings
    that differ only in case or spaces are one kind.
    """

    items: ListItems
    issues: tuple[str, ...]
    of: dict[Question, RaterFlags]


class _Flag(NamedTuple):
    row: int
    item_id: str
    issue: str


def load_flags(
    db: Database, project_id: int, cases: CaseColumns, raters: Mapping[Question, Rater]
) -> FlaggedLists:
    """The flags of the rater of each question, under its protocol, on all lists that it judged, failed verdicts too.

    A judge was shown the top K of its run, an annotator that of their task; a label from elsewhere is about the whole
    list. With repeats, an item is flagged where any of the answers flags it.
    """
    asked: dict[str, dict[str, str]] = {}
    for protocol in dict.fromkeys(question.protocol for question in raters):
        prompts = run_prompts(db, project_id, protocol)
        asked[protocol] = {folded(i.name): i.name for prompt in prompts for i in prompt.issues}
    names = {kind: name for by_kind in asked.values() for kind, name in by_kind.items()}
    depths, tasks, given = {}, {}, {}
    for question, rater in raters.items():
        depths[question], tasks[question] = _depths(db, cases, rater, question.protocol)
        given[question] = _flags(db, cases, rater, question.protocol)
        for flag in given[question]:
            names.setdefault(folded(flag.issue), " ".join(flag.issue.split()))
    items, places = _items(
        db,
        project_id,
        cases,
        np.max([np.zeros(cases.ids.size, dtype=np.int64), *depths.values()], axis=0),
        {(flag.row, flag.item_id) for flags in given.values() for flag in flags},
    )
    kinds = {kind: at for at, kind in enumerate(names)}
    of = {}
    for question, flags in given.items():
        coded = dict.fromkeys(
            (flag.row, places.get((flag.row, flag.item_id), -1), kinds[folded(flag.issue)]) for flag in flags
        )
        row, item, issue = np.array(list(coded), dtype=np.int64).reshape(-1, 3).T
        prompted = raters[question].kind in RUN_RATERS and bool(asked[question.protocol])
        is_asked = bool(flags) or prompted or tasks[question]
        of[question] = RaterFlags(depths[question], row, item, issue, is_asked)
    return FlaggedLists(items, tuple(names.values()), of)


def folded(issue: str) -> str:
    """A normal form that is equal for all spellings of a kind."""
    return " ".join(issue.casefold().split())


def _depths(db: Database, cases: CaseColumns, rater: Rater, protocol: str) -> tuple[IntArray, bool]:
    """By case, how many items of its list the rater was shown; and whether a task asked for the judgement."""
    depth = np.zeros(cases.ids.size, dtype=np.int64)
    has_task = False
    usual = protocol_facts(protocol).top_k
    for case_id, run_depth, task, task_depth in db.execute(
        """SELECT v.case_id, max(json_extract(ru.settings, '$.top_k')), max(t.id),
             max(json_extract(tr.settings, '$.top_k'))
           FROM verdicts v LEFT JOIN runs ru ON ru.id = v.run_id
           LEFT JOIN annotation_tasks t
             ON t.rater_id = v.rater_id AND t.case_id = v.case_id AND t.protocol = v.protocol
           LEFT JOIN runs tr ON tr.id = t.run_id
           WHERE v.rater_id = ? AND v.protocol = ? GROUP BY v.case_id""",
        (rater.id, protocol),
    ):
        has_task = has_task or task is not None
        row = _row(cases, case_id)
        if row >= 0:
            depth[row] = run_depth or task_depth or (_WHOLE if task is None else usual)
    return depth, has_task


def _flags(db: Database, cases: CaseColumns, rater: Rater, protocol: str) -> list[_Flag]:
    """Flags of answers belong to the calls of a verdict's run, those of people to the verdict."""
    rows = db.rows(
        """SELECT v.case_id, f.item_id, f.issue FROM verdicts v JOIN flags f ON f.verdict_id = v.id
           WHERE v.rater_id = ?1 AND v.protocol = ?2 AND v.flag_count > 0
           UNION
           SELECT v.case_id, f.item_id, f.issue FROM verdicts v
             JOIN calls k ON k.run_id = v.run_id AND k.case_id = v.case_id JOIN flags f ON f.call_id = k.id
           WHERE v.rater_id = ?1 AND v.protocol = ?2 AND v.flag_count > 0""",
        (rater.id, protocol),
    )
    flags = (_Flag(_row(cases, case_id), item, issue) for case_id, item, issue in rows)
    return [flag for flag in flags if flag.row >= 0]


def _items(
    db: Database, project_id: int, cases: CaseColumns, depth: IntArray, wanted: set[tuple[int, str]]
) -> tuple[ListItems, dict[tuple[int, str], int]]:
    """The items of each case's list down to its depth, and the rows of the wanted ones by case and item."""
    slates = judged_content(db, project_id, cases.ids).slate_a
    by_slate: defaultdict[int, list[int]] = defaultdict(list)
    for row in np.flatnonzero((depth > 0) & (slates > 0)).tolist():
        by_slate[int(slates[row])].append(row)
    by_row: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for slate, rank, item in db.execute(
        """SELECT slate_id, rank, item_id FROM slate_items
           WHERE slate_id IN (SELECT value FROM json_each(?)) ORDER BY slate_id, rank""",
        (json.dumps(list(by_slate)),),
    ):
        for row in by_slate[slate]:
            if rank <= depth[row]:
                by_row[row].setdefault(item, rank)
    rows: list[int] = []
    ranks: list[int] = []
    places: dict[tuple[int, str], int] = {}
    for row in sorted(by_row):
        for item, rank in by_row[row].items():
            if (row, item) in wanted:
                places[row, item] = len(rows)
            rows.append(row)
            ranks.append(rank)
    return ListItems(np.array(rows, dtype=np.int64), np.array(ranks, dtype=np.int64)), places


def _row(cases: CaseColumns, case_id: int) -> int:
    """The index of a case; -1 for one that was added since the cases were read."""
    row = int(np.searchsorted(cases.ids, case_id))
    return row if row < cases.ids.size and cases.ids[row] == case_id else -1


# ---- changes -----------------------------------------------------------------------------------------------------


class Answered(NamedTuple):
    """The verdicts of one side: of a rater on a question, or of one of its runs."""

    rater_id: int
    protocol: str
    aspect: str
    run_id: int | None = None


class Cell(NamedTuple):
    """A cell of the grid of changes: a range of values of each side, bounds included."""

    low_a: float
    high_a: float
    low_b: float
    high_b: float


class ChangedCase(NamedTuple):
    """One case with both verdicts: values, labels (may be empty) and ids (None if the rater has a newer verdict).

    `several_occasions`: the user has more than one.
    """

    case_id: int
    user_id: str
    item_id: str
    system_a: str
    system_b: str
    value_a: float
    value_b: float
    label_a: str
    label_b: str
    verdict_a: int | None
    verdict_b: int | None
    occasion: Occasion = NO_OCCASION
    several_occasions: bool = False

    @property
    def labels(self) -> tuple[str, str]:
        """The two labels; a value replaces an empty label."""
        return self.label_a or f"{self.value_a:.3g}", self.label_b or f"{self.value_b:.3g}"

    @property
    def systems(self) -> str:
        return f"{self.system_a} vs {self.system_b}" if self.system_b else self.system_a


class RunConfiguration(NamedTuple):
    """A run with its judge and settings as stored, and its prompt as `NAME@VERSION`."""

    run_id: int
    prompt: str
    judge: dict[str, Any]
    settings: dict[str, Any]


# the verdicts of a run that the rater's newer verdicts may have replaced; replaced ones have no id
_OF_RUN = """(SELECT id, rater_id, case_id, aspect, protocol, value, label FROM verdicts WHERE run_id = :{run}
  UNION ALL SELECT NULL, rater_id, case_id, aspect, protocol, value, label FROM superseded_verdicts WHERE run_id = :{run})"""


class RunCases(NamedTuple):
    """A run and the ids of the cases that it judged; `started` is ISO 8601."""

    id: int
    rater: str
    started: str
    cases: tuple[int, ...]


def changed_cases(db: Database, first: Answered, second: Answered, ids: Sequence[int]) -> list[ChangedCase]:
    """These cases with the verdicts of both sides, in the order of ids."""
    tables = [
        "verdicts" if side.run_id is None else _OF_RUN.format(run=f"run_{name}")
        for name, side in (("a", first), ("b", second))
    ]
    # `rater_id > 0` is always true: it makes SQLite use the index of questions
    cursor = db.execute(
        f"""SELECT a.case_id, c.user_id, c.item_id, c.system_a, c.system_b, a.value, b.value, a.label, b.label, a.id, b.id,
              c.context, c.served_at, {of_several_occasions("c")}
            FROM {tables[0]} a JOIN cases c ON c.id = a.case_id
            JOIN {tables[1]} b ON b.rater_id = :rater_b AND b.case_id = a.case_id AND b.aspect = :aspect_b
              AND b.protocol = :protocol_b
            WHERE a.rater_id > 0 AND a.rater_id = :rater_a AND a.protocol = :protocol_a AND a.aspect = :aspect_a
              AND a.case_id IN (SELECT value FROM json_each(:ids))
            ORDER BY a.case_id""",
        {
            "rater_a": first.rater_id, "protocol_a": first.protocol, "aspect_a": first.aspect, "run_a": first.run_id,
            "rater_b": second.rater_id, "protocol_b": second.protocol, "aspect_b": second.aspect, "run_b": second.run_id,
            "ids": json.dumps(list(ids)),
        },
    )  # fmt: skip
    cursor.row_factory = None
    with explained(db.path):
        return [
            ChangedCase(*row[:11])._replace(occasion=Occasion(*row[11:13]), several_occasions=bool(row[13]))
            for row in cursor
        ]


def run_configurations(
    db: Database, rater_id: int, protocol: str, run_id: int | None = None
) -> list[RunConfiguration]:
    """The rater's runs of a protocol with verdicts, oldest first; with `run_id`, that run only."""
    rows = db.rows(
        """SELECT ru.id, p.name || '@' || p.version AS prompt, ru.judge, ru.settings
           FROM runs ru JOIN prompts p ON p.id = ru.prompt_id
           WHERE ru.rater_id = ?1 AND ru.protocol = ?2 AND (?3 IS NULL OR ru.id = ?3)
             AND (EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = ru.id)
               OR EXISTS (SELECT 1 FROM superseded_verdicts v WHERE v.run_id = ru.id))
           ORDER BY ru.id""",
        (rater_id, protocol, run_id),
    )
    return [
        RunConfiguration(row["id"], row["prompt"], json.loads(row["judge"]), json.loads(row["settings"]))
        for row in rows
    ]


def cases_by_run(db: Database, project_id: int, protocol: str, aspect: str) -> list[RunCases]:
    """The runs of a protocol by start time, with their cases for one aspect.

    Runs that judged only other aspects or never started are left out.
    """
    rows = db.rows(
        """SELECT ru.id, r.name, ifnull(ru.started_at, ru.created_at) AS started,
             (SELECT json_group_array(v.case_id) FROM (
                SELECT case_id FROM verdicts WHERE run_id = ru.id AND aspect = ?2
                UNION ALL SELECT case_id FROM superseded_verdicts WHERE run_id = ru.id AND aspect = ?2) v) AS cases,
             ru.started_at IS NULL OR EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = ru.id)
               OR EXISTS (SELECT 1 FROM superseded_verdicts v WHERE v.run_id = ru.id) AS elsewhere
           FROM runs ru JOIN raters r ON r.id = ru.rater_id
           WHERE ru.project_id = ?1 AND ru.protocol = ?3
           ORDER BY started, ru.id""",
        (project_id, aspect, protocol),
    )
    runs = [RunCases(row[0], row[1], row[2], tuple(json.loads(row["cases"]))) for row in rows]
    return [run for run, row in zip(runs, rows, strict=True) if run.cases or not row["elsewhere"]]


# ---- scales ------------------------------------------------------------------------------------------------------


def stored_scales(db: Database, project_id: int) -> dict[tuple[str, str], Scale]:
    """(protocol, aspect) -> its scale, for all that have a scale of their own. All imports agree on it."""
    rows = db.rows(
        "SELECT protocol, aspect, low, high, words, ordered FROM scales WHERE project_id = ? ORDER BY import_id",
        (project_id,),
    )
    return {
        (row["protocol"], row["aspect"]): Scale(
            row["low"], row["high"], tuple(json.loads(row["words"])), bool(row["ordered"])
        )
        for row in rows
    }


def scale_source(db: Database, project_id: int, protocol: str, aspect: str) -> int | None:
    """The first import that gave the scale."""
    source: int | None = db.value(
        "SELECT min(import_id) FROM scales WHERE project_id = ? AND protocol = ? AND aspect = ?",
        (project_id, protocol, aspect),
    )
    return source


def add_scale(
    db: Database, project_id: int, import_id: int, protocol: str, aspect: str, scale: Scale
) -> None:
    """Store the scale that an import gives, once for each import, so that it disappears when the last of them is
    undone.
    """
    db.execute(
        "INSERT OR IGNORE INTO scales (project_id, protocol, aspect, import_id, low, high, words, ordered)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(project_id, protocol, aspect, import_id, scale.low, scale.high),
            *(json.dumps(scale.words, ensure_ascii=False), int(scale.ordered)),
        ),
    )


# ---- metric inputs -----------------------------------------------------------------------------------------------


class ReferredText(NamedTuple):
    """An explanation and what the user wrote; `reference` is empty if none was imported."""

    explanation_id: int
    text: str
    reference: str


class MeasuredCase(NamedTuple):
    """A case and the text, list or two lists that it is about; None for one that a label named and nobody imported."""

    case_id: int
    kind: CaseKind
    contents: tuple[int | None, ...]


class CaseText(NamedTuple):
    """The text of an explanation case; `reference` is empty if the user wrote nothing."""

    case_id: int
    text: str
    reference: str


def referred_texts(db: Database, project_id: int) -> list[ReferredText]:
    """The current explanations, and older ones that a case still refers to."""
    return db.records(
        ReferredText,
        """SELECT id, text, reference FROM explanations WHERE project_id = ?1 AND (
             id IN (SELECT explanation_id FROM v_current_explanations WHERE project_id = ?1)
             OR id IN (SELECT explanation_id FROM cases WHERE project_id = ?1 AND kind = 'explanation'))
           ORDER BY id""",
        (project_id,),
    )


_EVERY_LIST = """SELECT slate_id FROM v_current_slates WHERE project_id = ?1
  UNION SELECT slate_a FROM cases WHERE project_id = ?1 AND slate_a IS NOT NULL
  UNION SELECT slate_b FROM cases WHERE project_id = ?1 AND slate_b IS NOT NULL"""


def ranked_slates(
    db: Database, project_id: int, slates: Collection[int] | None = None
) -> Iterator[tuple[int, RankedList]]:
    """Slate id and list: of these slates, else the current lists and older ones that a case still refers to."""
    wanted = _EVERY_LIST if slates is None else "SELECT value FROM json_each(?2)"
    cursor = db.execute(
        f"""WITH wanted(id) AS ({wanted})
           SELECT s.id, s.user_id, s.context, s.served_at, si.item_id, si.score
           FROM wanted w JOIN slates s ON s.id = w.id AND s.project_id = ?1
           LEFT JOIN slate_items si ON si.slate_id = s.id ORDER BY s.id, si.rank""",
        (project_id, *([] if slates is None else [json.dumps(sorted(slates))])),
    )
    yield from ranked_lists(cursor)


def current_list_ids(db: Database, project_id: int) -> dict[str, tuple[int, ...]]:
    """System -> the ids of its current lists."""
    rows = db.rows(
        "SELECT system, slate_id FROM v_current_slates WHERE project_id = ? ORDER BY system, slate_id",
        (project_id,),
    )
    return {system: tuple(row[1] for row in of_system) for system, of_system in groupby(rows, itemgetter(0))}


def ensure_text_cases(db: Database, project_id: int) -> list[MeasuredCase]:
    """Every explanation case; creates one for each current explanation. Call inside a transaction."""
    keys = [
        CaseKey(
            "explanation", text.user_id, text.system, "", text.item_id, None, None, text.id, *text.occasion
        )
        for text in current_explanations(db, project_id)
    ]
    ensure_cases(db, project_id, keys)
    rows = db.rows(
        "SELECT id, explanation_id FROM cases WHERE project_id = ? AND kind = 'explanation' ORDER BY id",
        (project_id,),
    )
    return [MeasuredCase(case, "explanation", (text,)) for case, text in rows]


def ensure_list_cases(db: Database, project_id: int) -> list[MeasuredCase]:
    """Every case of lists: creates one for each current list, and adds the existing pairs. Call inside a transaction.

    Pairs that labels named before their lists were known get the current lists, as in a run.
    """
    keys = [
        CaseKey("list", user_id, slate.system, "", "", slate.slate_id, None, None, *slate.occasion)
        for user_id, slates in current_slates(db, project_id).items()
        for slate in slates
    ]
    ensure_cases(db, project_id, keys)
    bare = db.rows(
        """SELECT user_id, system_a, system_b, context, served_at FROM cases
           WHERE project_id = ? AND kind = 'pair' AND item_id = '' AND slate_a IS NULL AND slate_b IS NULL""",
        (project_id,),
    )
    for user_id, a, b, context, served_at in bare:
        known = current_keys(db, project_id, CaseKey("pair", user_id, a, b))
        meant = meant_occasions(Occasion(context, served_at), known)
        if len(meant) == 1:
            ensure_case(db, project_id, known[meant[0]])
    rows = db.rows(
        f"""SELECT id, kind, slate_a, slate_b FROM cases
           WHERE project_id = ? AND kind IN ('list', 'pair') AND NOT {ADVERSARIAL_CASE}
             AND ifnull(slate_a, 0) NOT IN (SELECT slate_id FROM planted_faults) ORDER BY id""",
        (project_id,),
    )
    return [MeasuredCase(case, kind, (a, b) if kind == "pair" else (a,)) for case, kind, a, b in rows]


def explanation_texts(db: Database, project_id: int) -> list[CaseText]:
    """The text of each explanation case, by case; without cases whose text is unknown."""
    return db.records(
        CaseText,
        """SELECT c.id, e.text, e.reference FROM cases c JOIN explanations e ON e.id = c.explanation_id
           WHERE c.project_id = ? AND c.kind = 'explanation' ORDER BY c.id""",
        (project_id,),
    )
