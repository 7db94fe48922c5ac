"""The choice of the raters to compare, the questions, and the statistics."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recjudge_tui.domain.protocols import OVERALL, compares_lists, protocol_facts, question_of
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.scales import (
    is_metric,
    label_names,
    protocol_questions,
    protocols_meeting,
    rater_rank,
    speaks_for_people,
)
from recjudge_tui.reports.common.usual_raters import UsualQuestions, usual_questions
from recjudge_tui.stats.defaults import RESAMPLES
from recjudge_tui.stats.registry import CORRELATIONS, NO_ORDER, STATISTICS
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.verdicts.ratings import Question, Rater, Ratings, project_questions, project_raters

LEVELS = ("dataset", "user", "pair")
ALL = "all"
OF_METRICS = "a metric has its own scale: only correlations apply"


@dataclass(frozen=True)
class AgreementOptions:
    """The comparisons to make. Empty `raters`: everyone, but readers and people with few labels only with `readers`;
    `truth`: everyone against this rater, else all pairs.

    Empty `stats`: qwk and percent (Pearson and Spearman on a scale without labels, and for metrics; all correlations where a
    rater gives values between the labels; kappa and percent for categories without an order), and concurrence for pairs of
    lists judged by people; `all` means every statistic. `missing_truth` replaces a missing truth.
    `missing_judge` replaces a failed verdict of the other side, and a missing one unless that side is a judge's run.
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
    readers: bool = False
    selection: CaseSelection = EVERY_CASE
    resamples: int = RESAMPLES
    seed: int = 0


@dataclass(frozen=True)
class Pair:
    """Two raters on one question of `protocol` about `aspect`; b is the reference. A metric has no aspect."""

    a: Question
    b: Question
    protocol: str
    aspect: str


def check_options(db: Database, project_id: int, options: AgreementOptions) -> None:
    """Raises UsageError for an unknown statistic, level or protocol, NotFoundError for an unknown rater."""
    for given, known, what in (
        (options.stats, (*STATISTICS, ALL), "statistic"),
        (options.levels, LEVELS, "level"),
    ):
        for name in given:
            if name not in known:
                raise UsageError(f"no {what} “{name}”", f"Available: {', '.join(known)}.")
    protocols_meeting(options.protocol)
    for name in (*options.raters, *([options.truth] if options.truth else [])):
        rater_row(db, project_id, name)
    if options.missing_truth is not None and options.truth is None:
        raise UsageError("a value for a missing truth requires a truth", next_step="Name it with --truth.")
    for fill in (options.missing_truth, options.missing_judge):
        if fill is not None and not math.isfinite(fill):
            raise UsageError(f"{fill} is not a finite score, so it cannot replace a missing one")


def check_aspect(
    questions: Iterable[Question], raters: Mapping[str, Rater], options: AgreementOptions
) -> None:
    """Raises UsageError for an aspect without verdicts, unless there are no verdicts at all."""
    judged = {question.aspect for question in protocol_questions(questions, raters, options.protocol)}
    if judged and options.aspect is not None and options.aspect not in judged:
        under = f" under {options.protocol}" if options.protocol else ""
        raise UsageError(
            f"there are no verdicts on an aspect “{options.aspect}”{under}",
            f"Available: {', '.join(sorted(judged))}.",
        )


def pairs_of(
    questions: Collection[Question], raters: Mapping[str, Rater], options: AgreementOptions
) -> list[Pair]:
    """Pairs of questions on one scale and aspect, in the order of protocols, aspects and raters.

    A metric is compared with every aspect that others judged on its kind of case, and with other metrics.
    """
    named = (*options.raters, options.truth)
    wanted = [q for q in questions if not options.raters or q.rater in named]
    metrics = [question for question in wanted if is_metric(raters[question.rater])]
    pairs: list[Pair] = []
    for (same, aspect), asked_alike in _alike(wanted, raters, options):
        others = [q for q in asked_alike if not is_metric(raters[q.rater])]
        of_kind = (
            [q for q in metrics if protocol_facts(q.protocol).unit == protocol_facts(same).unit]
            if others
            else asked_alike
        )
        protocol = options.protocol or _name(others or asked_alike, same)
        everyone = sorted({*others, *of_kind}, key=lambda q: rater_rank(raters[q.rater]))
        for a, b in combinations(everyone, 2):
            both_metrics = is_metric(raters[a.rater]) and is_metric(raters[b.rater])
            if both_metrics and not {a, b} <= set(asked_alike):
                continue
            if options.truth == a.rater:
                a, b = b, a
            if a.rater != b.rater and options.truth in (None, b.rater):
                pairs.append(Pair(a, b, protocol, aspect))
    return pairs


def judge_and_truth(
    db: Database, project_id: int, rater: str, truth: str, protocol: str | None, aspect: str | None
) -> list[Pair]:
    """The questions that a rater and its reference both answered; raises UsageError if there are none, if both are the
    same rater, and for a metric as reference; NotFoundError for an unknown rater."""
    wanted = AgreementOptions(protocol=protocol, aspect=aspect, raters=(rater,), truth=truth)
    check_options(db, project_id, wanted)
    if rater == truth:
        raise UsageError(
            f"{rater} cannot be compared with itself", next_step="Name another rater as --truth."
        )
    raters = project_raters(db, project_id)
    if is_metric(raters[truth]):
        raise UsageError(f"{truth} is a metric and gives no labels", next_step="Name people as --truth.")
    questions = project_questions(db, project_id)
    check_aspect(questions, raters, wanted)
    pairs = pairs_of(questions, raters, wanted)
    if not pairs:
        under = f" under {protocol}" if protocol else ""
        raise UsageError(
            f"{rater} and {truth} answered no question in common{under}",
            next_step="“recjudge rater list” shows who judged what.",
        )
    return pairs


def compared_questions(
    db: Database,
    project_id: int,
    questions: Iterable[Question],
    raters: Mapping[str, Rater],
    options: AgreementOptions,
) -> UsualQuestions:
    """All of them if the raters are named or readers are asked for; else those that count without that."""
    if options.raters or options.readers:
        return UsualQuestions(tuple(questions))
    return usual_questions(db, project_id, questions, raters, [options.truth] if options.truth else [])


def _alike(
    questions: list[Question], raters: Mapping[str, Rater], options: AgreementOptions
) -> list[tuple[tuple[str, str], list[Question]]]:
    """The questions by protocol (the one whose question is answered) and aspect, restricted to those wanted; the
    aspect `overall` first."""
    groups: dict[tuple[str, str], list[Question]] = {}
    for question in protocol_questions(questions, raters, options.protocol):
        if options.aspect in (None, question.aspect):
            groups.setdefault((question_of(question.protocol), question.aspect), []).append(question)
    return sorted(groups.items(), key=lambda part: (part[0][0], part[0][1] != OVERALL, part[0][1]))


def _name(questions: list[Question], same: str) -> str:
    """The protocol of the questions; if there are several, the one whose question all of them answer."""
    names = {question.protocol for question in questions}
    return names.pop() if len(names) == 1 else same


def label_sets(
    db: Database, project_id: int, ratings: Ratings, pairs: Iterable[Pair]
) -> dict[Pair, list[float] | None]:
    """The sorted label set of each pair's question; None for scores without labels and for metrics."""
    by_pair: dict[Pair, list[float] | None] = {}
    by_question: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        by_question.setdefault((pair.protocol, pair.aspect), []).append(pair)
    for (protocol, aspect), alike in by_question.items():
        sides = {q for pair in alike for q in (pair.a, pair.b) if not is_metric(ratings.raters[q.rater])}
        values = [np.zeros(0), *(np.unique(ratings.verdicts[question].value) for question in sides)]
        names = label_names(db, project_id, protocol, aspect, np.concatenate(values))
        labels = None if names is None else sorted(names)
        by_pair |= {pair: None if not by_labels(pair, ratings) else labels for pair in alike}
    return by_pair


def of_metric(pair: Pair, ratings: Ratings) -> bool:
    return any(is_metric(ratings.raters[question.rater]) for question in (pair.a, pair.b))


def by_labels(pair: Pair, ratings: Ratings) -> bool:
    """Whether both answered with labels of one set; on pairs of lists a metric counts, too (A, Tie, B)."""
    return compares_lists(pair.protocol) or not of_metric(pair, ratings)


def between_labels(pair: Pair, ratings: Ratings, labels: list[float] | None) -> dict[str, float]:
    """Each rater of the pair who gives values between the labels (a mean of samples, a probability), with one of them."""
    if labels is None:
        return {}
    out = {}
    for question in (pair.a, pair.b):
        values = ratings.verdicts[question].value
        strange = np.setdiff1d(values[~np.isnan(values)], labels)
        fractions = strange[strange != np.rint(strange)]
        if fractions.size:
            out[question.rater] = float(fractions[0])
    return out


def unfit(stat: str, pair: Pair, ratings: Ratings, unordered: Collection[tuple[str, str]]) -> str:
    """The reason why a statistic cannot be computed for a pair of raters; empty if it can.

    `unordered`: the (protocol, aspect) whose answers are categories.
    """
    if (pair.protocol, pair.aspect) in unordered and not STATISTICS[stat].nominal:
        return NO_ORDER
    return "" if stat in CORRELATIONS or by_labels(pair, ratings) else OF_METRICS


def stats_of(
    pair: Pair,
    ratings: Ratings,
    labels: list[float] | None,
    options: AgreementOptions,
    unordered: Collection[tuple[str, str]] = (),
) -> tuple[str, ...]:
    """The requested statistics, each once; by default those that fit the scale and the kind of reference."""
    if ALL in options.stats:
        directed = compares_lists(pair.protocol)
        return tuple(
            stat
            for stat, statistic in STATISTICS.items()
            if not unfit(stat, pair, ratings, unordered) and (directed or not statistic.directed)
        )
    if options.stats:
        return tuple(dict.fromkeys(options.stats))
    if (pair.protocol, pair.aspect) in unordered:
        return ("kappa", "percent")
    if labels is None or of_metric(pair, ratings):
        return ("pearson", "spearman")
    if between_labels(pair, ratings, labels):
        return CORRELATIONS
    a, b = ratings.raters[pair.a.rater], ratings.raters[pair.b.rater]
    directed = compares_lists(pair.protocol) and speaks_for_people(b) and not speaks_for_people(a)
    return ("qwk", "percent", "concurrence") if directed else ("qwk", "percent")


def check_fill(pairs: Mapping[Pair, list[float] | None], options: AgreementOptions) -> None:
    """Raises UsageError if the value for a missing truth lies outside the scale of a question."""
    fill = options.missing_truth
    if fill is None:
        return
    for pair, labels in pairs.items():
        facts = protocol_facts(pair.protocol)
        own = None if facts.labels else facts.ends
        ends = (labels[0], labels[-1]) if labels else own
        if ends and not ends[0] <= fill <= ends[1]:
            raise UsageError(
                f"{fill:g} cannot replace a missing truth: the scale of {pair.protocol} is {ends[0]:g} to {ends[1]:g}",
                next_step="Give a value on the scale, or choose the question with --protocol.",
            )


def questions_in(*several: Iterable[Pair]) -> Iterator[Question]:
    for pairs in several:
        for pair in pairs:
            yield pair.a
            yield pair.b
