"""Does a judge favour longer texts, longer lists, or lists with more popular items, more than people do?"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recjudge_tui.domain.protocols import OVERALL, protocol_facts
from recjudge_tui.reports.common.scales import is_people, protocol_questions
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import RESAMPLES
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.intervals import mean_estimate
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.call_statistics import ShownSide, shown_lists, shown_texts
from recjudge_tui.store.verdicts.ratings import (
    CaseColumns,
    Question,
    Rater,
    Verdicts,
    load_questions,
    newest_lists,
    project_questions,
    project_raters,
)

FORMULA = (
    "preference: over every two of one user, one of which is longer (has items with more events), the share in which"
    " it is judged better minus the share in which it is judged worse; -1 to 1, 0 if neither is favoured"
)
NO_PEOPLE = "no people judged these"
ALIKE = {"length": "all have the same length", "popularity": "the items of all lists are equally popular"}


@dataclass(frozen=True)
class FeaturePreference:
    """A judge's preference in one question, and the difference to that of people on the same pairs (`beyond`; None if
    no people judged them)."""

    question: Question
    feature: str
    judge: Estimate
    beyond: Estimate | None
    people: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Pairs:
    """Two things shown to one user, one pair per row: places of their cases, equal if one case shows both.

    `sign` by feature: 1 if the first has more of it, -1 if the second has, 0 if they are equal.
    """

    first: IntArray
    second: IntArray
    sign: dict[str, FloatArray]


def feature_preferences(
    db: Database, project_id: int, rater: Rater, *, resamples: int = RESAMPLES, seed: int = 0
) -> list[FeaturePreference]:
    """Length of texts, length of lists and popularity of their items, by question.

    With v the sign of the verdict (or of the difference of two scores) and d the sign of the difference in the
    feature, the preference is the mean of v·d over pairs with d ≠ 0. The difference to people is the mean of (v - mean
    of the people's v)·d. Intervals are over users.
    """
    raters = project_raters(db, project_id)
    questions = project_questions(db, project_id)
    mine = [q for q in questions if q.rater == rater.name and _counts(q)]
    others = [q for q in questions if is_people(raters[q.rater])]
    ratings = load_questions(db, project_id, [*mine, *others])
    own_verdicts = newest_lists(ratings).verdicts
    preferences = []
    for question in mine:
        alike = [
            q for q in protocol_questions(others, raters, question.protocol) if q.aspect == question.aspect
        ]
        judged = own_verdicts[question]
        # two lists of one user are compared within one generation
        among = None if ratings.cases.lifetimes is None else {*ratings.cases.ids[judged.row].tolist()}
        pairs = _pairs(db, project_id, rater, question.protocol, ratings.cases, among)
        votes = _votes(judged, pairs, ratings.cases)
        people = [_votes(ratings.verdicts[q], pairs, ratings.cases) for q in alike]
        users = ratings.cases.user[pairs.first]
        for feature, sign in pairs.sign.items():
            own = np.where(sign == 0, np.nan, votes * sign)
            judge = _mean(own, users, sign, feature, resamples, seed)
            beyond = None
            if alike:
                further = own - _mean_vote(people, sign.size) * sign
                if not np.isnan(further).all():
                    beyond = mean_estimate(
                        further[~np.isnan(further)],
                        users[~np.isnan(further)],
                        (-2.0, 2.0),
                    )
            names = tuple(q.rater for q in alike) if beyond else ()
            preferences.append(FeaturePreference(question, feature, judge, beyond, names))
    return preferences


def _counts(question: Question) -> bool:
    return question.aspect == OVERALL or protocol_facts(question.protocol).unit == "explanation"


def _mean(
    values: FloatArray, users: IntArray, sign: FloatArray, feature: str, resamples: int, seed: int
) -> Estimate:
    kept = ~np.isnan(values)
    if not kept.any():
        reason = "no two cases of the same user (and item) were judged" if not sign.size else ALIKE[feature]
        return undefined(reason if not (sign != 0).any() else "no verdict on two things that differ")
    return mean_estimate(values[kept], users[kept], (-1.0, 1.0))


def _mean_vote(votes: list[FloatArray], size: int) -> FloatArray:
    """Mean over the people who judged each pair, NaN if no one did."""
    table = np.stack(votes) if votes else np.zeros((0, size))
    given = ~np.isnan(table)
    count = given.sum(axis=0)
    out = np.full(size, np.nan)
    np.divide(np.where(given, table, 0.0).sum(axis=0), count, out=out, where=count > 0)
    return out


def _votes(verdicts: Verdicts, pairs: _Pairs, cases: CaseColumns) -> FloatArray:
    value = np.full(cases.ids.size, np.nan)
    value[verdicts.row] = verdicts.value
    one_case = pairs.first == pairs.second
    return np.sign(np.where(one_case, value[pairs.first], value[pairs.first] - value[pairs.second]))


def _pairs(
    db: Database, project_id: int, rater: Rater, protocol: str, cases: CaseColumns, among: set[int] | None
) -> _Pairs:
    """`among`: only these cases; None: all."""
    unit = protocol_facts(protocol).unit
    texts = unit == "explanation"
    shown = shown_texts(db, rater.id) if texts else shown_lists(db, project_id, rater.id, protocol)
    by_what: dict[object, list[ShownSide]] = defaultdict(list)
    for item in shown:
        if among is not None and item.case_id not in among:
            continue
        by_what[item.case_id if unit == "pair" else (item.user_id, item.item_id)].append(item)
    two = [pair for alike in by_what.values() for pair in combinations(alike, 2)]
    features: dict[str, list[tuple[float, float]]] = {"length": [(a.size, b.size) for a, b in two]}
    if not texts:
        features["popularity"] = [(a.popularity or 0.0, b.popularity or 0.0) for a, b in two]
    return _Pairs(
        first=np.searchsorted(cases.ids, [a.case_id for a, _ in two]).astype(np.int64),
        second=np.searchsorted(cases.ids, [b.case_id for _, b in two]).astype(np.int64),
        sign={name: np.array([np.sign(a - b) for a, b in both], float) for name, both in features.items()},
    )
