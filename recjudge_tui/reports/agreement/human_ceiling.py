"""Agreement between people, shown beside the figures of judges as their upper bound."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.roles import MACHINES
from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.comparison import Comparison, estimates
from recjudge_tui.reports.common.orientation import labels_seen
from recjudge_tui.reports.common.pairing import AgreementOptions, Pair, pairs_of
from recjudge_tui.reports.common.scales import is_metric, is_people
from recjudge_tui.stats.agreement import RatedPair, pairs_interval
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.combining.consensus import RULES, joint
from recjudge_tui.stats.estimate import Estimate, join_notes
from recjudge_tui.stats.registry import STATISTICS
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.verdicts.ratings import Question, Rater, Ratings

CEILING_NOTE = (
    "People: the human ceiling, the mean agreement between the people behind the reference (for a person: "
    "with each other person) on the cases of the row, weighted by n"
)
OTHERS_NOTE = (
    "One with the rest: each of them against the consensus of the others by the same rule, as the judge is"
)


class Ceiling(NamedTuple):
    """The people of one reference: their agreement with each other, and of each with the consensus of the others, by
    statistic. Empty where there is none. `undecided`: the judge's cases on which they differ and have no consensus."""

    people: dict[str, Estimate]
    others: dict[str, Estimate]
    undecided: int = 0


class References(NamedTuple):
    """The raters behind a reference, by name (for a person, the other people), and the rule of a consensus, empty if
    there is none, with its quorum if it does not need all raters.
    """

    raters: Mapping[str, Sequence[str]]
    rules: Mapping[str, str]
    quorums: Mapping[str, int]


NOTHING = Ceiling({}, {})


def people_questions(
    questions: Collection[Question],
    raters: Mapping[str, Rater],
    pairs: Collection[Pair],
    options: AgreementOptions,
) -> dict[tuple[str, str], list[Question]]:
    """(protocol, aspect) -> the questions of people that a judge, baseline or metric answered, too."""
    beside = {(pair.protocol, pair.aspect) for pair in pairs if _has_ceiling(pair, raters)}
    people = tuple(rater.name for rater in raters.values() if is_people(rater))
    if not beside or len(people) < 2:
        return {}
    among = replace(options, raters=people, truth=None)
    alike: dict[tuple[str, str], dict[Question, None]] = {}
    for pair in pairs_of(questions, raters, among):
        if (pair.protocol, pair.aspect) in beside:
            alike.setdefault((pair.protocol, pair.aspect), {}).update(dict.fromkeys((pair.a, pair.b)))
    return {where: sorted(asked) for where, asked in alike.items()}


def references(
    db: Database, project_id: int, raters: Mapping[str, Rater], named: Sequence[str]
) -> References:
    """The raters behind each possible reference. `named`: the raters that the user chose; if there are two people among
    them, others do not count beside a person."""
    people = [name for name, rater in raters.items() if is_people(rater)]
    chosen = [name for name in people if name in named]
    beside = chosen if len(chosen) > 1 else people
    of, rules = {}, {}
    quorums: dict[str, int] = {}
    for name, rater in raters.items():
        if is_people(rater):
            of[name] = [other for other in beside if other != name]
        elif rater.kind == "consensus":
            recipe = json.loads(rater_row(db, project_id, name)["recipe"])
            of[name] = [other for other in recipe.get("raters", people) if other in people]
            rules[name] = str(recipe.get("rule", ""))
            quorums |= {name: int(recipe["quorum"])} if "quorum" in recipe else {}
    return References(of, rules, quorums)


def _has_ceiling(pair: Pair, raters: Mapping[str, Rater]) -> bool:
    a, b = raters[pair.a.rater], raters[pair.b.rater]
    return a.kind in MACHINES and b.kind not in MACHINES and not is_metric(b)


def ceiling(
    ratings: Ratings,
    pair: Pair,
    compared: Comparison,
    labels: list[float] | None,
    stats: Sequence[str],
    level: str,
    people: Sequence[Question],
    behind: References,
    options: AgreementOptions,
) -> Ceiling:
    """The ceiling of one comparison, on its cases; `people` are their questions, among which the reference's raters are.

    Empty for figures between people, if there are fewer than two people, and for statistics in which one side is the
    reference.
    """
    if not _has_ceiling(pair, ratings.raters):
        return NOTHING
    members = [question for question in people if question.rater in behind.raters.get(pair.b.rater, ())]
    table = _values(ratings, members, compared)
    symmetric = tuple(stat for stat in stats if STATISTICS[stat].symmetric)
    if is_people(ratings.raters[pair.b.rater]):
        sides = [(row, compared.b) for row in table]
        return Ceiling(_weighted(ratings, compared, sides, labels, symmetric, level, options), {})
    rule = next((name for name in RULES if name == behind.rules.get(pair.b.rater)), None)
    rest = []
    if rule is not None and len(members) > 2:
        others = len(members) - 1
        quorum = min(others, behind.quorums.get(pair.b.rater, others))
        rest = [
            (row, joint(rule, np.delete(table, at, axis=0), quorum).values) for at, row in enumerate(table)
        ]
    among = list(combinations(table, 2))
    return Ceiling(
        _weighted(ratings, compared, among, labels, symmetric, level, options),
        _weighted(ratings, compared, rest, labels, symmetric, level, options),
        0 if options.by_system else _undecided(ratings, pair, members),
    )


def _undecided(ratings: Ratings, pair: Pair, members: Sequence[Question]) -> int:
    """The number of cases that the judge judged and on which two members differ, but which have no consensus."""
    low = np.full(ratings.cases.ids.size, np.inf)
    high = -low
    for question in members:
        verdicts = ratings.verdicts[question]
        low[verdicts.row] = np.fmin(low[verdicts.row], verdicts.value)
        high[verdicts.row] = np.fmax(high[verdicts.row], verdicts.value)
    judged, given = (
        verdicts.row[~np.isnan(verdicts.value)]
        for verdicts in (ratings.verdicts[pair.a], ratings.verdicts[pair.b])
    )
    return int(np.setdiff1d(judged[low[judged] < high[judged]], given).size)


def _values(ratings: Ratings, members: Sequence[Question], compared: Comparison) -> FloatArray:
    """Values (members, rows) on the cases of the comparison, seen from its side; NaN if missing."""
    table = np.full((len(members), ratings.cases.ids.size), np.nan)
    for at, question in enumerate(members):
        verdicts = ratings.verdicts[question]
        table[at, verdicts.row] = verdicts.value
    return table[:, compared.row] * compared.seen.turn + 0.0


def _weighted(
    ratings: Ratings,
    compared: Comparison,
    sides: Sequence[tuple[FloatArray, FloatArray]],
    labels: list[float] | None,
    stats: tuple[str, ...],
    level: str,
    options: AgreementOptions,
) -> dict[str, Estimate]:
    """The mean of each statistic over these pairs of raters, weighted by their n; intervals over users.

    For figures that are means over users or pairs, the ends of the intervals are weighted in the same way, which is
    wider than needed.
    """
    by_stat: dict[str, list[Estimate]] = {}
    defined: dict[str, list[RatedPair]] = {}
    whole = level == "dataset"
    for a, b in sides if stats else ():
        kept = ~(np.isnan(a) | np.isnan(b))
        both = replace(compared, row=compared.row[kept], a=a[kept], b=b[kept])
        figures = estimates(
            ratings.cases,
            both,
            labels,
            stats,
            level,
            resamples=0 if whole else options.resamples,
            seed=options.seed,
        )
        rated = RatedPair(both.a, both.b, ratings.cases.user[both.row])
        for stat, estimate in figures.items():
            if estimate.value is not None:
                by_stat.setdefault(stat, []).append(estimate)
                defined.setdefault(stat, []).append(rated)
    means = {stat: _mean(known) for stat, known in by_stat.items()}
    if not whole:
        return means
    seen = compared.seen
    ends = {
        stat: pairs_interval(
            pairs,
            labels_seen(labels, seen),
            stat,
            mirrored=seen.mirrored,
        )
        for stat, pairs in defined.items()
    }
    return {
        stat: replace(mean, ci_low=ends[stat].low, ci_high=ends[stat].high, note=ends[stat].note)
        for stat, mean in means.items()
    }


def _mean(known: Sequence[Estimate]) -> Estimate:
    """The mean of figures and of the ends of their intervals, weighted by n; no interval if one of them has none."""
    n = [estimate.n for estimate in known]
    columns = ([estimate[end] for estimate in map(_ends, known)] for end in range(3))
    value, low, high = (
        None if None in column else float(np.average(np.array(column, dtype=np.float64), weights=n))
        for column in columns
    )
    reasons = [estimate.note for estimate in known if estimate.ci_low is None]
    return Estimate(value, low, high, sum(n), note=join_notes(*reasons))


def _ends(estimate: Estimate) -> tuple[float | None, float | None, float | None]:
    return estimate.value, estimate.ci_low, estimate.ci_high


def ceiling_cells(top: Ceiling, stat: str) -> dict[str, object]:
    """The cells of a row: the ceiling with its interval and n, and each person against the others."""
    people, others = top.people.get(stat), top.others.get(stat)
    return {
        "ceiling": people.value if people else None,
        "ceiling_low": people.ci_low if people else None,
        "ceiling_high": people.ci_high if people else None,
        "ceiling_n": people.n if people else None,
        "ceiling_rest": others.value if others else None,
    }


def no_interval_note(top: Ceiling, stat: str, figure: Estimate) -> str:
    """The reason why the ceiling has no interval; empty if it has one, or if the figure beside it gives the same
    reason.
    """
    people = top.people.get(stat)
    if people is None or people.ci_low is not None or people.note in figure.note:
        return ""
    return f"People: {people.note}"


def undecided_note(top: Ceiling, stat: str, reference: str) -> str:
    """A note that the ceiling leaves out cases without a consensus; empty if there are none."""
    if not top.undecided or stat not in top.people:
        return ""
    cases = quantity(top.undecided, "case")
    return f"People leaves out {cases} on which its raters differ, because {reference} has no verdict there"


def ceiling_notes(rows: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Notes that explain the columns on people, if these have values."""
    if any(row["ceiling"] is not None for row in rows):
        yield CEILING_NOTE
    if any(row["ceiling_rest"] is not None for row in rows):
        yield OTHERS_NOTE
