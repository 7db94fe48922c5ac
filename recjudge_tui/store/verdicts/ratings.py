"""Verdicts as NumPy columns for reports, without an object per row."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.store.cases_ import selected_cases
from recjudge_tui.store.database import Database, explained
from recjudge_tui.store.facts import about_systems
from recjudge_tui.store.verdicts.generations import (
    NEVER,
    Lifetimes,
    in_generation,
    load_lifetimes,
    newest_judged,
)

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
    rows = db.rows(
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
    return [Question(*row) for row in rows]


def verdict_counts(db: Database, project_id: int, aspect: str, raters: Collection[str]) -> dict[str, int]:
    """rater -> its number of verdicts on an aspect, without adversarial ones."""
    rows = db.rows(
        f"""SELECT r.name, count(*) FROM raters r JOIN verdicts v ON v.rater_id = r.id
           WHERE r.project_id = ? AND r.name IN (SELECT value FROM json_each(?)) AND v.aspect = ?
             AND {about_systems("v.protocol")} GROUP BY r.id""",
        (project_id, json.dumps(sorted(raters)), aspect),
    )
    return {row[0]: row[1] for row in rows}


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
    count: int = db.value(
        """SELECT count(*) FROM (
             SELECT 1 FROM verdicts v JOIN raters r ON r.id = v.rater_id
             WHERE r.project_id = ? AND r.name = ? AND v.rater_id > 0 AND v.protocol = ? AND v.aspect = ? LIMIT ?)""",
        (project_id, question.rater, question.protocol, question.aspect, most),
    )
    return count
