"""Bounds that a judge must meet, and whether the judge has changed since an earlier run on the same labelled cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.agreement.agreement import compare_pair
from recjudge_tui.reports.common.comparison import estimates
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.missing_notes import earlier_notes
from recjudge_tui.reports.common.pairing import (
    OF_METRICS,
    Pair,
    unfit,
)
from recjudge_tui.reports.common.scales import rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.reliability.gate_changes import (
    Draw,
    change_of_agreement,
    change_of_means,
)
from recjudge_tui.reports.reliability.gate_options import Bound, GateOptions, check_gate
from recjudge_tui.reports.reliability.gate_questions import GateQuestions, gate_questions
from recjudge_tui.reports.reliability.gate_sides import paired_cells, paired_notes, served_sides
from recjudge_tui.reports.reliability.served_models import served_notes, served_settings
from recjudge_tui.stats.agreement import Change
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.defaults import level_text
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.hypotheses import holm_claims
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.stats.ranking import outcome_estimates
from recjudge_tui.stats.registry import STATISTICS, usual_statistic
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import (
    Question,
    Verdicts,
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
    Column("paired_users", "Users in both", "int", minor=True),
    Column("left_out", "Cases left out", "int", minor=True),
    Column("note", "Note"),
)


def gate_table(db: Database, project_id: int, options: GateOptions) -> Table:
    """One row per check and question: `state` is met, not met, or unknown.

    A bound is met by the figure, with `certain` by the whole interval; an undefined figure does not meet it. If some
    bounds are not met with certainty, Holm's correction is applied to the others; if all are met, no correction is
    needed, because the gate requires all of them. A change is not met only if its interval (users left out of both
    runs at once) excludes zero in the bad direction: down, or up for the failure rate, after Holm's correction for
    all changes; without an interval it is unknown. Raises UsageError for invalid options and for a rater without
    anything earlier that is to be compared with itself, NotFoundError for an unknown rater or run or one without such
    verdicts.
    """
    check_gate(options)
    judged = gate_questions(db, project_id, options)
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
        changes = _corrected_changes(judged)
        rows += changes
        protocols = {question.protocol for question in judged.mine}
        notes.append(
            "change: later minus earlier, interval over users; not met only if its"
            f" {level_text(options.level)} interval excludes zero in the bad direction"
            + (f", after Holm's correction for {len(changes)} figures" if len(changes) > 1 else "")
        )
        notes += paired_notes(judged.compared)
        served = served_sides(db, project_id, judged.sides, judged.compared, protocols)
        notes += served_notes(db, *served)
        settings |= served_settings(*served)
    notes += earlier_notes(judged.newest, judged.mine)
    notes += rater_notes(
        judged.ratings.raters[name] for name in (judged.sides.later.rater, options.truth) if name is not None
    )
    columns = tuple(replace(column, level=options.level) for column in _COLUMNS)
    return Table(f"Gate: {judged.sides.later.name}", columns, tuple(rows), tuple(notes), settings)


def _all_bound_rows(judged: GateQuestions) -> list[Row]:
    return [row for bound in judged.options.bounds for row in _bound_rows(judged, bound)]


def _certain_rows(judged: GateQuestions) -> list[Row]:
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


def _corrected_changes(judged: GateQuestions) -> list[Row]:
    """The changes; one is not met only if it is bad after Holm's correction."""
    rows = list(_change_rows(judged))

    def bad(level: float) -> list[bool | None]:
        return [
            None if row["state"] == UNKNOWN else row["state"] == NOT_MET
            for row in _change_rows(_at_level(judged, level))
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


def _at_level(judged: GateQuestions, level: float) -> GateQuestions:
    return replace(judged, options=replace(judged.options, level=level))


def _bound_rows(judged: GateQuestions, bound: Bound) -> Iterator[Row]:
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


def _reference(judged: GateQuestions, name: str) -> str | None:
    if name in STATISTICS:
        return judged.options.truth
    return " over ".join(judged.options.systems) if name == "win_rate" else None


def _nothing(judged: GateQuestions, name: str) -> str:
    options = judged.options
    if name in STATISTICS:
        return f"no question that both {options.rater} and {options.truth} answered"
    return f"{options.rater} has not compared {' and '.join(options.systems)}"


def _figures(judged: GateQuestions, name: str) -> Iterator[tuple[Question, str, str | None, Estimate]]:
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


def _agreement(judged: GateQuestions, pair: Pair, name: str) -> Estimate:
    options, ratings = judged.options, judged.ratings
    compared = compare_pair(ratings, pair, options.agreement_of(judged.sides.later.rater))
    if reason := unfit(name, pair, ratings, judged.unordered):
        return undefined(reason, compared.row.size)
    estimate = estimates(
        ratings.cases, compared, judged.labels[pair], (name,), "dataset",
        resamples=options.resamples, seed=options.seed, confidence=options.level,
    )[name]  # fmt: skip
    return replace(estimate, note=join_notes(estimate.note, compared.seen.words()))


def _from_first(judged: GateQuestions, verdicts: Verdicts) -> tuple[FloatArray, FloatArray]:
    """A question's verdicts as seen from the first of the two systems, and which of them are about the two."""
    cases = judged.ratings.cases
    system, opponent = (cases.systems.index(name) for name in judged.options.systems)
    first, second = cases.system_a[verdicts.row], cases.system_b[verdicts.row]
    straight, swapped = (first == system) & (second == opponent), (first == opponent) & (second == system)
    value = np.sign(verdicts.value)
    return np.where(straight, value, -value), cases.is_pair[verdicts.row] & (straight | swapped)


def _change_rows(judged: GateQuestions) -> Iterator[Row]:
    options = judged.options
    for name in options.stats or _usual(judged):
        bad = "must not rise" if name == _RISING_IS_BAD else "must not fall"
        changes = list(_changes(judged, name))
        for question, aspect, changed in changes:
            row = _row("change", name, question, aspect, _reference(judged, name), bad)
            yield row | _change_cells(changed, name) | paired_cells(judged.compared.get(question))
        if not changes:
            yield _row("change", name, None, options.aspect, _reference(judged, name), bad) | {
                "n": 0, "state": UNKNOWN, "note": _nothing(judged, name),
            }  # fmt: skip


def _usual(judged: GateQuestions) -> list[str]:
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


def _changes(judged: GateQuestions, name: str) -> Iterator[tuple[Question, str, Change]]:
    """(question, aspect, change)."""
    options, ratings = judged.options, judged.ratings
    draw = Draw(options.resamples, options.seed, options.level)
    of_pairs = {pair.a: pair for pair in judged.pairs}
    for question in (pair.a for pair in judged.pairs) if name in STATISTICS else judged.mine:
        pair, match = of_pairs.get(question), judged.compared.get(question)
        if match is None:
            change = _undefined(judged.sides.unanswered)
        elif name not in STATISTICS:
            change = change_of_means(match.runs, partial(_SEEN[name], judged), draw)
        elif pair is None:
            change = _undefined(OF_METRICS)
        elif reason := unfit(name, pair, ratings, judged.unordered):
            change = _undefined(reason)
        else:
            change = change_of_agreement(
                match.runs, ratings.verdicts[pair.b], judged.labels[pair], name, draw
            )
        yield question, pair.aspect if pair else question.aspect, change


def _failures(_: GateQuestions, verdicts: Verdicts) -> tuple[FloatArray, FloatArray]:
    failed = np.isnan(verdicts.value).astype(np.float64)
    return failed, np.ones(failed.size)


def _wins(judged: GateQuestions, verdicts: Verdicts) -> tuple[FloatArray, FloatArray]:
    seen, here = _from_first(judged, verdicts)
    return (seen + 1) / 2, here


_SEEN = {_RISING_IS_BAD: _failures, "win_rate": _wins}


def _undefined(reason: str) -> Change:
    return Change(None, None, undefined(reason))
