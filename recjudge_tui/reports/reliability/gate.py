"""Bounds that a judge must meet, and whether the judge has changed since an earlier run on the same labelled cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.agreement.agreement import compare_pair
from recjudge_tui.reports.common.comparison import estimates
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.missing_notes import earlier_notes
from recjudge_tui.reports.common.pairing import (
    OF_METRICS,
    Pair,
    check_aspect,
    label_sets,
    pairs_of,
    unfit,
)
from recjudge_tui.reports.common.scales import categories, protocol_questions, rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.reliability.gate_changes import (
    BY_CASE,
    BY_USER,
    Draw,
    change_of_agreement,
    change_of_means,
    compared_runs,
)
from recjudge_tui.reports.reliability.gate_options import Bound, GateOptions, check_gate
from recjudge_tui.reports.reliability.served_models import served_notes, served_settings
from recjudge_tui.stats.agreement.change import Change
from recjudge_tui.stats.agreement.registry import STATISTICS, usual_statistic
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.ranking.win_rates import outcome_estimates
from recjudge_tui.stats.resampling.intervals import share_estimate
from recjudge_tui.stats.resampling.multiplicity import holm_claims
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.generations import case_contexts
from recjudge_tui.store.verdicts.ratings import (
    Question,
    Ratings,
    Verdicts,
    load_questions,
    newest_lists,
    project_questions,
    project_raters,
)

MET, NOT_MET, UNKNOWN = "met", "not met", "unknown"
_CERTAIN_TOGETHER = (
    "the gate requires all bounds, so no correction is needed if all are met; otherwise the others are met "
    "after Holm's correction"
)
_RISING_IS_BAD = "failure_rate"
_OUTSIDE = "the figure meets the bound, but its interval does not"
_NO_INTERVAL = "the figure meets the bound, but without an interval that is not certain"
_COLUMNS = (
    Column("check", "Check"),
    Column("figure", "Figure"),
    Column("protocol", "Protocol", minor=True),
    Column("aspect", "Aspect", minor=True),
    Column("reference", "Reference"),
    Column("demand", "Bound"),
    Column("value", "Value", "float"),
    Column("earlier", "Earlier", "float", minor=True),
    Column("change", "Change", "float"),
    *interval_columns(),
    Column("n", "n", "int", minor=True),
    Column("state", "State"),
    Column("paired", "Paired", minor=True),
    Column("note", "Note"),
)


@dataclass(frozen=True)
class _GateQuestions:
    """The input of the checks: the rater's questions, and those it shares with the truth."""

    ratings: Ratings
    mine: list[Question]
    pairs: list[Pair]
    labels: dict[Pair, list[float] | None]
    unordered: set[tuple[str, str]]
    contexts: IntArray
    options: GateOptions

    @cached_property
    def newest(self) -> Ratings:
        """The verdicts on the newest lists that each rater judged."""
        return newest_lists(self.ratings)


def gate_table(db: Database, project_id: int, options: GateOptions) -> Table:
    """One row per check and question: `state` is met, not met, or unknown.

    A bound is met by the figure, with `certain` by the whole interval; an undefined figure does not meet it. If some
    bounds are not met with certainty, Holm's correction is applied to the others; if all are met, no correction is
    needed, because the gate requires all of them. A change is not met only if its interval (users left out of both
    runs at once) excludes zero in the bad direction: down, or up for the failure rate, after Holm's correction for
    all changes; without an interval it is unknown. Raises UsageError for invalid options,
    NotFoundError for an unknown rater or one without such verdicts.
    """
    check_gate(db, project_id, options)
    judged = _judged(db, project_id, options)
    rows = _certain_rows(judged) if options.certain else _all_bound_rows(judged)
    notes: list[str] = []
    if options.certain and len(rows) > 1:
        notes.append(f"{quantity(len(rows), 'bound')} were compared; {_CERTAIN_TOGETHER}")
    settings: dict[str, object] = {
        "rater": options.rater, "truth": options.truth, "against": options.against, "systems": list(options.systems),
        "protocol": options.protocol, "aspect": options.aspect, "certain": options.certain,
        "level": options.level, "resamples": options.resamples, "seed": options.seed,
    }  # fmt: skip
    if options.against is not None:
        changes = _corrected_changes(judged, options.against)
        rows += changes
        protocols = {question.protocol for question in judged.mine}
        notes.append(
            "change: later minus earlier, interval over users; not met only if its"
            f" {options.level:.0%} interval excludes zero in the bad direction"
            + (f", after Holm's correction for {len(changes)} figures" if len(changes) > 1 else "")
        )
        notes += dict.fromkeys(f"paired {row['paired']}" for row in rows if row.get("paired"))
        notes += served_notes(db, project_id, options.rater, options.against, protocols)
        settings |= served_settings(db, project_id, options.rater, options.against, protocols)
    notes += earlier_notes(judged.newest, judged.mine)
    notes += rater_notes(
        judged.ratings.raters[name] for name in (options.rater, options.truth) if name is not None
    )
    return Table(f"Gate: {options.rater}", _COLUMNS, tuple(rows), tuple(notes), settings)


def _judged(db: Database, project_id: int, options: GateOptions) -> _GateQuestions:
    questions, raters = project_questions(db, project_id), project_raters(db, project_id)
    check_aspect(questions, raters, options.agreement)
    within = protocol_questions(questions, raters, options.protocol)
    mine = [q for q in within if q.rater == options.rater and options.aspect in (None, q.aspect)]
    if not mine:
        raise NotFoundError(
            f"{options.rater} has judged none of this", next_step="See “recjudge rater list”."
        )
    pairs = [] if options.truth is None else pairs_of(questions, raters, options.agreement)
    earlier = [question._replace(rater=options.against) for question in mine if options.against]
    wanted = [*mine, *(pair.b for pair in pairs), *(q for q in earlier if q in questions)]
    ratings = load_questions(db, project_id, wanted)
    for system in options.systems:
        if system not in ratings.cases.systems:
            known = ", ".join(name for name in ratings.cases.systems if name)
            raise UsageError(f"no system “{system}” in this project", f"There are: {known or 'none'}.")
    if options.against == options.rater and not any(_judged_others(ratings, question) for question in mine):
        raise UsageError(
            f"{options.rater} cannot be compared with itself: it judged no earlier lists",
            "Earlier lists are those that an import replaced, of the same user, system, context and time; lists of another"
            " time stand beside them.",
            "Import and judge new lists of the same occasions, or name another rater. “recjudge trend” compares times.",
        )
    labels = label_sets(db, project_id, ratings, pairs)
    contexts = case_contexts(db, project_id, ratings.cases.ids)
    unordered = categories(db, project_id)
    return _GateQuestions(ratings, mine, pairs, labels, unordered, contexts, options)


def _judged_others(ratings: Ratings, question: Question) -> bool:
    """Whether the rater judged lists that its newest ones replaced."""
    verdicts = ratings.verdicts[question]
    runs = compared_runs(ratings.cases, np.zeros(0, dtype=np.int64), verdicts, verdicts, same_rater=True)
    return bool(runs.earlier.row.size)


def _all_bound_rows(judged: _GateQuestions) -> list[Row]:
    return [row for bound in judged.options.bounds for row in _bound_rows(judged, bound)]


def _certain_rows(judged: _GateQuestions) -> list[Row]:
    """The bounds, met only if the whole interval meets them; with Holm's correction unless all are met."""
    rows = _all_bound_rows(judged)
    if all(row["state"] == MET for row in rows):
        return rows

    def met(level: float) -> list[bool | None]:
        return [
            None if row["ci_low"] is None else row["state"] == MET
            for row in _all_bound_rows(_at_level(judged, level))
        ]

    certain = holm_claims(met, judged.options.level)
    short = f"its interval meets the bound, but not after correction for {quantity(len(rows), 'bound')}"
    return _withdrawn(rows, certain, MET, NOT_MET, short)


def _corrected_changes(judged: _GateQuestions, against: str) -> list[Row]:
    """The changes; one is not met only if it is bad after Holm's correction."""
    rows = list(_change_rows(judged, against))

    def bad(level: float) -> list[bool | None]:
        return [
            None if row["state"] == UNKNOWN else row["state"] == NOT_MET
            for row in _change_rows(_at_level(judged, level), against)
        ]

    worse = holm_claims(bad, judged.options.level)
    short = f"its interval excludes zero, but not after correction for {len(rows)} figures"
    return _withdrawn(rows, worse, NOT_MET, MET, short)


def _withdrawn(rows: list[Row], holds: Sequence[bool], claim: str, instead: str, why: str) -> list[Row]:
    """The rows; claims that do not hold after correction get the other state and the reason."""
    return [
        row
        if kept or row["state"] != claim
        else row | {"state": instead, "note": join_notes(why, str(row["note"]))}
        for row, kept in zip(rows, holds, strict=True)
    ]


def _at_level(judged: _GateQuestions, level: float) -> _GateQuestions:
    return replace(judged, options=replace(judged.options, level=level))


def _bound_rows(judged: _GateQuestions, bound: Bound) -> Iterator[Row]:
    figures = list(_figures(judged, bound.name))
    for question, aspect, reference, figure in figures:
        ends = (figure.ci_low if bound.least else figure.ci_high) if judged.options.certain else figure.value
        met = ends is not None and bound.holds(ends)
        value_holds = figure.value is not None and bound.holds(figure.value)
        short = _OUTSIDE if ends is not None else _NO_INTERVAL
        yield _row("bound", bound.name, question, aspect, reference, bound.demand) | {
            "value": figure.value,
            **interval_cells(figure),
            "n": figure.n,
            "state": MET if met else NOT_MET,
            "note": join_notes(short if value_holds and not met else "", figure.note),
        }
    if not figures:
        yield _row("bound", bound.name, None, judged.options.aspect, _reference(judged, bound.name), bound.demand) | {
            "n": 0, "state": NOT_MET, "note": _nothing(judged, bound.name),
        }  # fmt: skip


def _row(
    check: str, figure: str, question: Question | None, aspect: str | None, reference: str | None, demand: str
) -> Row:
    return {
        "check": check,
        "figure": figure,
        "protocol": question.protocol if question else None,
        "aspect": aspect,
        "reference": reference,
        "demand": demand,
    }


def _reference(judged: _GateQuestions, name: str) -> str | None:
    if name in STATISTICS:
        return judged.options.truth
    return " over ".join(judged.options.systems) if name == "win_rate" else None


def _nothing(judged: _GateQuestions, name: str) -> str:
    options = judged.options
    if name in STATISTICS:
        return f"no question that both {options.rater} and {options.truth} answered"
    return f"{options.rater} has not compared {' and '.join(options.systems)}"


def _figures(judged: _GateQuestions, name: str) -> Iterator[tuple[Question, str, str | None, Estimate]]:
    """(question, aspect, reference, figure) of everything that a bound on `name` applies to."""
    options, ratings = judged.options, judged.newest
    again = {"resamples": options.resamples, "seed": options.seed}
    reference = _reference(judged, name)
    if name in STATISTICS:
        for pair in judged.pairs:
            yield pair.a, pair.aspect, reference, _agreement(judged, pair, name)
        return
    for question in judged.mine:
        verdicts = ratings.verdicts[question]
        users = ratings.cases.user[verdicts.row]
        if name == "failure_rate":
            failed = share_estimate(np.isnan(verdicts.value), users, level=options.level, **again)
            yield question, question.aspect, reference, failed
            continue
        seen, here = _from_first(judged, verdicts)
        here = here.astype(np.bool_)
        if here.any():
            estimates = outcome_estimates(seen[here], users[here], level=options.level)
            yield question, question.aspect, reference, estimates["win_rate"]


def _agreement(judged: _GateQuestions, pair: Pair, name: str) -> Estimate:
    options, ratings = judged.options, judged.ratings
    compared = compare_pair(ratings, pair, options.agreement)
    if reason := unfit(name, pair, ratings, judged.unordered):
        return undefined(reason, compared.row.size)
    estimate = estimates(
        ratings.cases, compared, judged.labels[pair], (name,), "dataset",
        resamples=options.resamples, seed=options.seed, confidence=options.level,
    )[name]  # fmt: skip
    return replace(estimate, note=join_notes(estimate.note, compared.seen.words()))


def _from_first(judged: _GateQuestions, verdicts: Verdicts) -> tuple[FloatArray, FloatArray]:
    """A question's verdicts as seen from the first of the two systems, and which of them are about the two."""
    cases = judged.ratings.cases
    system, opponent = (cases.systems.index(name) for name in judged.options.systems)
    first, second = cases.system_a[verdicts.row], cases.system_b[verdicts.row]
    straight, swapped = (first == system) & (second == opponent), (first == opponent) & (second == system)
    value = np.sign(verdicts.value)
    return np.where(straight, value, -value), cases.is_pair[verdicts.row] & (straight | swapped)


def _change_rows(judged: _GateQuestions, against: str) -> Iterator[Row]:
    options = judged.options
    for name in options.stats or _usual(judged):
        bad = "must not rise" if name == _RISING_IS_BAD else "must not fall"
        changes = list(_changes(judged, against, name))
        for question, aspect, changed, rule in changes:
            row = _row("change", name, question, aspect, _reference(judged, name), bad)
            yield row | _change_cells(changed, name) | {"paired": rule}
        if not changes:
            yield _row("change", name, None, options.aspect, _reference(judged, name), bad) | {
                "n": 0, "state": UNKNOWN, "note": _nothing(judged, name),
            }  # fmt: skip


def _usual(judged: _GateQuestions) -> list[str]:
    """The figures whose change is tested by default."""
    bounds = ["failure_rate"]
    if judged.options.systems:
        bounds.insert(0, "win_rate")
    if judged.options.truth is not None:
        labelled = any(labels is not None for labels in judged.labels.values()) or not judged.pairs
        ordered = not judged.pairs or any(
            (pair.protocol, pair.aspect) not in judged.unordered for pair in judged.pairs
        )
        bounds.insert(0, usual_statistic(labelled, ordered=ordered))
    return bounds


def _change_cells(changed: Change, name: str) -> Row:
    low, high = changed.change.ci_low, changed.change.ci_high
    state = UNKNOWN
    if low is not None and high is not None:
        worse = low > 0 if name == _RISING_IS_BAD else high < 0
        state = NOT_MET if worse else MET
    return {
        "value": changed.later,
        "earlier": changed.earlier,
        "change": changed.change.value,
        "ci_low": low,
        "ci_high": high,
        "n": changed.change.n,
        "state": state,
        "note": changed.change.note,
    }


def _changes(judged: _GateQuestions, against: str, name: str) -> Iterator[tuple[Question, str, Change, str]]:
    """(question, aspect, change, the rule by which the two runs are matched)."""
    options, ratings = judged.options, judged.ratings
    draw = Draw(options.resamples, options.seed, options.level)
    of_pairs = {pair.a: pair for pair in judged.pairs}
    for question in (pair.a for pair in judged.pairs) if name in STATISTICS else judged.mine:
        earlier, pair = question._replace(rater=against), of_pairs.get(question)
        aspect = pair.aspect if pair else question.aspect
        if earlier not in ratings.verdicts:
            yield question, aspect, _undefined(f"{against} did not answer this"), ""
            continue
        verdicts = ratings.verdicts[question], ratings.verdicts[earlier]
        runs = compared_runs(ratings.cases, judged.contexts, *verdicts, same_rater=against == options.rater)
        if name not in STATISTICS:
            change = change_of_means(runs, partial(_SEEN[name], judged), draw)
        elif pair is None:
            change = _undefined(OF_METRICS)
        elif reason := unfit(name, pair, ratings, judged.unordered):
            change = _undefined(reason)
        else:
            change = change_of_agreement(runs, ratings.verdicts[pair.b], judged.labels[pair], name, draw)
        yield question, aspect, change, BY_CASE if runs.rule == "case" else BY_USER


def _failures(_: _GateQuestions, verdicts: Verdicts) -> tuple[FloatArray, FloatArray]:
    failed = np.isnan(verdicts.value).astype(np.float64)
    return failed, np.ones(failed.size)


def _wins(judged: _GateQuestions, verdicts: Verdicts) -> tuple[FloatArray, FloatArray]:
    seen, here = _from_first(judged, verdicts)
    return (seen + 1) / 2, here


_SEEN = {_RISING_IS_BAD: _failures, "win_rate": _wins}


def _undefined(reason: str) -> Change:
    return Change(None, None, undefined(reason))
