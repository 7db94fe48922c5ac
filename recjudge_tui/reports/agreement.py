"""How far raters agree: any two, or all pairs, on the cases that both judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.comparison import LEVELS, Comparison, Side, compare, estimates
from recjudge_tui.reports.scales import (
    PAIR_PROTOCOLS,
    asked,
    is_judging,
    is_people,
    label_names,
    protocols_meeting,
    rater_rank,
    scale_of,
)
from recjudge_tui.reports.table import Column, Row, Table
from recjudge_tui.stats.agreement_intervals import STATISTICS
from recjudge_tui.stats.estimate import Estimate, joined
from recjudge_tui.stats.intervals import RESAMPLES
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import BoolArray, Question, Rater, Ratings, load_ratings

_LOW_KAPPA = 0.2
_HIGH_PERCENT = 0.6
_CHANCE_CORRECTED = ("kappa", "kappa_linear", "qwk", "alpha_nominal", "alpha_ordinal", "alpha_interval")
_COLUMNS = (
    Column("rater_a", "Rater"),
    Column("rater_b", "Against"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("stat", "Statistic"),
    Column("level", "Level"),
    Column("value", "Value", "float"),
    Column("ci_low", "CI low", "ci"),
    Column("ci_high", "CI high", "ci"),
    Column("n", "n", "int"),
    Column("groups", "Groups", "int"),
    Column("groups_undefined", "Undefined", "int"),
    Column("note", "Note"),
)


@dataclass(frozen=True)
class AgreementOptions:
    """What to compare. Empty `raters`: everyone; `truth`: everyone against this one, else all pairs.

    Empty `stats`: qwk and percent (Pearson and Spearman on a scale without labels), and concurrence for
    pairs of lists judged by people. `missing_truth` stands for a truth that is not there, `missing_judge`
    for a failed verdict of the other side (and, where that one is no run's judge, an absent one).
    """

    protocol: str | None = None
    aspect: str | None = None
    raters: tuple[str, ...] = ()
    truth: str | None = None
    stats: tuple[str, ...] = ()
    levels: tuple[str, ...] = ("dataset",)
    missing_truth: float | None = None
    missing_judge: float | None = None
    by_system: bool = False
    resamples: int = RESAMPLES
    seed: int = 0


@dataclass(frozen=True)
class _Pair:
    """Two raters on one question; b is the reference."""

    a: Question
    b: Question
    protocol: str
    labels: list[float] | None


def agreement_table(db: Database, project_id: int, options: AgreementOptions = AgreementOptions()) -> Table:
    """One row a pair of raters, aspect, statistic and level (and system, if asked), users resampled.

    Raises UsageError for an unknown statistic, level or protocol, NotFoundError for an unknown rater.
    """
    _check(db, project_id, options)
    ratings = load_ratings(
        db, project_id, protocols=protocols_meeting(options.protocol), aspect=options.aspect
    )
    pairs = list(_pairs(db, project_id, ratings, options))
    rows: list[Row] = []
    notes: list[str] = []
    for pair in pairs:
        for system, within in _parts(ratings, pair, options):
            compared = _compared(ratings, pair, options, within)
            rows += _rows(ratings, pair, compared, options, system)
            where = f"{pair.a.rater} and {pair.b.rater} ({pair.protocol}, {pair.a.aspect}{system and ', ' + system})"
            notes += [f"{where}: {note}" for note in compared.missing.notes(pair.a.rater, pair.b.rater)]
    notes += _ceiling(db, project_id, ratings, pairs, options)
    if rows and "pair" in options.levels and not ratings.cases.has_item.any():
        notes.append("no case has an item of its own: the level pair is the level user here")
    if not rows:
        notes.append(_nothing(ratings, options))
    columns: tuple[Column, ...] = _COLUMNS
    if options.by_system:
        columns = (*_COLUMNS[:4], Column("system", "System"), *_COLUMNS[4:])
    settings = {
        "protocol": options.protocol,
        "truth": options.truth,
        "missing_truth": options.missing_truth,
        "missing_judge": options.missing_judge,
        "resamples": options.resamples,
        "seed": options.seed,
    }
    return Table("Agreement", columns, tuple(rows), tuple(notes), settings)


def _check(db: Database, project_id: int, options: AgreementOptions) -> None:
    for given, known, what in (
        (options.stats, tuple(STATISTICS), "statistic"),
        (options.levels, LEVELS, "level"),
    ):
        for name in given:
            if name not in known:
                raise UsageError(f"no {what} “{name}”", f"There are: {', '.join(known)}.")
    for name in (*options.raters, *([options.truth] if options.truth else [])):
        rater_row(db, project_id, name)
    if options.missing_truth is not None and options.truth is None:
        raise UsageError("a value for a missing truth needs a truth", next_step="Name it with --truth.")


def _pairs(db: Database, project_id: int, ratings: Ratings, options: AgreementOptions) -> Iterator[_Pair]:
    """Pairs of questions on one scale and aspect, in the order of protocols, aspects and raters."""
    by_question: dict[tuple[str, str], list[Question]] = {}
    for question in asked(ratings, options.protocol):
        if _wanted(question.rater, options):
            by_question.setdefault((scale_of(question.protocol), question.aspect), []).append(question)
    for (scale, aspect), questions in sorted(by_question.items(), key=lambda part: _aspect_key(*part[0])):
        questions.sort(key=lambda q: rater_rank(ratings.raters[q.rater]))
        protocol = options.protocol or _name(questions, scale)
        values = np.concatenate([ratings.verdicts[q].value for q in questions])
        names = label_names(db, project_id, protocol, aspect, values)
        labels = None if names is None else sorted(names)
        for a, b in combinations(questions, 2):
            if options.truth == a.rater:
                a, b = b, a
            if a.rater != b.rater and options.truth in (None, b.rater):
                yield _Pair(a, b, protocol, labels)


def _wanted(rater: str, options: AgreementOptions) -> bool:
    return not options.raters or rater in options.raters or rater == options.truth


def _aspect_key(scale: str, aspect: str) -> tuple[str, bool, str]:
    return scale, aspect != "overall", aspect


def _name(questions: list[Question], scale: str) -> str:
    """The protocol the questions share; the scale's when there are several."""
    names = {question.protocol for question in questions}
    return names.pop() if len(names) == 1 else scale


def _parts(
    ratings: Ratings, pair: _Pair, options: AgreementOptions
) -> Iterator[tuple[str, BoolArray | None]]:
    """All cases, or those of each system (each pair of systems) that both raters met."""
    if not options.by_system:
        yield "", None
        return
    cases = ratings.cases
    code = cases.system_a * len(cases.systems) + np.where(cases.is_pair, cases.system_b, 0)
    met = np.concatenate([ratings.verdicts[pair.a].row, ratings.verdicts[pair.b].row])
    for one in np.unique(code[met]):
        mask = code == one
        at = int(np.argmax(mask))
        name = cases.systems[cases.system_a[at]]
        if cases.is_pair[at]:
            name = f"{name} vs {cases.systems[cases.system_b[at]]}"
        yield name, mask


def _compared(
    ratings: Ratings, pair: _Pair, options: AgreementOptions, within: BoolArray | None
) -> Comparison:
    a, b = ratings.raters[pair.a.rater], ratings.raters[pair.b.rater]
    left = Side(a, ratings.verdicts[pair.a], options.missing_judge, not is_judging(a))
    right = Side(b, ratings.verdicts[pair.b])
    if options.truth == b.name:
        right = Side(b, ratings.verdicts[pair.b], options.missing_truth, fill_absent=True)
    elif is_judging(b):
        right = Side(b, ratings.verdicts[pair.b], options.missing_judge)
    return compare(ratings.cases, left, right, within)


def _stats(pair: _Pair, rater: Rater, reference: Rater, options: AgreementOptions) -> tuple[str, ...]:
    if options.stats:
        return options.stats
    if pair.labels is None:
        return ("pearson", "spearman")
    directed = (
        pair.protocol in PAIR_PROTOCOLS and _speaks_for_people(reference) and not _speaks_for_people(rater)
    )
    return ("qwk", "percent", "concurrence") if directed else ("qwk", "percent")


def _speaks_for_people(rater: Rater) -> bool:
    return is_people(rater) or rater.kind == "consensus"


def _rows(
    ratings: Ratings, pair: _Pair, compared: Comparison, options: AgreementOptions, system: str
) -> Iterator[Row]:
    stats = _stats(pair, ratings.raters[pair.a.rater], ratings.raters[pair.b.rater], options)
    for level in options.levels:
        found = estimates(
            ratings.cases,
            compared,
            pair.labels,
            tuple(dict.fromkeys((*stats, "percent"))),
            level,
            resamples=options.resamples,
            seed=options.seed,
        )
        for stat in stats:
            estimate = found[stat]
            row: Row = {
                "rater_a": pair.a.rater,
                "rater_b": pair.b.rater,
                "protocol": pair.protocol,
                "aspect": pair.a.aspect,
                "stat": stat,
                "level": level,
                "value": estimate.value,
                "ci_low": estimate.ci_low,
                "ci_high": estimate.ci_high,
                "n": estimate.n,
                "groups": estimate.groups,
                "groups_undefined": None if estimate.groups is None else estimate.groups_undefined,
                "note": joined(estimate.note, _remark(stat, estimate, found["percent"])),
            }
            yield {**row, "system": system} if options.by_system else row


def _remark(stat: str, estimate: Estimate, percent: Estimate) -> str:
    """What a reader may stumble over in one figure."""
    if estimate.value is None or percent.value is None:
        return ""
    if stat == "concurrence" and estimate.groups is None:
        return f"{round(estimate.value * estimate.n)} of {estimate.n} cases where the reference points a way"
    if stat in _CHANCE_CORRECTED and estimate.value < _LOW_KAPPA and percent.value >= _HIGH_PERCENT:
        return (
            f"low although {percent.value:.0%} of the values are equal: nearly all fall on one label, so most of that"
            " is expected by chance (skewed marginals); see percent and ac2 beside it"
        )
    return ""


def _ceiling(
    db: Database, project_id: int, ratings: Ratings, pairs: list[_Pair], options: AgreementOptions
) -> list[str]:
    """How far people agree with each other, beside the figures of judges: more cannot be asked of a judge."""
    beside = {
        (pair.protocol, pair.a.aspect)
        for pair in pairs
        if is_judging(ratings.raters[pair.a.rater]) and not is_judging(ratings.raters[pair.b.rater])
    }
    people = tuple(rater.name for rater in ratings.raters.values() if is_people(rater))
    if not beside or len(people) < 2:
        return []
    among = AgreementOptions(protocol=options.protocol, aspect=options.aspect, raters=people)
    notes = []
    for pair in _pairs(db, project_id, ratings, among):
        if (pair.protocol, pair.a.aspect) not in beside:
            continue
        compared = compare(
            ratings.cases,
            Side(ratings.raters[pair.a.rater], ratings.verdicts[pair.a]),
            Side(ratings.raters[pair.b.rater], ratings.verdicts[pair.b]),
        )
        a, b = ratings.raters[pair.a.rater], ratings.raters[pair.b.rater]
        stats = tuple(stat for stat in _stats(pair, a, b, options) if stat not in ("bias", "concurrence"))
        found = estimates(
            ratings.cases,
            compared,
            pair.labels,
            stats,
            "dataset",
            resamples=options.resamples,
            seed=options.seed,
        )
        figures = ", ".join(
            f"{stat} {_figure(found[stat])}" for stat in stats if found[stat].value is not None
        )
        if figures:
            notes.append(
                f"people with each other, the ceiling for a judge ({pair.protocol}, {pair.a.aspect}):"
                f" {pair.a.rater} with {pair.b.rater} {figures}, n = {compared.row.size:,}"
            )
    return notes


def _figure(estimate: Estimate) -> str:
    if estimate.ci_low is None or estimate.ci_high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.ci_low:.3f}, {estimate.ci_high:.3f}]"


def _nothing(ratings: Ratings, options: AgreementOptions) -> str:
    raters = sorted({q.rater for q in asked(ratings, options.protocol) if _wanted(q.rater, options)})
    if not raters:
        return "nobody has judged this yet: import labels or start a run"
    if len(raters) == 1:
        return f"only {raters[0]} has judged this: agreement needs a second rater"
    return f"no question that two of these raters answered: {', '.join(raters)}"
