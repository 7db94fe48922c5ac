"""The agreement report: two raters, or all pairs, on the cases that both judged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from recjudge_tui.reports.agreement.human_ceiling import (
    Ceiling,
    References,
    ceiling,
    ceiling_cells,
    ceiling_notes,
    no_interval_note,
    people_questions,
    references,
    undecided_note,
)
from recjudge_tui.reports.common.comparison import Comparison, Side, compare, estimates, parts
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.few_cases import few_cases
from recjudge_tui.reports.common.missing_notes import MissingVerdicts, missing_notes, untimed_notes
from recjudge_tui.reports.common.orientation import Orientation, orientation_notes
from recjudge_tui.reports.common.pairing import (
    AgreementOptions,
    Pair,
    between_labels,
    check_aspect,
    check_fill,
    check_options,
    compared_questions,
    label_sets,
    pairs_of,
    questions_in,
    stats_of,
    unfit,
)
from recjudge_tui.reports.common.scales import (
    categories,
    combined_notes,
    is_judging,
    protocol_questions,
    rules_notes,
    scale_notes,
)
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.stats.agreement import ac2, percent
from recjudge_tui.stats.arrays import BoolArray, FloatArray
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.registry import STATISTICS
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import (
    Question,
    Rater,
    Ratings,
    load_questions,
    project_questions,
    project_raters,
)

__all__ = ["AgreementOptions", "agreement_table"]

_USUAL = AgreementOptions()
_LOW_KAPPA = 0.2
_HIGH_AGREEMENT = 0.6
_COLUMNS = (
    Column("rater_a", "Rater"),
    Column("rater_b", "Against"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("stat", "Statistic", "statistic"),
    Column("level", "Level"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("ceiling", "People", "float", minor=True),
    Column("ceiling_low", "People low", "ci", minor=True),
    Column("ceiling_high", "People high", "ci", minor=True),
    Column("ceiling_n", "People n", "int", minor=True),
    Column("ceiling_rest", "One with the rest", "float", minor=True),
    Column("n", "n", "int"),
    Column("users", "Users", "int", minor=True),
    Column("groups", "Groups", "int"),
    Column("groups_undefined", "Undefined", "int"),
    Column("note", "Note"),
)


def agreement_table(
    db: Database,
    project_id: int,
    options: AgreementOptions = _USUAL,
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """One row per pair of raters, aspect, statistic and level (and system, if requested), interval over users.

    `ceiling` is the same figure among the people behind the reference, on the same cases (see `human_ceiling`); None if
    there are no two of them. `progress` receives the number of pairs compared and their total. Raises UsageError for an
    unknown statistic, level, protocol or aspect, or a `missing_truth` outside the scale; NotFoundError for an unknown
    rater.
    """
    check_options(db, project_id, options)
    questions, raters = project_questions(db, project_id), project_raters(db, project_id)
    check_aspect(questions, raters, options)
    usual = compared_questions(db, project_id, questions, raters, options)
    pairs = pairs_of(usual.kept, raters, options)
    people = people_questions(usual.kept, raters, pairs, options)
    wanted = [*questions_in(pairs), *(question for alike in people.values() for question in alike)]
    ratings = load_questions(db, project_id, wanted, options.selection)
    labels = label_sets(db, project_id, ratings, pairs)
    check_fill(labels, options)
    behind = references(db, project_id, raters, options.raters)
    unordered = categories(db, project_id)
    rows, lacks, seen = _comparisons(
        ratings, pairs, labels, options, people=people, behind=behind, unordered=unordered, progress=progress
    )
    compared_raters = [ratings.raters[name] for pair in pairs for name in (pair.a.rater, pair.b.rater)]
    notes = (
        combined_notes(compared_raters)
        + orientation_notes(seen)
        + missing_notes(lacks)
        + untimed_notes(ratings)
    )
    notes += ceiling_notes(rows)
    notes += scale_notes(db, project_id, ((pair.protocol, pair.aspect) for pair in pairs))
    notes += [] if options.stats else _fraction_notes(ratings, labels)
    notes += rules_notes(compared_raters)
    notes += usual.notes(protocol_questions(questions, raters, options.protocol))
    if rows and "pair" in options.levels and not ratings.cases.has_item.any():
        notes.append("no case is about a single item, so the level pair equals the level user")
    if not rows:
        notes.append(nothing(usual.kept, raters, options))
    columns: tuple[Column, ...] = _COLUMNS
    if options.by_system:
        columns = (*_COLUMNS[:4], Column("system", "System"), *_COLUMNS[4:])
    return Table("Agreement", columns, tuple(rows), tuple(notes), settings_of(options))


def _comparisons(
    ratings: Ratings,
    pairs: Sequence[Pair],
    labels: Mapping[Pair, list[float] | None],
    options: AgreementOptions,
    *,
    people: Mapping[tuple[str, str], Sequence[Question]],
    behind: References,
    unordered: Collection[tuple[str, str]],
    progress: Callable[[int, int], None] | None,
) -> tuple[list[Row], list[MissingVerdicts], dict[str, Orientation]]:
    """The rows, the missing verdicts of each pair, and the side from which pairs of lists are seen."""
    rows: list[Row] = []
    lacks: list[MissingVerdicts] = []
    seen: dict[str, Orientation] = {}
    for at, pair in enumerate(pairs):
        if progress:
            progress(at, len(pairs))
        both = ratings.verdicts[pair.a], ratings.verdicts[pair.b]
        for system, within in parts(ratings.cases, *both, options.by_system):
            compared = compare_pair(ratings, pair, options, within)
            top = partial(
                ceiling,
                ratings,
                pair,
                compared,
                labels[pair],
                people=people.get((pair.protocol, pair.aspect), []),
                behind=behind,
                options=options,
            )
            rows += _rows(ratings, pair, labels[pair], compared, options, system, top, unordered)
            if not system:
                seen[where_of(pair)] = compared.seen
            lacks.append(MissingVerdicts(pair, compared.missing, system))
    return rows, lacks, seen


def _fraction_notes(ratings: Ratings, labels: Mapping[Pair, list[float] | None]) -> list[str]:
    """Notes that explain why raters who give values between the labels are compared by correlations."""
    fractions: dict[str, float] = {}
    for pair, known in labels.items():
        fractions |= between_labels(pair, ratings, known)
    return [
        f"{rater} gives values between the labels (such as {value:.3g}): correlations are shown, because percent agreement"
        " and kappas compare labels"
        for rater, value in sorted(fractions.items())
    ]


def where_of(pair: Pair) -> str:
    """The names of what is compared, for a note."""
    return f"{pair.a.rater} and {pair.b.rater} ({pair.protocol}, {pair.aspect})"


def settings_of(options: AgreementOptions) -> dict[str, object]:
    return {
        "protocol": options.protocol,
        "truth": options.truth,
        "missing_truth": options.missing_truth,
        "missing_judge": options.missing_judge,
        "resamples": options.resamples,
        "seed": options.seed,
    }


def side_of(ratings: Ratings, question: Question, options: AgreementOptions) -> Side:
    """One side of a comparison, with the value that replaces its missing verdicts.

    A case that a judge was never asked about is not missing; for a person it is.
    """
    rater, verdicts = ratings.raters[question.rater], ratings.verdicts[question]
    if options.truth == rater.name:
        return Side(rater, verdicts, options.missing_truth, fill_absent=True)
    return Side(rater, verdicts, options.missing_judge, not is_judging(rater))


def compare_pair(
    ratings: Ratings, pair: Pair, options: AgreementOptions, within: BoolArray | None = None
) -> Comparison:
    """The cases that both judged, with missing verdicts replaced as the options say."""
    right = side_of(ratings, pair.b, options)
    if options.truth != pair.b.rater and not is_judging(right.rater):
        right = replace(right, fill=None)
    return compare(ratings.cases, side_of(ratings, pair.a, options), right, within)


def _rows(
    ratings: Ratings,
    pair: Pair,
    labels: list[float] | None,
    compared: Comparison,
    options: AgreementOptions,
    system: str,
    top: Callable[[Sequence[str], str], Ceiling],
    unordered: Collection[tuple[str, str]],
) -> Iterator[Row]:
    stats = stats_of(pair, ratings, labels, options, unordered)
    reasons = {stat: unfit(stat, pair, ratings, unordered) for stat in stats}
    able = tuple(stat for stat in stats if not reasons[stat])
    skewed = _skew(pair, compared, labels)
    users = np.unique(ratings.cases.user[compared.row]).size
    for level in options.levels:
        by_stat = estimates(
            ratings.cases, compared, labels, able, level, resamples=options.resamples, seed=options.seed
        )
        human = top(able, level)
        for stat in stats:
            estimate = by_stat.get(stat) or undefined(reasons[stat], compared.row.size)
            row: Row = {
                "rater_a": pair.a.rater,
                "rater_b": pair.b.rater,
                "protocol": pair.protocol,
                "aspect": pair.aspect,
                "stat": stat,
                "level": level,
                "value": estimate.value,
                **interval_cells(estimate),
                **ceiling_cells(human, stat),
                "n": estimate.n,
                "users": users,
                "groups": estimate.groups,
                "groups_undefined": None if estimate.groups is None else estimate.groups_undefined,
                "note": join_notes(
                    estimate.note,
                    few_cases(estimate.n),
                    _remark(stat, estimate, skewed),
                    _side(stat, estimate, pair, compared.seen),
                    no_interval_note(human, stat, estimate),
                    undecided_note(human, stat, pair.b.rater),
                ),
            }
            yield {**row, "system": system} if options.by_system else row


def _remark(stat: str, estimate: Estimate, skewed: str) -> str:
    """An explanation of one figure that might confuse the reader."""
    if estimate.value is None or estimate.groups is not None:
        return ""
    if STATISTICS[stat].directed:
        hits = round(estimate.value * estimate.n)
        return f"agrees on {hits:,} of the {estimate.n:,} cases where the reference preferred a system"
    return skewed if STATISTICS[stat].by_chance and estimate.value < _LOW_KAPPA else ""


def _side(stat: str, estimate: Estimate, pair: Pair, seen: Orientation) -> str:
    """A note on the direction of a mean difference on pairs."""
    if stat != "bias" or estimate.value is None or not seen.view:
        return ""
    favoured = seen.a or f"the systems against {seen.b}"
    return f"above 0: {pair.a.rater} favours {favoured} more than {pair.b.rater} does"


def _skew(pair: Pair, compared: Comparison, labels: list[float] | None) -> str:
    """Why chance-corrected figures are low although agreement is high: more than half of the values would be equal by
    chance."""
    values = np.concatenate([compared.a, compared.b])
    if labels is None or values.size == 0 or not np.isin(values, labels).all():
        return ""
    equal, credited = percent(compared.a, compared.b), ac2(compared.a, compared.b, labels)
    (top_a, share_a), (top_b, share_b) = _commonest(compared.a), _commonest(compared.b)
    chance = sum(float((compared.a == label).mean() * (compared.b == label).mean()) for label in labels)
    high = [f"AC2 is {credited:.2f}"] if (credited or 0) >= _HIGH_AGREEMENT else []
    high += [f"{equal:.0%} of the values are equal"] if (equal or 0) >= _HIGH_AGREEMENT else []
    if not high or chance <= 0.5:
        return ""
    return (
        f"low although {' and '.join(high)}: {pair.a.rater} gave {top_a:g} in"
        f" {share_a:.0%}, {pair.b.rater} gave {top_b:g} in {share_b:.0%}, so {chance:.0%} of the values would be equal"
        " by chance (skewed marginals); see percent and ac2 beside it"
    )


def _commonest(values: FloatArray) -> tuple[float, float]:
    levels, counts = np.unique(values, return_counts=True)
    top = int(np.argmax(counts))
    return float(levels[top]), float(counts[top] / values.size)


def nothing(questions: Sequence[Question], raters: Mapping[str, Rater], options: AgreementOptions) -> str:
    """The reason why there is no pair to compare."""
    wanted = (*options.raters, options.truth)
    names = sorted(
        {
            q.rater
            for q in protocol_questions(questions, raters, options.protocol)
            if not options.raters or q.rater in wanted
        }
    )
    if not names:
        return "there are no verdicts on this yet: import labels or start a run"
    if len(names) == 1:
        return f"only {names[0]} has judged this; agreement needs a second rater"
    return f"no two of these raters answered the same question: {', '.join(names)}"
